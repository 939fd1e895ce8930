//! A project's tables in its OpenAPI document: the row operations repeated for each table, with its own
//! columns.

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::features::tables::handle::{self, Audience};
use crate::features::tables::model::{Column, DataType, Table};
use crate::http::openapi::{Additions, Document, Operations, text};
use crate::http::version::Version;
use crate::values::ids::TableId;

/// The text of the document with the tables whose rows the audience may see.
pub fn described(document: &Document, tables: &[Table], audience: Audience) -> Result<Vec<u8>> {
    let shown: Vec<&Table> =
        tables.iter().filter(|table| handle::admit(table.access, audience).is_ok()).collect();
    let is_shown = |id| shown.iter().any(|table| table.id == id);
    let mut additions = Additions::default();
    for table in &shown {
        let schemas = [
            ("Row", row_schema(table, &is_shown)),
            ("New", written_schema(table, true, &is_shown)),
            ("Changes", written_schema(table, false, &is_shown)),
        ];
        let schemas = schemas.map(|(what, schema)| (component(table, what), text(&schema)));
        additions.schemas.extend(schemas);
        for version in Version::ALL.into_iter().filter(|version| *version >= Version::V7) {
            let generic = format!("/{}/{{projectId}}/db/{{tableName}}", version.segment());
            for ending in ["", "/bulk", "/{rowId}", "/{rowId}/restore"] {
                if ending == "/{rowId}/restore" && !table.paranoid {
                    continue;
                }
                let path = generic.replace("{tableName}", &table.name) + ending;
                let operations = of_table(document, &format!("{generic}{ending}"), table, ending);
                additions.paths.insert(path, operations);
            }
        }
    }
    document.to_json(&additions)
}

fn component(table: &Table, what: &str) -> String {
    format!("custom_{}_{what}", table.name)
}

/// The operations below one suffix of the table's path, made from those for any table.
fn of_table(document: &Document, generic: &str, table: &Table, ending: &str) -> Operations {
    let operations = document.operations(generic).map(|(method, mut operation)| {
        narrow(document, &mut operation, method, table, ending);
        (method.to_owned(), text(&operation))
    });
    operations.collect()
}

/// Turns an operation for any table into one for this table.
fn narrow(document: &Document, operation: &mut Value, method: &str, table: &Table, ending: &str) {
    let reference =
        |what: &str| json!({ "$ref": format!("#/components/schemas/{}", component(table, what)) });
    if let Some(parameters) = operation["parameters"].as_array_mut() {
        parameters.retain(|one| document.parameter_name(one) != Some("tableName"));
    }
    for key in ["operationId", "summary"] {
        let name = operation[key].as_str().unwrap_or_default();
        let joint = if key == "summary" { ": " } else { "-" };
        operation[key] = format!("{name}{joint}{}", table.name).into();
    }
    let (reply, body) = match (method, ending) {
        ("delete", _) => return,
        ("post", "/bulk") => (many("rows", reference("Row")), Some(many("rows", reference("New")))),
        ("post", "") => (one(reference("Row")), Some(reference("New"))),
        ("patch", _) => (one(reference("Row")), Some(reference("Changes"))),
        ("get", "") => {
            let mut reply = many("data", reference("Row"));
            reply["required"] = json!(["data", "pagination"]);
            reply["properties"]["pagination"] =
                json!({ "$ref": "#/components/schemas/Pagination" });
            (reply, None)
        }
        _ => (one(reference("Row")), None),
    };
    for status in ["200", "201"] {
        if operation["responses"].get(status).is_some() {
            let content = json!({ "application/json": { "schema": reply } });
            operation["responses"][status]["content"] = content;
        }
    }
    if let Some(body) = body {
        operation["requestBody"]["content"] = json!({ "application/json": { "schema": body } });
    }
}

fn one(row: Value) -> Value {
    json!({ "type": "object", "required": ["row"], "properties": { "row": row } })
}

fn many(key: &str, row: Value) -> Value {
    json!({
        "type": "object",
        "required": [key],
        "properties": { key: { "type": "array", "items": row } },
    })
}

/// Every column is always present.
fn row_schema(table: &Table, is_shown: &dyn Fn(TableId) -> bool) -> Value {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let properties: Map<String, Value> = table
        .columns
        .iter()
        .map(|column| (column.name.clone(), column_schema(column, false, is_shown)))
        .collect();
    json!({ "type": "object", "required": names, "properties": properties, "additionalProperties": false })
}

/// The writable columns: those without a default are required for a new row.
fn written_schema(table: &Table, is_new: bool, is_shown: &dyn Fn(TableId) -> bool) -> Value {
    let needed = |column: &&Column| is_new && !column.nullable && column.default_value.is_none();
    let required: Vec<&str> =
        table.own_columns().filter(needed).map(|column| column.name.as_str()).collect();
    let properties: Map<String, Value> = table
        .own_columns()
        .map(|column| (column.name.clone(), column_schema(column, true, is_shown)))
        .collect();
    json!({ "type": "object", "minProperties": 1, "required": required, "properties": properties })
}

fn column_schema(column: &Column, is_written: bool, is_shown: &dyn Fn(TableId) -> bool) -> Value {
    let (kinds, format): (&[&str], Option<&str>) = match column.data_type {
        DataType::Text => (&["string"], None),
        DataType::Integer => (&["integer"], Some("int64")),
        DataType::Float => (&["number"], Some("double")),
        DataType::Decimal if is_written => (&["string", "number"], None),
        DataType::Decimal => (&["string"], Some("decimal")),
        DataType::Boolean => (&["boolean"], None),
        DataType::Date => (&["string"], Some("date")),
        DataType::Timestamp => (&["string"], Some("date-time")),
        DataType::Uuid => (&["string"], Some("uuid")),
        DataType::Json => (&["object", "array", "string", "number", "boolean"], None),
    };
    let mut kinds = kinds.to_vec();
    if column.nullable {
        kinds.push("null");
    }
    let mut schema =
        json!({ "type": if kinds.len() == 1 { json!(kinds[0]) } else { json!(kinds) } });
    if let Some(format) = format {
        schema["format"] = format.into();
    }
    if let Some(reference) = column.references.as_ref().filter(|one| is_shown(one.table)) {
        schema["description"] = format!("The id of a row of {}.", reference.name).into();
    }
    schema
}
