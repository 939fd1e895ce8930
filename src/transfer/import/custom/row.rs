//! A row of a custom table as a source writes it: a line of JSON, or texts of a CSV file.

use std::collections::BTreeMap;

use db::Value;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::features::tables::model::{Column, ID};
use crate::features::tables::rows::json::value;
use crate::features::tables::values;
use crate::transfer::Result;
use crate::transfer::csv::Cell;

#[derive(Debug, Clone)]
pub(in crate::transfer::import) struct Row {
    pub(super) table: String,
    /// What the report calls it.
    pub(super) label: String,
    pub(super) cells: BTreeMap<String, Given>,
}

/// A value as it was written.
#[derive(Debug, Clone)]
pub(super) enum Given {
    Json(Box<RawValue>),
    Text(Cell),
}

impl Row {
    /// A line of JSON.
    pub(in crate::transfer::import) fn read(text: &str) -> Result<Row, String> {
        #[derive(Deserialize)]
        struct Line {
            table: String,
            row: BTreeMap<String, Box<RawValue>>,
        }
        let Line { table, row } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let id = row.get(ID).map_or("", |id| id.get().trim_matches('"'));
        let label = format!("{table} {id}");
        let cells = row.into_iter().map(|(name, value)| (name, Given::Json(value))).collect();
        Ok(Row { table, label, cells })
    }

    /// A row of a CSV file.
    pub(in crate::transfer::import) fn of_cells(
        table: &str,
        label: String,
        head: &[String],
        cells: Vec<Cell>,
    ) -> Row {
        let cells = head.iter().cloned().zip(cells.into_iter().map(Given::Text)).collect();
        Row { table: table.to_owned(), label, cells }
    }
}

impl Given {
    /// None if nothing is said about the column.
    pub(super) fn value(&self, column: &Column) -> Result<Option<Value<'static>>, String> {
        match self {
            Given::Json(raw) => value(column, raw).map(Some).map_err(|error| error.to_string()),
            Given::Text(None) if column.nullable => Ok(Some(Value::Null)),
            Given::Text(None) => Ok(None),
            Given::Text(Some(text)) if text.contains('\0') => {
                Err(format!("{}: NUL is not allowed", column.name))
            }
            Given::Text(Some(text)) => {
                let kind = column.data_type;
                let wrong = || format!("{}: the value is no {}", column.name, kind.name());
                values::literal(kind, text).map(Some).ok_or_else(wrong)
            }
        }
    }
}
