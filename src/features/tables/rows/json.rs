//! Rows as JSON: request bodies checked against the columns of the table, and stored rows with their keys in
//! order.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use db::{Tx, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::error::{Error, Refusal, Result};
use crate::features::tables::handle::TableHandle;
use crate::features::tables::model::{
    CREATED_AT, Column, DELETED_AT, DataType, ID, MANAGED, Table, UPDATED_AT,
};
use crate::features::tables::store::rows;
use crate::features::tables::values;
use crate::features::tables::{
    FOREIGN_KEY_VIOLATION, INVALID_BODY, MANAGED_COLUMN, NO_WRITABLE_COLUMNS,
};
use crate::values::time::Timestamp;

/// Maximum bytes of a row, so that a page of them fits into memory.
pub const LARGEST: usize = 4 * 1024 * 1024;

/// The keys and raw values of a body: at least one. Of two equal keys the last one counts.
#[derive(Debug)]
pub struct Record {
    said: HashMap<String, Box<RawValue>>,
    /// The first managed column among the keys.
    managed: Option<&'static str>,
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Record;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of columns")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Record, M::Error> {
                let mut record = Record { said: HashMap::new(), managed: None };
                while let Some((name, value)) = map.next_entry::<String, _>()? {
                    let managed = || MANAGED.into_iter().find(|managed| *managed == name);
                    record.managed = record.managed.or_else(managed);
                    record.said.insert(name, value);
                }
                if record.said.is_empty() {
                    return Err(M::Error::custom("a row needs at least one column"));
                }
                Ok(record)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl JsonSchema for Record {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RowValues".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "minProperties": 1, "additionalProperties": true })
    }
}

impl Record {
    /// The named columns with their last value. Unknown names are dropped.
    pub fn writable<'a>(&'a self, table: &'a Table) -> Result<Vec<(&'a Column, &'a RawValue)>> {
        if let Some(name) = self.managed {
            return Err(MANAGED_COLUMN.with("column", name));
        }
        let said = |column: &Column| self.said.get(&column.name).map(|value| &**value);
        let named: Vec<_> =
            table.own_columns().filter_map(|column| Some((column, said(column)?))).collect();
        if named.is_empty() { Err(NO_WRITABLE_COLUMNS.into()) } else { Ok(named) }
    }
}

/// A value for a column.
pub fn value(column: &Column, given: &RawValue) -> Result<Value<'static>> {
    if values::is_null(given) {
        return if column.nullable {
            Ok(Value::Null)
        } else {
            Err(refused(column, "must not be null"))
        };
    }
    let kind = column.data_type.name();
    values::read(column.data_type, given)
        .ok_or_else(|| refused(column, &format!("the value is no {kind}")))
}

fn refused(column: &Column, why: &str) -> Error {
    let mut extra = serde_json::Map::new();
    extra.insert("column".to_owned(), column.name.as_str().into());
    let message = Some(format!("{}: {why}", column.name));
    Error::Refused(Box::new(Refusal { fault: INVALID_BODY, message, extra }))
}

/// A whole new row: the given value, else the default, else null.
pub fn new_row(
    table: &Table,
    said: &[(&Column, &RawValue)],
    id: Uuid,
    now: Timestamp,
) -> Result<Vec<Value<'static>>> {
    let filled = table.columns.iter().map(|column| match column.name.as_str() {
        ID => Ok(id.into()),
        CREATED_AT | UPDATED_AT => Ok(now.into()),
        DELETED_AT => Ok(Value::Null),
        _ => match said.iter().find(|(named, _)| named.position == column.position) {
            Some((_, given)) => value(column, given),
            None => match column.default() {
                Some(default) => Ok(default),
                None if column.nullable => Ok(Value::Null),
                None => Err(refused(column, "is required")),
            },
        },
    });
    let cells = filled.collect::<Result<Vec<_>>>()?;
    check_size(&cells)?;
    Ok(cells)
}

/// Refuses a row that is too large to be shown with others.
pub fn check_size(cells: &[Value<'static>]) -> Result<()> {
    if Row::size(cells) > LARGEST {
        return Err(INVALID_BODY.because(format!("a row has at most {LARGEST} bytes")));
    }
    Ok(())
}

/// Refuses a reference to a missing row, and names the column. The referenced row is locked until the
/// transaction ends.
pub fn check_references(
    tx: &Tx<'_>,
    desk: &TableHandle,
    values: &[(&Column, &Value<'static>)],
) -> Result<()> {
    for (column, value) in values {
        let Some(reference) = &column.references else { continue };
        if **value == Value::Null {
            continue;
        }
        if !rows::lock_referred(tx, desk, &reference.name, (*value).clone())? {
            return Err(FOREIGN_KEY_VIOLATION.with("column", column.name.as_str()));
        }
    }
    Ok(())
}

/// A row as it is shown.
#[derive(Debug)]
pub struct Row {
    pub table: Arc<Table>,
    /// One for each column of the table.
    pub cells: Vec<Value<'static>>,
}

impl Row {
    /// A row as it was read. If it does not fit the columns, the table has just changed.
    pub fn read(table: &Arc<Table>, cells: Vec<Value<'static>>) -> Result<Row> {
        let fits = |(column, cell): (&Column, &Value<'static>)| fits(column.data_type, cell);
        if table.columns.len() == cells.len() && table.columns.iter().zip(&cells).all(fits) {
            return Ok(Row { table: Arc::clone(table), cells });
        }
        Err(db::Error::Row {
            statement: "tables::rows",
            column: table.name.clone(),
            expected: "the columns of the catalogue",
            found: "others".to_owned(),
        }
        .into())
    }

    /// Its cells as plain texts, as [`values::literal`] reads them; none for null.
    pub fn texts(&self) -> serde_json::Result<Vec<Option<String>>> {
        let text = |(column, value): (&Column, &Value<'static>)| {
            let data_type = column.data_type;
            let shown = match value {
                Value::Null => return Ok(None),
                value => serde_json::to_string(&Cell { data_type, value })?,
            };
            let is_quoted = data_type != DataType::Json && shown.starts_with('"');
            Ok(Some(if is_quoted { serde_json::from_str(&shown)? } else { shown }))
        };
        self.table.columns.iter().zip(&self.cells).map(text).collect()
    }

    /// Approximate size in bytes.
    pub fn size(cells: &[Value<'static>]) -> usize {
        let size = |cell: &Value<'static>| match cell {
            Value::Text(text) | Value::Json(text) => text.len(),
            _ => 32,
        };
        cells.iter().map(size).sum()
    }
}

fn fits(data_type: DataType, cell: &Value<'static>) -> bool {
    match (data_type, cell) {
        (_, Value::Null) => true,
        (DataType::Json, Value::Text(text) | Value::Json(text)) => {
            serde_json::from_str::<&RawValue>(text).is_ok()
        }
        (DataType::Text | DataType::Decimal, Value::Text(_)) => true,
        (DataType::Integer | DataType::Date | DataType::Timestamp, Value::Int(_)) => true,
        (DataType::Boolean, Value::Int(_) | Value::Bool(_)) => true,
        (DataType::Float, Value::Real(_)) => true,
        (DataType::Uuid, Value::Uuid(_)) => true,
        (DataType::Uuid, Value::Blob(bytes)) => bytes.len() == 16,
        _ => false,
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (column, cell) in self.table.columns.iter().zip(&self.cells) {
            map.serialize_entry(&column.name, &Cell { data_type: column.data_type, value: cell })?;
        }
        map.end()
    }
}

struct Cell<'a> {
    data_type: DataType,
    value: &'a Value<'static>,
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.data_type, self.value) {
            (_, Value::Null) => serializer.serialize_unit(),
            (DataType::Json, Value::Text(text) | Value::Json(text)) => {
                serde_json::from_str::<&RawValue>(text)
                    .map_err(S::Error::custom)?
                    .serialize(serializer)
            }
            (DataType::Date, Value::Int(days)) => serializer.serialize_str(&values::date(*days)),
            (DataType::Timestamp, Value::Int(millis)) => {
                Timestamp::from_millis(*millis).serialize(serializer)
            }
            (DataType::Boolean, Value::Int(number)) => serializer.serialize_bool(*number != 0),
            (DataType::Uuid, Value::Blob(bytes)) => {
                Uuid::from_slice(bytes).map_err(S::Error::custom)?.serialize(serializer)
            }
            (_, Value::Uuid(id)) => id.serialize(serializer),
            (_, Value::Int(number)) => serializer.serialize_i64(*number),
            (_, Value::Real(number)) => serializer.serialize_f64(*number),
            (_, Value::Bool(value)) => serializer.serialize_bool(*value),
            (_, Value::Text(text) | Value::Json(text)) => serializer.serialize_str(text),
            (_, Value::Blob(_) | Value::Uuids(_) | Value::Texts(_) | Value::Ints(_)) => {
                Err(S::Error::custom("a value of no data type"))
            }
        }
    }
}

impl JsonSchema for Row {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Row".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["id"],
            "properties": { "id": { "type": "string", "format": "uuid" } },
            "additionalProperties": true,
        })
    }
}

/// A reply about one row.
#[derive(Debug, serde::Serialize, JsonSchema)]
pub struct OneRow {
    pub row: Row,
}
