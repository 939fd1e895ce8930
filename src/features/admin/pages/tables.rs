//! The custom tables of a project and their rows. Tables are made and changed by the operations of the API.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::features::admin::api::{self, Request};
use crate::features::admin::fields::{self, check, choice, confirmed, does, lines, required, text};
use crate::features::admin::layout::{self, csrf, or_dash};
use crate::features::admin::pages::content::{items, paging};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::tables::model::{Column, DataType, RowAccess, Table};
use crate::features::tables::store::catalogue;
use crate::http::reply::Response;

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let tables = visit.app.db.read(move |c| catalogue::list(c, project)).await?;
    let accesses: Vec<_> = RowAccess::NAMES.iter().map(|name| (*name, *name)).collect();
    let content = html! {
        @if tables.is_empty() { p { "This project has no tables of its own." } }
        ul { @for table in &tables {
            li { a href={ "/admin/p/" (project) "/tables/" (table.name) } { (table.name) } }
        } }
        section aria-labelledby="new" {
            h2 #new { "New table" }
            form.stack method="post" action={ "/admin/p/" (project) "/tables" } {
                (csrf(&visit))
                (required("Name", "tableName", None))
                (lines(&format!("Columns, one on each line: name type [null] [index]. Types: {}", DataType::NAMES.join(", ")), "columns", 5, ""))
                (choice("Who may read and write rows", "access", &accesses, RowAccess::Open.name()))
                (check("With createdAt and updatedAt", "timestamps", true))
                (check("Deleted rows can be restored", "paranoid", false))
                button { "Create table" }
            }
        }
    };
    Ok(layout::page(&visit, "Tables", &content))
}

/// A line such as `price decimal null index`.
fn column(line: &str) -> Result<Value> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(kind)) = (words.next(), words.next()) else {
        return Err(INVALID.because(format!("`{line}`: write a name and a type.")));
    };
    let flags: Vec<&str> = words.collect();
    if let Some(unknown) = flags.iter().find(|flag| !["null", "index"].contains(flag)) {
        return Err(INVALID.because(format!("`{line}`: there is no `{unknown}`.")));
    }
    Ok(json!({
        "columnName": name,
        "dataType": kind,
        "nullable": flags.contains(&"null"),
        "indexed": flags.contains(&"index"),
    }))
}

pub(super) async fn create(visit: Visit) -> Result<Response> {
    let name = visit.required("tableName")?;
    let columns = fields::of_lines(&visit, "columns");
    let columns: Vec<Value> = columns.iter().map(|line| column(line)).collect::<Result<_>>()?;
    let body = json!({
        "tableName": name,
        "columns": columns,
        "timestamps": visit.field("timestamps").is_some(),
        "paranoid": visit.field("paranoid").is_some(),
        "access": visit.required("access")?,
    });
    api::call(&visit, "Create Table", Request::default().body(body)).await?;
    layout::see_other(&format!("/admin/p/{}/tables/{name}", visit.project()?.id))
}

pub(super) async fn rows(visit: Visit) -> Result<Response> {
    let (project, name) = (visit.project()?.id, visit.param("tableName").to_owned());
    let found = api::call(
        &visit,
        "Fetch Rows",
        Request {
            params: json!({ "tableName": name }),
            query: json!({ "page": visit.query("page").unwrap_or("1"), "limit": "50" }),
            body: Value::Null,
        },
    )
    .await?;
    let table = visit.app.db.read({
        let name = name.clone();
        move |c| Ok::<_, Error>(catalogue::list(c, project)?.into_iter().find(|t| t.name == name))
    });
    let table = table.await?.ok_or(NOT_FOUND)?;
    let rows = items(&found["data"]);
    let content = html! {
        div.scroll tabindex="0" role="region" aria-label="Rows" { table {
            thead { tr { @for column in &table.columns { th { (column.name) } } } }
            tbody { @for row in rows { tr { @for column in &table.columns { td { (cell(&row[column.name.as_str()])) } } } } }
        } }
        (paging(&visit, &found["pagination"]))
        (definition(&visit, &format!("/admin/p/{project}/tables/{name}"), &table))
    };
    Ok(layout::page(&visit, &name, &content))
}

fn definition(visit: &Visit, here: &str, table: &Table) -> Markup {
    let is_own = |column: &Column| column.position.is_some();
    html! {
        section aria-labelledby="columns" {
            h2 #columns { "Columns" }
            p { "Rows are " (table.access.name()) "." }
            table {
                thead { tr { th { "Name" } th { "Type" } th { "May be null" } th { "Default" } th { span.hidden { "Actions" } } } }
                tbody { @for column in &table.columns { tr {
                    td { (column.name) } td { (column.data_type.name()) }
                    td { @if column.nullable { "yes" } @else { "no" } } td { (or_dash(column.default_value.as_deref())) }
                    td { @if is_own(column) { details { summary { "Drop" } form.stack method="post" action=(here) {
                        (csrf(visit)) (does("drop-column")) input type="hidden" name="column" value=(column.name);
                        (required(&format!("Type {} to confirm", column.name), "confirm", None)) button.danger { "Drop column" }
                    } } } }
                } } }
            }
            form.stack method="post" action=(here) {
                (csrf(visit)) (does("add-column"))
                (required("New column: name type [null] [index]", "column", None))
                (text("Default value", "default", None))
                button { "Add column" }
            }
        }
        section aria-labelledby="drop" {
            h2 #drop { "Delete this table" }
            form.stack method="post" action=(here) {
                (csrf(visit)) (does("drop"))
                (required(&format!("Type {} to confirm: all rows go", table.name), "confirm", None))
                button.danger { "Delete table" }
            }
        }
    }
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let (project, name) = (visit.project()?.id, visit.param("tableName"));
    match visit.required("do")? {
        "add-column" => {
            let mut body = column(visit.required("column")?)?;
            if let Some(value) = visit.field("default") {
                body["defaultValue"] = value.into();
            }
            let request = Request::params(json!({ "tableName": name })).body(body);
            api::call(&visit, "Add Column", request).await?;
        }
        "drop-column" => {
            let column = visit.required("column")?;
            confirmed(&visit, column)?;
            let params = json!({ "tableName": name, "columnName": column });
            api::call(&visit, "Drop Column", Request::params(params)).await?;
        }
        "drop" => {
            confirmed(&visit, name)?;
            let params = json!({ "tableName": name });
            api::call(&visit, "Drop Table", Request::params(params)).await?;
            return layout::see_other(&format!("/admin/p/{project}/tables"));
        }
        _ => return Err(INVALID.into()),
    }
    layout::see_other(&format!("/admin/p/{project}/tables/{name}"))
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
