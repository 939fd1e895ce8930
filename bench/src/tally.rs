//! What was counted: latencies in a histogram of constant relative error, and what went wrong.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Decimal digits that a latency keeps.
const PRECISION: u8 = 3;
/// Longer than any request may take.
const LONGEST: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub struct Tally {
    latencies: Histogram<u64>,
    pub errors: u64,
    pub first_error: Option<String>,
    /// Open loop: requests whose time had come before the end, but no connection was free.
    pub unsent: u64,
}

impl Tally {
    pub fn new() -> Result<Self, String> {
        let latencies = Histogram::new_with_max(nanos(LONGEST), PRECISION);
        Ok(Tally {
            latencies: latencies.map_err(|error| error.to_string())?,
            errors: 0,
            first_error: None,
            unsent: 0,
        })
    }

    pub fn answered(&mut self, latency: Duration) {
        self.latencies.saturating_record(nanos(latency));
    }

    pub fn failed(&mut self, why: String) {
        self.errors += 1;
        self.first_error.get_or_insert(why);
    }

    pub fn add(&mut self, other: Tally) -> Result<(), String> {
        self.latencies.add(&other.latencies).map_err(|error| error.to_string())?;
        self.errors += other.errors;
        self.unsent += other.unsent;
        self.first_error = self.first_error.take().or(other.first_error);
        Ok(())
    }

    pub fn requests(&self) -> u64 {
        self.latencies.len()
    }

    /// The latency that this share of the requests did not exceed.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.latencies.value_at_quantile(share))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_come_from_all_parts_and_errors_are_not_latencies() {
        let (mut fast, mut slow) = (Tally::new().unwrap(), Tally::new().unwrap());
        for _ in 0..99 {
            fast.answered(Duration::from_micros(100));
        }
        slow.answered(Duration::from_millis(50));
        slow.failed("status 500".to_owned());
        slow.failed("status 503".to_owned());
        fast.add(slow).unwrap();
        assert_eq!((fast.requests(), fast.errors), (100, 2));
        assert_eq!(fast.first_error.as_deref(), Some("status 500"));
        let near = |share, micros: f64| {
            let found = fast.quantile(share).as_secs_f64() * 1e6;
            assert!((found / micros - 1.0).abs() < 0.002, "{share}: {found}");
        };
        near(0.5, 100.0);
        near(0.99, 100.0);
        near(0.999, 50_000.0);
    }
}
