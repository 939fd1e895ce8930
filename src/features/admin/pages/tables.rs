//! The custom tables of a project and their rows.

use maud::html;
use serde_json::{Value, json};

use crate::error::Result;
use crate::features::admin::api::{self, Request};
use crate::features::admin::layout;
use crate::features::admin::pages::content::{items, paging};
use crate::features::admin::visit::Visit;
use crate::features::tables::store::catalogue;
use crate::http::reply::Response;

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let tables = visit.app.db.read(move |c| catalogue::list(c, project)).await?;
    let content = html! {
        @if tables.is_empty() { p { "This project has no tables of its own." } }
        ul { @for table in &tables {
            li { a href={ "/admin/p/" (project) "/tables/" (table.name) } { (table.name) } }
        } }
    };
    Ok(layout::page(&visit, "Tables", &content))
}

pub(super) async fn rows(visit: Visit) -> Result<Response> {
    let name = visit.param("tableName").to_owned();
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
    let rows = items(&found["data"]);
    let columns: Vec<&String> =
        rows.first().and_then(Value::as_object).into_iter().flat_map(|row| row.keys()).collect();
    let content = html! {
        div.scroll tabindex="0" role="region" aria-label="Rows" { table {
            thead { tr { @for column in &columns { th { (column) } } } }
            tbody { @for row in rows { tr { @for column in &columns { td { (cell(&row[column.as_str()])) } } } } }
        } }
        (paging(&visit, &found["pagination"]))
    };
    Ok(layout::page(&visit, &name, &content))
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
