//! The timeline of a user, newest first: sign-up, decisions, suspensions, notes, reports by them and about what they
//! wrote. Five statements for each page, merged.

use std::fmt;
use std::str::FromStr;

use db::Conn;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::USER_NOT_FOUND;
use crate::features::moderation::decisions::Decision;
use crate::features::moderation::people::Note;
use crate::features::moderation::people::store::{self, Before};
use crate::features::moderation::reports::model::Status;
use crate::features::moderation::target::Target;
use crate::values::ids::{ProjectId, ReportId, UserId, parse_uuid};
use crate::values::time::Timestamp;

const MAX_LIMIT: i64 = 100;

#[derive(Debug, Clone, Serialize)]
pub struct Timeline {
    pub entries: Vec<Entry>,
    pub next: Option<Cursor>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub at: Timestamp,
    pub id: Uuid,
    pub event: Event,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Event {
    SignedUp,
    Decided(Box<Decision>),
    #[serde(rename_all = "camelCase")]
    Suspended {
        reason: Option<String>,
        /// None if it is for ever.
        end_date: Option<Timestamp>,
    },
    Noted(Note),
    /// The user reported somebody else's content.
    Reported {
        report: ReportId,
        target: Target,
        reason: String,
        details: Option<String>,
        status: Status,
    },
    /// What the user wrote was reported.
    #[serde(rename_all = "camelCase")]
    WasReported {
        report: ReportId,
        target: Target,
        reporter_count: i64,
        status: Status,
    },
}

/// The last entry of a page: the next one begins behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    at: Timestamp,
    id: Uuid,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.millis(), self.id)
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "no such place in the timeline";
        let (at, id) = text.split_once('.').ok_or(wrong)?;
        let at = Timestamp::from_millis(at.parse().map_err(|_| wrong)?);
        Ok(Cursor { at, id: parse_uuid(id).ok_or(wrong)? })
    }
}

/// A page of the timeline; refused with `moderation/user-not-found`.
pub fn timeline(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    before: Option<Cursor>,
    limit: i64,
) -> Result<Timeline> {
    let signed_up = store::signed_up(c, project, user)?.ok_or(USER_NOT_FOUND)?;
    let limit = limit.clamp(1, MAX_LIMIT);
    let end = Cursor { at: Timestamp::from_millis(i64::MAX), id: Uuid::max() };
    let Cursor { at, id } = before.unwrap_or(end);
    let place = Before { user, at, id, limit: limit + 1 };
    let mut entries = load(c, project, place)?;
    if (signed_up, user.0) < (at, id) {
        entries.push(Entry { at: signed_up, id: user.0, event: Event::SignedUp });
    }
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.at, entry.id)));
    let size = usize::try_from(limit).unwrap_or(0);
    let has_more = entries.len() > size;
    entries.truncate(size);
    let last = entries.last().filter(|_| has_more);
    let next = last.map(|entry| Cursor { at: entry.at, id: entry.id });
    Ok(Timeline { entries, next })
}

fn load(c: &Conn<'_>, project: ProjectId, place: Before) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for note in store::notes(c, project, place)? {
        entries.push(Entry { at: note.created_at, id: note.id.0, event: Event::Noted(note) });
    }
    for one in store::decisions(c, project, place)? {
        let (at, id) = (one.decided_at, one.id.0);
        entries.push(Entry { at, id, event: Event::Decided(Box::new(one)) });
    }
    for one in store::suspensions(c, project, place)? {
        let event = Event::Suspended { reason: one.reason, end_date: one.end_date };
        entries.push(Entry { at: one.start_date, id: one.id.0, event });
    }
    for one in store::reports_made(c, project, place)? {
        let target = Target { kind: one.target_type, id: one.target_id };
        let event = Event::Reported {
            report: one.report_id,
            target,
            reason: one.reason,
            details: one.details,
            status: one.status,
        };
        entries.push(Entry { at: one.created_at, id: one.id, event });
    }
    for one in store::reports_about(c, project, place)? {
        let event = Event::WasReported {
            report: one.id,
            target: Target { kind: one.target_type, id: one.target_id },
            reporter_count: one.reporter_count,
            status: one.status,
        };
        entries.push(Entry { at: one.created_at, id: one.id.0, event });
    }
    Ok(entries)
}
