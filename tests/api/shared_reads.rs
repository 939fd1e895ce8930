//! Lists that many anonymous callers ask for at once, who share a read.

use std::cell::Cell;
use std::time::Duration;

use serde_json::json;

use crate::entities::create;
use crate::support::{Actor, TestApp, all_at_once, on_both_engines};

on_both_engines![
    a_reply_is_never_older_than_its_question,
    only_the_same_question_has_the_same_reply,
];

const LISTS: [&str; 4] =
    ["/entities?limit=5&include=user", "/entities?limit=5", "/comments", "/spaces"];

async fn a_reply_is_never_older_than_its_question(app: TestApp) {
    let ada = app.user().await;
    let is_over = Cell::new(false);
    let crowd = all_at_once((0..16).map(async |_| {
        while !is_over.get() {
            app.anonymous().get("/entities?limit=1").await.expect(200);
        }
    }));
    let posts = async {
        for n in 0..40 {
            app.advance(Duration::from_secs(1));
            create(&ada, json!({ "title": n.to_string() })).await;
            let pages = (0..4).map(async |_| app.anonymous().get("/entities?limit=1").await);
            for page in all_at_once(pages).await {
                assert_eq!(page.expect(200)["data"][0]["title"], n.to_string());
            }
        }
        is_over.set(true);
    };
    tokio::join!(crowd, posts);
}

async fn only_the_same_question_has_the_same_reply(app: TestApp) {
    let ada = app.user().await;
    let space = ada.post("/spaces", json!({ "name": "Garden" })).await.expect(201);
    for n in 0..6 {
        let new = json!({ "title": format!("t{n}"), "spaceId": space["id"] });
        let entity = create(&ada, new).await;
        let comment = json!({ "entityId": entity["id"], "content": "Ripe." });
        ada.post("/comments", comment).await.expect(201);
    }
    let other = app.project_with(&townhall::tenancy::Bundle::ALL).await;
    let anonymous = app.anonymous();
    let callers: [Actor<'_>; 7] = [
        anonymous.v6(),
        anonymous.v7(),
        anonymous.legacy(),
        anonymous.in_project(other.id),
        app.bearer("not-a-token"),
        (*ada).clone(),
        anonymous,
    ];
    let asked: Vec<_> =
        callers.iter().flat_map(|caller| LISTS.map(|list| (caller, list))).collect();
    let mut alone = Vec::new();
    for (caller, list) in &asked {
        alone.push(caller.get(list).await);
    }
    let crowd = asked.iter().flat_map(|one| std::iter::repeat_n(one, 6));
    let replies = all_at_once(crowd.map(async |(caller, list)| caller.get(list).await)).await;
    for (replies, (alone, (_, list))) in replies.chunks(6).zip(alone.iter().zip(&asked)) {
        for reply in replies {
            assert_eq!((reply.status, reply.text()), (alone.status, alone.text()), "{list}");
            assert_eq!(reply.header("etag"), alone.header("etag"), "{list}");
        }
    }
}
