//! Custom tables: creating and dropping them, their columns, and permissions.

use serde_json::{Value, json};

use crate::support::{Actor, TestApp, all_at_once, count, keys, on_both_engines};

on_both_engines![
    a_table_is_made_filled_and_dropped,
    table_definitions_are_validated,
    each_mistake_has_its_code_in_the_order_of_the_contract,
    defaults_are_literals_of_their_type,
    a_hostile_default_is_a_text_like_any_other,
    only_keys_manage_tables,
    names_keep_their_case,
    names_of_built_in_tables_mean_nothing,
    a_project_has_a_hundred_tables_however_many_are_made_at_once,
    a_table_has_a_hundred_columns,
    columns_are_added_to_tables_with_rows,
    new_columns_are_validated,
    dropped_columns_are_not_shown,
    a_column_may_come_back_with_another_type,
    tables_of_two_projects_are_two,
    management_paths_win_over_rows,
    version_six_has_no_tables,
    error_texts_repeat_the_status,
    the_doctor_reports_tables_changed_outside_of_the_server,
    the_document_of_a_project_tells_of_its_tables,
];

pub(crate) fn column(name: &str, data_type: &str) -> Value {
    json!({ "columnName": name, "dataType": data_type, "nullable": true })
}

/// A table with these columns, all nullable, made by the holder of the key.
pub(crate) async fn create(key: &Actor<'_>, name: &str, columns: &[(&str, &str)], flags: Value) {
    let columns: Vec<Value> = columns.iter().map(|(name, kind)| column(name, kind)).collect();
    let mut body = json!({ "tableName": name, "columns": columns });
    body.as_object_mut().unwrap().extend(flags.as_object().unwrap().clone());
    let created = key.post("/db/tables", body).await.expect(201);
    assert_eq!(created, json!({ "table": name }));
}

pub(crate) async fn insert(actor: &Actor<'_>, table: &str, row: Value) -> Value {
    actor.post(&format!("/db/{table}"), row).await.expect(201)["row"].clone()
}

pub(crate) async fn row(actor: &Actor<'_>, table: &str, row: &Value) -> Value {
    let path = format!("/db/{table}/{}", row["id"].as_str().unwrap());
    actor.get(&path).await.expect(200)["row"].clone()
}

/// A list of one column over the rows of a page.
pub(crate) async fn values(
    actor: &Actor<'_>,
    table: &str,
    query: &str,
    column: &str,
) -> Vec<Value> {
    let page = actor.get(&format!("/db/{table}?{query}")).await.expect(200);
    page["data"].as_array().unwrap().iter().map(|row| row[column].clone()).collect()
}

async fn a_table_is_made_filled_and_dropped(app: TestApp) {
    let (key, anybody) = (app.service(), app.anonymous());
    create(&key, "Products", &[("title", "text"), ("price", "decimal")], json!({})).await;
    let made = insert(&anybody, "Products", json!({ "title": "Chair", "price": "19.90" })).await;
    let mut names = keys(&made);
    names.sort();
    assert_eq!(names, ["createdAt", "id", "price", "title", "updatedAt"]);
    assert_eq!((&made["title"], &made["price"]), (&json!("Chair"), &json!("19.90")));
    assert_eq!(made["createdAt"], made["updatedAt"]);
    assert_eq!(row(&anybody, "Products", &made).await, made);

    let dropped = key.delete("/db/tables/Products").await.expect(200);
    assert_eq!(dropped, json!({ "dropped": "Products" }));
    let gone = anybody.post("/db/Products", json!({ "title": "x" })).await;
    gone.refused(404, "database/table-not-found");
    key.delete("/db/tables/Products").await.refused(404, "database/table-not-found");
    create(&key, "Products", &[("size", "integer")], json!({})).await;
    assert_eq!(values(&anybody, "Products", "", "size").await, Vec::<Value>::new());
}

async fn table_definitions_are_validated(app: TestApp) {
    let key = app.master();
    let refused = [
        json!({}),
        json!([]),
        json!({ "tableName": "" }),
        json!({ "tableName": 7 }),
        json!({ "tableName": "a b" }),
        json!({ "tableName": "é" }),
        json!({ "tableName": "1a" }),
        json!({ "tableName": "x\"; DROP TABLE users;--" }),
        json!({ "tableName": "x".repeat(64) }),
        json!({ "tableName": "tables" }),
        json!({ "tableName": "t", "columns": {} }),
        json!({ "tableName": "t", "columns": [7] }),
        json!({ "tableName": "t", "columns": [column("a", "text"), column("a", "integer")] }),
        json!({ "tableName": "t", "columns": [column("a\" TEXT, b", "text")] }),
        json!({ "tableName": "t", "columns": [column("a", "text); DROP")] }),
        json!({ "tableName": "t", "columns": [{ "columnName": "a", "dataType": "text" }] }),
        json!({ "tableName": "t", "columns": [column(&"c".repeat(64), "text")] }),
        json!({ "$serde_json::private::RawValue": "{\"tableName\":\"t\"}" }),
        json!({ "tableName": "t", "timestamps": false, "paranoid": true }),
        json!({ "tableName": "t", "access": "nobody" }),
        json!({ "tableName": "t", "columns": [
            { "columnName": "j", "dataType": "json", "nullable": true, "indexed": true },
        ] }),
    ];
    for body in refused {
        key.post("/db/tables", body).await.refused(400, "database/invalid-body");
    }
    for length in [57, 63] {
        let body = json!({ "tableName": "x".repeat(length) });
        key.post("/db/tables", body).await.refused(400, "database/name-too-long");
    }
    create(&key, &"x".repeat(56), &[(&"c".repeat(63), "text")], json!({})).await;
    create(&key, "custom_x", &[], json!({ "unknown": 1 })).await;
    app.anonymous().get("/db/x").await.refused(404, "database/table-not-found");
    let again = key.post("/db/tables", json!({ "tableName": "custom_x" })).await;
    again.refused(409, "database/table-already-exists");
}

async fn each_mistake_has_its_code_in_the_order_of_the_contract(app: TestApp) {
    let key = app.service();
    let mut body = json!({
        "tableName": "y".repeat(60),
        "timestamps": "yes",
        "columns": [
            { "columnName": "id", "dataType": "text", "nullable": true, "defaultValue": 7 },
            { "columnName": "bad name", "dataType": "text", "nullable": true },
        ],
    });
    key.post("/db/tables", body.clone()).await.refused(400, "database/invalid-body");
    body["columns"][1]["columnName"] = "good".into();
    key.post("/db/tables", body.clone()).await.refused(400, "database/invalid-flags");
    body["timestamps"] = true.into();
    key.post("/db/tables", body.clone()).await.refused(400, "database/name-too-long");
    body["tableName"] = "y".into();
    let reserved = key.post("/db/tables", body.clone()).await;
    assert_eq!(reserved.refused(400, "database/reserved-column")["column"], "id");
    body["columns"][0]["columnName"] = "fine".into();
    let default = key.post("/db/tables", body.clone()).await;
    default.refused(400, "database/invalid-default-value");
    body["columns"][0]["defaultValue"] = "7".into();
    key.post("/db/tables", body).await.expect(201);
    for flag in ["timestamps", "paranoid"] {
        let body = json!({ "tableName": "z", flag: null });
        key.post("/db/tables", body).await.refused(400, "database/invalid-flags");
    }
    for name in ["id", "createdAt", "updatedAt", "deletedAt"] {
        let body =
            json!({ "tableName": "z", "timestamps": false, "columns": [column(name, "text")] });
        key.post("/db/tables", body).await.refused(400, "database/reserved-column");
    }
    // Another case is another name.
    create(&key, "z", &[("ID", "text"), ("createdat", "text")], json!({})).await;
    let made = insert(&key, "z", json!({ "ID": "mine" })).await;
    assert_eq!(made["ID"], "mine");
}

/// A column of this type with this default.
fn defaulted(name: &str, data_type: &str, default: Value) -> Value {
    json!({ "columnName": name, "dataType": data_type, "nullable": false, "defaultValue": default })
}

async fn defaults_are_literals_of_their_type(app: TestApp) {
    let key = app.service();
    for (data_type, default) in [
        ("timestamp", json!("now()")),
        ("uuid", json!("gen_random_uuid()")),
        ("integer", json!("1); DROP TABLE x;--")),
        ("integer", json!("9223372036854775808")),
        ("integer", json!(7)),
        ("float", json!("NaN")),
        ("decimal", json!("1,5")),
        ("boolean", json!("1")),
        ("date", json!("2024-02-30")),
        ("json", json!("{")),
        ("text", json!("x".repeat(4097))),
    ] {
        let body = json!({ "tableName": "d", "columns": [defaulted("a", data_type, default)] });
        key.post("/db/tables", body).await.refused(400, "database/invalid-default-value");
    }
    let columns = [
        defaulted("t", "text", json!("")),
        defaulted("i", "integer", json!("-9223372036854775808")),
        defaulted("f", "float", json!("1.5e3")),
        defaulted("n", "decimal", json!("1.50")),
        defaulted("b", "boolean", json!("TRUE")),
        defaulted("d", "date", json!("2024-02-29")),
        defaulted("zero", "date", json!("0000-02-29")),
        defaulted("zeroth", "timestamp", json!("0000-02-29")),
        defaulted("xmin", "text", json!("'".repeat(4000))),
        defaulted("s", "timestamp", json!("2024-02-29T12:00:00+02:00")),
        defaulted("u", "uuid", json!("0F8FAD5B-D9CB-469F-A165-70867728950E")),
        defaulted("j", "json", json!("{\"b\":1,\"a\":[null]}")),
        json!({ "columnName": "none", "dataType": "json", "nullable": true, "defaultValue": "null" }),
        column("x", "text"),
    ];
    key.post("/db/tables", json!({ "tableName": "d", "columns": columns })).await.expect(201);
    let made = insert(&key, "d", json!({ "x": "x" })).await;
    let expected = json!({
        "t": "", "i": i64::MIN, "f": 1500.0, "n": "1.50", "b": true, "d": "2024-02-29",
        "s": "2024-02-29T10:00:00.000Z", "u": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "j": { "a": [null], "b": 1 }, "none": null, "x": "x",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&made[name], value, "{name}");
    }
    assert_eq!(row(&key, "d", &made).await, made);

    // The same defaults for rows that were there before the columns.
    create(&key, "late", &[("x", "text")], json!({})).await;
    let before = insert(&key, "late", json!({ "x": "x" })).await;
    for one in &columns[..12] {
        key.post("/db/tables/late/columns", one.clone()).await.expect(201);
    }
    let after = row(&key, "late", &before).await;
    for name in ["t", "i", "f", "n", "b", "d", "zero", "zeroth", "xmin", "s", "u", "j"] {
        assert_eq!(after[name], made[name], "{name}");
    }
    assert_eq!(after["updatedAt"], before["updatedAt"]);
    let later = insert(&key, "late", json!({ "x": "y" })).await;
    assert_eq!((&later["n"], &later["j"]), (&made["n"], &made["j"]));
}

async fn a_hostile_default_is_a_text_like_any_other(app: TestApp) {
    let key = app.service();
    let hostile = "'); DROP TABLE users;-- $1 {uuid} \\";
    let columns = [defaulted("a", "text", json!(hostile)), column("x", "text")];
    key.post("/db/tables", json!({ "tableName": "h", "columns": columns })).await.expect(201);
    assert_eq!(insert(&key, "h", json!({ "x": "x" })).await["a"], hostile);
    key.post("/db/tables/h/columns", defaulted("b", "text", json!(hostile))).await.expect(201);
    assert_eq!(values(&key, "h", "", "b").await, [hostile]);
    app.user().await;
}

async fn only_keys_manage_tables(app: TestApp) {
    let (user, stranger) = (app.user().await, app.stranger().await);
    create(&app.service(), "t", &[("a", "text")], json!({})).await;
    let table = json!({ "tableName": "u" });
    for (actor, expected) in [
        (app.anonymous(), "401 Unauthorized"),
        ((*user).clone(), "403 auth/elevated-auth-required"),
        (stranger.in_project(app.project.id), "403 Forbidden"),
    ] {
        let replies = [
            actor.post("/db/tables", table.clone()).await,
            actor.delete("/db/tables/t").await,
            actor.post("/db/tables/t/columns", column("b", "text")).await,
            actor.delete("/db/tables/t/columns/a").await,
        ];
        assert_eq!(replies.map(|reply| reply.outcome()), [expected; 4]);
    }
    assert_eq!(values(&app.anonymous(), "t", "", "a").await, Vec::<Value>::new());
}

async fn names_keep_their_case(app: TestApp) {
    let key = app.service();
    for (table, columns) in [
        ("Events", [("Name", "text"), ("name", "integer")]),
        ("events", [("name", "boolean"), ("NAME", "date")]),
    ] {
        create(&key, table, &columns, json!({})).await;
    }
    let upper = insert(&key, "Events", json!({ "Name": "a", "name": 1 })).await;
    assert_eq!((&upper["Name"], &upper["name"]), (&json!("a"), &json!(1)));
    let lower = insert(&key, "events", json!({ "name": true, "Name": "dropped" })).await;
    assert_eq!((&lower["name"], lower.get("Name")), (&json!(true), None));
    key.delete("/db/tables/events").await.expect(200);
    assert_eq!(row(&key, "Events", &upper).await, upper);
}

async fn names_of_built_in_tables_mean_nothing(app: TestApp) {
    let key = app.master();
    for name in ["users", "Users", "Comments", "sqlite_schema", "pg_class", "custom_x", "projects"]
    {
        key.delete(&format!("/db/tables/{name}")).await.refused(404, "database/table-not-found");
        let found = app.anonymous().get(&format!("/db/{name}")).await;
        found.refused(404, "database/table-not-found");
    }
    for name in ["a%20b", "1a", "users;--"] {
        key.delete(&format!("/db/tables/{name}")).await.refused(400, "database/invalid-params");
    }
    create(&key, "users", &[("a", "text")], json!({})).await;
    assert_eq!(insert(&key, "users", json!({ "a": "mine" })).await["a"], "mine");
}

async fn a_project_has_a_hundred_tables_however_many_are_made_at_once(app: TestApp) {
    let key = app.service();
    let create = |number: usize| {
        let key = key.clone();
        async move { key.post("/db/tables", json!({ "tableName": format!("t{number}") })).await }
    };
    let replies = all_at_once((0..150).map(create)).await;
    assert_eq!((count(&replies, 201), count(&replies, 409)), (100, 50));
    for reply in replies.iter().filter(|reply| reply.status == 409) {
        reply.refused(409, "database/table-limit-reached");
    }
    let kept = (0..150).find(|number| replies[*number].status == 201).unwrap();
    let again = key.post("/db/tables", json!({ "tableName": format!("t{kept}") })).await;
    again.refused(409, "database/table-already-exists");
    key.delete(&format!("/db/tables/t{kept}")).await.expect(200);
    key.post("/db/tables", json!({ "tableName": "after" })).await.expect(201);
}

async fn a_table_has_a_hundred_columns(app: TestApp) {
    let key = app.service();
    let columns = |count: usize| -> Vec<Value> {
        (0..count).map(|number| column(&format!("c{number}"), "integer")).collect()
    };
    let wide = json!({ "tableName": "wide", "columns": columns(101) });
    key.post("/db/tables", wide).await.refused(409, "database/column-limit-reached");
    key.post("/db/tables", json!({ "tableName": "wide", "columns": columns(99) }))
        .await
        .expect(201);
    let add = |name: &'static str| {
        let key = key.clone();
        async move { key.post("/db/tables/wide/columns", column(name, "text")).await }
    };
    let replies = all_at_once(["a", "b", "c"].map(add)).await;
    assert_eq!((count(&replies, 201), count(&replies, 409)), (1, 2));
    let made = insert(&key, "wide", json!({ "c0": 1, "c98": 2 })).await;
    assert_eq!(keys(&made).len(), 103);
}

async fn columns_are_added_to_tables_with_rows(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "text")], json!({ "paranoid": true })).await;
    let live = insert(&key, "t", json!({ "a": "live" })).await;
    let deleted = insert(&key, "t", json!({ "a": "deleted" })).await;
    key.delete(&format!("/db/t/{}", deleted["id"].as_str().unwrap())).await.expect(200);

    let needed = json!({ "columnName": "b", "dataType": "text", "nullable": false });
    let refused = key.post("/db/tables/t/columns", needed.clone()).await;
    refused.refused(400, "database/invalid-default-value");
    let added = key.post("/db/tables/t/columns", defaulted("b", "text", json!("new"))).await;
    assert_eq!(added.expect(201), json!({ "added": "b" }));
    key.post("/db/tables/t/columns", column("c", "json")).await.expect(201);
    let rows = values(&key, "t", "includeDeleted=true", "b").await;
    assert_eq!(rows, ["new", "new"]);
    let shown = row(&key, "t", &live).await;
    assert_eq!((&shown["c"], &shown["updatedAt"]), (&Value::Null, &live["updatedAt"]));
    key.post("/db/tables/t/columns", column("b", "date"))
        .await
        .refused(409, "database/column-conflict");

    let path = format!("/db/t/{}", live["id"].as_str().unwrap());
    let null = key.patch(&path, json!({ "b": null })).await;
    assert_eq!(null.refused(400, "database/invalid-body")["column"], "b");
    // An empty table needs no default.
    create(&key, "empty", &[("a", "text")], json!({})).await;
    key.post("/db/tables/empty/columns", needed).await.expect(201);
    let lacking = key.post("/db/empty", json!({ "a": "x" })).await;
    assert_eq!(lacking.refused(400, "database/invalid-body")["column"], "b");
}

async fn new_columns_are_validated(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[], json!({})).await;
    for body in [
        json!({}),
        column("a b", "text"),
        column("a", "varchar"),
        json!({ "columnName": "a", "dataType": "text", "nullable": "yes" }),
    ] {
        key.post("/db/tables/t/columns", body).await.refused(400, "database/invalid-body");
    }
    let reserved = key.post("/db/tables/t/columns", column("deletedAt", "text")).await;
    reserved.refused(400, "database/reserved-column");
    let wrong = key.post("/db/tables/t/columns", defaulted("a", "integer", json!("x"))).await;
    wrong.refused(400, "database/invalid-default-value");
    let unknown = key.post("/db/tables/none/columns", column("a", "text")).await;
    unknown.refused(404, "database/table-not-found");
    let params = key.post("/db/tables/1x/columns", column("a", "text")).await;
    params.refused(400, "database/invalid-params");
    let nothing = key.post("/db/t", json!({ "a": 1 })).await;
    nothing.refused(400, "database/no-writable-columns");
}

async fn dropped_columns_are_not_shown(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "text"), ("b", "text")], json!({})).await;
    let made = insert(&key, "t", json!({ "a": "x", "b": "y" })).await;
    let dropped = key.delete("/db/tables/t/columns/a").await.expect(200);
    assert_eq!(dropped, json!({ "dropped": "a" }));
    let shown = row(&key, "t", &made).await;
    assert_eq!((shown.get("a"), &shown["b"]), (None, &json!("y")));
    let filter = "filters=[{\"column\":\"a\",\"operator\":\"eq\",\"value\":\"x\"}]";
    let filtered = key.get(&format!("/db/t?{}", filter.replace('"', "%22"))).await;
    assert_eq!(filtered.refused(400, "database/invalid-filter-column")["column"], "a");
    key.delete("/db/tables/t/columns/a").await.refused(404, "database/column-not-found");
    key.delete("/db/tables/u/columns/a").await.refused(404, "database/table-not-found");
    key.delete("/db/tables/t/columns/id").await.refused(400, "database/reserved-column");
    key.delete("/db/tables/t/columns/a-b").await.refused(400, "database/invalid-params");
}

async fn a_column_may_come_back_with_another_type(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "text"), ("b", "text")], json!({})).await;
    for (data_type, value, other) in [
        ("text", json!("x"), json!("y")),
        ("integer", json!(7), json!(8)),
        ("decimal", json!("1.0"), json!("2")),
        ("json", json!([1]), json!({})),
        ("boolean", json!(true), json!(false)),
        ("timestamp", json!("2024-01-01T00:00:00.000Z"), json!("2025-01-01T00:00:00.000Z")),
        ("date", json!("2024-07-01"), json!("1970-01-05")),
        ("timestamp", json!("1970-01-02T00:00:00.000Z"), json!("2025-01-01T00:00:00.000Z")),
        ("json", json!({ "b": 1, "a": 2 }), json!("x")),
        ("text", json!("{\"b\":1,  \"a\":2}"), json!("y")),
        ("uuid", json!("0f8fad5b-d9cb-469f-a165-70867728950e"), Value::Null),
    ] {
        key.delete("/db/tables/t/columns/a").await.expect(200);
        key.post("/db/tables/t/columns", column("a", data_type)).await.expect(201);
        // More often than there are connections, so that each has the old table prepared.
        for _ in 0..12 {
            let made = insert(&key, "t", json!({ "a": value, "b": data_type })).await;
            assert_eq!(row(&key, "t", &made).await["a"], value);
            let path = format!("/db/t/{}", made["id"].as_str().unwrap());
            assert_eq!(
                key.patch(&path, json!({ "a": other })).await.expect(200)["row"]["a"],
                other
            );
        }
    }
    assert_eq!(key.get("/db/t?sortBy=a").await.expect(200)["pagination"]["totalItems"], 132);
}

async fn tables_of_two_projects_are_two(app: TestApp) {
    let key = app.service();
    let others = app.bearer(&app.other.service_key).in_project(app.other.id);
    create(&key, "t", &[("a", "text")], json!({})).await;
    others.get("/db/t").await.refused(404, "database/table-not-found");
    create(&others, "t", &[("a", "integer")], json!({})).await;
    insert(&key, "t", json!({ "a": "x" })).await;
    insert(&others, "t", json!({ "a": 1 })).await;
    assert_eq!(values(&key, "t", "", "a").await, ["x"]);
    assert_eq!(values(&others, "t", "", "a").await, [1]);
    key.delete("/db/tables/t").await.expect(200);
    assert_eq!(values(&others, "t", "", "a").await, [1]);
}

async fn management_paths_win_over_rows(app: TestApp) {
    let key = app.service();
    key.get("/db/tables").await.refused(404, "database/table-not-found");
    let id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let patched = key.patch(&format!("/db/tables/{id}"), json!({ "a": 1 })).await;
    patched.refused(404, "database/table-not-found");
    key.get(&format!("/db/tables/{id}")).await.refused(404, "database/table-not-found");
    create(&key, "x", &[("a", "text")], json!({})).await;
    key.get("/db/x/bulk").await.refused(400, "database/invalid-params");
    key.delete("/db/x/bulk").await.refused(400, "database/invalid-params");
    key.post("/db/x/bulk", json!({ "rows": [{ "a": "1" }] })).await.expect(201);
}

async fn version_six_has_no_tables(app: TestApp) {
    let key = app.service();
    create(&key.v7(), "t", &[("a", "text")], json!({})).await;
    key.v6().get("/db/t").await.refused(404, "route/not-found");
    key.v6().post("/db/tables", json!({ "tableName": "u" })).await.refused(404, "route/not-found");
    insert(&key.v7(), "t", json!({ "a": "seven" })).await;
    assert_eq!(values(&key, "t", "", "a").await, ["seven"]);
}

async fn error_texts_repeat_the_status(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer")], json!({})).await;
    let wrong = key.post("/db/t", json!({ "a": "x" })).await.refused(400, "database/invalid-body");
    assert_eq!((&wrong["error"], &wrong["column"]), (&json!("Bad Request"), &json!("a")));
    assert!(wrong["details"].as_str().unwrap().contains("integer"), "{wrong}");
    let missing = key.get("/db/none").await.refused(404, "database/table-not-found");
    assert_eq!(missing, json!({ "error": "Not Found", "code": "database/table-not-found" }));
    let taken = key.post("/db/tables", json!({ "tableName": "t" })).await;
    assert_eq!(taken.refused(409, "database/table-already-exists")["error"], "Conflict");
    for body in ["{", "", "[]", "7", "{\"a\":1"] {
        let address = key.address("/db/t");
        let reply = key.raw(http::Method::POST, &address, "application/json", body).await;
        assert_eq!(reply.refused(400, "database/invalid-body")["error"], "Bad Request", "{body}");
    }
}

async fn the_doctor_reports_tables_changed_outside_of_the_server(app: TestApp) {
    let app = app.own_server().await;
    use townhall::features::tables::sql::Dialect;
    use townhall::features::tables::store::examine::examine;
    let key = app.service();
    create(&key, "kept", &[("A", "decimal")], json!({})).await;
    create(&key, "lost", &[("a", "text")], json!({})).await;
    let dialect = Dialect(app.engine());
    let examined = || app.app.db.read(move |c| examine(c, dialect));
    assert_eq!(examined().await.unwrap(), (2, Vec::new()));
    let drop = format!("DROP TABLE {}", dialect.table(app.project.id, "lost"));
    crate::feed_plans::run(&app, drop).await;
    let (count, wrong) = examined().await.unwrap();
    assert_eq!((count, wrong.len()), (2, 1));
    assert!(wrong[0].starts_with("table lost of project"), "{wrong:?}");
}

async fn the_document_of_a_project_tells_of_its_tables(app: TestApp) {
    let (key, user) = (app.service(), app.user().await);
    let columns = json!([
        { "columnName": "title", "dataType": "text", "nullable": false },
        { "columnName": "price", "dataType": "decimal", "nullable": true },
    ]);
    for (table, access) in [("Products", "open"), ("drafts", "authenticated"), ("secrets", "key")] {
        let body = json!({ "tableName": table, "columns": columns, "access": access, "paranoid": access == "open" });
        key.post("/db/tables", body).await.expect(201);
    }
    for (actor, seen) in [(app.anonymous(), 1), ((*user).clone(), 2), (key.clone(), 3)] {
        let document = actor.get("/openapi.json").await.expect(200);
        for (number, table) in ["Products", "drafts", "secrets"].into_iter().enumerate() {
            for version in ["v7", "v8"] {
                let path = format!("/{version}/{{projectId}}/db/{table}");
                assert_eq!(document["paths"].get(&path).is_some(), number < seen, "{path}");
            }
        }
    }
    let document = key.get("/openapi.json").await.expect(200);
    let row = &document["components"]["schemas"]["custom_Products_Row"];
    assert_eq!(
        row["required"],
        json!(["id", "title", "price", "createdAt", "updatedAt", "deletedAt"])
    );
    assert_eq!(row["properties"]["price"]["type"], json!(["string", "null"]));
    let new = &document["components"]["schemas"]["custom_Products_New"];
    assert_eq!(new["required"], json!(["title"]));
    let paths = &document["paths"];
    let base = "/v8/{projectId}/db/Products";
    for (path, methods) in [
        (base.to_owned(), "delete get post"),
        (format!("{base}/bulk"), "post"),
        (format!("{base}/{{rowId}}"), "delete get patch"),
        (format!("{base}/{{rowId}}/restore"), "post"),
    ] {
        assert_eq!(keys(&paths[&path]).join(" "), methods, "{path}");
    }
    assert!(paths.get("/v8/{projectId}/db/drafts/{rowId}/restore").is_none());
    let ids: Vec<&str> = paths
        .as_object()
        .unwrap()
        .values()
        .flat_map(|methods| methods.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len());
    // What it says of a row is true of one.
    let made = insert(&key, "Products", json!({ "title": "x" })).await;
    let root = json!({ "allOf": [row], "components": document["components"] });
    assert!(jsonschema::draft202012::is_valid(&root, &made), "{made}");
    let parameters = &paths[base]["get"]["parameters"];
    assert!(!parameters.to_string().contains("tableName"), "{parameters}");
    assert!(app.anonymous().get("/openapi.json").await.text().contains("custom_Products_Row"));
    let others = app.stranger().await;
    assert!(!others.get("/openapi.json").await.text().contains("custom_Products_Row"));
}
