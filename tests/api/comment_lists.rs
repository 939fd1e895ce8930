//! Lists of comments: which are in them, in which order, and how many there are.

use std::time::Duration;

use serde_json::{Value, json};

use crate::comments::{comment, id_of, path, reply};
use crate::feed_plans::{scans, sorts};
use crate::reactions::publish;
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    comments_are_listed_by_place_and_author,
    comments_are_sorted,
    pages_are_counted,
    what_was_deleted_stays_as_a_placeholder,
    authors_see_all_of_their_own,
    comments_on_what_is_hidden_are_left_out,
    a_list_includes_what_is_asked_for,
    a_page_costs_the_same_whatever_its_size,
    wrong_queries_are_refused,
    old_names_of_sorts_are_deprecated,
    every_list_uses_an_index,
];

/// The contents of a list in their order, `-` for none; counted as what it shows.
async fn listed(actor: &Actor<'_>, query: &str) -> String {
    let page = actor.get(&format!("/comments?limit=100&{query}")).await.expect(200);
    let data = page["data"].as_array().unwrap();
    assert_eq!(page["pagination"]["totalItems"], data.len(), "{query}");
    let contents = data.iter().map(|one| one["content"].as_str().unwrap_or("-"));
    contents.collect::<Vec<_>>().join(" ")
}

/// A comment one second younger than the one before.
async fn say(app: &TestApp, actor: &Actor<'_>, entity: &str, content: &str) -> Value {
    app.advance(Duration::from_secs(1));
    comment(actor, entity, content).await
}

async fn answer(app: &TestApp, actor: &Actor<'_>, parent: &Value, content: &str) -> Value {
    app.advance(Duration::from_secs(1));
    reply(actor, parent, content).await
}

async fn comments_are_listed_by_place_and_author(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let new = json!({ "title": "x", "sourceId": "src" });
    let other = ada.post("/entities", new).await.expect(201)["id"].as_str().unwrap().to_owned();
    let entity = publish(&ada).await;
    let a = say(&app, &ada, &entity, "a").await;
    let b = answer(&app, &bob, &a, "b").await;
    answer(&app, &ada, &b, "c").await;
    say(&app, &bob, &entity, "d").await;
    say(&app, &ada, &other, "e").await;
    let id = id_of(&entity);
    let parent = a["id"].as_str().unwrap();
    for (query, expected) in [
        (String::new(), "e d c b a"),
        (format!("entityId={id}"), "d c b a"),
        (format!("entityId={id}&parentId=none"), "d a"),
        (format!("entityId={id}&parentId=null"), "d a"),
        ("parentId=none".to_owned(), "e d a"),
        (format!("parentId={parent}"), "b"),
        (format!("parentId={parent}&entityId={id}"), "b"),
        (format!("parentId={parent}&entityId={other}"), ""),
        (format!("userId={}", ada.id), "e c a"),
        (format!("userId={}&entityId={id}", ada.id), "c a"),
        (format!("userId={}&parentId={parent}", bob.id), "b"),
        ("sourceId=src".to_owned(), "e d c b a"),
        ("sourceId=src&include=entity".to_owned(), "e"),
        ("sourceId=src&include=space".to_owned(), "e"),
        (format!("sourceId=src&include=entity&entityId={id}"), ""),
        ("sourceId=src&includeEntity=true".to_owned(), "e"),
        (format!("entityId={}", crate::comments::UNKNOWN), ""),
        (format!("parentId={}", crate::comments::UNKNOWN), ""),
        ("blockedFilter=include-outbound-blocked".to_owned(), "e d c b a"),
    ] {
        for actor in [&*ada, &app.anonymous(), &bob.v6(), &bob.v7(), &app.service()] {
            assert_eq!(listed(actor, &query).await, expected, "{query}");
        }
    }
    let stranger = app.stranger().await;
    for query in ["", &format!("entityId={id}"), &format!("userId={}", ada.id)] {
        assert_eq!(listed(&stranger, query).await, "", "{query}");
    }
}

async fn comments_are_sorted(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let votes = [("a", 0, 0), ("b", 3, 1), ("c", 2, 0), ("d", 2, 2), ("e", 0, 1), ("f", 0, 0)];
    let mut voters = Vec::new();
    for _ in 0..4 {
        voters.push(app.user().await);
    }
    let root = say(&app, &ada, &publish(&ada).await, "root").await;
    for (content, up, down) in votes {
        let on_entity = say(&app, &ada, &entity, content).await;
        let below = reply(&ada, &root, content).await;
        let up = voters.iter().take(up).map(|voter| (voter, "upvote"));
        let down = voters.iter().rev().take(down).map(|voter| (voter, "downvote"));
        for (voter, kind) in up.chain(down) {
            for said in [&on_entity, &below] {
                let body = json!({ "reactionType": kind });
                voter.post(&format!("{}/reactions", path(said)), body).await.expect(200);
            }
        }
    }
    let parent = root["id"].as_str().unwrap();
    for place in [format!("entityId={}", id_of(&entity)), format!("parentId={parent}")] {
        for (sort, expected) in [
            ("", "f e d c b a"),
            ("sortBy=createdAt&sortDir=DESC", "f e d c b a"),
            ("sortBy=createdAt&sortDir=asc", "a b c d e f"),
            ("sortBy=new", "f e d c b a"),
            ("sortBy=new&sortDir=asc", "f e d c b a"),
            ("sortBy=old", "a b c d e f"),
            ("sortBy=top", "b c d f a e"),
            // 2 against 2, then 3 against 1; one-sided ones before those nobody voted on.
            ("sortBy=controversial", "d b e c f a"),
        ] {
            assert_eq!(listed(&ada, &format!("{place}&{sort}")).await, expected, "{sort}");
            for limit in [1, 2, 4, 5] {
                let mut paged = Vec::new();
                for page in 1..=6 / limit + 1 {
                    let query = format!("/comments?{place}&{sort}&limit={limit}&page={page}");
                    let page = ada.get(&query).await.expect(200);
                    let data = page["data"].as_array().unwrap();
                    paged
                        .extend(data.iter().map(|one| one["content"].as_str().unwrap().to_owned()));
                }
                assert_eq!(paged.join(" "), expected, "{sort} by {limit}");
            }
        }
    }
}

async fn pages_are_counted(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    for n in 0..25 {
        say(&app, &ada, &entity, &n.to_string()).await;
    }
    let place = format!("/comments?entityId={}", id_of(&entity));
    let page = ada.get(&place).await.expect(200);
    let expected =
        json!({ "page": 1, "pageSize": 10, "totalPages": 3, "totalItems": 25, "hasMore": true });
    assert_eq!(page["pagination"], expected);
    assert_eq!(page["data"].as_array().unwrap().len(), 10);
    let page = ada.get(&format!("{place}&page=3")).await.expect(200);
    assert_eq!(page["pagination"]["hasMore"], false);
    assert_eq!(page["data"].as_array().unwrap().len(), 5);
    assert_eq!(page["data"][4]["content"], "0");
    let page = ada.get(&format!("{place}&page=4294967295&limit=1000")).await.expect(200);
    assert_eq!((&page["pagination"]["pageSize"], &page["data"]), (&json!(100), &json!([])));
}

async fn what_was_deleted_stays_as_a_placeholder(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let place = format!("entityId={}", id_of(&entity));
    let a = say(&app, &ada, &entity, "a").await;
    let b = answer(&app, &bob, &a, "b").await;
    answer(&app, &bob, &a, "c").await;
    let d = say(&app, &bob, &entity, "d").await;
    bob.delete(&path(&b)).await.expect(204);
    let below = format!("parentId={}", a["id"].as_str().unwrap());
    for (query, new, old) in [
        (place.clone(), "d c - a", "d c a"),
        (below, "c -", "c"),
        (format!("{place}&parentId=none"), "d a", "d a"),
    ] {
        assert_eq!(listed(&ada, &query).await, new, "{query}");
        assert_eq!(listed(&ada.v7(), &query).await, new, "{query}");
        assert_eq!(listed(&ada.v6(), &query).await, old, "{query}");
    }
    // A comment deleted by v6 is hidden from everybody.
    bob.v6().delete(&path(&d)).await.expect(204);
    for actor in [&*ada, &app.service(), &bob] {
        assert_eq!(listed(actor, &place).await, "c - a");
        assert_eq!(listed(actor, &format!("{place}&parentId=none")).await, "a");
    }
    let page = bob.get(&format!("/comments?{place}&include=user")).await.expect(200);
    let placeholder = &page["data"][1];
    for key in ["userId", "user", "content", "gif", "mentions", "attachments"] {
        assert_eq!(placeholder[key], Value::Null, "{key}");
    }
    assert!(placeholder["userDeletedAt"].is_string());
}

async fn authors_see_all_of_their_own(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    say(&app, &bob, &entity, "a").await;
    let b = say(&app, &bob, &entity, "b").await;
    bob.delete(&path(&b)).await.expect(204);
    let own = format!("userId={}", bob.id);
    assert_eq!(listed(&bob, &own).await, "- a");
    assert_eq!(listed(&app.service(), &own).await, "- a");
    assert_eq!(listed(&bob.v6(), &own).await, "a");
    assert_eq!(listed(&ada, &own).await, "a");
    assert_eq!(listed(&app.anonymous(), &own).await, "a");
    let page = bob.get(&format!("/comments?{own}&include=user")).await.expect(200);
    assert_eq!(page["data"][0]["userId"], json!(bob.id), "their name is on it");
    assert_eq!(page["data"][0]["user"]["id"], json!(bob.id));
}

async fn comments_on_what_is_hidden_are_left_out(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let draft = ada.post("/entities", json!({ "title": "D", "isDraft": true })).await.expect(201);
    let draft = draft["id"].as_str().unwrap();
    let entity = publish(&ada).await;
    let said = say(&app, &ada, draft, "a").await;
    answer(&app, &ada, &said, "b").await;
    say(&app, &bob, &entity, "c").await;
    let below = format!("parentId={}", said["id"].as_str().unwrap());
    for actor in [&*bob, &app.anonymous()] {
        for query in [format!("entityId={draft}"), below.clone(), format!("userId={}", ada.id)] {
            assert_eq!(listed(actor, &query).await, "", "{query}");
        }
        assert_eq!(listed(actor, "").await, "c");
    }
    assert_eq!(listed(&ada, &format!("entityId={draft}")).await, "b a");
    ada.delete(&entity).await.expect(204);
    for actor in [&*bob, &*ada, &app.service()] {
        assert_eq!(listed(actor, &format!("entityId={}", id_of(&entity))).await, "");
        assert_eq!(listed(actor, &format!("userId={}", bob.id)).await, "");
    }
}

async fn a_list_includes_what_is_asked_for(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let a = say(&app, &ada, &entity, "a").await;
    answer(&app, &bob, &a, "b").await;
    bob.post(&format!("{}/reactions", path(&a)), json!({ "reactionType": "wow" }))
        .await
        .expect(200);
    let asked = format!("entityId={}&include=user,entity,space,parent,grants", id_of(&entity));
    let page = bob.get(&format!("/comments?{asked}&spaceReputationId=none")).await.expect(200);
    let (newest, oldest) = (&page["data"][0], &page["data"][1]);
    assert_eq!((&newest["user"]["id"], &oldest["user"]["id"]), (&json!(bob.id), &json!(ada.id)));
    assert_eq!(
        oldest["user"]["spaceReputation"], 8,
        "5 for the entity, 2 for the comment, 1 for wow"
    );
    for one in [newest, oldest] {
        assert_eq!(one["entity"]["id"], json!(id_of(&entity)));
        assert_eq!(one["entity"]["space"], Value::Null);
        assert_eq!(one["grants"]["count"], 0);
        assert!(one.get("parentComment").is_none(), "on single reads only");
    }
    assert_eq!((&newest["userReaction"], &oldest["userReaction"]), (&Value::Null, &json!("wow")));
    let plain = app.anonymous().get("/comments").await.expect(200);
    for key in ["user", "entity", "grants", "userReaction"] {
        assert!(plain["data"][0].get(key).is_none(), "{key}");
    }
    let old = app.anonymous().v6().get("/comments?includeEntity=true").await.expect(200);
    assert!(old["data"][0]["user"]["id"].is_string() && old["data"][0]["entity"]["id"].is_string());
}

async fn a_page_costs_the_same_whatever_its_size(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    for n in 0..12 {
        comment(&ada, &entity, &n.to_string()).await;
    }
    for query in ["include=user,entity,space,grants", ""] {
        let place = format!("/comments?entityId={}&{query}", id_of(&entity));
        let one = app.statements.during(ada.get(&format!("{place}&limit=1"))).await.len();
        let many = app.statements.during(ada.get(&format!("{place}&limit=12"))).await.len();
        assert_eq!(one, many, "{query}");
        assert!(many <= 11, "{many} statements for {query}");
    }
}

async fn wrong_queries_are_refused(app: TestApp) {
    let key = app.service();
    for wrong in [
        "entityId=x",
        "entityId=",
        "parentId=x",
        "userId=x",
        "sortBy=hot",
        "sortDir=up",
        "page=0",
        "page=x",
        "limit=0",
        "limit=-1",
        "include=nothing",
        "blockedFilter=all",
        "spaceReputationId=context&spaceReputationDescendants=true",
    ] {
        key.get(&format!("/comments?{wrong}")).await.refused(400, "comment/invalid-query");
    }
}

async fn old_names_of_sorts_are_deprecated(app: TestApp) {
    let ada = app.user().await;
    for (actor, query, is_deprecated) in [
        ((*ada).clone(), "sortBy=new", true),
        ((*ada).clone(), "sortBy=old", true),
        ((*ada).clone(), "sortBy=createdAt", false),
        ((*ada).clone(), "", false),
        (ada.v7(), "sortBy=new", false),
    ] {
        let reply = actor.get(&format!("/comments?{query}")).await;
        reply.expect(200);
        let header = is_deprecated.then_some("true");
        assert_eq!(reply.header("deprecation"), header, "{query}");
    }
}

async fn every_list_uses_an_index(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let said = comment(&ada, &entity, "x").await;
    let (id, parent) = (id_of(&entity), said["id"].as_str().unwrap());
    let places = [
        format!("entityId={id}"),
        format!("entityId={id}&parentId=none"),
        format!("parentId={parent}"),
        format!("userId={}", ada.id),
        String::new(),
    ];
    for place in places {
        for sort in ["createdAt", "createdAt&sortDir=asc", "top", "controversial"] {
            let asked = format!("/comments?{place}&sortBy={sort}");
            let seen = app.statements.during(app.anonymous().get(&asked)).await;
            let listing = seen.into_iter().filter(|(name, _)| name.starts_with("comments::list"));
            let db = app.app.db.clone();
            let texts: Vec<_> = listing.collect();
            assert!(!texts.is_empty());
            let plans = tokio::task::spawn_blocking(move || {
                let explain = |(name, text): (&'static str, String)| {
                    (name, db.explain(&db::Query::<()>::built(name, text)).unwrap())
                };
                texts.into_iter().map(explain).collect::<Vec<_>>()
            });
            let is_place = place.contains("entityId") || place.contains("parentId");
            for (name, plan) in plans.await.unwrap() {
                assert!(!scans(&plan), "{asked}: {name}\n{plan:#?}");
                let sorts = sorts(app.engine(), &plan);
                assert!(!(is_place && sorts), "{asked}: {name} sorts\n{plan:#?}");
            }
        }
    }
}
