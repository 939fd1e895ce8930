//! The filters of a list or a bulk delete: clauses of column, operator and value. Their syntax is checked
//! first, then the columns of the table.

use db::Value;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Fault, Result};
use crate::features::tables::INVALID_FILTER_COLUMN;
use crate::features::tables::model::{Column, DataType, Table};
use crate::features::tables::values;

const MAX_CLAUSES: usize = 50;
const MAX_VALUES: usize = 100;
/// Maximum bytes of a search text.
const LONGEST_PATTERN: usize = 256;

/// A clause with valid syntax, not yet matched with a column.
#[derive(Debug)]
pub struct Clause {
    column: String,
    test: Asked,
}

#[derive(Debug)]
enum Asked {
    /// The operator's name and its SQL.
    Compare(&'static str, Box<RawValue>),
    Contains(Box<RawValue>),
    Like(Box<RawValue>),
    AnyOf(Vec<Box<RawValue>>),
    IsNull(bool),
}

/// A clause that is valid for its column.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub column: Column,
    pub test: Test,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    Compare(&'static str, Value<'static>),
    Contains(String),
    Like(String),
    AnyOf(Vec<Value<'static>>),
    IsNull(bool),
}

#[derive(Deserialize)]
struct Raw {
    column: String,
    operator: String,
    value: Box<RawValue>,
}

/// Parses clauses; `invalid` is the fault for a malformed one.
pub fn read(clauses: &[Box<RawValue>], invalid: Fault) -> Result<Vec<Clause>> {
    if clauses.len() > MAX_CLAUSES {
        return Err(invalid.because(format!("filters: at most {MAX_CLAUSES} clauses")));
    }
    clauses.iter().map(|clause| read_one(clause, invalid)).collect()
}

fn read_one(clause: &RawValue, invalid: Fault) -> Result<Clause> {
    let wrong = |text: &str| Err(invalid.because(format!("filters: {text}")));
    // Serde would read an array by the order of the fields.
    if !clause.get().starts_with('{') {
        return wrong("each clause is an object of column, operator and value");
    }
    let Raw { column, operator, value } = match serde_json::from_str(clause.get()) {
        Ok(raw) => raw,
        Err(error) => return wrong(&error.to_string()),
    };
    let compared = match operator.as_str() {
        "eq" => Some("="),
        "ne" => Some("<>"),
        "gt" => Some(">"),
        "gte" => Some(">="),
        "lt" => Some("<"),
        "lte" => Some("<="),
        "contains" | "like" | "in" | "isNull" => None,
        _ => return wrong("unknown operator"),
    };
    let test = match operator.as_str() {
        "isNull" => match value.get() {
            "true" => Asked::IsNull(true),
            "false" => Asked::IsNull(false),
            _ => return wrong("isNull takes a boolean"),
        },
        "in" => {
            let values: Vec<Box<RawValue>> = serde_json::from_str(value.get()).unwrap_or_default();
            if values.is_empty() || !values.iter().all(|value| values::is_plain(value)) {
                return wrong("in takes an array of texts, numbers and booleans");
            }
            if values.len() > MAX_VALUES {
                return wrong("in takes at most 100 values");
            }
            Asked::AnyOf(values)
        }
        _ if !values::is_plain(&value) => return wrong("value must be a text, number or boolean"),
        "contains" => Asked::Contains(value),
        "like" => Asked::Like(value),
        _ => Asked::Compare(compared.unwrap_or("="), value),
    };
    Ok(Clause { column, test })
}

/// The clauses matched with the table. An unknown column is reported before an invalid value.
pub fn fit(table: &Table, clauses: &[Clause], invalid: Fault) -> Result<Vec<Filter>> {
    let found: Vec<&Column> = clauses
        .iter()
        .map(|clause| {
            let unknown = || INVALID_FILTER_COLUMN.with("column", clause.column.as_str());
            table.column(&clause.column).ok_or_else(unknown)
        })
        .collect::<Result<_>>()?;
    let fitted = found.into_iter().zip(clauses).map(|(column, clause)| {
        let test = fit_one(column, &clause.test).ok_or_else(|| misfit(column, invalid))?;
        Ok(Filter { column: column.clone(), test })
    });
    fitted.collect()
}

fn misfit(column: &Column, invalid: Fault) -> Error {
    let (name, kind) = (&column.name, column.data_type.name());
    invalid.because(format!("filters: the operator or value does not fit {name}, a {kind}"))
}

fn fit_one(column: &Column, asked: &Asked) -> Option<Test> {
    let is_text = column.data_type == DataType::Text;
    let read = |value: &RawValue| values::read(column.data_type, value);
    let pattern = |value: &RawValue| match read(value) {
        Some(Value::Text(text)) if is_text && text.len() <= LONGEST_PATTERN => {
            Some(text.into_owned())
        }
        _ => None,
    };
    Some(match asked {
        Asked::IsNull(is_null) => Test::IsNull(*is_null),
        Asked::Compare(operator, value) => {
            let is_order = !matches!(*operator, "=" | "<>");
            if is_order && column.data_type == DataType::Json {
                return None;
            }
            Test::Compare(operator, read(value)?)
        }
        Asked::AnyOf(values) => {
            Test::AnyOf(values.iter().map(|value| read(value)).collect::<Option<_>>()?)
        }
        Asked::Contains(value) => Test::Contains(pattern(value)?),
        Asked::Like(value) => Test::Like(pattern(value).filter(|text| ends_whole(text))?),
    })
}

/// A pattern must not end in a lone escape.
fn ends_whole(pattern: &str) -> bool {
    let escapes = pattern.bytes().rev().take_while(|byte| *byte == b'\\').count();
    escapes % 2 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_needs_something_to_escape() {
        assert!(ends_whole("") && ends_whole("a\\\\") && ends_whole("\\%"));
        assert!(!ends_whole("\\") && !ends_whole("a\\\\\\"));
    }
}
