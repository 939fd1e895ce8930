//! The orders of a list of entities.

use std::time::Duration;

use serde_json::json;
use townhall::features::reactions::{ReactionCounts, ReactionType};
use townhall::values::ids::EntityId;

use crate::support::feed::{feed, listed, lists, page, post, react, set_score, titles};
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    the_newest_come_first_by_default,
    the_old_name_of_newest_is_deprecated,
    those_of_the_same_moment_are_in_the_order_of_their_ids,
    hot_goes_by_the_stored_score,
    a_stale_score_is_recomputed_after_the_list,
    top_goes_by_one_kind_of_reaction,
    top_pages_go_on_where_reactions_end,
    controversial_are_those_that_divide,
    the_oldest_version_has_orders_of_its_own,
    orders_hold_within_a_filter,
];

/// `a` to `e`, the last being the youngest.
async fn five(app: &TestApp, actor: &Actor<'_>) -> Vec<EntityId> {
    let mut ids = Vec::new();
    for title in ["a", "b", "c", "d", "e"] {
        ids.push(post(app, actor, json!({ "title": title, "keywords": ["k"] })).await);
    }
    ids
}

fn votes(upvote: i64, downvote: i64) -> ReactionCounts {
    ReactionCounts { upvote, downvote, ..ReactionCounts::default() }
}

async fn the_newest_come_first_by_default(app: TestApp) {
    five(&app, &app.anonymous()).await;
    let table = [
        ("", "e d c b a"),
        ("sortBy=createdAt", "e d c b a"),
        ("sortBy=createdAt&sortDir=desc", "e d c b a"),
        ("sortDir=DESC", "e d c b a"),
        ("sortDir=asc", "a b c d e"),
        ("sortBy=createdAt&sortDir=ASC", "a b c d e"),
        ("sortBy=createdAt&sortDir=Asc", "a b c d e"),
        ("sortBy=createdAt&sortType=numeric&sortByReaction=love", "e d c b a"),
    ];
    lists(&app.anonymous(), &table).await;
    lists(&app.anonymous().v7(), &table).await;
}

async fn the_old_name_of_newest_is_deprecated(app: TestApp) {
    five(&app, &app.anonymous()).await;
    for (query, header) in [
        ("sortBy=new", Some("true")),
        ("sortBy=new&sortDir=asc", Some("true")),
        ("sortBy=new&spaceId=none", Some("true")),
        ("sortBy=createdAt", None),
        ("", None),
    ] {
        let reply = app.anonymous().get(&feed(query)).await;
        reply.expect(200);
        assert_eq!(reply.header("deprecation"), header, "{query}");
    }
    lists(
        &app.anonymous(),
        &[("sortBy=new", "e d c b a"), ("sortBy=new&sortDir=asc", "a b c d e")],
    )
    .await;
}

async fn those_of_the_same_moment_are_in_the_order_of_their_ids(app: TestApp) {
    let mut ids = Vec::new();
    for _ in 0..9 {
        let new = json!({ "keywords": ["k"], "createdAt": "2026-07-01", "metadata": { "n": 1 } });
        ids.push(app.service().post("/entities", new).await.expect(201)["id"].clone());
    }
    ids.sort_by_key(|id| std::cmp::Reverse(id.as_str().unwrap().to_owned()));
    for query in [
        "",
        "sortDir=asc",
        "sortBy=hot",
        "sortBy=top",
        "sortBy=controversial",
        "sortBy=metadata.n",
        "sortBy=metadata.n&sortDir=asc",
        "sortBy=metadata.none",
        "keywordsFilters[includes]=k",
        "keywordsFilters[includes]=k&sortDir=asc",
        "metadataFilters[exists]=n",
        "nsfwFilter=exclude",
    ] {
        let shown = page(&app.anonymous(), query).await;
        let shown: Vec<_> = shown["data"].as_array().unwrap().iter().map(|e| &e["id"]).collect();
        assert_eq!(shown, ids.iter().collect::<Vec<_>>(), "{query}");
    }
}

async fn hot_goes_by_the_stored_score(app: TestApp) {
    let ids = five(&app, &app.anonymous()).await;
    for (id, score) in ids.iter().zip([2.0, 7.25, 2.0, 0.0, 1.5]) {
        set_score(&app, *id, score).await;
    }
    let table = [
        ("sortBy=hot", "b c a e d"),
        ("sortBy=score", "b c a e d"),
        ("sortBy=hot&sortDir=asc", "b c a e d"),
        ("sortBy=hot&keywordsFilters[includes]=k", "b c a e d"),
        ("sortBy=hot&nsfwFilter=exclude", "b c a e d"),
    ];
    lists(&app.anonymous(), &table).await;
    // A reaction alone moves nothing.
    react(&app, ids[3], votes(50, 0)).await;
    lists(&app.anonymous(), &table).await;
    assert_eq!(page(&app.anonymous(), "sortBy=hot").await["data"][0]["score"], 7.25);
}

async fn a_stale_score_is_recomputed_after_the_list(app: TestApp) {
    let ids = five(&app, &app.anonymous()).await;
    react(&app, ids[1], votes(20, 0)).await;
    app.advance(Duration::from_secs(60 * 6));
    lists(&app.anonymous(), &[("sortBy=hot", "e d c b a")]).await;
    app.flush_views().await;
    lists(&app.anonymous(), &[("sortBy=hot", "b e d c a")]).await;
    let first = page(&app.anonymous(), "sortBy=hot").await["data"][0].clone();
    assert_eq!(first["scoreUpdatedAt"], json!(app.now().to_string()));
    assert_ne!(first["updatedAt"], first["scoreUpdatedAt"]);
}

async fn top_goes_by_one_kind_of_reaction(app: TestApp) {
    let ids = five(&app, &app.anonymous()).await;
    // Another order for each kind, with ties and with some that have none.
    let count = |entity: usize, kind: usize| ((entity + 1) * (kind + 3) % 7 / 2) as i64;
    for (entity, id) in ids.iter().enumerate() {
        let mut counts = ReactionCounts::default();
        for (kind, name) in ReactionType::ALL.iter().enumerate() {
            *counts.of_mut(*name) = count(entity, kind);
        }
        react(&app, *id, counts).await;
    }
    let order = |kind: usize| {
        let mut order: Vec<usize> = (0..5).rev().collect();
        order.sort_by_key(|entity| std::cmp::Reverse(count(*entity, kind)));
        order.iter().map(|n| ["a", "b", "c", "d", "e"][*n]).collect::<Vec<_>>().join(" ")
    };
    for (kind, name) in ReactionType::ALL.iter().enumerate() {
        let query = format!("sortBy=top&sortByReaction={}", name.name());
        for filter in ["", "&keywordsFilters[includes]=k", "&nsfwFilter=exclude", "&spaceId=null"] {
            let query = format!("{query}{filter}");
            assert_eq!(listed(&app.anonymous(), &query).await, order(kind), "{query}");
        }
    }
    let orders: std::collections::BTreeSet<String> = (0..8).map(order).collect();
    assert!(orders.len() > 4, "{orders:?}");
    assert_eq!(listed(&app.anonymous(), "sortBy=top&sortDir=asc").await, order(0));
}

async fn top_pages_go_on_where_reactions_end(app: TestApp) {
    let ids = five(&app, &app.anonymous()).await;
    for (id, upvotes) in [(ids[1], 3), (ids[0], 1), (ids[3], 1)] {
        react(&app, id, votes(upvotes, 0)).await;
    }
    let whole = ["b", "d", "a", "e", "c"];
    for sort in ["top", "controversial"] {
        for filter in ["", "&keywordsFilters[includes]=k", "&nsfwFilter=exclude"] {
            for limit in 1..=6 {
                let mut shown = Vec::new();
                for number in 1..=6 {
                    let query = format!("sortBy={sort}{filter}&limit={limit}&page={number}");
                    let page = page(&app.anonymous(), &query).await;
                    assert_eq!(page["pagination"]["totalItems"], 5, "{query}");
                    shown.extend(titles(&page).split_whitespace().map(str::to_owned));
                }
                let expected = if sort == "top" { whole } else { ["d", "b", "a", "e", "c"] };
                assert_eq!(shown, expected, "{sort} {filter} {limit}");
            }
        }
    }
}

async fn controversial_are_those_that_divide(app: TestApp) {
    let ids = five(&app, &app.anonymous()).await;
    // The examples of the contract, from most to least, and one that nobody voted on.
    let examples = [(ids[2], (10, 10)), (ids[4], (100, 50)), (ids[0], (5, 5)), (ids[1], (3, 0))];
    for (id, (up, down)) in examples {
        react(&app, id, votes(up, down)).await;
    }
    let table = [
        ("sortBy=controversial", "c e a b d"),
        ("sortBy=controversial&sortDir=asc", "c e a b d"),
        ("sortBy=controversial&keywordsFilters[includes]=k", "c e a b d"),
        ("sortBy=controversial&nsfwFilter=exclude", "c e a b d"),
    ];
    lists(&app.anonymous(), &table).await;
    // Votes taken back leave no key behind.
    let (project, id) = (app.project.id, ids[2]);
    let back = votes(-10, -10);
    let changed = app.app.db.write(move |tx| {
        townhall::features::entities::store::change_reactions(tx, project, id, back)
    });
    changed.await.unwrap();
    lists(&app.anonymous(), &[("sortBy=controversial", "e a b d c")]).await;
}

async fn the_oldest_version_has_orders_of_its_own(app: TestApp) {
    let ids = five(&app, &app.anonymous()).await;
    let v6 = app.anonymous().v6();
    for (id, (up, down)) in ids.iter().zip([(10, 8), (5, 1), (3, 1), (0, 4), (0, 0)]) {
        react(&app, *id, votes(up, down)).await;
    }
    set_score(&app, ids[2], 9.0).await;
    let table = [
        ("", "c e d b a"),
        ("sortBy=hot", "c e d b a"),
        ("sortBy=createdAt", "e d c b a"),
        ("sortBy=new", "e d c b a"),
        ("sortBy=top", "b a c e d"),
        ("sortBy=top&sortByReaction=downvote", "a d c b e"),
        ("sortBy=top&keywordsFilters[includes]=k", "b a c e d"),
        ("sortBy=controversial", "a c b d e"),
    ];
    lists(&v6, &table).await;
    lists(&app.anonymous(), &[("sortBy=top", "a b c e d")]).await;
}

async fn orders_hold_within_a_filter(app: TestApp) {
    let ids = five(&app, &app.anonymous()).await;
    for (n, id) in (1..).zip(&ids) {
        react(&app, *id, votes(n, 6 - n)).await;
        set_score(&app, *id, n as f64).await;
    }
    let filters = [
        "keywordsFilters[includes]=k",
        "keywordsFilters[doesNotInclude]=z",
        "titleFilters[hasTitle]=true",
        "attachmentsFilters[hasAttachments]=false",
        "metadataFilters[doesNotExist]=z",
        "timeFrame=day",
        "sourceId=null",
        "sourceId=null&spaceId=null",
    ];
    for filter in filters {
        for (sort, expected) in [
            ("createdAt&sortDir=asc", "a b c d e"),
            ("hot", "e d c b a"),
            ("top", "e d c b a"),
            ("top&sortByReaction=downvote", "a b c d e"),
            ("controversial", "c d b e a"),
        ] {
            lists(&app.anonymous(), &[(&format!("{filter}&sortBy={sort}"), expected)]).await;
        }
    }
}
