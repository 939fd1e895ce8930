//! When the mail about a notification is due: soon, so that others can join it, or with the next digest; never in
//! the user's quiet hours.

use std::time::Duration;

use crate::features::notification_mails::store::{Frequency, PreferenceRow};
use crate::values::time::Timestamp;
use crate::values::timezone::ZoneName;

/// What happens in this time becomes one mail.
const BATCH: Duration = Duration::from_secs(5 * 60);
/// After a mail the next one comes this much later at the earliest: whatever others do, nobody gets more.
pub(super) const MIN_GAP: Duration = Duration::from_secs(60 * 60);
const DIGEST_HOUR: i8 = 8;
const UTC: &str = "UTC";

/// None for a user who wants no mails.
pub(super) fn due(preferences: &PreferenceRow, now: Timestamp) -> Option<Timestamp> {
    let zone = zone(preferences)?;
    let due = match preferences.frequency {
        Frequency::Off => return None,
        Frequency::Immediate => now.plus(BATCH),
        Frequency::Daily => zone.next(DIGEST_HOUR, now)?,
        Frequency::Weekly => {
            let mut at = zone.next(DIGEST_HOUR, now)?;
            while !zone.is_monday(at)? {
                at = zone.next(DIGEST_HOUR, at)?;
            }
            at
        }
    };
    Some(quiet_until(preferences, due).unwrap_or(due))
}

/// The end of the quiet hours, if an instant is in them.
pub(super) fn quiet_until(preferences: &PreferenceRow, at: Timestamp) -> Option<Timestamp> {
    let (from, until) = (preferences.quiet_from?, preferences.quiet_until?);
    let zone = zone(preferences)?;
    let hour = i64::from(zone.hour(at)?);
    let is_quiet = match from <= until {
        true => (from..until).contains(&hour),
        // Over midnight.
        false => hour >= from || hour < until,
    };
    zone.next(i8::try_from(until).ok()?, at).filter(|_| is_quiet)
}

fn zone(preferences: &PreferenceRow) -> Option<ZoneName> {
    let name = preferences.timezone.as_deref().unwrap_or(UTC);
    ZoneName::try_from(name.to_owned()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn preferences(frequency: Frequency, quiet: Option<(i64, i64)>) -> PreferenceRow {
        PreferenceRow {
            frequency,
            timezone: Some("Europe/Berlin".to_owned()),
            quiet_from: quiet.map(|(from, _)| from),
            quiet_until: quiet.map(|(_, until)| until),
            language: None,
        }
    }

    #[test]
    fn a_mail_waits_for_the_end_of_the_quiet_hours() {
        let night = preferences(Frequency::Immediate, Some((22, 7)));
        for (now, due_at) in [
            // 14:00 in Berlin.
            ("2026-08-01T12:00:00Z", "2026-08-01T12:05:00Z"),
            ("2026-08-01T19:54:59Z", "2026-08-01T19:59:59Z"),
            ("2026-08-01T19:55:00Z", "2026-08-02T05:00:00Z"),
            ("2026-08-01T23:00:00Z", "2026-08-02T05:00:00Z"),
            ("2026-08-02T04:55:00Z", "2026-08-02T05:00:00Z"),
            // The clocks go forward on 29 March, and back on 25 October.
            ("2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z"),
            ("2026-10-24T22:00:00Z", "2026-10-25T06:00:00Z"),
        ] {
            assert_eq!(due(&night, at(now)), Some(at(due_at)), "{now}");
        }
        let by_day = preferences(Frequency::Immediate, Some((9, 17)));
        assert_eq!(due(&by_day, at("2026-08-01T08:00:00Z")), Some(at("2026-08-01T15:00:00Z")));
        assert_eq!(due(&by_day, at("2026-08-01T20:00:00Z")), Some(at("2026-08-01T20:05:00Z")));
        // Two o'clock is skipped; it is three when the quiet hours end.
        let until_two = preferences(Frequency::Immediate, Some((22, 2)));
        assert_eq!(due(&until_two, at("2026-03-29T00:30:00Z")), Some(at("2026-03-29T01:00:00Z")));
    }

    #[test]
    fn digests_come_in_the_morning_and_on_mondays() {
        let (daily, weekly) =
            (preferences(Frequency::Daily, None), preferences(Frequency::Weekly, None));
        let saturday = at("2026-08-01T12:00:00Z");
        assert_eq!(due(&daily, saturday), Some(at("2026-08-02T06:00:00Z")));
        assert_eq!(due(&weekly, saturday), Some(at("2026-08-03T06:00:00Z")));
        let monday = at("2026-08-03T06:00:00Z");
        assert_eq!(due(&weekly, monday), Some(at("2026-08-10T06:00:00Z")));
        assert_eq!(due(&preferences(Frequency::Off, None), saturday), None);
        // The same hour in winter and in summer.
        assert_eq!(due(&daily, at("2026-03-28T06:00:00Z")), Some(at("2026-03-28T07:00:00Z")));
        assert_eq!(due(&daily, at("2026-03-28T12:00:00Z")), Some(at("2026-03-29T06:00:00Z")));
        assert_eq!(due(&weekly, at("2026-10-24T12:00:00Z")), Some(at("2026-10-26T07:00:00Z")));
        let sleeps_long = preferences(Frequency::Daily, Some((23, 10)));
        assert_eq!(due(&sleeps_long, saturday), Some(at("2026-08-02T08:00:00Z")));
    }
}
