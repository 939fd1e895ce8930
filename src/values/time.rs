//! Instants as the API shows them: milliseconds inside and in the database, ISO 8601 in UTC with
//! exactly three decimals outside.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use db::{Column, ColumnRef, Value, WrongType};
use jiff::civil;
use jiff::fmt::rfc2822;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Milliseconds since 1970 in UTC, between the years 0 and 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Timestamp(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds, as tokens carry them.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    pub fn plus(self, by: Duration) -> Self {
        Timestamp(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    pub fn minus(self, by: Duration) -> Self {
        Timestamp(self.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Any ISO 8601 date-time; without an offset it is UTC, a date alone is its midnight.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let millis = if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            whole_millis(instant.as_nanosecond())?
        } else {
            // Without an offset, or on the last representable day.
            let local = text.strip_suffix(['Z', 'z']).unwrap_or(text);
            let local = local.parse::<civil::DateTime>().ok()?;
            let since = local.duration_since(civil::date(1970, 1, 1).at(0, 0, 0, 0));
            whole_millis(since.as_nanos())?
        };
        let year_zero = -62_167_219_200_000;
        let year_ten_thousand = 253_402_300_800_000;
        (year_zero..year_ten_thousand).contains(&millis).then_some(Timestamp(millis))
    }

    /// A time in an HTTP header: `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn parse_http_date(text: &str) -> Option<Self> {
        let parsed = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
        Some(Timestamp(parsed.as_millisecond()))
    }
}

/// Rounded down to a whole millisecond, also before 1970.
fn whole_millis(nanos: i128) -> Option<i64> {
    i64::try_from(nanos.div_euclid(1_000_000)).ok()
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, in_day) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = civil_date(days);
        let (seconds, millis) = (in_day / 1000, in_day % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        // Digit by digit: a list has many of them, and the formatting of numbers costs three times as much.
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let parts =
            [(3, year), (6, month), (9, day), (12, hour), (15, minute), (18, second), (22, millis)];
        for (last, part) in parts {
            write_digits(&mut text, last, part);
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

/// Writes a number over the zeros that end at `last`.
fn write_digits(text: &mut [u8], last: usize, mut number: i64) {
    for digit in text[..=last].iter_mut().rev() {
        if number <= 0 || !digit.is_ascii_digit() {
            return;
        }
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

/// Year, month and day of a day counted from 1970-01-01: the proleptic Gregorian calendar in 400-year eras
/// that begin on the first of March, so the leap day is the last of its year.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Timestamp::parse(&text).ok_or_else(|| de::Error::custom("must be an ISO 8601 date-time"))
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl Column for Timestamp {
    fn from_column(value: ColumnRef<'_>) -> Result<Self, WrongType> {
        i64::from_column(value).map(Timestamp)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(time: Timestamp) -> Self {
        Value::Int(time.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_http_headers_are_read() {
        let date = Timestamp::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date, Timestamp::parse("1994-11-06T08:49:37Z"));
        for other in ["", "120", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994"] {
            assert_eq!(Timestamp::parse_http_date(other), None, "{other}");
        }
    }

    #[test]
    fn shows_three_decimals_and_utc() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(1_785_542_400_007).to_string(), "2026-08-01T00:00:00.007Z");
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn agrees_with_the_calendar_on_every_day_for_centuries() {
        for day in -200_000..200_000_i64 {
            let shown = Timestamp(day * 86_400_000).to_string();
            let calendar = jiff::Timestamp::from_second(day * 86_400).unwrap().to_string();
            assert_eq!(shown[..10], calendar[..10]);
        }
    }

    #[test]
    fn reads_offsets_plain_times_and_dates() {
        let noon = Some(Timestamp(1_785_585_600_000));
        assert_eq!(Timestamp::parse("2026-08-01T12:00:00Z"), noon);
        assert_eq!(Timestamp::parse("2026-08-01T14:00:00.000+02:00"), noon);
        assert_eq!(Timestamp::parse("2026-08-01T12:00:00"), noon);
        assert_eq!(Timestamp::parse("2026-08-01"), Some(Timestamp(1_785_542_400_000)));
        assert_eq!(Timestamp::parse("1969-12-31T23:59:59.9995"), Some(Timestamp(-1)));
        assert_eq!(Timestamp::parse("1969-12-31T23:59:59.9995Z"), Some(Timestamp(-1)));
        let last = Some(Timestamp(253_402_300_799_999));
        assert_eq!(Timestamp::parse("9999-12-31T23:59:59.999Z"), last);
        assert_eq!(Timestamp::parse("9999-12-31"), Some(Timestamp(253_402_214_400_000)));
        for wrong in ["", "yesterday", "2026-02-30", "2026-08-01T25:00:00Z", "1754049600"] {
            assert_eq!(Timestamp::parse(wrong), None, "{wrong}");
        }
    }
}
