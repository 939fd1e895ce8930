//! `TOWNHALL_RATE_LIMITS`.

/// The operator's switch over all rate limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    Off,
    Times(f64),
}

pub(super) fn parse(text: &str) -> Result<Scale, String> {
    match text {
        "on" => Ok(Scale::Times(1.0)),
        "off" => Ok(Scale::Off),
        number => {
            let times = number.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
            times.map(Scale::Times).ok_or_else(|| "must be `on`, `off` or a number".to_owned())
        }
    }
}
