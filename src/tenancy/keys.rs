//! A project's keys as the server stores them. `auth/keys.rs` generates and verifies them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use serde::Serialize;

use crate::values::ids::KeyId;
use crate::values::time::Timestamp;

/// How exactly it is known when a key was used last.
const NOTED_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum KeyKind {
    /// For the team's own backend.
    Service,
    /// For the owner of the project.
    Master,
}

impl KeyKind {
    pub const fn name(self) -> &'static str {
        match self {
            KeyKind::Service => "service",
            KeyKind::Master => "master",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [KeyKind::Service, KeyKind::Master].into_iter().find(|kind| kind.name() == name)
    }
}

/// A stored key.
#[derive(Debug, Clone)]
pub struct StoredKey {
    pub id: KeyId,
    pub label: Option<String>,
    pub kind: KeyKind,
    pub hash: Vec<u8>,
    /// What it is for; everything if there is none.
    pub scopes: Vec<Scope>,
    pub expires_at: Option<Timestamp>,
    /// In milliseconds; shared by all copies.
    pub used_at: Arc<AtomicI64>,
}

impl StoredKey {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether it is for an operation of this area.
    pub fn covers(&self, area: &str, reads: bool) -> bool {
        self.scopes.is_empty() || self.scopes.iter().any(|scope| scope.covers(area, reads))
    }

    /// Whether this use is to be noted, because the last one that was is a while ago.
    pub fn note_use(&self, now: Timestamp) -> bool {
        let last = self.used_at.load(Relaxed);
        let is_due = now >= Timestamp::from_millis(last).plus(NOTED_EVERY);
        is_due && self.used_at.compare_exchange(last, now.millis(), Relaxed, Relaxed).is_ok()
    }
}

/// A part of the API that a key is for, as in `entities:read`, `chat:write` or `*:read`. A key that may write may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    area: String,
    writes: bool,
}

impl Scope {
    fn covers(&self, area: &str, reads: bool) -> bool {
        (self.area == "*" || self.area == area) && (self.writes || reads)
    }
}

impl FromStr for Scope {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "must be an area and `read` or `write`, as in entities:read or *:write";
        let (area, verb) = text.split_once(':').ok_or(wrong)?;
        let is_area = area == "*"
            || (!area.is_empty() && area.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
        match verb {
            "read" | "write" if is_area => {
                Ok(Scope { area: area.to_owned(), writes: verb == "write" })
            }
            _ => Err(wrong),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.area, if self.writes { "write" } else { "read" })
    }
}

/// Separated by spaces, as they are stored.
pub fn parse_scopes(text: &str) -> Result<Vec<Scope>, &'static str> {
    text.split_whitespace().map(str::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_covers_its_area_and_writing_includes_reading() {
        let covers =
            |scope: &str, area: &str, reads| scope.parse::<Scope>().unwrap().covers(area, reads);
        assert!(covers("entities:read", "entities", true));
        assert!(!covers("entities:read", "entities", false));
        assert!(covers("entities:write", "entities", true));
        assert!(!covers("entities:write", "comments", true));
        assert!(covers("*:read", "comments", true) && !covers("*:read", "comments", false));
        for wrong in ["entities", "entities:", ":read", "Entities:read", "a b:read", "*:delete"] {
            assert!(wrong.parse::<Scope>().is_err(), "{wrong}");
        }
        let all = parse_scopes("entities:read  *:write").unwrap();
        assert_eq!(
            all.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["entities:read", "*:write"]
        );
    }
}
