//! Foreign keys between custom tables.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Actor, TestApp, on_both_engines};
use crate::tables::{create, insert, row, values};

on_both_engines![
    a_reference_needs_its_row,
    references_are_validated,
    rows_that_are_referred_to_stay,
    deletes_cascade_to_referring_rows,
    references_are_let_go,
    a_table_may_refer_to_itself,
    long_chains_go_together,
    a_table_that_is_referred_to_is_not_dropped,
    a_table_is_dropped_from_under_its_references,
    a_reference_is_added_to_rows_that_are_there,
    references_stay_within_the_project,
];

const UNKNOWN: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

fn reference(name: &str, table: &str, on_delete: &str) -> Value {
    json!({ "columnName": name, "dataType": "uuid", "nullable": true,
        "references": { "table": table, "onDelete": on_delete } })
}

/// `posts`, and `notes` that refer to them.
async fn posts_and_notes(key: &Actor<'_>, on_delete: &str, flags: Value) {
    create(key, "posts", &[("title", "text")], flags).await;
    let columns = json!([
        reference("postId", "posts", on_delete),
        { "columnName": "text", "dataType": "text", "nullable": true },
    ]);
    let body = json!({ "tableName": "notes", "columns": columns });
    key.post("/db/tables", body).await.expect(201);
}

async fn a_reference_needs_its_row(app: TestApp) {
    let key = app.service();
    posts_and_notes(&key, "restrict", json!({ "paranoid": true })).await;
    let post = insert(&key, "posts", json!({ "title": "a" })).await;
    let note = insert(&key, "notes", json!({ "postId": post["id"], "text": "x" })).await;
    assert_eq!(note["postId"], post["id"]);
    insert(&key, "notes", json!({ "text": "of nothing" })).await;
    let refused = key.post("/db/notes", json!({ "postId": UNKNOWN })).await;
    assert_eq!(refused.refused(409, "database/foreign-key-violation")["column"], "postId");
    let path = format!("/db/notes/{}", note["id"].as_str().unwrap());
    let refused = key.patch(&path, json!({ "postId": UNKNOWN })).await;
    assert_eq!(refused.refused(409, "database/foreign-key-violation")["column"], "postId");
    let rows = json!({ "rows": [{ "postId": post["id"] }, { "postId": UNKNOWN }] });
    key.post("/db/notes/bulk", rows).await.refused(409, "database/foreign-key-violation");
    assert_eq!(values(&key, "notes", "", "id").await.len(), 2);
    // What is soft-deleted is still there.
    key.delete(&format!("/db/posts/{}", post["id"].as_str().unwrap())).await.expect(200);
    insert(&key, "notes", json!({ "postId": post["id"] })).await;
}

async fn references_are_validated(app: TestApp) {
    let key = app.service();
    create(&key, "posts", &[], json!({})).await;
    for column in [
        reference("a", "none", "restrict"),
        reference("a", "posts", "explode"),
        reference("a", "Posts", "restrict"),
        json!({ "columnName": "a", "dataType": "text", "nullable": true, "references": { "table": "posts" } }),
        json!({ "columnName": "a", "dataType": "uuid", "nullable": true, "references": {} }),
        json!({ "columnName": "a", "dataType": "uuid", "nullable": true, "references": "posts" }),
        json!({ "columnName": "a", "dataType": "uuid", "nullable": false,
            "references": { "table": "posts", "onDelete": "setNull" } }),
    ] {
        let body = json!({ "tableName": "notes", "columns": [column] });
        key.post("/db/tables", body).await.refused(400, "database/invalid-body");
        let added = key.post("/db/tables/posts/columns", column).await;
        added.refused(400, "database/invalid-body");
    }
}

async fn rows_that_are_referred_to_stay(app: TestApp) {
    let key = app.service();
    posts_and_notes(&key, "restrict", json!({})).await;
    let post = insert(&key, "posts", json!({ "title": "a" })).await;
    let note = insert(&key, "notes", json!({ "postId": post["id"] })).await;
    let path = format!("/db/posts/{}", post["id"].as_str().unwrap());
    key.delete(&path).await.refused(409, "database/foreign-key-violation");
    let many = json!({ "rowIds": [post["id"]] });
    let refused = key.send(Method::DELETE, "/db/posts", Some(many)).await;
    refused.refused(409, "database/foreign-key-violation");
    assert_eq!(row(&key, "posts", &post).await, post);
    key.delete(&format!("/db/notes/{}", note["id"].as_str().unwrap())).await.expect(200);
    key.delete(&path).await.expect(200);
}

async fn deletes_cascade_to_referring_rows(app: TestApp) {
    let key = app.service();
    posts_and_notes(&key, "cascade", json!({ "paranoid": true })).await;
    let post = insert(&key, "posts", json!({ "title": "a" })).await;
    insert(&key, "notes", json!({ "postId": post["id"] })).await;
    let kept = insert(&key, "notes", json!({ "text": "kept" })).await;
    let path = format!("/db/posts/{}", post["id"].as_str().unwrap());
    key.delete(&path).await.expect(200);
    assert_eq!(values(&key, "notes", "", "id").await.len(), 2, "softly deleted, nothing goes");
    key.delete(&format!("{path}?force=true")).await.expect(200);
    assert_eq!(values(&key, "notes", "", "id").await, [kept["id"].clone()]);
}

async fn references_are_let_go(app: TestApp) {
    let key = app.service();
    posts_and_notes(&key, "setNull", json!({})).await;
    let post = insert(&key, "posts", json!({ "title": "a" })).await;
    let note = insert(&key, "notes", json!({ "postId": post["id"], "text": "x" })).await;
    key.delete(&format!("/db/posts/{}", post["id"].as_str().unwrap())).await.expect(200);
    let left = row(&key, "notes", &note).await;
    assert_eq!((&left["postId"], &left["text"]), (&Value::Null, &json!("x")));
}

async fn a_table_may_refer_to_itself(app: TestApp) {
    let key = app.service();
    let body = json!({ "tableName": "tree", "columns": [
        reference("parentId", "tree", "restrict"),
        { "columnName": "name", "dataType": "text", "nullable": false },
    ] });
    key.post("/db/tables", body).await.expect(201);
    let root = insert(&key, "tree", json!({ "name": "root" })).await;
    let leaf = insert(&key, "tree", json!({ "name": "leaf", "parentId": root["id"] })).await;
    let path = format!("/db/tree/{}", root["id"].as_str().unwrap());
    key.delete(&path).await.refused(409, "database/foreign-key-violation");
    let both = json!({ "rowIds": [root["id"], leaf["id"]] });
    let deleted = key.send(Method::DELETE, "/db/tree", Some(both)).await.expect(200);
    assert_eq!(deleted["deletedCount"], 2);
    insert(&key, "tree", json!({ "name": "again" })).await;
    key.delete("/db/tables/tree").await.expect(200);
}

async fn long_chains_go_together(app: TestApp) {
    let key = app.service();
    let body = json!({ "tableName": "chain", "columns": [
        reference("parentId", "chain", "cascade"),
        { "columnName": "no", "dataType": "integer", "nullable": true },
    ] });
    key.post("/db/tables", body.clone()).await.expect(201);
    for round in 0..2 {
        let root = insert(&key, "chain", json!({ "no": 0 })).await;
        let mut last = root["id"].clone();
        for no in 1..1200 {
            last = insert(&key, "chain", json!({ "no": no, "parentId": last })).await["id"].clone();
        }
        if round == 0 {
            let path = format!("/db/chain/{}", root["id"].as_str().unwrap());
            key.delete(&path).await.expect(200);
            assert_eq!(values(&key, "chain", "", "id").await, Vec::<Value>::new());
        }
    }
    key.delete("/db/tables/chain").await.expect(200);
    key.post("/db/tables", body).await.expect(201);
}

async fn a_table_that_is_referred_to_is_not_dropped(app: TestApp) {
    let key = app.service();
    posts_and_notes(&key, "restrict", json!({})).await;
    key.delete("/db/tables/posts").await.refused(409, "database/foreign-key-violation");
    key.delete("/db/tables/notes/columns/postId").await.expect(200);
    key.delete("/db/tables/posts").await.expect(200);
    insert(&key, "notes", json!({ "text": "x" })).await;
}

async fn a_table_is_dropped_from_under_its_references(app: TestApp) {
    let key = app.service();
    for (on_delete, left) in [("cascade", 1), ("setNull", 2)] {
        posts_and_notes(&key, on_delete, json!({})).await;
        let post = insert(&key, "posts", json!({ "title": "a" })).await;
        insert(&key, "notes", json!({ "postId": post["id"], "text": "of a post" })).await;
        insert(&key, "notes", json!({ "text": "of nothing" })).await;
        key.delete("/db/tables/posts").await.expect(200);
        assert_eq!(values(&key, "notes", "", "postId").await, vec![Value::Null; left]);
        // From now on it is a column like any other.
        let note = insert(&key, "notes", json!({ "postId": UNKNOWN })).await;
        assert_eq!(row(&key, "notes", &note).await["postId"], UNKNOWN);
        key.delete("/db/tables/notes/columns/postId").await.expect(200);
        key.delete("/db/tables/notes").await.expect(200);
    }
}

async fn a_reference_is_added_to_rows_that_are_there(app: TestApp) {
    let key = app.service();
    create(&key, "posts", &[("title", "text")], json!({})).await;
    create(&key, "notes", &[("text", "text")], json!({})).await;
    let post = insert(&key, "posts", json!({ "title": "a" })).await;
    let note = insert(&key, "notes", json!({ "text": "x" })).await;
    let with_default = |default: &Value| {
        let mut column = reference("postId", "posts", "cascade");
        column["defaultValue"] = default.clone();
        column["nullable"] = false.into();
        column
    };
    let refused = key.post("/db/tables/notes/columns", with_default(&json!(UNKNOWN))).await;
    assert_eq!(refused.refused(409, "database/foreign-key-violation")["column"], "postId");
    key.post("/db/tables/notes/columns", with_default(&post["id"])).await.expect(201);
    assert_eq!(row(&key, "notes", &note).await["postId"], post["id"]);
    let null = key.post("/db/notes", json!({ "postId": null })).await;
    assert_eq!(null.refused(400, "database/invalid-body")["column"], "postId");
    key.delete(&format!("/db/posts/{}", post["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(values(&key, "notes", "", "id").await, Vec::<Value>::new());
}

async fn references_stay_within_the_project(app: TestApp) {
    let key = app.service();
    let others = app.bearer(&app.other.service_key).in_project(app.other.id);
    create(&others, "posts", &[("title", "text")], json!({})).await;
    let body =
        json!({ "tableName": "notes", "columns": [reference("postId", "posts", "cascade")] });
    key.post("/db/tables", body).await.refused(400, "database/invalid-body");
    posts_and_notes(&key, "cascade", json!({})).await;
    let theirs = insert(&others, "posts", json!({ "title": "theirs" })).await;
    let refused = key.post("/db/notes", json!({ "postId": theirs["id"] })).await;
    refused.refused(409, "database/foreign-key-violation");
}
