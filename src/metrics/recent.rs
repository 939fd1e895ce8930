//! What this node has served lately: the last requests by their ids, and figures of each minute of the last hour. In
//! memory, bounded, lost at a restart. Of a request only what its log line has is kept: never an address, a query, a
//! body or a credential.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

/// Requests that are remembered.
pub const KEPT: usize = 8192;
/// Minutes that are remembered, the present one included.
pub const MINUTES: i64 = 60;
const MINUTE: i64 = 60_000;
/// Upper bounds of durations in milliseconds; one more bucket counts everything above.
const BOUNDS: [u128; 15] = [1, 2, 3, 5, 7, 10, 15, 25, 50, 100, 250, 500, 1000, 2500, 10_000];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentRequest {
    pub id: String,
    /// When it was answered.
    pub at: Timestamp,
    pub method: &'static str,
    /// The pattern of its path.
    pub route: Option<&'static str>,
    pub version: Option<&'static str>,
    pub project: Option<ProjectId>,
    /// What kind of caller it was.
    pub caller: &'static str,
    pub status: u16,
    pub took: Duration,
    pub in_database: Duration,
    /// The code of the error, if it was answered with one.
    pub code: Option<&'static str>,
}

/// Figures of one minute, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Minute {
    /// Since the epoch.
    pub number: i64,
    pub requests: u64,
    /// Answered 429.
    pub limited: u64,
    /// Answered 5xx.
    pub failed: u64,
    durations: [u64; BOUNDS.len() + 1],
}

impl Minute {
    fn add(&mut self, request: &RecentRequest) {
        self.requests += 1;
        self.limited += u64::from(request.status == 429);
        self.failed += u64::from(request.status >= 500);
        let millis = request.took.as_micros().div_ceil(1000);
        let bucket = BOUNDS.iter().position(|bound| millis <= *bound).unwrap_or(BOUNDS.len());
        self.durations[bucket] += 1;
    }

    /// The figures of all of them together.
    pub fn sum(minutes: &[Minute]) -> Minute {
        minutes.iter().fold(Minute::default(), |mut sum, minute| {
            sum.requests += minute.requests;
            sum.limited += minute.limited;
            sum.failed += minute.failed;
            for (all, own) in sum.durations.iter_mut().zip(minute.durations) {
                *all += own;
            }
            sum
        })
    }

    /// 95 of 100 requests took at most so many milliseconds; none without requests, or above the largest
    /// bucket.
    pub fn p95_millis(&self) -> Option<u128> {
        let needed = (self.requests * 95).div_ceil(100);
        let mut seen = 0;
        let bucket = self.durations.iter().position(|count| {
            seen += count;
            seen >= needed
        });
        bucket.filter(|_| self.requests > 0).and_then(|bucket| BOUNDS.get(bucket)).copied()
    }
}

#[derive(Debug, Default)]
pub struct Recent(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The newest last.
    requests: VecDeque<RecentRequest>,
    minutes: VecDeque<Minute>,
}

impl Recent {
    pub fn keep(&self, request: RecentRequest) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = request.at.millis().div_euclid(MINUTE);
        if kept.minutes.back().is_none_or(|last| last.number < number) {
            if kept.minutes.len() as i64 >= MINUTES {
                kept.minutes.pop_front();
            }
            kept.minutes.push_back(Minute { number, ..Minute::default() });
        }
        // A request that ended a moment before another one may come after it.
        if let Some(last) = kept.minutes.back_mut() {
            last.add(&request);
        }
        let oldest = if kept.requests.len() >= KEPT { kept.requests.pop_front() } else { None };
        kept.requests.push_back(request);
        drop(kept);
        drop(oldest);
    }

    /// Those that fit, the newest first.
    pub fn find(&self, most: usize, fits: impl Fn(&RecentRequest) -> bool) -> Vec<RecentRequest> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.requests.iter().rev().filter(|request| fits(request)).take(most).cloned().collect()
    }

    /// The last hour, oldest minute first; minutes without a request are in it too.
    pub fn minutes(&self, now: Timestamp) -> Vec<Minute> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let current = now.millis().div_euclid(MINUTE);
        let minutes = (current - MINUTES + 1..=current).map(|number| {
            let found = kept.minutes.iter().find(|minute| minute.number == number).copied();
            found.unwrap_or(Minute { number, ..Minute::default() })
        });
        minutes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(n: usize, at: i64, status: u16, millis: u64) -> RecentRequest {
        RecentRequest {
            id: format!("request-{n}"),
            at: Timestamp::from_millis(at),
            method: "GET",
            route: Some("/entities"),
            version: Some("v8"),
            project: None,
            caller: "anonymous",
            status,
            took: Duration::from_millis(millis),
            in_database: Duration::ZERO,
            code: None,
        }
    }

    #[test]
    fn the_oldest_requests_are_forgotten() {
        let recent = Recent::default();
        for n in 0..KEPT + 3 {
            recent.keep(request(n, 0, 200, 1));
        }
        let is = |id: &'static str| move |request: &RecentRequest| request.id == id;
        assert!(recent.find(1, is("request-2")).is_empty());
        assert_eq!(recent.find(1, is("request-3")).len(), 1);
        assert_eq!(recent.find(usize::MAX, |_| true).len(), KEPT);
        assert_eq!(recent.find(1, |_| true)[0].id, format!("request-{}", KEPT + 2));
    }

    #[test]
    fn a_minute_has_its_figures_and_an_hour_its_minutes() {
        let recent = Recent::default();
        for n in 0..100 {
            recent.keep(request(n, 1, if n < 3 { 500 } else { 200 }, if n < 6 { 80 } else { 2 }));
        }
        recent.keep(request(0, 90_000, 429, 1));
        let minutes = recent.minutes(Timestamp::from_millis(120_000));
        assert_eq!(minutes.len(), 60);
        let [first, second, third] = minutes[57..] else { panic!("{minutes:?}") };
        assert_eq!((first.requests, first.failed, first.p95_millis()), (100, 3, Some(100)));
        assert_eq!((second.requests, second.limited, second.p95_millis()), (1, 1, Some(1)));
        assert_eq!((third.requests, third.p95_millis()), (0, None));
        assert_eq!(Minute::sum(&minutes).requests, 101);
        // An hour later nothing of it is left.
        let later = recent.minutes(Timestamp::from_millis(120_000 + 60 * MINUTE));
        assert_eq!(Minute::sum(&later), Minute::default());
    }

    #[test]
    fn what_takes_longer_than_is_told_apart_has_no_figure() {
        let recent = Recent::default();
        recent.keep(request(1, 0, 200, 60_000));
        let minutes = recent.minutes(Timestamp::from_millis(0));
        assert_eq!(Minute::sum(&minutes).p95_millis(), None);
    }
}
