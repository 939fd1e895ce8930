//! How many events start on each day. Lists of a time window add up days instead of counting events one by one; only
//! the days at its ends are counted by events.

use db::{Builder, Conn, Query, Tx, args};

use crate::error::Result;
use crate::features::events::rules::{Kind, Status, Visibility};
use crate::features::events::store::EventRow;
use crate::values::ids::ProjectId;

/// Milliseconds.
const DAY: i64 = 86_400_000;

db::statements! {
    command COUNT =
        "INSERT INTO event_days (project_id, status, visibility, type, day, total)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (project_id, status, visibility, type, day)
         DO UPDATE SET total = event_days.total + excluded.total";
}

/// What the days of an event are counted by.
type Key = (Status, Visibility, Kind, i64);

fn key(row: &EventRow) -> Key {
    (row.status, row.visibility, row.kind, row.start_time.millis().div_euclid(DAY))
}

fn count(
    tx: &Tx<'_>,
    project: ProjectId,
    (status, visibility, kind, day): Key,
    by: i64,
) -> Result<()> {
    Ok(tx.pipeline(&COUNT, args![project, status, visibility, kind, day, by])?)
}

pub fn add(tx: &Tx<'_>, project: ProjectId, row: &EventRow) -> Result<()> {
    count(tx, project, key(row), 1)
}

pub fn remove(tx: &Tx<'_>, project: ProjectId, row: &EventRow) -> Result<()> {
    count(tx, project, key(row), -1)
}

/// After a change of the event. Lock order: the lower key first.
pub fn update(tx: &Tx<'_>, project: ProjectId, before: &EventRow, after: &EventRow) -> Result<()> {
    let (old, new) = (key(before), key(after));
    if old == new {
        return Ok(());
    }
    let order =
        |(status, visibility, kind, day): Key| (status.name(), visibility.name(), kind.name(), day);
    let mut changes = [(old, -1), (new, 1)];
    changes.sort_by_key(|(key, _)| order(*key));
    changes.into_iter().try_for_each(|(key, by)| count(tx, project, key, by))
}

/// Start times in milliseconds, from the first up to but not including the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub since: Option<i64>,
    pub until: Option<i64>,
}

impl Span {
    /// The whole days in it, and what is left at its ends.
    fn parts(self) -> (Option<Span>, Vec<Span>) {
        let first =
            self.since.map(|since| since.div_euclid(DAY) + i64::from(since.rem_euclid(DAY) > 0));
        let last = self.until.map(|until| until.div_euclid(DAY));
        if first.zip(last).is_some_and(|(first, last)| first >= last) {
            return (None, vec![self]);
        }
        let head = self.since.zip(first).map(|(since, day)| (since, day * DAY));
        let tail = self.until.zip(last).map(|(until, day)| (day * DAY, until));
        let ends = head.into_iter().chain(tail).filter(|(since, until)| since < until);
        let ends = ends.map(|(since, until)| Span { since: Some(since), until: Some(until) });
        (Some(Span { since: first, until: last }), ends.collect())
    }

    /// Adds the condition that a column is in it.
    pub fn condition(self, column: &str, sql: &mut Builder<'static>) -> String {
        let mut all = Vec::new();
        if let Some(since) = self.since {
            all.push(format!("{column} >= {}", sql.bind(since)));
        }
        if let Some(until) = self.until {
            all.push(format!("{column} < {}", sql.bind(until)));
        }
        if all.is_empty() { "1 = 1".to_owned() } else { all.join(" AND ") }
    }
}

/// How many events of these visibilities and types start in the span.
pub fn total(
    c: &Conn<'_>,
    project: ProjectId,
    status: Status,
    visibilities: &[Visibility],
    kinds: &[Kind],
    span: Span,
) -> Result<i64> {
    let names = |all: Vec<&'static str>| format!("'{}'", all.join("', '"));
    let visibilities = names(visibilities.iter().map(|one| one.name()).collect());
    let kinds = names(kinds.iter().map(|one| one.name()).collect());
    let scope = |table: &str| {
        format!(
            "{table}.project_id = $1 AND {table}.status = '{}' AND {table}.visibility IN ({visibilities})
                AND {table}.type IN ({kinds})",
            status.name()
        )
    };
    let (days, ends) = span.parts();
    let mut found = 0;
    if let Some(days) = days {
        let mut sql = Builder::all([project.into()]);
        let condition = days.condition("d.day", &mut sql);
        let text = format!(
            "SELECT CAST(COALESCE(sum(d.total), 0) AS {{int}}) FROM event_days d
             WHERE {} AND {condition}",
            scope("d")
        );
        found += c.one(&Query::<i64>::built("events::days::sum", text), sql.args())?;
    }
    for end in ends {
        let mut sql = Builder::all([project.into()]);
        let condition = end.condition("e.start_time", &mut sql);
        let text = format!(
            "SELECT count(*) FROM events e WHERE {} AND e.deleted_at IS NULL AND {condition}",
            scope("e")
        );
        found += c.one(&Query::<i64>::built("events::days::end", text), sql.args())?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_whole_days_and_two_ends() {
        let span = |since, until| Span { since, until };
        let parts = |since, until| span(since, until).parts();
        assert_eq!(parts(None, None), (Some(span(None, None)), vec![]));
        assert_eq!(
            parts(Some(1), Some(3 * DAY + 5)),
            (
                Some(span(Some(1), Some(3))),
                vec![span(Some(1), Some(DAY)), span(Some(3 * DAY), Some(3 * DAY + 5))]
            )
        );
        assert_eq!(parts(Some(DAY), Some(2 * DAY)), (Some(span(Some(1), Some(2))), vec![]));
        assert_eq!(parts(Some(5), Some(9)), (None, vec![span(Some(5), Some(9))]));
        assert_eq!(
            parts(Some(-1), None),
            (Some(span(Some(0), None)), vec![span(Some(-1), Some(0))])
        );
        assert_eq!(parts(Some(5), Some(DAY + 1)), (None, vec![span(Some(5), Some(DAY + 1))]));
    }
}
