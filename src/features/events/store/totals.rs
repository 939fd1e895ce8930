//! How many events start in each hour, on each day, and in each period of 64 days. Lists of a time window add up whole
//! periods, then whole days, then whole hours; only what is left at its ends is counted by events.

use db::{Builder, Conn, Query, Tx, args};

use crate::error::Result;
use crate::features::events::rules::{Kind, Status, Visibility};
use crate::features::events::store::EventRow;
use crate::values::ids::ProjectId;

/// Milliseconds.
pub(super) const HOUR: i64 = 3_600_000;
/// Hours of the spans that are counted, the shortest first, as their totals are locked.
pub(super) const SPANS: [i64; 3] = [1, 24, 64 * 24];

db::statements! {
    command COUNT =
        "INSERT INTO event_totals (project_id, hours, status, visibility, type, number, total)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (project_id, hours, status, visibility, type, number)
         DO UPDATE SET total = event_totals.total + excluded.total";
}

/// What a total is of, in the order in which totals are locked.
type Key = (i64, &'static str, &'static str, &'static str, i64);

fn keys(row: &EventRow) -> [Key; 3] {
    let start = row.start_time.millis();
    SPANS.map(|hours| {
        let number = start.div_euclid(hours * HOUR);
        (hours, row.status.name(), row.visibility.name(), row.kind.name(), number)
    })
}

pub fn add(tx: &Tx<'_>, project: ProjectId, row: &EventRow) -> Result<()> {
    count(tx, project, keys(row).map(|key| (key, 1)).to_vec())
}

pub fn remove(tx: &Tx<'_>, project: ProjectId, row: &EventRow) -> Result<()> {
    count(tx, project, keys(row).map(|key| (key, -1)).to_vec())
}

/// After a change of the event.
pub fn update(tx: &Tx<'_>, project: ProjectId, before: &EventRow, after: &EventRow) -> Result<()> {
    let changed = keys(before).into_iter().zip(keys(after)).filter(|(old, new)| old != new);
    count(tx, project, changed.flat_map(|(old, new)| [(old, -1), (new, 1)]).collect())
}

fn count(tx: &Tx<'_>, project: ProjectId, mut changes: Vec<(Key, i64)>) -> Result<()> {
    changes.sort();
    for ((hours, status, visibility, kind, number), by) in changes {
        tx.pipeline(&COUNT, args![project, hours, status, visibility, kind, number, by])?;
    }
    Ok(())
}

/// Start times in milliseconds, from the first up to but not including the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub since: Option<i64>,
    pub until: Option<i64>,
}

impl Span {
    /// The spans of so many hours that are wholly in it, by number, and what is left at its ends.
    fn whole(self, hours: i64) -> (Option<Span>, Vec<Span>) {
        let length = hours * HOUR;
        let first = self
            .since
            .map(|since| since.div_euclid(length) + i64::from(since.rem_euclid(length) > 0));
        let last = self.until.map(|until| until.div_euclid(length));
        if first.zip(last).is_some_and(|(first, last)| first >= last) {
            return (None, vec![self]);
        }
        let head = self.since.zip(first).map(|(since, number)| (since, number * length));
        let tail = self.until.zip(last).map(|(until, number)| (number * length, until));
        let ends = head.into_iter().chain(tail).filter(|(since, until)| since < until);
        let ends = ends.map(|(since, until)| Span { since: Some(since), until: Some(until) });
        (Some(Span { since: first, until: last }), ends.collect())
    }

    /// What is counted in spans of hours, by their numbers, and the rest of it.
    fn parts(self) -> (Vec<(i64, Span)>, Vec<Span>) {
        let mut counted = Vec::new();
        let mut rest = vec![self];
        for hours in SPANS.into_iter().rev() {
            let split: Vec<_> = rest.into_iter().map(|span| span.whole(hours)).collect();
            counted.extend(split.iter().filter_map(|(whole, _)| whole.map(|whole| (hours, whole))));
            rest = split.into_iter().flat_map(|(_, ends)| ends).collect();
        }
        (counted, rest)
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
    let (counted, rest) = span.parts();
    let mut sql = Builder::all([project.into()]);
    let mut parts = Vec::new();
    for (hours, numbers) in counted {
        let condition = numbers.condition("t.number", &mut sql);
        parts.push(format!(
            "(SELECT CAST(COALESCE(sum(t.total), 0) AS {{int}}) FROM event_totals t
              WHERE {} AND t.hours = {hours} AND {condition})",
            scope("t")
        ));
    }
    for times in rest {
        let condition = times.condition("e.start_time", &mut sql);
        parts.push(format!(
            "(SELECT count(*) FROM events e WHERE {} AND e.deleted_at IS NULL AND {condition})",
            scope("e")
        ));
    }
    let query = Query::<i64>::built("events::totals", format!("SELECT {}", parts.join(" + ")));
    Ok(c.one(&query, sql.args())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_whole_periods_whole_days_whole_hours_and_two_ends() {
        const DAY: i64 = 24 * HOUR;
        let span = |since, until| Span { since, until };
        let parts = |since, until| span(since, until).parts();
        assert_eq!(parts(None, None), (vec![(1536, span(None, None))], vec![]));
        assert_eq!(
            parts(Some(1), Some(130 * DAY + 2 * HOUR + 5)),
            (
                vec![
                    (1536, span(Some(1), Some(2))),
                    (24, span(Some(1), Some(64))),
                    (24, span(Some(128), Some(130))),
                    (1, span(Some(1), Some(24))),
                    (1, span(Some(130 * 24), Some(130 * 24 + 2))),
                ],
                vec![
                    span(Some(1), Some(HOUR)),
                    span(Some(130 * DAY + 2 * HOUR), Some(130 * DAY + 2 * HOUR + 5))
                ]
            )
        );
        assert_eq!(parts(Some(DAY), Some(2 * DAY)), (vec![(24, span(Some(1), Some(2)))], vec![]));
        assert_eq!(parts(Some(5), Some(9)), (vec![], vec![span(Some(5), Some(9))]));
        assert_eq!(
            parts(Some(-1), None),
            (vec![(1536, span(Some(0), None))], vec![span(Some(-1), Some(0))])
        );
        assert_eq!(parts(Some(5), Some(HOUR + 1)), (vec![], vec![span(Some(5), Some(HOUR + 1))]));
    }
}
