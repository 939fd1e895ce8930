//! What the documentation calls fast about custom tables is found by an index: the lists by their times,
//! and what is filtered or sorted by an indexed column or by a reference.

use std::time::Duration;

use db::Engine;
use serde_json::{Value, json};

use crate::feed_plans::{run, scans, sorts};
use crate::relation_plans::{Seen, explained};
use crate::support::{TestApp, on_both_engines};
use crate::table_lists::filters;
use crate::tables::insert;

on_both_engines![lists_by_times_indexed_columns_and_references_are_found_by_an_index];

async fn lists_by_times_indexed_columns_and_references_are_found_by_an_index(app: TestApp) {
    if app.is_distributed() {
        // The plan of the coordinator says which worker is asked, and not how that finds the rows.
        return;
    }
    let app = app.own_server().await;
    let key = app.service();
    key.post("/db/tables", json!({ "tableName": "owners" })).await.expect(201);
    key.post(
        "/db/tables/owners/columns",
        json!({ "columnName": "a", "dataType": "text", "nullable": true }),
    )
    .await
    .expect(201);
    let mut owners = Vec::new();
    for _ in 0..40 {
        owners.push(insert(&key, "owners", json!({ "a": "x" })).await["id"].clone());
    }
    let mut statements = Seen::new();
    for (table, paranoid) in [("plain", false), ("paranoid", true)] {
        let columns = json!([
            { "columnName": "kind", "dataType": "text", "nullable": true, "indexed": true },
            { "columnName": "size", "dataType": "integer", "nullable": false, "indexed": true },
            { "columnName": "price", "dataType": "decimal", "nullable": true, "indexed": true },
            { "columnName": "ownerId", "dataType": "uuid", "nullable": true, "references": { "table": "owners" } },
        ]);
        let body = json!({ "tableName": table, "columns": columns, "paranoid": paranoid });
        key.post("/db/tables", body).await.expect(201);
        for batch in 0..40_i64 {
            let row = |number: i64| {
                let number = batch * 100 + number;
                let owner = &owners[usize::try_from(number % 40).unwrap()];
                json!({ "kind": format!("k{}", number % 50), "size": number, "price": number, "ownerId": owner })
            };
            let rows: Vec<Value> = (0..100).map(row).collect();
            key.post(&format!("/db/{table}/bulk"), json!({ "rows": rows })).await.expect(201);
            app.advance(Duration::from_millis(1));
        }
        let clause = |column: &str, value: Value| {
            filters(json!([{ "column": column, "operator": "eq", "value": value }]))
        };
        let mut queries = vec![String::new(), "sortDir=asc".to_owned()];
        for (column, direction) in [
            ("updatedAt", "asc"),
            ("updatedAt", "desc"),
            ("size", "asc"),
            ("size", "desc"),
            ("kind", "asc"),
            ("price", "desc"),
        ] {
            queries.push(format!("sortBy={column}&sortDir={direction}"));
        }
        queries.push(clause("kind", json!("k7")));
        queries.push(clause("size", json!(7)));
        queries.push(clause("price", json!("7.0")));
        queries.push(clause("ownerId", owners[0].clone()));
        queries.push(format!("page=2&{}", clause("ownerId", owners[0].clone())));
        run(&app, "{analyze}".to_owned()).await;
        for query in queries {
            let address = format!("/db/{table}?{query}");
            let seen = app.statements.during(key.get(&address)).await;
            // All rows are counted by going over all of them.
            let counts_all = !query.contains("filters");
            let seen = seen.into_iter().filter(|(name, _)| {
                *name == "tables::list::page" || (*name == "tables::list::count" && !counts_all)
            });
            statements.extend(seen.map(|seen| (seen, address.clone())));
        }
    }
    assert_eq!(statements.len(), 2 * (12 + 4));
    let engine = app.engine();
    for (name, text, address, plan) in explained(&app, statements).await {
        // The few of one kind may well be sorted.
        let few = engine == Engine::Postgres && address.contains("filters");
        let wrong = scans(&plan) || (sorts(engine, &plan) && !few);
        assert!(!wrong, "{address}: {name} {text}\n{}", plan.join("\n"));
    }
}
