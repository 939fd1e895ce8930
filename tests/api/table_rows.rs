//! Rows of custom tables: request bodies, values in replies, deleting and restoring, and access where a table
//! is not open.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, on_both_engines};
use crate::tables::{column, create, insert, row, values};

on_both_engines![
    values_come_back_in_the_form_of_their_type,
    digits_are_kept,
    wrong_values_name_their_column,
    keys_of_a_body_are_columns_or_nothing,
    null_and_nothing_are_two_things,
    an_update_changes_only_the_named_columns,
    a_row_is_deleted_softly_and_restored,
    a_row_is_deleted_for_good,
    a_row_stays_within_bounds,
    many_rows_at_once_or_none,
    rows_are_deleted_by_id_and_by_filter,
    a_hundred_at_a_time_are_deleted_by_filter,
    nothing_is_deleted_without_a_target,
    who_may_touch_the_rows_of_a_table,
    a_credential_changes_nothing_for_an_open_table,
    paths_name_a_table_and_a_row,
];

/// A column of each type.
pub(crate) const TYPES: [(&str, &str); 9] = [
    ("t", "text"),
    ("i", "integer"),
    ("f", "float"),
    ("n", "decimal"),
    ("b", "boolean"),
    ("d", "date"),
    ("s", "timestamp"),
    ("u", "uuid"),
    ("j", "json"),
];
const UNKNOWN: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

fn path(table: &str, row: &Value) -> String {
    format!("/db/{table}/{}", row["id"].as_str().unwrap())
}

async fn values_come_back_in_the_form_of_their_type(app: TestApp) {
    let anybody = app.anonymous();
    create(&app.service(), "t", &TYPES, json!({})).await;
    for (name, given, shown) in [
        ("t", json!("é\n\"'"), json!("é\n\"'")),
        ("t", json!(""), json!("")),
        ("t", json!(true), json!("true")),
        ("t", json!(-5), json!("-5")),
        ("i", json!(3.0), json!(3)),
        ("i", json!("+12"), json!(12)),
        ("i", json!(i64::MAX), json!(i64::MAX)),
        ("i", json!(i64::MIN), json!(i64::MIN)),
        ("f", json!(1), json!(1.0)),
        ("f", json!("-2.5e3"), json!(-2500.0)),
        ("f", json!(5e-324), json!(5e-324)),
        ("n", json!(42), json!("42")),
        ("n", json!("1.50"), json!("1.50")),
        ("n", json!("-0.00"), json!("0.00")),
        ("n", json!("12e-3"), json!("0.012")),
        ("b", json!(false), json!(false)),
        ("b", json!("TrUe"), json!(true)),
        ("d", json!("0001-01-01"), json!("0001-01-01")),
        ("d", json!("9999-12-31"), json!("9999-12-31")),
        ("d", json!("2024-03-01T00:30:00+02:00"), json!("2024-02-29")),
        ("s", json!("2024-02-29"), json!("2024-02-29T00:00:00.000Z")),
        ("s", json!("1815-12-10T08:00:00.1239Z"), json!("1815-12-10T08:00:00.123Z")),
        ("u", json!(UNKNOWN.to_uppercase()), json!(UNKNOWN)),
        (
            "j",
            json!({ "b": [1, { "c": null }], "a": "x" }),
            json!({ "a": "x", "b": [1, { "c": null }] }),
        ),
        ("j", json!("text"), json!("text")),
        ("j", json!(1.5), json!(1.5)),
        ("j", json!(false), json!(false)),
        ("j", json!([]), json!([])),
        ("t", Value::Null, Value::Null),
        ("j", Value::Null, Value::Null),
    ] {
        let made = insert(&anybody, "t", json!({ name: given })).await;
        assert_eq!(made[name], shown, "{name} {given}");
        assert_eq!(row(&anybody, "t", &made).await, made, "{name} {given}");
        let patched = anybody.patch(&path("t", &made), json!({ name: given })).await.expect(200);
        assert_eq!(patched["row"][name], shown, "{name} {given}");
    }
}

async fn post(actor: &Actor<'_>, path: &str, body: &str) -> Reply {
    actor.raw(Method::POST, &actor.address(path), "application/json", body.to_owned()).await
}

/// Numbers as they are written, which a parsed reply no longer shows.
async fn digits_are_kept(app: TestApp) {
    let anybody = app.anonymous();
    create(&app.service(), "t", &TYPES, json!({})).await;
    let (long, digits) = ("12345678901234567890.1234567890", "9".repeat(1000));
    for (name, given, shown) in [
        ("n", long, format!("\"{long}\"")),
        ("n", "1.50", "\"1.50\"".to_owned()),
        ("n", &digits, format!("\"{digits}\"")),
        ("n", "1e3", "\"1000\"".to_owned()),
        ("i", "9007199254740993", "9007199254740993".to_owned()),
        ("t", "1.50", "\"1.50\"".to_owned()),
        ("j", "[12345678901234567890123,1.50]", "[12345678901234567890123, 1.5]".to_owned()),
        ("j", r#"{"bb":1,"a":2,"a":3}"#, r#"{"a": 3, "bb": 1}"#.to_owned()),
    ] {
        let made = post(&anybody, "/db/t", &format!("{{\"{name}\":{given}}}")).await;
        let expected = format!("\"{name}\":{shown}");
        assert!(made.text().contains(&expected), "{}", made.text());
        let id = made.expect(201)["row"]["id"].as_str().unwrap().to_owned();
        let shown = anybody.get(&format!("/db/t/{id}")).await;
        assert!(shown.text().contains(&expected), "{}", shown.text());
    }
    let order = post(&anybody, "/db/t", r#"{"t":"x"}"#).await.text();
    let places: Vec<usize> =
        ["id", "t", "i", "f", "n", "b", "d", "s", "u", "j", "createdAt", "updatedAt"]
            .iter()
            .map(|name| order.find(&format!("\"{name}\":")).unwrap())
            .collect();
    assert!(places.is_sorted(), "{order}");
}

async fn wrong_values_name_their_column(app: TestApp) {
    let anybody = app.anonymous();
    create(&app.service(), "t", &TYPES, json!({})).await;
    let too_long = "1".repeat(100_000);
    let growing = format!("[{}1]", "1e999,".repeat(10_000));
    for (name, given) in [
        ("t", "{}"),
        ("t", "[1]"),
        ("i", "1.5"),
        ("i", "\"abc\""),
        ("i", "9223372036854775808"),
        ("i", "\"9223372036854775808\""),
        ("i", "1e400"),
        ("i", "true"),
        ("f", "1e400"),
        ("f", "\"NaN\""),
        ("f", "\"Infinity\""),
        ("n", &too_long),
        ("n", "1e1001"),
        ("n", "\"1,5\""),
        ("b", "1"),
        ("b", "\"yes\""),
        ("d", "\"2023-02-29\""),
        ("d", "5"),
        ("s", "\"yesterday\""),
        ("s", "1719792000"),
        ("u", "\"123\""),
        ("j", "[1e99999]"),
        ("j", &growing),
        ("t", r#""\ud800""#),
    ] {
        let refused = post(&anybody, "/db/t", &format!("{{\"{name}\":{given}}}")).await;
        assert_eq!(refused.refused(400, "database/invalid-body")["column"], name, "{given}");
    }
    assert_eq!(values(&anybody, "t", "", "id").await.len(), 0);
}

async fn keys_of_a_body_are_columns_or_nothing(app: TestApp) {
    let anybody = app.anonymous();
    create(&app.service(), "t", &[("a", "text")], json!({ "timestamps": false })).await;
    for managed in ["id", "createdAt", "updatedAt", "deletedAt"] {
        let body = json!({ "a": "x", managed: null });
        let refused = anybody.post("/db/t", body).await.refused(400, "database/managed-column");
        assert_eq!(refused["column"], managed);
    }
    let first = post(&anybody, "/db/t", r#"{"updatedAt":1,"a":"x","id":"y"}"#).await;
    assert_eq!(first.refused(400, "database/managed-column")["column"], "updatedAt");
    let made = insert(&anybody, "t", json!({ "a": "x", "b": 1, "A": 2 })).await;
    assert_eq!(crate::support::keys(&made), ["a", "id"]);
    let unknown = anybody.post("/db/t", json!({ "b": 1 })).await;
    unknown.refused(400, "database/no-writable-columns");
    for body in ["{}", "[]", "[{\"a\":\"x\"}]", "\"a\"", "null"] {
        post(&anybody, "/db/t", body).await.refused(400, "database/invalid-body");
    }
    let twice = post(&anybody, "/db/t", r#"{"a":"first","a":"last"}"#).await;
    assert_eq!(twice.expect(201)["row"]["a"], "last");
}

async fn null_and_nothing_are_two_things(app: TestApp) {
    let key = app.service();
    let columns = json!([
        { "columnName": "a", "dataType": "text", "nullable": true, "defaultValue": "d" },
        { "columnName": "b", "dataType": "text", "nullable": false },
        { "columnName": "c", "dataType": "text", "nullable": false, "defaultValue": "d" },
    ]);
    key.post("/db/tables", json!({ "tableName": "t", "columns": columns })).await.expect(201);
    let made = insert(&key, "t", json!({ "b": "x" })).await;
    assert_eq!((&made["a"], &made["c"]), (&json!("d"), &json!("d")));
    let made = insert(&key, "t", json!({ "a": null, "b": "x" })).await;
    assert_eq!(made["a"], Value::Null);
    for (body, column) in [(json!({ "a": "x" }), "b"), (json!({ "b": "x", "c": null }), "c")] {
        let refused = key.post("/db/t", body).await.refused(400, "database/invalid-body");
        assert_eq!(refused["column"], column);
    }
    let refused = key.patch(&path("t", &made), json!({ "b": null })).await;
    assert_eq!(refused.refused(400, "database/invalid-body")["column"], "b");
}

async fn an_update_changes_only_the_named_columns(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "text"), ("j", "json"), ("b", "integer")], json!({})).await;
    let made = insert(&key, "t", json!({ "a": "x", "j": { "one": 1 }, "b": 1 })).await;
    app.advance(Duration::from_secs(5));
    let changed = key.patch(&path("t", &made), json!({ "j": { "two": 2 }, "no": 1 })).await;
    let changed = &changed.expect(200)["row"];
    assert_eq!((&changed["a"], &changed["j"]), (&json!("x"), &json!({ "two": 2 })));
    assert_eq!(changed["createdAt"], made["createdAt"]);
    assert!(changed["updatedAt"].as_str() > made["updatedAt"].as_str());
    assert_eq!(row(&key, "t", &made).await, *changed);

    // What is not there comes before what is wrong with its values, and after what is wrong with its keys.
    let unknown = format!("/db/t/{UNKNOWN}");
    key.patch(&unknown, json!({ "b": "x" })).await.refused(404, "database/row-not-found");
    key.patch(&unknown, json!({ "b": 1 })).await.refused(404, "database/row-not-found");
    key.patch(&unknown, json!({ "id": 1 })).await.refused(400, "database/managed-column");
    key.patch(&unknown, json!({ "no": 1 })).await.refused(400, "database/no-writable-columns");
    key.patch(&path("t", &made), json!({})).await.refused(400, "database/invalid-body");
    let wrong = key.patch(&path("t", &made), json!({ "b": "x" })).await;
    assert_eq!(wrong.refused(400, "database/invalid-body")["column"], "b");
}

async fn a_row_is_deleted_softly_and_restored(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "text")], json!({ "paranoid": true })).await;
    let made = insert(&key, "t", json!({ "a": "x" })).await;
    assert_eq!(made["deletedAt"], Value::Null);
    app.advance(Duration::from_secs(5));
    for query in ["?force=1", "?force=TRUE", "?force=true"] {
        let soft = query != "?force=true";
        let one = insert(&key, "t", json!({ "a": "y" })).await;
        let deleted = key.delete(&format!("{}{query}", path("t", &one))).await.expect(200);
        assert_eq!(deleted, json!({ "deleted": true, "soft": soft }));
        let restored = key.post(&format!("{}/restore", path("t", &one)), json!({})).await;
        assert_eq!(restored.status, if soft { 200 } else { 404 });
    }
    let restore = format!("{}/restore", path("t", &made));
    key.post(&restore, json!({})).await.refused(404, "database/row-not-found");
    key.delete(&path("t", &made)).await.expect(200);
    key.get(&path("t", &made)).await.refused(404, "database/row-not-found");
    let query = format!("{}?includeDeleted=true", path("t", &made));
    key.get(&query).await.refused(404, "database/row-not-found");
    key.delete(&path("t", &made)).await.refused(404, "database/row-not-found");
    key.patch(&path("t", &made), json!({ "a": "z" })).await.refused(404, "database/row-not-found");
    assert!(!values(&key, "t", "", "id").await.contains(&made["id"]));
    let listed = key.get("/db/t?includeDeleted=true&sortBy=createdAt").await.expect(200);
    let shown = &listed["data"][0];
    assert_eq!((&shown["id"], &shown["updatedAt"]), (&made["id"], &shown["deletedAt"]));
    assert!(shown["deletedAt"].is_string());

    app.advance(Duration::from_secs(5));
    // Clients send no body at all.
    let address = key.address(&restore);
    let restored = key.raw(Method::POST, &address, "", "").await.expect(200)["row"].clone();
    assert_eq!(restored["deletedAt"], Value::Null);
    assert!(restored["updatedAt"].as_str() > shown["updatedAt"].as_str());
    assert_eq!(row(&key, "t", &made).await, restored);
    // By force also what is soft-deleted.
    key.delete(&path("t", &made)).await.expect(200);
    let forced = key.delete(&format!("{}?force=true", path("t", &made))).await.expect(200);
    assert_eq!(forced["soft"], false);
    key.post(&restore, json!({})).await.refused(404, "database/row-not-found");
}

async fn a_row_is_deleted_for_good(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "text")], json!({})).await;
    let made = insert(&key, "t", json!({ "a": "x" })).await;
    let restore = format!("{}/restore", path("t", &made));
    key.post(&restore, json!({})).await.refused(400, "database/not-paranoid");
    let deleted = key.delete(&path("t", &made)).await.expect(200);
    assert_eq!(deleted, json!({ "deleted": true, "soft": false }));
    key.delete(&path("t", &made)).await.refused(404, "database/row-not-found");
    assert_eq!(key.get("/db/t?includeDeleted=true").await.expect(200)["data"], json!([]));
}

async fn a_row_stays_within_bounds(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "text"), ("b", "text"), ("c", "text")], json!({})).await;
    let large = "x".repeat(1_900_000);
    let made = insert(&key, "t", json!({ "a": large })).await;
    key.patch(&path("t", &made), json!({ "b": large })).await.expect(200);
    let refused = key.patch(&path("t", &made), json!({ "c": large })).await;
    refused.refused(400, "database/invalid-body");
    assert_eq!(row(&key, "t", &made).await["c"], Value::Null);
    for _ in 0..4 {
        insert(&key, "t", json!({ "a": large })).await;
    }
    key.get("/db/t?limit=5").await.refused(400, "database/invalid-query");
    assert_eq!(values(&key, "t", "limit=2", "id").await.len(), 2);
}

async fn many_rows_at_once_or_none(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer")], json!({})).await;
    let rows = |count: i64| -> Vec<Value> { (0..count).map(|n| json!({ "a": n })).collect() };
    let made = key.post("/db/t/bulk", json!({ "rows": rows(100) })).await.expect(201);
    let made = made["rows"].as_array().unwrap();
    assert_eq!(
        made.iter().map(|row| row["a"].as_i64()).collect::<Vec<_>>(),
        Vec::from_iter((0..100).map(Some))
    );
    assert_eq!(row(&key, "t", &made[57]).await, made[57]);
    for body in [
        json!({}),
        json!({ "rows": [] }),
        json!({ "rows": rows(101) }),
        json!({ "rows": {} }),
        json!({ "rows": [{ "a": 1 }, {}] }),
        json!({ "rows": [{ "a": 1 }, 7] }),
        json!({ "rows": [{ "a": 1 }, [1]] }),
        json!({ "rows": [{ "a": 1 }, { "a": "x" }] }),
    ] {
        key.post("/db/t/bulk", body).await.refused(400, "database/invalid-body");
    }
    for (item, code) in [
        (json!({ "id": 1 }), "database/managed-column"),
        (json!({ "b": 1 }), "database/no-writable-columns"),
    ] {
        let refused = key.post("/db/t/bulk", json!({ "rows": [{ "a": 1 }, item] })).await;
        refused.refused(400, code);
    }
    let total = &key.get("/db/t?limit=1").await.expect(200)["pagination"]["totalItems"];
    assert_eq!(*total, 100);
    let unknown = key.post("/db/none/bulk", json!({ "rows": rows(1) })).await;
    unknown.refused(404, "database/table-not-found");
}

async fn delete_many(actor: &Actor<'_>, table: &str, body: Value) -> Reply {
    actor.send(Method::DELETE, &format!("/db/{table}"), Some(body)).await
}

async fn rows_are_deleted_by_id_and_by_filter(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer")], json!({ "paranoid": true })).await;
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(insert(&key, "t", json!({ "a": number })).await["id"].clone());
    }
    let below = |number: i64| json!([{ "column": "a", "operator": "lt", "value": number }]);
    let both = json!({ "rowIds": [ids[0], ids[5], UNKNOWN], "filters": below(3) });
    let deleted = delete_many(&key, "t", both.clone()).await.expect(200);
    assert_eq!(deleted, json!({ "deletedCount": 1, "soft": true }));
    assert_eq!(delete_many(&key, "t", both).await.expect(200)["deletedCount"], 0);
    let filtered = delete_many(&key, "t", json!({ "filters": below(3), "rowIds": [] })).await;
    assert_eq!(filtered.expect(200), json!({ "deletedCount": 2, "soft": true }));
    let forced = delete_many(&key, "t", json!({ "filters": below(4), "force": true })).await;
    assert_eq!(forced.expect(200), json!({ "deletedCount": 4, "soft": false }));
    let listed = key.send(Method::DELETE, "/db/t", Some(json!({ "rowIds": [ids[4]] }))).await;
    assert_eq!(listed.expect(200)["deletedCount"], 1);
    assert_eq!(values(&key, "t", "includeDeleted=true&sortBy=a", "a").await, [4, 5]);
    assert_eq!(values(&key, "t", "", "a").await, [5]);
}

async fn a_hundred_at_a_time_are_deleted_by_filter(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer")], json!({})).await;
    for batch in 0..3_i64 {
        let rows: Vec<Value> = (0..50).map(|n| json!({ "a": batch * 50 + n })).collect();
        key.post("/db/t/bulk", json!({ "rows": rows })).await.expect(201);
        app.advance(Duration::from_secs(1));
    }
    let all = json!({ "filters": [{ "column": "a", "operator": "gte", "value": 0 }] });
    for (expected, left) in [(100, 50), (50, 0), (0, 0)] {
        let deleted = delete_many(&key, "t", all.clone()).await.expect(200);
        assert_eq!(deleted, json!({ "deletedCount": expected, "soft": false }));
        let kept = values(&key, "t", "limit=200", "a").await;
        assert_eq!(kept.len(), left);
        assert!(kept.iter().all(|a| a.as_i64() >= Some(100)), "the oldest go first");
    }
}

async fn nothing_is_deleted_without_a_target(app: TestApp) {
    let anybody = app.anonymous();
    create(&app.service(), "t", &[("a", "integer")], json!({})).await;
    insert(&anybody, "t", json!({ "a": 1 })).await;
    let clause = json!({ "column": "a", "operator": "eq", "value": 1 });
    for body in [
        json!({}),
        json!({ "filters": [] }),
        json!({ "rowIds": [], "filters": [] }),
        json!({ "rowIds": ["x"] }),
        json!({ "rowIds": vec![UNKNOWN; 101] }),
        json!({ "filters": vec![clause.clone(); 51] }),
        json!({ "filters": [{ "column": "a", "operator": "near", "value": 1 }] }),
        json!({ "filters": [{ "operator": "eq", "value": 1 }] }),
        json!({ "filters": [{ "column": "a", "operator": "eq", "value": "x" }] }),
        json!({ "filters": clause }),
        json!({ "filters": [clause], "force": "true" }),
    ] {
        delete_many(&anybody, "t", body).await.refused(400, "database/invalid-body");
    }
    let hostile =
        json!({ "filters": [{ "column": "id\" OR 1=1--", "operator": "eq", "value": "x" }] });
    let refused = delete_many(&anybody, "t", hostile).await;
    assert_eq!(refused.refused(400, "database/invalid-filter-column")["column"], "id\" OR 1=1--");
    let none = anybody.delete("/db/t").await;
    none.refused(400, "database/invalid-body");
    assert_eq!(values(&anybody, "t", "", "a").await, [1]);
}

/// Every way to the rows of a table.
async fn everything(actor: &Actor<'_>, table: &str) -> Vec<String> {
    let one = format!("/db/{table}/{UNKNOWN}");
    let many = json!({ "rowIds": [UNKNOWN] });
    let replies = [
        actor.get(&format!("/db/{table}")).await,
        actor.get(&one).await,
        actor.post(&format!("/db/{table}"), json!({ "no": 1 })).await,
        actor.post(&format!("/db/{table}/bulk"), json!({ "rows": [{ "no": 1 }] })).await,
        actor.patch(&one, json!({ "a": "x" })).await,
        actor.delete(&one).await,
        actor.send(Method::DELETE, &format!("/db/{table}"), Some(many)).await,
        actor.post(&format!("{one}/restore"), json!({})).await,
    ];
    replies.iter().map(Reply::outcome).collect()
}

async fn who_may_touch_the_rows_of_a_table(app: TestApp) {
    let (key, user, stranger) = (app.service(), app.user().await, app.stranger().await);
    for access in ["open", "authenticated", "key"] {
        create(&key, access, &[("a", "text")], json!({ "access": access })).await;
    }
    let allowed = [
        "200",
        "404 database/row-not-found",
        "400 database/no-writable-columns",
        "400 database/no-writable-columns",
        "404 database/row-not-found",
        "404 database/row-not-found",
        "200",
        "400 database/not-paranoid",
    ];
    let (nobody, elevated) = (["401 Unauthorized"; 8], ["403 auth/elevated-auth-required"; 8]);
    let json_nobody = ["401 auth/unauthorized"; 8];
    let suspended = app.user().await;
    app.suspend(suspended.id).await;
    for (name, actor, expected) in [
        ("anonymous", app.anonymous(), [allowed, nobody, nobody]),
        ("anonymous v7", app.anonymous().v7(), [allowed, json_nobody, json_nobody]),
        ("bad token", app.bearer("x.y.z"), [allowed, nobody, nobody]),
        ("stranger", stranger.in_project(app.project.id), [allowed, nobody, nobody]),
        ("user", (*user).clone(), [allowed, allowed, elevated]),
        ("suspended", (*suspended).clone(), [allowed, allowed, elevated]),
        ("service", key.clone(), [allowed, allowed, allowed]),
        ("master", app.master(), [allowed, allowed, allowed]),
    ] {
        for (table, expected) in ["open", "authenticated", "key"].into_iter().zip(expected) {
            assert_eq!(everything(&actor, table).await, expected, "{name} {table}");
        }
    }
}

async fn a_credential_changes_nothing_for_an_open_table(app: TestApp) {
    let user = app.user().await;
    create(&app.service(), "t", &[("a", "text")], json!({})).await;
    for actor in [app.anonymous(), (*user).clone(), app.bearer("nonsense"), app.master()] {
        let made = insert(&actor, "t", json!({ "a": "x" })).await;
        assert_eq!(crate::support::keys(&made), ["a", "createdAt", "id", "updatedAt"]);
    }
}

async fn paths_name_a_table_and_a_row(app: TestApp) {
    let anybody = app.anonymous();
    create(&app.service(), "t", &[], json!({ "columns": [column("a", "text")] })).await;
    for path in ["/db/a-b", "/db/1", "/db/%22", "/db/t/1", "/db/t/x", "/db/a-b/x"] {
        anybody.get(path).await.refused(400, "database/invalid-params");
    }
    anybody.delete("/db/t/1").await.refused(400, "database/invalid-params");
    anybody.patch("/db/t/1", json!({ "a": "x" })).await.refused(400, "database/invalid-params");
    anybody.post("/db/1", json!({ "a": "x" })).await.refused(400, "database/invalid-params");
    anybody.post("/db/t/1/restore", json!({})).await.refused(400, "database/invalid-params");
    let unknown = format!("/db/none/{UNKNOWN}");
    anybody.get(&unknown).await.refused(404, "database/table-not-found");
    anybody.delete(&unknown).await.refused(404, "database/table-not-found");
}
