//! Sorting by a metadata property. Its values have no fixed type, so they are compared here and not by the
//! database, with the same result on both engines. Memory holds only the entities up to the end of the
//! requested page.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde_json::Value;

use crate::http::input::Direction;
use crate::http::page::Page;
use crate::values::ids::EntityId;
use crate::values::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortType {
    Auto,
    Numeric,
    Text,
    Boolean,
    Timestamp,
}

impl SortType {
    pub const NAMES: &[(&str, SortType)] = &[
        ("auto", SortType::Auto),
        ("numeric", SortType::Numeric),
        ("text", SortType::Text),
        ("boolean", SortType::Boolean),
        ("timestamp", SortType::Timestamp),
    ];

    /// The sort key of a value; none if it does not convert.
    fn key(self, value: Option<&str>) -> Option<Key> {
        let value: Value = serde_json::from_str(value?).ok()?;
        match self {
            SortType::Auto => match value {
                Value::Number(number) => number.as_f64().map(Key::Number),
                Value::String(text) => Some(Key::Text(text.to_lowercase())),
                Value::Bool(flag) => Some(Key::Flag(flag)),
                _ => None,
            },
            SortType::Numeric => match value {
                Value::Number(number) => number.as_f64(),
                Value::String(text) => text.trim().parse().ok(),
                _ => None,
            }
            .filter(|number| number.is_finite())
            .map(Key::Number),
            SortType::Text => match value {
                Value::String(text) => Some(Key::Text(text.to_lowercase())),
                Value::Number(number) => Some(Key::Text(number.to_string())),
                Value::Bool(flag) => Some(Key::Text(flag.to_string())),
                _ => None,
            },
            SortType::Boolean => match value {
                Value::Bool(flag) => Some(Key::Flag(flag)),
                Value::String(text) => text.to_lowercase().parse().ok().map(Key::Flag),
                _ => None,
            },
            SortType::Timestamp => instant(&value).map(Key::Number),
        }
    }
}

/// ISO 8601, or Unix time: seconds, or milliseconds if it would otherwise be far in the future.
fn instant(value: &Value) -> Option<f64> {
    let unix = |number: f64| if number.abs() > 1e11 { number } else { number * 1000.0 };
    match value {
        Value::Number(number) => number.as_f64().map(unix),
        Value::String(text) => match Timestamp::parse(text) {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds are far below 2^52")]
            Some(time) => Some(time.millis() as f64),
            None => text.trim().parse().ok().filter(|number: &f64| number.is_finite()).map(unix),
        },
        _ => None,
    }
}

/// Mixed values: numbers before texts before booleans.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    Number(f64),
    Text(String),
    Flag(bool),
}

impl Key {
    fn compare(&self, other: &Key) -> Ordering {
        let rank = |key: &Key| match key {
            Key::Number(_) => 0,
            Key::Text(_) => 1,
            Key::Flag(_) => 2,
        };
        match (self, other) {
            (Key::Number(one), Key::Number(two)) => one.total_cmp(two),
            (Key::Text(one), Key::Text(two)) => one.cmp(two),
            (Key::Flag(one), Key::Flag(two)) => one.cmp(two),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// An entity with its sort position: the lesser comes first.
#[derive(Debug)]
struct Entry {
    key: Option<Key>,
    direction: Direction,
    created_at: Timestamp,
    id: EntityId,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = match (&self.key, &other.key) {
            (Some(one), Some(two)) => match self.direction {
                Direction::Asc => one.compare(two),
                Direction::Desc => two.compare(one),
            },
            // Entities without a value come last in both directions.
            (one, two) => one.is_none().cmp(&two.is_none()),
        };
        by_key
            .then_with(|| other.created_at.cmp(&self.created_at))
            .then_with(|| other.id.cmp(&self.id))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

/// Collects entities in any order and returns the page.
#[derive(Debug)]
pub struct Sorter {
    kind: SortType,
    direction: Direction,
    page: Page,
    most: usize,
    first: BinaryHeap<Entry>,
}

impl Sorter {
    pub fn new(kind: SortType, direction: Direction, page: Page) -> Self {
        let most = page.offset() + i64::from(page.limit);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Sorter { kind, direction, page, most, first: BinaryHeap::new() }
    }

    pub fn take(&mut self, id: EntityId, created_at: Timestamp, value: Option<&str>) {
        let key = self.kind.key(value);
        self.first.push(Entry { key, direction: self.direction, created_at, id });
        if self.first.len() > self.most {
            self.first.pop();
        }
    }

    pub fn finish(self) -> Vec<EntityId> {
        let skipped = usize::try_from(self.page.offset()).unwrap_or(usize::MAX);
        let sorted = self.first.into_sorted_vec();
        sorted.into_iter().skip(skipped).map(|entry| entry.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn sorted(kind: SortType, direction: Direction, page: Page, values: &[&str]) -> Vec<u128> {
        let mut sorter = Sorter::new(kind, direction, page);
        for (n, value) in (0..).zip(values) {
            let value = Some(*value).filter(|value| !value.is_empty());
            sorter.take(EntityId(Uuid::from_u128(n)), Timestamp::from_millis(0), value);
        }
        sorter.finish().into_iter().map(|id| id.0.as_u128()).collect()
    }

    const ALL: Page = Page { page: 1, limit: 100 };

    #[test]
    fn mixed_values_have_an_order_and_missing_ones_are_last() {
        let values = ["true", "\"b\"", "10", "", "\"A\"", "9.5", "null", "false", "[1]"];
        let ascending = sorted(SortType::Auto, Direction::Asc, ALL, &values);
        assert_eq!(ascending, [5, 2, 4, 1, 7, 0, 8, 6, 3]);
        let descending = sorted(SortType::Auto, Direction::Desc, ALL, &values);
        assert_eq!(descending, [0, 7, 1, 4, 2, 5, 8, 6, 3]);
    }

    #[test]
    fn values_convert_to_the_type_that_is_asked_for() {
        let numeric = sorted(SortType::Numeric, Direction::Asc, ALL, &["\"10\"", "9", "\"x\""]);
        assert_eq!(numeric, [1, 0, 2]);
        let text = sorted(SortType::Text, Direction::Asc, ALL, &["\"b\"", "\"A\"", "9", "[]"]);
        assert_eq!(text, [2, 1, 0, 3]);
        let flags = sorted(SortType::Boolean, Direction::Asc, ALL, &["true", "\"FALSE\"", "1"]);
        assert_eq!(flags, [1, 0, 2]);
        let times = [
            "\"2026-01-02T00:00:00Z\"",
            "1767225600",
            "1767225600001",
            "\"2026-01-01\"",
            "\"soon\"",
        ];
        assert_eq!(sorted(SortType::Timestamp, Direction::Asc, ALL, &times), [3, 1, 2, 0, 4]);
    }

    #[test]
    fn pages_follow_each_other() {
        let values = ["3", "1", "2", "5", "4"];
        let page = |page| sorted(SortType::Auto, Direction::Asc, Page { page, limit: 2 }, &values);
        assert_eq!(page(1), [1, 2]);
        assert_eq!(page(2), [0, 4]);
        assert_eq!(page(3), [3]);
        assert_eq!(page(4), [0; 0]);
    }
}
