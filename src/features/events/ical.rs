//! Events as iCalendar (RFC 5545). Times are in UTC, which every calendar shows in the local time of its user, daylight
//! saving included. Pure: no database.

use std::fmt::Write as _;

use url::Url;

use crate::features::events::rules::Status;
use crate::features::events::store::EventRow;
use crate::values::time::Timestamp;

/// Octets of a line, without its end.
const LONGEST_LINE: usize = 75;

/// A calendar with these events.
pub fn calendar(name: Option<&str>, events: &[EventRow]) -> String {
    let mut calendar = Lines(String::new());
    calendar.line("BEGIN", "VCALENDAR");
    calendar.line("VERSION", "2.0");
    calendar.line("PRODID", "-//Townhall//Events//EN");
    calendar.line("CALSCALE", "GREGORIAN");
    if let Some(name) = name {
        calendar.text("NAME", name);
        calendar.text("X-WR-CALNAME", name);
    }
    for event in events {
        calendar.event(event);
    }
    calendar.line("END", "VCALENDAR");
    calendar.0
}

struct Lines(String);

impl Lines {
    fn event(&mut self, row: &EventRow) {
        self.line("BEGIN", "VEVENT");
        self.line("UID", &row.id.to_string());
        self.line("DTSTAMP", &utc(row.updated_at));
        self.line("CREATED", &utc(row.created_at));
        self.line("LAST-MODIFIED", &utc(row.updated_at));
        self.line("SEQUENCE", &row.revision.to_string());
        self.line("DTSTART", &utc(row.start_time));
        // An end must be later, in the seconds that are written.
        if let Some(end) = row.end_time.filter(|end| end.seconds() > row.start_time.seconds()) {
            self.line("DTEND", &utc(end));
        }
        self.text("SUMMARY", &row.title);
        if let Some(description) = &row.description {
            self.text("DESCRIPTION", description);
        }
        let place: Vec<&str> = [&row.venue_name, &row.address]
            .into_iter()
            .filter_map(|part| part.as_deref())
            .collect();
        if !place.is_empty() {
            self.text("LOCATION", &place.join(", "));
        }
        if let Some((latitude, longitude)) = row.latitude.zip(row.longitude) {
            self.line("GEO", &format!("{latitude};{longitude}"));
        }
        // As the parser writes it: without line breaks, and with every other character percent-encoded.
        if let Some(url) = row.url.as_deref().and_then(|url| Url::parse(url).ok()) {
            self.line("URL", url.as_str());
        }
        let status = if row.status == Status::Cancelled { "CANCELLED" } else { "CONFIRMED" };
        self.line("STATUS", status);
        self.line("END", "VEVENT");
    }

    fn text(&mut self, name: &str, text: &str) {
        self.line(name, &escaped(text));
    }

    /// Folds long lines between characters: the rest goes on after a line break and a space.
    fn line(&mut self, name: &str, value: &str) {
        let mut left = LONGEST_LINE;
        for character in format!("{name}:{value}").chars() {
            if character.len_utf8() > left {
                self.0.push_str("\r\n ");
                left = LONGEST_LINE - 1;
            }
            left -= character.len_utf8();
            self.0.push(character);
        }
        self.0.push_str("\r\n");
    }
}

/// `20260801T120000Z`.
fn utc(time: Timestamp) -> String {
    let shown = time.to_string();
    let digits = shown.chars().take(19).filter(|c| *c != '-' && *c != ':');
    digits.chain(['Z']).collect()
}

/// Line breaks become `\n`; other control characters are not allowed and dropped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\\' | ';' | ',' => {
                // Writing to a `String` does not fail.
                let _ = write!(out, "\\{character}");
            }
            '\n' | '\r' => out.push_str("\\n"),
            '\t' => out.push('\t'),
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc() {
        let time = |text: &str| utc(Timestamp::parse(text).unwrap());
        assert_eq!(time("2026-08-01T14:00:00.250+02:00"), "20260801T120000Z");
        assert_eq!(time("0001-01-01"), "00010101T000000Z");
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("a,b;c\\d\r\ne\nf\rg\u{7}\th"), "a\\,b\\;c\\\\d\\ne\\nf\\ng\th");
    }

    #[test]
    fn lines_are_folded_between_characters() {
        let mut lines = Lines(String::new());
        lines.line("X", &"é".repeat(100));
        let folded = lines.0;
        assert!(folded.ends_with("\r\n"));
        assert!(folded.split("\r\n").all(|line| line.len() <= LONGEST_LINE));
        assert_eq!(folded.replace("\r\n ", ""), format!("X:{}\r\n", "é".repeat(100)));
    }
}
