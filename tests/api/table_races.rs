//! Tables that change while their rows are written and read: no failure, and no partial row.

use serde_json::{Value, json};

use crate::support::{TestApp, all_at_once, keys, on_both_engines};
use crate::tables::{column, create, insert, values};

on_both_engines![
    columns_come_and_go_beside_writers_and_readers,
    a_table_comes_and_goes_beside_writers_and_readers,
    one_of_many_makes_a_table,
    a_row_is_deleted_once,
    many_write_one_table_and_one_row_at_once,
    a_table_goes_with_rows_of_its_own_chain_and_of_others,
    a_default_reaches_every_row_whenever_it_came,
];

/// What may be said while columns or tables come and go.
fn is_fine(status: u16, code: Option<&str>) -> bool {
    match status {
        200 | 201 => true,
        400 => {
            matches!(code, Some("database/no-writable-columns" | "database/invalid-sort-column"))
        }
        404 => matches!(code, Some("database/table-not-found" | "database/row-not-found")),
        _ => false,
    }
}

async fn columns_come_and_go_beside_writers_and_readers(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("kept", "text"), ("a", "integer")], json!({})).await;
    let made = insert(&key, "t", json!({ "kept": "x", "a": 1 })).await;
    let path = format!("/db/t/{}", made["id"].as_str().unwrap());
    for (from, to) in [("integer", "text"), ("text", "json"), ("json", "integer")] {
        let value = if from == "integer" { json!(1) } else { json!("1") };
        let work = (0..32).map(|number| {
            let (key, value, path) = (key.clone(), value.clone(), path.clone());
            async move {
                match number % 8 {
                    0 if number == 0 => {
                        key.delete("/db/tables/t/columns/a").await.expect(200);
                        key.post("/db/tables/t/columns", column("a", to)).await
                    }
                    1 => key.get("/db/t?sortBy=a").await,
                    2 => key.get(&path).await,
                    3 => key.patch(&path, json!({ "a": value, "kept": "y" })).await,
                    4 => {
                        key.post("/db/t/bulk", json!({ "rows": [{ "a": value }, { "kept": "z" }] }))
                            .await
                    }
                    _ => key.post("/db/t", json!({ "a": value, "kept": "z" })).await,
                }
            }
        });
        for reply in all_at_once(work).await {
            let body = reply.json();
            let fits = is_fine(reply.status, body["code"].as_str())
                // Written for the old type, read with the new one.
                || (reply.status == 400 && body["column"] == "a");
            assert!(fits, "{}", reply.text());
            if let Some(row) = body.get("row") {
                let with =
                    ["a", "createdAt", "id", "kept", "updatedAt"].map(str::to_owned).to_vec();
                let without = ["createdAt", "id", "kept", "updatedAt"].map(str::to_owned).to_vec();
                assert!([with, without].contains(&keys(row)), "{row}");
            }
        }
    }
    let all = key.get("/db/t?limit=200").await.expect(200);
    for row in all["data"].as_array().unwrap() {
        assert_eq!(keys(row).len(), 5, "{row}");
        assert!(row["a"].is_null() || row["a"].is_i64(), "{row}");
    }
}

async fn a_table_comes_and_goes_beside_writers_and_readers(app: TestApp) {
    let key = app.service();
    for round in 0..3 {
        create(&key, "t", &[("a", "integer")], json!({})).await;
        let work = (0..24).map(|number| {
            let key = key.clone();
            async move {
                match number {
                    0 => key.delete("/db/tables/t").await,
                    _ if number % 3 == 0 => key.get("/db/t").await,
                    _ => key.post("/db/t", json!({ "a": number })).await,
                }
            }
        });
        for reply in all_at_once(work).await {
            let code = reply.json()["code"].as_str().map(ToOwned::to_owned);
            assert!(is_fine(reply.status, code.as_deref()), "{round}: {}", reply.text());
        }
        key.get("/db/t").await.refused(404, "database/table-not-found");
    }
}

async fn one_of_many_makes_a_table(app: TestApp) {
    let key = app.service();
    let replies = all_at_once((0..16).map(|_| {
        let key = key.clone();
        async move { key.post("/db/tables", json!({ "tableName": "t" })).await }
    }))
    .await;
    let mut outcomes: Vec<String> = replies.iter().map(|reply| reply.outcome()).collect();
    outcomes.sort();
    assert_eq!(outcomes[0], "201");
    assert_eq!(outcomes[1..], vec!["409 database/table-already-exists"; 15]);
}

async fn a_row_is_deleted_once(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer")], json!({ "paranoid": true })).await;
    let made = insert(&key, "t", json!({ "a": 1 })).await;
    let path = format!("/db/t/{}", made["id"].as_str().unwrap());
    let replies = all_at_once((0..16).map(|_| key.delete(&path))).await;
    let deleted = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(deleted, 1);
    let restore = format!("{path}/restore");
    let replies = all_at_once((0..16).map(|_| key.post(&restore, json!({})))).await;
    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 1);
}

async fn a_default_reaches_every_row_whenever_it_came(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer")], json!({})).await;
    let added =
        json!({ "columnName": "b", "dataType": "text", "nullable": true, "defaultValue": "d" });
    let work = (0..40).map(|number| {
        let (key, added) = (key.clone(), added.clone());
        async move {
            match number {
                20 => key.post("/db/tables/t/columns", added).await,
                _ => key.post("/db/t", json!({ "a": number })).await,
            }
        }
    });
    for reply in all_at_once(work).await {
        reply.expect(201);
    }
    assert_eq!(values(&key, "t", "limit=200", "b").await, vec![Value::from("d"); 39]);
}

async fn many_write_one_table_and_one_row_at_once(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer")], json!({})).await;
    let replies = all_at_once((0..64).map(|number| {
        let key = key.clone();
        async move { key.post("/db/t", json!({ "a": number })).await }
    }))
    .await;
    let ids: std::collections::BTreeSet<String> =
        replies.iter().map(|reply| reply.expect(201)["row"]["id"].to_string()).collect();
    assert_eq!(ids.len(), 64);
    let page = key.get("/db/t?limit=200").await.expect(200);
    assert_eq!(page["pagination"]["totalItems"], 64);
    let path = format!("/db/t/{}", page["data"][0]["id"].as_str().unwrap());
    let replies = all_at_once((0..64).map(|number| {
        let (key, path) = (key.clone(), path.clone());
        async move { key.patch(&path, json!({ "a": 1000 + number })).await }
    }))
    .await;
    for (number, reply) in replies.iter().enumerate() {
        assert_eq!(reply.expect(200)["row"]["a"], 1000 + number);
    }
    assert!(
        values(&key, "t", "sortBy=a&sortDir=desc&limit=1", "a").await[0].as_i64() >= Some(1000)
    );
}

async fn a_table_goes_with_rows_of_its_own_chain_and_of_others(app: TestApp) {
    let key = app.service();
    let reference = |table: &str| {
        json!({ "columnName": "upId", "dataType": "uuid", "nullable": true,
            "references": { "table": table, "onDelete": "cascade" } })
    };
    for (name, up) in [("chain", "chain"), ("notes", "chain")] {
        let columns = json!([reference(up), column("no", "integer")]);
        let body = json!({ "tableName": name, "columns": columns });
        key.post("/db/tables", body).await.expect(201);
    }
    let mut last = insert(&key, "chain", json!({ "no": 0 })).await["id"].clone();
    for no in 1..1100 {
        last = insert(&key, "chain", json!({ "no": no, "upId": last })).await["id"].clone();
    }
    insert(&key, "notes", json!({ "no": 1, "upId": last })).await;
    insert(&key, "notes", json!({ "no": 2 })).await;
    key.delete("/db/tables/chain").await.expect(200);
    assert_eq!(values(&key, "notes", "", "no").await, [2]);
}
