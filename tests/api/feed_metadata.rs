//! Filters by metadata, indexed as terms or parsed.

use serde_json::{Map, Value, json};

use crate::support::feed::{lists, post};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    metadata_includes_what_is_asked_for,
    scalars_in_brackets_match_booleans_and_numbers_as_well,
    metadata_includes_any_of_several,
    metadata_does_not_include_any_of_the_pairs,
    keys_exist_or_do_not,
    wide_metadata_is_found_like_any_other,
    odd_keys_are_keys_and_nothing_else,
    one_number_is_found_however_it_is_written,
];

async fn seed(app: &TestApp, rows: &[(&str, Value)]) {
    for (title, metadata) in rows {
        post(app, &app.anonymous(), json!({ "title": title, "metadata": metadata })).await;
    }
}

fn examples() -> Vec<(&'static str, Value)> {
    vec![
        ("video", json!({ "type": "video", "n": 1, "flag": true, "tags": ["a", "b"] })),
        ("image", json!({ "type": "image", "n": 1.5, "flag": false, "tags": ["b", "c", "b"] })),
        ("text", json!({ "type": "text", "n": "1", "flag": "true", "tags": [] })),
        ("deep", json!({ "o": { "x": 1, "y": { "z": [1, { "k": "v", "l": 2 }] } }, "n": null })),
        ("empty", json!({})),
        ("other", json!({ "type": null, "o": { "x": "1" }, "tags": "a" })),
    ]
}

async fn metadata_includes_what_is_asked_for(app: TestApp) {
    seed(&app, &examples()).await;
    let table = [
        (r#"{"type":"video"}"#, "video"),
        (r#"{"type":"VIDEO"}"#, ""),
        (r#"{"type":null}"#, "other"),
        (r#"{"n":1}"#, "video"),
        (r#"{"n":1.0}"#, "video"),
        (r#"{"n":"1"}"#, "text"),
        (r#"{"n":1.5}"#, "image"),
        (r#"{"n":null}"#, "deep"),
        (r#"{"flag":true}"#, "video"),
        (r#"{"flag":"true"}"#, "text"),
        (r#"{"tags":["a"]}"#, "video"),
        (r#"{"tags":["b"]}"#, "image video"),
        (r#"{"tags":["b","a"]}"#, "video"),
        (r#"{"tags":["b","b"]}"#, "image video"),
        (r#"{"tags":["c","a"]}"#, ""),
        (r#"{"tags":[]}"#, "text image video"),
        (r#"{"tags":"a"}"#, "other"),
        (r#"{"o":{}}"#, "other deep"),
        (r#"{"o":{"x":1}}"#, "deep"),
        (r#"{"o":{"x":"1"}}"#, "other"),
        (r#"{"o":{"y":{"z":[{"l":2}]}}}"#, "deep"),
        (r#"{"o":{"y":{"z":[1]}}}"#, "deep"),
        (r#"{"o":{"y":{"z":1}}}"#, ""),
        (r#"{"type":"video","tags":["a"],"n":1}"#, "video"),
        (r#"{"type":"video","n":2}"#, ""),
        (r#"{"missing":1}"#, ""),
        ("{}", "other empty deep text image video"),
    ];
    for (object, expected) in table {
        let query = format!(r#"metadataFilters={{"includes":{object}}}"#);
        lists(&app.anonymous(), &[(&query, expected), (&format!("{query}&sortBy=hot"), expected)])
            .await;
    }
}

async fn scalars_in_brackets_match_booleans_and_numbers_as_well(app: TestApp) {
    seed(&app, &examples()).await;
    let table = [
        ("metadataFilters[includes][type]=video", "video"),
        ("metadataFilters[includes][n]=1", "text video"),
        ("metadataFilters[includes][n]=1.0", "video"),
        ("metadataFilters[includes][n]=1.5", "image"),
        ("metadataFilters[includes][n]=null", ""),
        ("metadataFilters[includes][flag]=true", "video"),
        ("metadataFilters[includes][flag]=false", "image"),
        ("metadataFilters[includes][tags][0]=b", "image video"),
        ("metadataFilters[includes][tags][]=b&metadataFilters[includes][tags][]=c", "image"),
        ("metadataFilters[includes][o][x]=1", "other deep"),
        ("metadataFilters[includes][o][y][z][0][k]=v", "deep"),
        ("metadataFilters[includes][type]=video&metadataFilters[includes][n]=1", "video"),
        ("metadataFilters[includes][type]=text&metadataFilters[includes][n]=1", "text"),
        ("metadataFilters[doesNotInclude][n]=1", "other empty deep image"),
        (
            "metadataFilters[includesAny][0][n]=1&metadataFilters[includesAny][1][type]=image",
            "text image video",
        ),
    ];
    lists(&app.anonymous(), &table).await;
}

async fn metadata_includes_any_of_several(app: TestApp) {
    seed(&app, &examples()).await;
    let table = [
        (r#"[{"type":"video"},{"type":"text"}]"#, "text video"),
        (r#"[{"type":"video","n":1},{"type":"image","n":1}]"#, "video"),
        (r#"[{"tags":["c"]},{"o":{"x":1}}]"#, "deep image"),
        (r#"[{"type":"none"}]"#, ""),
        (r#"{"type":"image"}"#, "image"),
        ("[{}]", "other empty deep text image video"),
        ("[]", "other empty deep text image video"),
    ];
    for (any, expected) in table {
        let query = format!(r#"metadataFilters={{"includesAny":{any}}}"#);
        lists(&app.anonymous(), &[(&query, expected)]).await;
    }
    let both = r#"metadataFilters={"includes":{"tags":["b"]},"includesAny":[{"n":1},{"n":"1"}]}"#;
    lists(&app.anonymous(), &[(both, "video")]).await;
}

async fn metadata_does_not_include_any_of_the_pairs(app: TestApp) {
    seed(&app, &examples()).await;
    let table = [
        (r#"{"type":"video"}"#, "other empty deep text image"),
        // Each pair on its own: one of them is enough to be left out.
        (r#"{"type":"video","n":"1"}"#, "other empty deep image"),
        (r#"{"tags":["b"]}"#, "other empty deep text"),
        (r#"{"o":{"x":1}}"#, "other empty text image video"),
        (r#"{"type":null}"#, "empty deep text image video"),
        (r#"{"missing":1}"#, "other empty deep text image video"),
        ("{}", "other empty deep text image video"),
    ];
    for (pairs, expected) in table {
        let query = format!(r#"metadataFilters={{"doesNotInclude":{pairs}}}"#);
        lists(&app.anonymous(), &[(&query, expected)]).await;
    }
}

async fn keys_exist_or_do_not(app: TestApp) {
    seed(&app, &examples()).await;
    let table = [
        ("metadataFilters[exists]=type", "other text image video"),
        ("metadataFilters[exists]=n", "deep text image video"),
        ("metadataFilters[exists][]=n&metadataFilters[exists][]=o", "deep"),
        ("metadataFilters[exists]=x", ""),
        ("metadataFilters[doesNotExist]=type", "empty deep"),
        ("metadataFilters[doesNotExist][0]=type&metadataFilters[doesNotExist][1]=o", "empty"),
        ("metadataFilters[exists]=type&metadataFilters[doesNotExist]=n", "other"),
        (r#"metadataFilters={"exists":["o"],"includes":{"o":{"x":1}}}"#, "deep"),
    ];
    lists(&app.anonymous(), &table).await;
}

async fn wide_metadata_is_found_like_any_other(app: TestApp) {
    let wide = |more: Value| {
        let mut keys: Map<String, Value> = (0..70).map(|n| (format!("key{n}"), json!(n))).collect();
        keys.extend(more.as_object().unwrap().clone());
        Value::Object(keys)
    };
    let mut rows = examples();
    rows.push(("wide", wide(json!({ "type": "video", "n": 1, "tags": ["a"], "o": { "x": 1 } }))));
    rows.push(("wider", wide(json!({ "type": null, "key3": "3" }))));
    seed(&app, &rows).await;
    let table = [
        (r#"{"includes":{"type":"video"}}"#, "wide video"),
        (r#"{"includes":{"type":null}}"#, "wider other"),
        (r#"{"includes":{"key3":3}}"#, "wide"),
        (r#"{"includes":{"key3":3.0,"key4":4}}"#, "wide"),
        (r#"{"includes":{"tags":["a"]}}"#, "wide video"),
        (r#"{"includes":{"o":{"x":1},"n":1}}"#, "wide"),
        (r#"{"includesAny":[{"key3":"3"},{"type":"image"}]}"#, "wider image"),
        (r#"{"doesNotInclude":{"type":"video"}}"#, "wider other empty deep text image"),
        (r#"{"doesNotInclude":{"key69":69}}"#, "other empty deep text image video"),
        (r#"{"exists":["key69"]}"#, "wider wide"),
        (r#"{"exists":["type"]}"#, "wider wide other text image video"),
        (r#"{"exists":["type","n"]}"#, "wide text image video"),
        (r#"{"doesNotExist":["type"]}"#, "empty deep"),
        (r#"{"doesNotExist":["key0"]}"#, "other empty deep text image video"),
    ];
    for (filter, expected) in table {
        lists(&app.anonymous(), &[(&format!("metadataFilters={filter}"), expected)]).await;
    }
    let table = [
        ("metadataFilters[includes][key3]=3", "wider wide"),
        ("metadataFilters[includes][key3]=3&keywordsFilters[doesNotInclude]=k", "wider wide"),
        ("sortBy=metadata.key3&sortDir=asc&metadataFilters[exists]=key3", "wide wider"),
    ];
    lists(&app.anonymous(), &table).await;
}

async fn odd_keys_are_keys_and_nothing_else(app: TestApp) {
    let odd = ["$", "$.a", "[0]", "0", "a.b", "a\"b", "a'b", "it's \\ here", "ключ", "$[", "a b"];
    let mut keys: Map<String, Value> =
        odd.iter().map(|key| ((*key).to_owned(), json!(1))).collect();
    seed(&app, &[("odd", Value::Object(keys.clone())), ("a", json!({ "a": { "b": 1 } }))]).await;
    let table = async |found: &str| {
        for key in odd {
            let of = |name: &str| json!({ name: [key] }).to_string();
            let pair = json!({ "includes": { key: 1 } }).to_string();
            let without = json!({ "doesNotInclude": { key: 1 } }).to_string();
            for (filter, expected) in
                [(of("exists"), found), (of("doesNotExist"), "a"), (pair, found), (without, "a")]
            {
                lists(&app.anonymous(), &[(&format!("metadataFilters={filter}"), expected)]).await;
            }
        }
    };
    table("odd").await;
    // The same when some metadata is too wide to be kept as terms.
    keys.extend((0..65).map(|n| (format!("key{n}"), json!(n))));
    seed(&app, &[("wide", Value::Object(keys))]).await;
    table("wide odd").await;
    lists(&app.anonymous(), &[(r#"metadataFilters={"exists":["$x","$.","key[","\""]}"#, "")]).await;
}

async fn one_number_is_found_however_it_is_written(app: TestApp) {
    let numbers = ["0", "-0.0", "100", "1e2", "1e15", "1000000000000000", "1e20", "0.1", "-7.5"];
    let wide: Map<String, Value> = (0..65).map(|n| (format!("key{n}"), json!(n))).collect();
    // First as terms, then looked into.
    for round in 0..2 {
        if round == 1 {
            seed(&app, &[("wide", Value::Object(wide.clone()))]).await;
        } else {
            for number in numbers {
                let metadata: Value =
                    serde_json::from_str(&format!(r#"{{"n":{number}}}"#)).unwrap();
                seed(&app, &[(number, metadata)]).await;
            }
        }
        for (number, expected) in [
            ("0", "-0.0 0"),
            ("0.0", "-0.0 0"),
            ("-0.0", "-0.0 0"),
            ("100", "1e2 100"),
            ("1.0e2", "1e2 100"),
            ("1000000000000000", "1000000000000000 1e15"),
            ("1e15", "1000000000000000 1e15"),
            ("100000000000000000000", "1e20"),
            ("0.10", "0.1"),
            ("-7.5", "-7.5"),
            ("7.5", ""),
        ] {
            let query = format!(r#"metadataFilters={{"includes":{{"n":{number}}}}}"#);
            lists(&app.anonymous(), &[(&query, expected)]).await;
        }
    }
}
