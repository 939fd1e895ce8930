//! Pages of lists, their envelope, and totals.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::feed::{feed, page, post, seed_many, titles};
use crate::support::{TestApp, keys, on_both_engines};

on_both_engines![
    a_page_says_where_it_is,
    pages_follow_each_other_without_gaps_or_repeats,
    pages_past_the_end_are_empty,
    a_limit_above_the_most_is_brought_down,
    an_empty_project_has_empty_lists,
    lists_of_many_thousands_begin_where_few_are_left,
];

const ORDERS: [&str; 9] = [
    "sortBy=createdAt",
    "sortDir=asc",
    "sortBy=hot",
    "sortBy=top",
    "sortBy=controversial",
    "sortBy=metadata.n",
    "keywordsFilters[includes]=k",
    "keywordsFilters[doesNotInclude]=z&sortBy=hot",
    "titleFilters[includes]=t",
];

async fn seed(app: &TestApp, count: usize) {
    for n in 0..count {
        let new =
            json!({ "title": format!("t{n}"), "keywords": ["k"], "metadata": { "n": n % 4 } });
        post(app, &app.anonymous(), new).await;
    }
}

fn numbers(page: &Value) -> (i64, i64, i64, i64, bool) {
    let of = &page["pagination"];
    let number = |name: &str| of[name].as_i64().unwrap();
    let has_more = of["hasMore"].as_bool().unwrap();
    (number("page"), number("pageSize"), number("totalPages"), number("totalItems"), has_more)
}

async fn a_page_says_where_it_is(app: TestApp) {
    seed(&app, 12).await;
    for order in ORDERS {
        for (query, expected, shown) in [
            ("page=1", (1, 10, 2, 12, true), 10),
            ("page=2", (2, 10, 2, 12, false), 2),
            ("limit=12", (1, 12, 1, 12, false), 12),
            ("limit=6", (1, 6, 2, 12, true), 6),
            ("limit=5&page=3", (3, 5, 3, 12, false), 2),
            ("limit=1&page=12", (12, 1, 12, 12, false), 1),
        ] {
            let page = page(&app.anonymous(), &format!("{order}&{query}")).await;
            assert_eq!(numbers(&page), expected, "{order} {query}");
            assert_eq!(page["data"].as_array().unwrap().len(), shown, "{order} {query}");
        }
    }
    let page = page(&app.anonymous().v6(), "").await;
    assert_eq!(keys(&page), ["data", "pagination"]);
    let names = ["hasMore", "page", "pageSize", "totalItems", "totalPages"];
    assert_eq!(keys(&page["pagination"]), names);
}

async fn pages_follow_each_other_without_gaps_or_repeats(app: TestApp) {
    seed(&app, 23).await;
    for order in ORDERS {
        let whole = titles(&page(&app.anonymous(), &format!("{order}&limit=100")).await);
        assert_eq!(whole.split(' ').count(), 23);
        for limit in [1, 4, 7, 22, 23] {
            let mut parts = Vec::new();
            for number in 1..=23_usize.div_ceil(limit) {
                let query = format!("{order}&limit={limit}&page={number}");
                parts.push(titles(&page(&app.anonymous(), &query).await));
            }
            assert_eq!(parts.join(" "), whole, "{order} by {limit}");
        }
    }
}

async fn pages_past_the_end_are_empty(app: TestApp) {
    seed(&app, 3).await;
    for order in ORDERS {
        for number in ["2", "1000", "4294967295", "9223372036854775807"] {
            let page = page(&app.anonymous(), &format!("{order}&page={number}")).await;
            assert_eq!(page["data"], json!([]), "{order} {number}");
            let (_, size, pages, items, more) = numbers(&page);
            assert_eq!((size, pages, items, more), (10, 1, 3, false), "{order} {number}");
        }
    }
}

async fn a_limit_above_the_most_is_brought_down(app: TestApp) {
    seed(&app, 2).await;
    for limit in ["101", "1000000", "9223372036854775807"] {
        let page = page(&app.anonymous(), &format!("limit={limit}")).await;
        assert_eq!(numbers(&page), (1, 100, 1, 2, false));
    }
}

async fn an_empty_project_has_empty_lists(app: TestApp) {
    for order in ORDERS.iter().chain(&["", "spaceId=x", "sourceId=null&spaceId=null"]) {
        let page = page(&app.anonymous(), order).await;
        assert_eq!(page["data"], json!([]), "{order}");
        assert_eq!(numbers(&page), (1, 10, 0, 0, false), "{order}");
    }
    assert_eq!(app.anonymous().get(&feed("page=7")).await.status, 200);
}

/// Terms and places of more entities than are sorted without a thought.
async fn lists_of_many_thousands_begin_where_few_are_left(app: TestApp) {
    let app = app.own_server().await;
    seed_many(&app, 2500).await;
    app.advance(Duration::from_secs(60));
    let anybody = app.anonymous();
    for (query, total, first) in [
        ("", 2500, "n2499 n2498 n2497"),
        ("sortDir=asc", 2500, "n0 n1 n2"),
        ("keywordsFilters[includes]=many", 2500, "n2499 n2498 n2497"),
        ("keywordsFilters[includes]=many&sortDir=asc", 2500, "n0 n1 n2"),
        ("keywordsFilters[includes]=many&sortBy=hot", 2500, "n2498 n2493 n2488"),
        ("keywordsFilters[includes]=tenth", 250, "n2490 n2480 n2470"),
        (
            "keywordsFilters[includes][]=many&keywordsFilters[includes][]=tenth",
            250,
            "n2490 n2480 n2470",
        ),
        ("keywordsFilters[includes][]=many&keywordsFilters[includes][]=one", 1, "n1234"),
        (
            "keywordsFilters[includes]=many&keywordsFilters[doesNotInclude]=tenth",
            2250,
            "n2499 n2498 n2497",
        ),
        ("keywordsFilters[includes]=many&titleFilters[includes]=N24", 111, "n2499 n2498 n2497"),
        ("metadataFilters[exists]=n&keywordsFilters[includes]=many", 2500, "n2499 n2498 n2497"),
        ("metadataFilters[includes][n]=77", 1, "n77"),
        ("metadataFilters[includes][n]=77&keywordsFilters[includes]=many&sortBy=top", 1, "n77"),
        ("sortBy=metadata.n&sortDir=asc&keywordsFilters[includes]=many", 2500, "n0 n1 n2"),
        ("sortBy=top", 2500, "n2499 n2399 n2299"),
        ("sortBy=top&page=9", 2500, "n99 n2498 n2497"),
        ("sortBy=top&page=10", 2500, "n2496 n2495 n2494"),
        ("sortBy=top&page=10&keywordsFilters[includes]=many", 2500, "n2496 n2495 n2494"),
        (
            "locationFilters[latitude]=0&locationFilters[longitude]=0&locationFilters[radius]=1e8",
            2500,
            "n2499 n2498 n2497",
        ),
        (
            "locationFilters[latitude]=0.1&locationFilters[longitude]=0&locationFilters[radius]=1",
            1,
            "n100",
        ),
        ("page=834", 2500, "n0"),
        ("sortBy=hot&page=834", 2500, "n4"),
    ] {
        let page = page(&anybody, &format!("limit=3&{query}")).await;
        assert_eq!(page["pagination"]["totalItems"], total, "{query}");
        assert_eq!(titles(&page), first, "{query}");
    }
}
