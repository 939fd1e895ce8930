//! Time zones by their IANA names, hours of the day, and the instant at which an hour of the day comes next.

use jiff::Zoned;
use jiff::civil::{Date, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::time::Timestamp;

/// The name of a known time zone, such as `Europe/Berlin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline)]
pub struct ZoneName(String);

impl ZoneName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// When this hour begins next in the zone, after an instant: once on each day. Of an hour that comes twice
    /// the first counts; in place of one that is skipped the first instant after the gap does.
    pub fn next(&self, hour: i8, after: Timestamp) -> Option<Timestamp> {
        let zone = TimeZone::get(&self.0).ok()?;
        let after = jiff::Timestamp::from_millisecond(after.millis()).ok()?;
        let mut date = after.to_zoned(zone.clone()).date().yesterday().ok()?;
        loop {
            let at = begin(&zone, date, hour)?;
            if at > after {
                return Some(Timestamp::from_millis(at.as_millisecond()));
            }
            date = date.tomorrow().ok()?;
        }
    }

    pub fn is_monday(&self, at: Timestamp) -> Option<bool> {
        Some(self.local(at)?.weekday() == Weekday::Monday)
    }

    /// The hour of the day at an instant.
    pub fn hour(&self, at: Timestamp) -> Option<i8> {
        Some(self.local(at)?.hour())
    }

    fn local(&self, at: Timestamp) -> Option<Zoned> {
        let zone = TimeZone::get(&self.0).ok()?;
        Some(jiff::Timestamp::from_millisecond(at.millis()).ok()?.to_zoned(zone))
    }
}

/// An hour of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(inline, extend("minimum" = 0, "maximum" = 23))]
pub struct Hour(i64);

impl Hour {
    pub fn number(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for Hour {
    type Error = &'static str;

    fn try_from(hour: i64) -> Result<Self, Self::Error> {
        if (0..24).contains(&hour) { Ok(Hour(hour)) } else { Err("must be from 0 to 23") }
    }
}

fn begin(zone: &TimeZone, date: Date, hour: i8) -> Option<jiff::Timestamp> {
    let local = zone.to_ambiguous_timestamp(date.at(hour, 0, 0, 0));
    match local.offset() {
        AmbiguousOffset::Gap { .. } => {
            // Before the gap's end by the old offset, so the gap is the last change before this.
            let behind = local.later().ok()?.as_second() + 1;
            let behind = jiff::Timestamp::from_second(behind).ok()?;
            zone.preceding(behind).next().map(|change| change.timestamp())
        }
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => local.earlier().ok(),
    }
}

impl TryFrom<String> for ZoneName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let zone = TimeZone::get(&name).ok().filter(|zone| !zone.is_unknown());
        let known = zone.as_ref().and_then(TimeZone::iana_name);
        known.map(|name| ZoneName(name.to_owned())).ok_or("must be the name of a time zone")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> ZoneName {
        ZoneName::try_from(name.to_owned()).unwrap()
    }

    /// The next instants, in UTC.
    fn times(name: &str, hour: i8, from: &str, count: usize) -> Vec<String> {
        let mut at = Timestamp::parse(from).unwrap();
        let next = || {
            at = zone(name).next(hour, at).unwrap();
            at.to_string().replace(":00.000Z", "")
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn names_are_those_of_the_database() {
        assert_eq!(zone("europe/berlin").as_str(), "Europe/Berlin");
        assert_eq!(zone("UTC").as_str(), "UTC");
        for name in ["", "Berlin", "Europe/Nowhere", "CEST", "+02:00", "Etc/Unknown", "../etc"] {
            assert!(ZoneName::try_from(name.to_owned()).is_err(), "{name}");
        }
    }

    #[test]
    fn an_hour_comes_once_a_day() {
        let expected = ["2026-08-01T07:00", "2026-08-02T07:00"];
        assert_eq!(times("Europe/Berlin", 9, "2026-08-01T06:59:59Z", 2), expected);
        assert_eq!(times("Asia/Kolkata", 0, "2026-08-01T18:30:00Z", 1), ["2026-08-02T18:30"]);
        assert_eq!(
            times("Pacific/Kiritimati", 23, "2026-08-01T09:00:00Z", 1),
            ["2026-08-02T09:00"]
        );
    }

    #[test]
    fn a_repeated_hour_counts_the_first_time() {
        // On 25 October 2026 it is three o'clock in Berlin, then two again.
        let expected = ["2026-10-24T00:00", "2026-10-25T00:00", "2026-10-26T01:00"];
        assert_eq!(times("Europe/Berlin", 2, "2026-10-23T12:00:00Z", 3), expected);
    }

    #[test]
    fn a_skipped_hour_counts_when_it_is_over() {
        // On 29 March 2026 two o'clock is followed by three in Berlin.
        let expected = ["2026-03-28T01:00", "2026-03-29T01:00", "2026-03-30T00:00"];
        assert_eq!(times("Europe/Berlin", 2, "2026-03-28T00:00:00Z", 3), expected);
        // Midnight is skipped in Cairo on 24 April 2026.
        let expected = ["2026-04-22T22:00", "2026-04-23T22:00", "2026-04-24T21:00"];
        assert_eq!(times("Africa/Cairo", 0, "2026-04-22T12:00:00Z", 3), expected);
        // Half an hour on Lord Howe Island, on 4 October 2026.
        let expected = ["2026-10-03T15:30", "2026-10-04T15:00"];
        assert_eq!(times("Australia/Lord_Howe", 2, "2026-10-03T00:00:00Z", 2), expected);
    }
}
