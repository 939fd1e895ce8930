//! Drafts: visible to their author and to keys only; Fetch Drafts, Publish.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::entities::{UNKNOWN, counts_are_exact, create, feed_size, path, reputation};
use crate::support::{TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    a_draft_is_not_found_for_others,
    a_drafts_foreign_id_is_taken_but_tells_nothing,
    drafts_are_listed_for_their_user,
    a_key_lists_the_drafts_of_the_user_it_names,
    publishing_makes_it_new_and_counts_it_everywhere,
    a_draft_is_published_once,
    a_published_draft_is_found_by_its_words,
];

async fn a_draft_is_not_found_for_others(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let new = json!({ "title": "Secret", "isDraft": true, "foreignId": "f", "keywords": ["k"],
        "metadata": { "m": 1 }, "location": { "latitude": 1, "longitude": 1 } });
    let draft = create(&ada, new).await;
    let (entity, unknown) = (path(&draft), format!("/entities/{UNKNOWN}"));
    let short = draft["shortId"].as_str().unwrap();
    let reaction = Some(json!({ "reactionType": "like" }));
    let change = Some(json!({ "title": "Mine" }));
    for (method, real, fake, body) in [
        (Method::GET, entity.clone(), unknown.clone(), None),
        (Method::GET, format!("/entities/by-short-id?shortId={short}"), unknown.clone(), None),
        (Method::GET, "/entities/by-foreign-id?foreignId=f".to_owned(), unknown.clone(), None),
        (Method::POST, format!("{entity}/reactions"), format!("{unknown}/reactions"), reaction),
        (Method::DELETE, format!("{entity}/reactions"), format!("{unknown}/reactions"), None),
        (Method::GET, format!("{entity}/reactions"), format!("{unknown}/reactions"), None),
        (Method::GET, format!("{entity}/reactions/me"), format!("{unknown}/reactions/me"), None),
        (Method::PATCH, format!("{entity}/upvote"), format!("{unknown}/upvote"), None),
        (
            Method::PATCH,
            format!("{entity}/remove-downvote"),
            format!("{unknown}/remove-downvote"),
            None,
        ),
        (Method::PATCH, entity.clone(), unknown.clone(), change),
        (Method::PATCH, format!("{entity}/publish"), format!("{unknown}/publish"), None),
        (Method::DELETE, entity.clone(), unknown.clone(), None),
    ] {
        for bob in [bob.v6(), bob.v7(), (*bob).clone()] {
            let refused = bob.send(method.clone(), &real, body.clone()).await;
            refused.refused(404, "entity/not-found");
            let missing = bob.send(method.clone(), &fake, body.clone()).await;
            assert_eq!((refused.status, refused.body), (missing.status, missing.body), "{real}");
        }
    }
    let views = format!("{entity}/increment-views");
    bob.v6().patch(&views, json!({})).await.refused(404, "entity/not-found");
    for query in [
        "",
        "sortBy=hot",
        "sortBy=top",
        "sortBy=controversial",
        "sortBy=metadata.m",
        "sourceId=null&spaceId=null",
        "keywordsFilters[includes]=k",
        "metadataFilters[exists]=m",
        "metadataFilters[includes][m]=1",
        "titleFilters[includes]=secret",
        &format!("userId={}", ada.id),
        "locationFilters[latitude]=1&locationFilters[longitude]=1&locationFilters[radius]=9",
    ] {
        assert_eq!(feed_size(&app, query).await, 0, "{query}");
        for actor in [&*ada, &app.service()] {
            let listed = actor.get(&format!("/entities?{query}")).await.expect(200);
            assert_eq!(listed["pagination"]["totalItems"], 0, "{query}");
        }
    }
    assert_eq!(ada.get(&entity).await.expect(200)["title"], "Secret", "nobody has changed it");
    assert_eq!(ada.get(&entity).await.expect(200)["reactionCounts"]["like"], 0);
    let nobodys = create(&app.anonymous(), json!({ "isDraft": true })).await;
    app.anonymous().get(&path(&nobodys)).await.refused(404, "entity/not-found");
    app.service().get(&path(&nobodys)).await.expect(200);
}

async fn a_drafts_foreign_id_is_taken_but_tells_nothing(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let draft = create(&ada, json!({ "isDraft": true, "foreignId": "f" })).await;
    let address = "/entities/by-foreign-id?foreignId=f&createIfNotFound=true";
    for nobody in [&app.anonymous(), &*bob] {
        nobody.get(address).await.refused(404, "entity/not-found");
    }
    for owner in [&*ada, &app.service()] {
        assert_eq!(owner.get(address).await.expect(200)["id"], draft["id"]);
    }
    let taken = bob.post("/entities", json!({ "foreignId": "f" })).await;
    taken.refused(409, "entity/duplicate-foreign-id");
}

async fn drafts_are_listed_for_their_user(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let mut drafts = Vec::new();
    for n in 0..12 {
        let source = if n % 2 == 0 { json!("even") } else { Value::Null };
        drafts.push(
            create(&ada, json!({ "title": n.to_string(), "isDraft": true, "sourceId": source }))
                .await,
        );
        app.advance(Duration::from_secs(1));
    }
    create(&ada, json!({ "title": "published" })).await;
    create(&bob, json!({ "title": "bob's", "isDraft": true })).await;
    app.advance(Duration::from_secs(1));
    ada.patch(&path(&drafts[3]), json!({ "nsfw": true })).await.expect(200);
    let list = async |query: &str| {
        let page = ada.get(&format!("/entities/drafts?{query}")).await.expect(200);
        let titles =
            page["data"].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap());
        (titles.collect::<Vec<_>>().join(" "), page["pagination"].clone())
    };
    let envelope = |page: u32, size: u32, pages: u32, items: u32| {
        json!({ "page": page, "pageSize": size, "totalPages": pages, "totalItems": items,
            "hasMore": page < pages })
    };
    assert_eq!(list("").await, ("3 11 10 9 8 7 6 5 4 2".to_owned(), envelope(1, 10, 2, 12)));
    assert_eq!(list("page=2").await, ("1 0".to_owned(), envelope(2, 10, 2, 12)));
    assert_eq!(list("page=3&limit=5").await, ("1 0".to_owned(), envelope(3, 5, 3, 12)));
    assert_eq!(list("page=9").await, (String::new(), envelope(9, 10, 2, 12)));
    assert_eq!(list("limit=1000").await.1, envelope(1, 100, 1, 12));
    assert_eq!(list("sourceId=even").await.0, "10 8 6 4 2 0");
    assert_eq!(list("sourceId=null").await.0, "3 11 9 7 5 1");
    assert_eq!(list("spaceId=null").await.1["totalItems"], 12);
    assert_eq!(list("spaceId=x").await, (String::new(), envelope(1, 10, 0, 0)));
    assert_eq!(list(&format!("userId={}", bob.id)).await.1["totalItems"], 12, "a user is themself");
    for wrong in ["page=0", "limit=0", "page=x", "limit=-1", "page=%D9%A3"] {
        let reply = ada.get(&format!("/entities/drafts?{wrong}")).await;
        reply.refused(400, "entity/invalid-query");
    }
    let far = ada.get("/entities/drafts?page=9223372036854775807&limit=100").await;
    assert!([200, 400].contains(&far.status), "{}", far.text());
    let full = ada.get("/entities/drafts?limit=1&include=user,space,grants,saved,topComment").await;
    let full = full.expect(200)["data"][0].clone();
    assert_eq!((&full["user"]["id"], &full["isDraft"]), (&json!(ada.id), &json!(true)));
    assert!(full.get("grants").is_some() && full.get("space").is_some());
    assert!(full.get("isSaved").is_none(), "drafts cannot be saved");
}

async fn a_key_lists_the_drafts_of_the_user_it_names(app: TestApp) {
    let ada = app.user().await;
    create(&ada, json!({ "isDraft": true })).await;
    for key in [app.service(), app.master()] {
        key.get("/entities/drafts").await.refused(400, "entity/missing-user-id");
        for unknown in [UNKNOWN, "x"] {
            let reply = key.get(&format!("/entities/drafts?userId={unknown}")).await;
            reply.refused(404, "entity/user-not-found");
        }
        let listed = key.get(&format!("/entities/drafts?userId={}", ada.id)).await.expect(200);
        assert_eq!(listed["pagination"]["totalItems"], 1);
    }
}

async fn publishing_makes_it_new_and_counts_it_everywhere(app: TestApp) {
    let ada = app.user().await;
    let new = json!({ "title": "t", "isDraft": true, "keywords": ["k"], "sourceId": "s" });
    let draft = create(&ada, new).await;
    app.advance(Duration::from_secs(600));
    let published = ada.send(Method::PATCH, &format!("{}/publish", path(&draft)), None).await;
    let published = published.expect(200);
    let mut expected = draft.clone();
    for key in ["createdAt", "updatedAt", "scoreUpdatedAt"] {
        expected[key] = json!(app.now());
    }
    expected["isDraft"] = json!(false);
    expected["user"]["reputation"] = json!(5);
    assert_eq!(published, expected);
    assert_eq!(reputation(&app, ada.id).await, 5);
    let author = format!("userId={}", ada.id);
    for query in ["", "sourceId=s", "keywordsFilters[includes]=k", "spaceId=null", &author] {
        assert_eq!(feed_size(&app, query).await, 1, "{query}");
    }
    counts_are_exact(&app).await;
    // By a key, without a body, for an author who gets no notification.
    let draft = create(&ada, json!({ "isDraft": true })).await;
    let published = app.service().patch(&format!("{}/publish", path(&draft)), json!({})).await;
    assert_eq!(published.expect(200)["user"]["reputation"], 10);
}

async fn a_draft_is_published_once(app: TestApp) {
    let ada = app.user().await;
    let draft = create(&ada, json!({ "isDraft": true, "keywords": ["k"] })).await;
    let publish = format!("{}/publish", path(&draft));
    let replies = all_at_once((0..16).map(|_| ada.patch(&publish, json!({})))).await;
    assert_eq!((count(&replies, 200), count(&replies, 404)), (1, 15));
    let again = ada.patch(&publish, json!({})).await.refused(404, "entity/not-found");
    assert_eq!(again["error"], "Draft entity not found");
    let unknown = ada.patch(&format!("/entities/{UNKNOWN}/publish"), json!({})).await;
    assert_eq!(unknown.json(), again);
    assert_eq!(reputation(&app, ada.id).await, 5);
    assert_eq!(feed_size(&app, "keywordsFilters[includes]=k").await, 1);
    counts_are_exact(&app).await;
}

async fn a_published_draft_is_found_by_its_words(app: TestApp) {
    let ada = app.user().await;
    let draft =
        create(&ada, json!({ "isDraft": true, "keywords": ["old"], "metadata": { "a": 1 } })).await;
    let change = json!({ "keywords": ["new"], "metadata": { "b": 2 } });
    ada.patch(&path(&draft), change).await.expect(200);
    app.advance(Duration::from_secs(1));
    ada.patch(&format!("{}/publish", path(&draft)), json!({})).await.expect(200);
    for (query, found) in [
        ("keywordsFilters[includes]=new", 1),
        ("keywordsFilters[includes]=old", 0),
        ("metadataFilters[includes][b]=2", 1),
        ("metadataFilters[exists]=a", 0),
    ] {
        assert_eq!(feed_size(&app, query).await, found, "{query}");
    }
}
