//! Totals of lists are exact under concurrent writes.

use db::{Query, args};
use serde_json::json;

use crate::support::feed::{page, post};
use crate::support::{TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    totals_are_exact_after_many_wrote_at_once,
    an_entity_deleted_by_many_at_once_is_counted_out_once,
    a_draft_published_by_many_at_once_is_counted_once,
];

/// Every kept count equals what counting the entities gives, in the project and by each feed.
async fn counts_are_exact(app: &TestApp, feeds: &[&str]) {
    for feed in feeds {
        // A filter that leaves nothing out makes the server count instead of remember.
        let counted = page(&app.anonymous(), &format!("{feed}&nsfwFilter=exclude")).await;
        let kept = page(&app.anonymous(), feed).await;
        assert_eq!(kept["pagination"], counted["pagination"], "{feed}");
        assert_eq!(kept["data"], counted["data"], "{feed}");
    }
    let project = app.project.id;
    let below = app.app.db.read(move |c| {
        let text = "SELECT count(*) FROM entity_counts WHERE project_id = $1 AND total < 0";
        c.one(&Query::<i64>::built("test::below_zero", text), args![project])
    });
    assert_eq!(below.await.unwrap(), 0);
}

async fn totals_are_exact_after_many_wrote_at_once(app: TestApp) {
    let ada = app.user().await;
    let mut ids = Vec::new();
    for n in 0..16 {
        let new = json!({ "title": format!("old{n}"), "keywords": ["a", "b"], "sourceId": "s" });
        ids.push(post(&app, &ada, new).await);
    }
    let ada = &ada;
    let write = |n: usize| {
        let id = ids[n % ids.len()];
        async move {
            let path = format!("/entities/{id}");
            match n % 4 {
                0 => {
                    let source = if n.is_multiple_of(8) { json!("s") } else { json!(null) };
                    let new = json!({ "title": "new", "keywords": ["b", "c"], "sourceId": source });
                    ada.post("/entities", new).await.expect(201);
                }
                1 => {
                    ada.patch(&path, json!({ "keywords": ["c", "a"] })).await;
                }
                2 => {
                    ada.delete(&path).await;
                }
                _ => {
                    ada.patch(&path, json!({ "keywords": [] })).await;
                }
            }
        }
    };
    let feeds = [
        "page=1",
        "sourceId=s",
        "sourceId=null",
        "spaceId=null",
        "sourceId=null&spaceId=null",
        &format!("userId={}", ada.id),
        "keywordsFilters[includes]=a",
        "keywordsFilters[includes]=b",
        "keywordsFilters[includes]=c",
        "sourceId=null&keywordsFilters[includes]=b",
        "sourceId=null&keywordsFilters[includes]=c",
    ];
    counts_are_exact(&app, &feeds).await;
    for round in 0..3 {
        all_at_once((0..32).map(|n| write(n + round * 5))).await;
        counts_are_exact(&app, &feeds).await;
    }
    let total = page(&app.anonymous(), "").await["pagination"]["totalItems"].clone();
    assert_eq!(total, 16 - 4 + 24, "four of the old were deleted, 24 new ones came");
}

async fn an_entity_deleted_by_many_at_once_is_counted_out_once(app: TestApp) {
    let ada = app.user().await;
    let id = post(&app, &ada, json!({ "title": "gone", "keywords": ["k"] })).await;
    post(&app, &ada, json!({ "title": "stays", "keywords": ["k"] })).await;
    let path = format!("/entities/{id}");
    let replies = all_at_once((0..32).map(|_| ada.delete(&path))).await;
    assert_eq!((count(&replies, 204), count(&replies, 404)), (1, 31));
    counts_are_exact(&app, &["page=1", "keywordsFilters[includes]=k"]).await;
    assert_eq!(page(&app.anonymous(), "").await["pagination"]["totalItems"], 1);
}

async fn a_draft_published_by_many_at_once_is_counted_once(app: TestApp) {
    let ada = app.user().await;
    let new = json!({ "title": "draft", "keywords": ["k"], "isDraft": true });
    let path = format!("/entities/{}/publish", post(&app, &ada, new).await);
    let replies = all_at_once((0..32).map(|_| ada.patch(&path, json!({})))).await;
    assert!(count(&replies, 200) >= 1);
    counts_are_exact(&app, &["page=1", "keywordsFilters[includes]=k"]).await;
    assert_eq!(page(&app.anonymous(), "").await["pagination"]["totalItems"], 1);
}
