//! Lists of rows: filters, orders, pages, and their deadline.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, on_both_engines};
use crate::table_rows::TYPES;
use crate::tables::{create, insert, values};
use townhall::http::query::percent_encode;

on_both_engines![
    operators_compare_in_the_type_of_the_column,
    texts_are_searched_for_parts_and_patterns,
    filters_are_validated,
    all_filters_must_match,
    rows_are_sorted_with_nulls_in_their_place,
    ties_and_defaults_of_the_order,
    pages_tell_the_exact_total,
    list_parameters_are_validated,
    indexed_columns_give_the_same_result,
    a_dear_filter_is_stopped,
];

pub(crate) fn filters(clauses: Value) -> String {
    format!("filters={}", percent_encode(&clauses.to_string()))
}

fn clause(column: &str, operator: &str, value: Value) -> Value {
    json!({ "column": column, "operator": operator, "value": value })
}

/// The numbers of the rows that match one clause.
async fn met(actor: &Actor<'_>, column: &str, operator: &str, value: Value) -> Vec<i64> {
    let query = format!("sortBy=no&{}", filters(json!([clause(column, operator, value)])));
    let found = values(actor, "t", &query, "no").await;
    found.iter().map(|no| no.as_i64().unwrap()).collect()
}

const LOW: &str = "00000000-0000-4000-8000-000000000001";
const HIGH: &str = "f0000000-0000-4000-8000-000000000001";

/// Two rows that differ in every column, and one of nulls.
async fn three_rows(app: &TestApp) -> Actor<'_> {
    let columns = [&[("no", "integer")], &TYPES[..]].concat();
    create(&app.service(), "t", &columns, json!({})).await;
    let anybody = app.anonymous();
    for row in [
        json!({ "no": 1, "t": "Zebra", "i": 9, "f": -0.5, "n": "9.50", "b": false,
            "d": "1999-12-31", "s": "2024-01-01T00:00:00Z", "u": LOW, "j": { "a": 1 } }),
        json!({ "no": 2, "t": "apple", "i": 10, "f": 1e10, "n": "10", "b": true,
            "d": "2000-01-01", "s": "2024-01-01T00:00:00.001Z", "u": HIGH, "j": "x" }),
        json!({ "no": 3 }),
    ] {
        insert(&anybody, "t", row).await;
    }
    anybody
}

async fn operators_compare_in_the_type_of_the_column(app: TestApp) {
    let anybody = three_rows(&app).await;
    let lesser = [
        ("t", json!("Zebra")),
        ("i", json!("9")),
        ("f", json!(-0.5)),
        ("n", json!("9.5000")),
        ("b", json!("FALSE")),
        ("d", json!("1999-12-31")),
        ("s", json!("2024-01-01T02:00:00+02:00")),
        ("u", json!(LOW.to_uppercase())),
    ];
    for (column, value) in lesser {
        for (operator, expected) in [
            ("eq", vec![1]),
            ("ne", vec![2]),
            ("gt", vec![2]),
            ("gte", vec![1, 2]),
            ("lt", vec![]),
            ("lte", vec![1]),
        ] {
            let found = met(&anybody, column, operator, value.clone()).await;
            assert_eq!(found, expected, "{column} {operator}");
        }
        assert_eq!(met(&anybody, column, "in", json!([value, value])).await, [1], "{column}");
        assert_eq!(met(&anybody, column, "isNull", json!(true)).await, [3], "{column}");
        assert_eq!(met(&anybody, column, "isNull", json!(false)).await, [1, 2], "{column}");
    }
    assert_eq!(met(&anybody, "j", "eq", json!("x")).await, [2]);
    assert_eq!(met(&anybody, "j", "ne", json!("x")).await, [1]);
    assert_eq!(met(&anybody, "j", "in", json!(["x", 1, true])).await, [2]);
    insert(&anybody, "t", json!({ "no": 4, "j": 1.50 })).await;
    assert_eq!(met(&anybody, "j", "eq", json!(1.5)).await, [4]);
    let broken = anybody.get("/db/t?filters=[%zz]").await;
    broken.refused(400, "database/invalid-query");
    assert_eq!(met(&anybody, "n", "gt", json!("9.4999999999999999999999")).await, [1, 2]);
    assert_eq!(met(&anybody, "id", "ne", json!(LOW)).await, [1, 2, 3, 4]);
    assert_eq!(
        met(&anybody, "createdAt", "lte", json!("2026-08-01T12:00:00Z")).await,
        [1, 2, 3, 4]
    );
}

async fn texts_are_searched_for_parts_and_patterns(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("no", "integer"), ("t", "text")], json!({})).await;
    let texts = ["100% Wool", "100 wool", "WÄRME", "a_b", "a\\b", "line\nbreak", ""];
    for (no, text) in (0..).zip(texts) {
        insert(&key, "t", json!({ "no": no, "t": text })).await;
    }
    insert(&key, "t", json!({ "no": 7 })).await;
    insert(&key, "t", json!({ "no": 8, "t": "ΟΔΟΣΑ" })).await;
    for (operator, value, expected) in [
        ("contains", "wool", vec![0, 1]),
        ("contains", "100%", vec![0]),
        ("contains", "a_", vec![3]),
        ("contains", "\\", vec![4]),
        ("contains", "wärme", vec![2]),
        ("contains", "ΟΔΟΣ", vec![8]),
        ("contains", "", vec![0, 1, 2, 3, 4, 5, 6, 8]),
        ("like", "100%", vec![0, 1]),
        ("like", "100\\%%", vec![0]),
        ("like", "%wool", vec![1]),
        ("like", "a_b", vec![3, 4]),
        ("like", "a\\_b", vec![3]),
        ("like", "a\\\\b", vec![4]),
        ("like", "W_RME", vec![2]),
        ("like", "line%", vec![5]),
        ("like", "", vec![6]),
        ("like", "wool", vec![]),
    ] {
        assert_eq!(met(&key, "t", operator, json!(value)).await, expected, "{operator} {value}");
    }
    let longest = "é".repeat(128);
    assert_eq!(met(&key, "t", "contains", json!(longest)).await, Vec::<i64>::new());
    assert_eq!(met(&key, "t", "like", json!(longest)).await, Vec::<i64>::new());
}

async fn asked(actor: &Actor<'_>, clauses: Value) -> Reply {
    actor.get(&format!("/db/t?{}", filters(clauses))).await
}

async fn filters_are_validated(app: TestApp) {
    let anybody = three_rows(&app).await;
    let one = clause("no", "eq", json!(1));
    for wrong in [
        json!({}),
        json!("x"),
        json!([7]),
        json!([["no", "eq", 1]]),
        json!([{ "operator": "eq", "value": 1 }]),
        json!([{ "column": "no", "value": 1 }]),
        json!([{ "column": "no", "operator": "eq" }]),
        json!([clause("no", "EQ", json!(1))]),
        json!([clause("no", "between", json!(1))]),
        json!([clause("no", "eq", Value::Null)]),
        json!([clause("no", "eq", json!([1]))]),
        json!([clause("no", "eq", json!("one"))]),
        json!([clause("no", "in", json!([]))]),
        json!([clause("no", "in", json!(1))]),
        json!([clause("no", "in", json!([1, null]))]),
        json!([clause("no", "in", json!(vec![1; 101]))]),
        json!([clause("no", "isNull", json!("true"))]),
        json!([clause("no", "contains", json!("1"))]),
        json!([clause("j", "like", json!("x"))]),
        json!([clause("j", "gt", json!("x"))]),
        json!([clause("t", "contains", json!("x".repeat(257)))]),
        json!([clause("t", "like", json!("é".repeat(129)))]),
        json!([clause("t", "like", json!("x\\"))]),
        json!([clause("d", "lt", json!("soon"))]),
        json!(vec![one.clone(); 51]),
    ] {
        asked(&anybody, wrong).await.refused(400, "database/invalid-query");
    }
    for wrong in ["x", "[", "%5B%7B"] {
        let refused = anybody.get(&format!("/db/t?filters={wrong}")).await;
        refused.refused(400, "database/invalid-query");
    }
    for column in ["id\" OR 1=1--", "No", "rowid", "", "deletedAt"] {
        let refused = asked(&anybody, json!([clause(column, "eq", json!("x"))])).await;
        assert_eq!(refused.refused(400, "database/invalid-filter-column")["column"], column);
    }
    asked(&anybody, json!(vec![one; 50])).await.expect(200);
    asked(&anybody, json!([clause("no", "in", json!(Vec::from_iter(0..100)))])).await.expect(200);
    let extra = json!([{ "column": "no", "operator": "eq", "value": 1, "why": "because" }]);
    assert_eq!(asked(&anybody, extra).await.expect(200)["pagination"]["totalItems"], 1);
    assert_eq!(asked(&anybody, json!([])).await.expect(200)["pagination"]["totalItems"], 3);
}

async fn all_filters_must_match(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer"), ("b", "text")], json!({ "paranoid": true })).await;
    for number in 0..10 {
        let text = if number % 2 == 0 { "even" } else { "odd" };
        insert(&key, "t", json!({ "a": number, "b": text })).await;
    }
    let both = json!([clause("a", "gt", json!(3)), clause("b", "eq", json!("even"))]);
    let query = format!("sortBy=a&{}", filters(both.clone()));
    assert_eq!(values(&key, "t", &query, "a").await, [4, 6, 8]);
    let six = key.get(&format!("/db/t?{query}")).await.expect(200)["data"][1]["id"].clone();
    key.delete(&format!("/db/t/{}", six.as_str().unwrap())).await.expect(200);
    assert_eq!(values(&key, "t", &query, "a").await, [4, 8]);
    assert_eq!(values(&key, "t", &format!("{query}&includeDeleted=true"), "a").await, [4, 6, 8]);
    let deleted = filters(json!([clause("deletedAt", "isNull", json!(false))]));
    assert_eq!(values(&key, "t", &deleted, "a").await, Vec::<Value>::new());
    let shown = format!("{deleted}&includeDeleted=true");
    assert_eq!(values(&key, "t", &shown, "a").await, [6]);
}

async fn rows_are_sorted_with_nulls_in_their_place(app: TestApp) {
    let anybody = three_rows(&app).await;
    for column in ["t", "i", "f", "n", "b", "d", "s", "u"] {
        for (direction, expected) in
            [("", [1, 2, 3]), ("&sortDir=asc", [1, 2, 3]), ("&sortDir=desc", [3, 2, 1])]
        {
            let query = format!("sortBy={column}{direction}");
            assert_eq!(values(&anybody, "t", &query, "no").await, expected, "{query}");
        }
    }
    // By its text: a quote comes before a brace.
    assert_eq!(values(&anybody, "t", "sortBy=j", "no").await, [2, 1, 3]);
    for (no, number) in
        [(4, json!({ "bb": 1, "a": 1 })), (5, json!({ "a": 1, "bb": 0 })), (6, json!([1, 10]))]
    {
        insert(&anybody, "t", json!({ "no": no, "j": number })).await;
    }
    assert_eq!(values(&anybody, "t", "sortBy=j", "no").await, [2, 6, 5, 4, 1, 3]);
}

async fn ties_and_defaults_of_the_order(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer"), ("no", "integer")], json!({})).await;
    create(&key, "bare", &[("no", "integer")], json!({ "timestamps": false })).await;
    for no in 0..3 {
        for table in ["t", "bare"] {
            insert(&key, table, json!({ "a": 1, "no": no })).await;
        }
        app.advance(Duration::from_secs(1));
    }
    assert_eq!(values(&key, "t", "", "no").await, [2, 1, 0]);
    assert_eq!(values(&key, "t", "sortDir=asc", "no").await, [0, 1, 2]);
    assert_eq!(values(&key, "t", "sortBy=createdAt", "no").await, [0, 1, 2]);
    // Ids rise with time.
    assert_eq!(values(&key, "t", "sortBy=a", "no").await, [0, 1, 2]);
    assert_eq!(values(&key, "t", "sortBy=a&sortDir=desc", "no").await, [0, 1, 2]);
    assert_eq!(values(&key, "bare", "", "no").await, [0, 1, 2]);
    assert_eq!(values(&key, "bare", "sortDir=desc", "no").await, [2, 1, 0]);
    assert_eq!(values(&key, "bare", "sortBy=id&sortDir=desc", "no").await, [2, 1, 0]);
    key.get("/db/bare?sortBy=createdAt").await.refused(400, "database/invalid-sort-column");
}

async fn pages_tell_the_exact_total(app: TestApp) {
    let key = app.service();
    create(&key, "t", &[("a", "integer")], json!({})).await;
    let empty = key.get("/db/t").await.expect(200);
    assert_eq!(
        empty,
        json!({ "data": [], "pagination": {
            "page": 1, "pageSize": 50, "totalPages": 0, "totalItems": 0, "hasMore": false } })
    );
    let rows: Vec<Value> = (0..61).map(|a| json!({ "a": a })).collect();
    key.post("/db/t/bulk", json!({ "rows": rows })).await.expect(201);
    let page = key.get("/db/t?sortBy=a").await.expect(200);
    assert_eq!(page["data"].as_array().unwrap().len(), 50);
    assert_eq!(
        page["pagination"],
        json!({ "page": 1, "pageSize": 50, "totalPages": 2, "totalItems": 61, "hasMore": true })
    );
    assert_eq!(values(&key, "t", "sortBy=a&limit=20&page=4", "a").await, [60]);
    let past = key.get("/db/t?limit=20&page=5").await.expect(200);
    assert_eq!((&past["data"], &past["pagination"]["hasMore"]), (&json!([]), &json!(false)));
    key.get("/db/t?page=4294967295&limit=200").await.expect(200);
    let few = format!("limit=2&{}", filters(json!([clause("a", "lt", json!(5))])));
    let few = &key.get(&format!("/db/t?{few}")).await.expect(200)["pagination"];
    assert_eq!((&few["totalItems"], &few["totalPages"]), (&json!(5), &json!(3)));
}

async fn list_parameters_are_validated(app: TestApp) {
    let anybody = three_rows(&app).await;
    for query in [
        "page=0",
        "page=x",
        "page=-1",
        "page=1.5",
        "limit=0",
        "limit=201",
        "limit=x",
        "sortDir=up",
        "sortDir=ASC",
        "sortDir=asc;--",
        "page=",
    ] {
        let refused = anybody.get(&format!("/db/t?{query}")).await;
        refused.refused(400, "database/invalid-query");
    }
    for column in ["(SELECT%201)", "rowid", "No", "x", ""] {
        let refused = anybody.get(&format!("/db/t?sortBy={column}")).await;
        let body = refused.refused(400, "database/invalid-sort-column");
        assert_eq!(body.get("column"), None);
    }
    anybody.get("/db/t?limit=200&includeDeleted=maybe").await.expect(200);
    anybody.get("/db/none?limit=0").await.refused(400, "database/invalid-query");
    anybody.get("/db/none?sortBy=x").await.refused(404, "database/table-not-found");
}

/// An index makes a list fast, and changes nothing about what is in it.
async fn indexed_columns_give_the_same_result(app: TestApp) {
    let key = app.service();
    let kinds =
        [("t", "text"), ("i", "integer"), ("n", "decimal"), ("s", "timestamp"), ("b", "boolean")];
    for (table, indexed) in [("plain", false), ("fast", true)] {
        let columns: Vec<Value> = kinds
            .iter()
            .map(|(name, kind)| json!({ "columnName": name, "dataType": kind, "nullable": true, "indexed": indexed }))
            .collect();
        let body = json!({ "tableName": table, "columns": columns, "paranoid": true });
        key.post("/db/tables", body).await.expect(201);
        let long = "x".repeat(5000);
        for number in 0..30_i64 {
            let text = if number % 3 == 0 {
                format!("{long}{number}")
            } else {
                format!("t{}", number % 5)
            };
            let row = json!({ "t": text, "i": number % 4, "n": format!("{}.0", number % 6),
                "s": format!("2024-01-{:02}", number + 1), "b": number % 2 == 0 });
            let row = if number % 7 == 0 { json!({ "s": row["s"] }) } else { row };
            insert(&key, table, row).await;
            app.advance(Duration::from_millis(1));
        }
    }
    let long = format!("{}3", "x".repeat(5000));
    let mut queries: Vec<String> = Vec::new();
    for (name, value) in
        [("t", json!("t1")), ("i", json!(2)), ("n", json!("3")), ("b", json!(true))]
    {
        for direction in ["asc", "desc"] {
            queries.push(format!("limit=200&sortBy={name}&sortDir={direction}"));
        }
        queries.push(filters(json!([clause(name, "eq", value.clone())])));
        queries.push(filters(json!([clause(name, "ne", value)])));
    }
    queries.push(filters(json!([clause("t", "eq", json!(long))])));
    for query in queries {
        let shown = |rows: Vec<Value>| rows.iter().map(Value::to_string).collect::<Vec<_>>();
        let mut found = Vec::new();
        for table in ["plain", "fast"] {
            let rows = values(&key, table, &query, "s").await;
            assert!(!rows.is_empty(), "{query}");
            found.push(shown(rows));
        }
        assert_eq!(found[0], found[1], "{query}");
    }
    key.delete("/db/tables/fast/columns/t").await.expect(200);
    key.delete("/db/tables/fast").await.expect(200);
}

async fn a_dear_filter_is_stopped(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_TABLE_QUERY_DEADLINE", "1ms")).await;
    let key = app.service();
    create(&key, "t", &[("a", "text")], json!({})).await;
    let long = "a".repeat(18_000);
    for _ in 0..10 {
        let rows = vec![json!({ "a": long }); 100];
        key.post("/db/t/bulk", json!({ "rows": rows })).await.expect(201);
    }
    for (operator, value) in
        [("like", format!("{}b", "%a".repeat(120))), ("contains", format!("{}b", "a".repeat(200)))]
    {
        let query = filters(json!([clause("a", operator, json!(value))]));
        app.anonymous().get(&format!("/db/t?{query}")).await.refused(503, "server/busy");
        // Looking for a text in so few rows may take less than the deadline.
        if operator == "like" {
            let some = values(&key, "t", "limit=100", "id").await;
            let named = json!({ "rowIds": some, "filters": [clause("a", operator, json!(value))] });
            let refused = key.send(http::Method::DELETE, "/db/t", Some(named)).await;
            refused.refused(503, "server/busy");
        }
        let body = json!({ "filters": [clause("a", operator, json!(value))] });
        let refused = key.send(http::Method::DELETE, "/db/t", Some(body)).await;
        refused.refused(503, "server/busy");
    }
    // The next one on the same connection has its own time.
    for _ in 0..20 {
        let page = key.get("/db/t?limit=1").await.expect(200);
        assert_eq!(page["pagination"]["totalItems"], 1000);
        insert(&key, "t", json!({ "a": "x" })).await;
        key.delete(&format!(
            "/db/t/{}",
            key.get("/db/t?limit=1").await.expect(200)["data"][0]["id"].as_str().unwrap()
        ))
        .await
        .expect(200);
    }
}
