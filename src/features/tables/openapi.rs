//! A project's tables in its OpenAPI document: the operations over rows, once more for each table, with
//! its columns in place of any columns.

use serde_json::{Map, Value, json};

use crate::auth::caller::OptionalViewer;
use crate::features::tables::model::{Column, DataType, Table};
use crate::features::tables::work;
use crate::http::version::Version;
use crate::ids::TableId;

/// Adds the tables whose rows the viewer may see.
pub fn describe(document: &mut Value, tables: &[Table], viewer: OptionalViewer) {
    let shown: Vec<&Table> =
        tables.iter().filter(|table| work::admit(table.access, viewer).is_ok()).collect();
    let is_shown = |id| shown.iter().any(|table| table.id == id);
    for table in &shown {
        let (row, new, changes) =
            (component(table, "Row"), component(table, "New"), component(table, "Changes"));
        let schemas = &mut document["components"]["schemas"];
        schemas[row.as_str()] = row_schema(table, &is_shown);
        schemas[new.as_str()] = written_schema(table, true, &is_shown);
        schemas[changes.as_str()] = written_schema(table, false, &is_shown);
        for version in Version::ALL.into_iter().filter(|version| *version >= Version::V7) {
            let generic = format!("/{}/{{projectId}}/db/{{tableName}}", version.segment());
            for ending in ["", "/bulk", "/{rowId}", "/{rowId}/restore"] {
                if ending == "/{rowId}/restore" && !table.paranoid {
                    continue;
                }
                let operations = document["paths"][format!("{generic}{ending}")].clone();
                let path = generic.replace("{tableName}", &table.name) + ending;
                document["paths"][path] = of_table(operations, table, ending);
            }
        }
    }
}

fn component(table: &Table, what: &str) -> String {
    format!("custom_{}_{what}", table.name)
}

/// The operations at one ending of the table's path.
fn of_table(mut operations: Value, table: &Table, ending: &str) -> Value {
    let reference =
        |what: &str| json!({ "$ref": format!("#/components/schemas/{}", component(table, what)) });
    for (method, operation) in operations.as_object_mut().into_iter().flatten() {
        if let Some(parameters) = operation["parameters"].as_array_mut() {
            parameters.retain(|parameter| parameter["name"] != "tableName");
        }
        for key in ["operationId", "summary"] {
            let text = operation[key].as_str().unwrap_or_default();
            let joint = if key == "summary" { ": " } else { "-" };
            operation[key] = format!("{text}{joint}{}", table.name).into();
        }
        let (reply, body) = match (method.as_str(), ending) {
            ("delete", _) => continue,
            ("post", "/bulk") => {
                (many("rows", reference("Row")), Some(many("rows", reference("New"))))
            }
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
    operations
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

/// Every column is always there.
fn row_schema(table: &Table, is_shown: &dyn Fn(TableId) -> bool) -> Value {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let properties: Map<String, Value> = table
        .columns
        .iter()
        .map(|column| (column.name.clone(), column_schema(column, false, is_shown)))
        .collect();
    json!({ "type": "object", "required": names, "properties": properties, "additionalProperties": false })
}

/// What may be written: of a new row what has no default must be.
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
