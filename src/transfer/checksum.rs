//! The checksum of a table: the sum of the digests of its rows, so that their order does not matter.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use db::Value;

use super::rows;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    pub rows: u64,
    sum: u128,
}

impl Checksum {
    /// `json`: which columns hold JSON, of which the value counts and not the spelling.
    pub fn add(&mut self, row: &[Value<'_>], json: &[bool]) {
        self.sum = self.sum.wrapping_add(of_row(row, json));
        self.rows += 1;
    }

    /// A row that was added before.
    pub fn remove(&mut self, row: &[Value<'_>], json: &[bool]) {
        self.sum = self.sum.wrapping_sub(of_row(row, json));
        self.rows = self.rows.wrapping_sub(1);
    }

    /// For a note; [`parse_noted`](Checksum::parse_noted) reads it.
    pub fn noted(&self) -> String {
        format!("{} {self}", self.rows)
    }

    pub fn parse_noted(text: &str) -> Option<Checksum> {
        let (rows, sum) = text.split_once(' ')?;
        Checksum::parse(rows.parse().ok()?, sum)
    }

    pub fn parse(rows: u64, text: &str) -> Option<Checksum> {
        Some(Checksum { rows, sum: u128::from_str_radix(text, 16).ok()? })
    }
}

thread_local! {
    /// Used again for every row.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn of_row(row: &[Value<'_>], json: &[bool]) -> u128 {
    BYTES.with_borrow_mut(|bytes| {
        bytes.clear();
        for (value, is_json) in row.iter().zip(json) {
            match value {
                Value::Text(text) | Value::Json(text) if *is_json && !is_normal(text) => {
                    let spelt = normal(text).map_or_else(|| text.clone(), Cow::Owned);
                    rows::encode(&[Value::Text(spelt)], bytes);
                }
                value => rows::encode(std::slice::from_ref(value), bytes),
            }
        }
        of_bytes(bytes)
    })
}

fn of_bytes(bytes: &[u8]) -> u128 {
    let digest = digest(&SHA256, bytes);
    let (first, _) = digest.as_ref().split_first_chunk().unwrap_or((&[0; 16], &[]));
    u128::from_le_bytes(*first)
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.sum)
    }
}

/// What most columns hold has one spelling.
fn is_normal(text: &str) -> bool {
    matches!(text, "{}" | "[]" | "null")
}

/// Keys sorted, no spaces, numbers of one spelling.
fn normal(text: &str) -> Option<String> {
    let mut value: serde_json::Value = serde_json::from_str(text).ok()?;
    value.sort_all_objects();
    whole_numbers(&mut value);
    serde_json::to_string(&value).ok()
}

/// PostgreSQL writes 1e2 as 100.
fn whole_numbers(value: &mut serde_json::Value) {
    use serde_json::Value::{Array, Number, Object};
    match value {
        Number(number) => {
            // Beyond that not every whole number is a float.
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15);
            if let Some(whole) = whole.filter(|_| number.is_f64()) {
                *number = (whole as i64).into();
            }
        }
        Array(list) => list.iter_mut().for_each(whole_numbers),
        Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&str], json: bool) -> Checksum {
        let mut sum = Checksum::default();
        rows.iter().for_each(|text| sum.add(&[Value::Text((*text).into())], &[json]));
        sum
    }

    #[test]
    fn the_order_of_rows_does_not_matter_but_each_row_does() {
        assert_eq!(of(&["a", "b"], false), of(&["b", "a"], false));
        assert_ne!(of(&["a", "a"], false), of(&["b", "b"], false));
        assert_ne!(of(&["a", "b"], false), of(&["a"], false));
    }

    #[test]
    fn json_counts_by_its_value() {
        let spellings = [r#"{"b":[1e2,1.0],"a":"\u0041"}"#, r#"{"a": "A", "b": [100, 1.0]}"#];
        assert_eq!(of(&spellings[..1], true), of(&spellings[1..], true));
        assert_ne!(of(&spellings[..1], false), of(&spellings[1..], false));
        assert_ne!(of(&["[1]"], true), of(&["[1.5]"], true));
    }

    #[test]
    fn a_row_that_is_removed_leaves_no_trace() {
        let mut sum = of(&["a", "b"], false);
        sum.remove(&[Value::Text("a".into())], &[false]);
        assert_eq!(sum, of(&["b"], false));
    }

    #[test]
    fn its_text_can_be_read_again() {
        let sum = of(&["a"], false);
        assert_eq!(Checksum::parse(1, &sum.to_string()), Some(sum));
        assert_eq!(Checksum::parse_noted(&sum.noted()), Some(sum));
    }
}
