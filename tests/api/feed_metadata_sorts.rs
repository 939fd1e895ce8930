//! Lists in the order of a property of the metadata.

use serde_json::{Value, json};

use crate::support::feed::{lists, page, post, titles};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    sorted_by_a_property_of_any_type,
    sorted_by_a_property_read_as_one_type,
    sorted_within_filters_and_over_pages,
];

async fn seed(app: &TestApp, rows: &[(&str, Value)]) {
    for (title, metadata) in rows {
        post(app, &app.anonymous(), json!({ "title": title, "metadata": metadata })).await;
    }
}

async fn sorted_by_a_property_of_any_type(app: TestApp) {
    seed(
        &app,
        &[
            ("true", json!({ "p": true })),
            ("b", json!({ "p": "b" })),
            ("10", json!({ "p": 10 })),
            ("none", json!({})),
            ("A", json!({ "p": "A" })),
            ("9.5", json!({ "p": 9.5 })),
            ("null", json!({ "p": null })),
            ("false", json!({ "p": false })),
            ("list", json!({ "p": [1] })),
            ("Ä", json!({ "p": "Ä" })),
        ],
    )
    .await;
    let table = [
        ("sortBy=metadata.p&sortDir=asc", "9.5 10 A b Ä false true list null none"),
        ("sortBy=metadata.p&sortDir=desc", "true false Ä b A 10 9.5 list null none"),
        ("sortBy=metadata.p", "true false Ä b A 10 9.5 list null none"),
        ("sortBy=metadata.p&sortType=auto&sortDir=ASC", "9.5 10 A b Ä false true list null none"),
        ("sortBy=metadata.q", "Ä list false null 9.5 A none 10 b true"),
    ];
    lists(&app.anonymous(), &table).await;
}

async fn sorted_by_a_property_read_as_one_type(app: TestApp) {
    let rows = [
        ("t10", json!({ "p": " 10 " })),
        ("9", json!({ "p": 9 })),
        ("B", json!({ "p": "B" })),
        ("true", json!({ "p": true })),
        ("False", json!({ "p": "False" })),
        ("2026", json!({ "p": "2026-01-02T03:04:05Z" })),
        ("seconds", json!({ "p": 1_767_225_600 })),
        ("millis", json!({ "p": 1_767_225_600_001_i64 })),
        ("inf", json!({ "p": "inf" })),
        ("list", json!({ "p": [] })),
    ];
    seed(&app, &rows).await;
    let rest = |shown: &str| {
        let missing = rows.iter().rev().map(|(title, _)| *title);
        let missing = missing.filter(|title| !shown.split(' ').any(|one| one == *title));
        format!("{shown} {}", missing.collect::<Vec<_>>().join(" "))
    };
    for (kind, ascending, descending) in [
        ("numeric", "9 t10 seconds millis", "millis seconds t10 9"),
        (
            "text",
            "t10 seconds millis 2026 9 B False inf true",
            "true inf False B 9 2026 millis seconds t10",
        ),
        ("boolean", "False true", "true False"),
        ("timestamp", "9 t10 seconds millis 2026", "2026 millis seconds t10 9"),
    ] {
        let query = format!("sortBy=metadata.p&sortType={kind}&sortDir=");
        let table =
            [(format!("{query}asc"), rest(ascending)), (format!("{query}desc"), rest(descending))];
        for (query, expected) in &table {
            lists(&app.anonymous(), &[(query, expected)]).await;
        }
    }
}

async fn sorted_within_filters_and_over_pages(app: TestApp) {
    for n in 0..7 {
        let metadata = if n == 3 { json!({}) } else { json!({ "p": (n * 5) % 7 }) };
        let new = json!({ "title": n.to_string(), "metadata": metadata, "keywords": ["k"] });
        post(&app, &app.anonymous(), new).await;
    }
    for filter in ["", "&keywordsFilters[includes]=k", "&titleFilters[hasTitle]=true"] {
        let query = format!("sortBy=metadata.p&sortDir=asc{filter}");
        lists(&app.anonymous(), &[(&query, "0 6 2 5 1 4 3")]).await;
        let mut shown = Vec::new();
        for number in 1..=4 {
            let query = format!("{query}&limit=2&page={number}");
            let shown_page = page(&app.anonymous(), &query).await;
            shown.push(titles(&shown_page));
        }
        assert_eq!(shown, ["0 6", "2 5", "1 4", "3"]);
    }
}
