//! Fetch Entity Reactions and Get User Reaction: who has reacted, and how.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::notifications::{UNKNOWN, in_every_version};
use crate::reactions::{publish, react, reactions, unreact, user_of};
use crate::support::{Actor, TestApp, User, keys, on_both_engines};

on_both_engines![
    a_reaction_is_shown_with_its_user,
    a_change_of_type_keeps_the_place_in_the_list,
    reactions_come_in_pages_newest_first,
    a_list_may_be_of_one_type,
    page_limit_type_and_direction_must_be_known,
    space_reputation_is_shown_when_asked_for,
    space_reputation_must_name_a_bucket,
    space_reputation_needs_its_bundle,
    a_user_sees_their_own_reaction,
    removed_reactions_are_not_listed,
];

async fn list(actor: &Actor<'_>, entity: &str, query: &str) -> Value {
    actor.get(&format!("{}{query}", reactions(entity))).await.expect(200)
}

fn reactors(list: &Value) -> Vec<&str> {
    list["data"].as_array().unwrap().iter().map(|one| one["userId"].as_str().unwrap()).collect()
}

fn ids(users: &[&User<'_>]) -> Vec<String> {
    users.iter().map(|user| user.id.to_string()).collect()
}

async fn a_reaction_is_shown_with_its_user(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let profile = json!({ "name": "Ada", "avatar": "https://a.example/ada.png" });
    reader.patch(&format!("/users/{}", reader.id), profile).await.expect(200);
    let entity = publish(&author).await;
    app.advance(Duration::from_secs(1));
    let at = app.now();
    react(&reader, &entity, "love").await;
    app.advance(Duration::from_secs(1));
    for actor in [app.anonymous(), (*reader).clone(), app.service(), app.bearer("not.a.token")] {
        for actor in in_every_version(&actor) {
            let page = list(&actor, &entity, "").await;
            assert_eq!(keys(&page), ["data", "pagination"]);
            let mut shown = page["data"][0].clone();
            let id = shown.as_object_mut().unwrap().remove("id").unwrap();
            assert_eq!(id.as_str().unwrap().len(), 36);
            let expected = json!({
                "projectId": app.project.id,
                "targetType": "entity",
                "targetId": entity.trim_start_matches("/entities/"),
                "userId": reader.id,
                "reactionType": "love",
                "user": {
                    "id": reader.id,
                    "name": "Ada",
                    "username": "user1",
                    "avatar": "https://a.example/ada.png",
                    "reputation": 0,
                },
                "createdAt": at,
                "updatedAt": at,
            });
            assert_eq!(shown, expected);
            let pagination = json!({ "page": 1, "pageSize": 20, "limit": 20, "totalItems": 1,
                "total": 1, "totalPages": 1, "hasMore": false });
            assert_eq!(page["pagination"], pagination);
        }
    }
}

async fn a_change_of_type_keeps_the_place_in_the_list(app: TestApp) {
    let (author, first, second) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    react(&first, &entity, "like").await;
    app.advance(Duration::from_secs(1));
    react(&second, &entity, "like").await;
    let before = list(&author, &entity, "").await;
    app.advance(Duration::from_secs(1));
    react(&first, &entity, "wow").await;
    let mut expected = before.clone();
    expected["data"][1]["reactionType"] = "wow".into();
    expected["data"][1]["updatedAt"] = app.now().to_string().into();
    assert_eq!(list(&author, &entity, "").await, expected);
}

async fn reactions_come_in_pages_newest_first(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let pagination = |page, limit, total, pages, more| json!({ "page": page, "pageSize": limit, "limit": limit, "totalItems": total, "total": total, "totalPages": pages, "hasMore": more });
    let empty = json!({ "data": [], "pagination": pagination(1, 20, 0, 0, false) });
    assert_eq!(list(&author, &entity, "").await, empty);

    let mut newest_first: Vec<String> = Vec::new();
    for _ in 0..23 {
        let reader = app.user().await;
        react(&reader, &entity, "like").await;
        newest_first.insert(0, reader.id.to_string());
        app.advance(Duration::from_secs(1));
    }
    let first = list(&author, &entity, "").await;
    assert_eq!(reactors(&first), newest_first[..20]);
    assert_eq!(first["pagination"], pagination(1, 20, 23, 2, true));
    let second = list(&author, &entity, "?page=2").await;
    assert_eq!(reactors(&second), newest_first[20..]);
    assert_eq!(second["pagination"], pagination(2, 20, 23, 2, false));
    let beyond = list(&author, &entity, "?page=3").await;
    assert_eq!(beyond, json!({ "data": [], "pagination": pagination(3, 20, 23, 2, false) }));
    let some = list(&author, &entity, "?limit=5&page=2").await;
    assert_eq!(reactors(&some), newest_first[5..10]);
    assert_eq!(some["pagination"], pagination(2, 5, 23, 5, true));
    let most = list(&author, &entity, "?limit=500").await;
    assert_eq!(reactors(&most), newest_first);
    assert_eq!(most["pagination"], pagination(1, 100, 23, 1, false));
    let far = list(&author, &entity, "?page=4294967295&limit=100").await;
    assert_eq!(reactors(&far), Vec::<&str>::new());

    for direction in ["DESC", "desc", "Desc"] {
        let sorted = list(&author, &entity, &format!("?limit=100&sortDir={direction}")).await;
        assert_eq!(reactors(&sorted), newest_first);
    }
    let oldest_first: Vec<&String> = newest_first.iter().rev().collect();
    for direction in ["ASC", "asc", "Asc"] {
        let sorted = list(&author, &entity, &format!("?limit=100&sortDir={direction}")).await;
        assert_eq!(reactors(&sorted), oldest_first);
    }
    // Made at the same instant, they still have one order.
    for _ in 0..5 {
        let reader = app.user().await;
        react(&reader, &entity, "like").await;
    }
    let whole = list(&author, &entity, "?limit=28").await;
    for page in 0..4 {
        let some = list(&author, &entity, &format!("?limit=7&page={}", page + 1)).await;
        assert_eq!(reactors(&some), reactors(&whole)[page * 7..][..7]);
    }
}

async fn a_list_may_be_of_one_type(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let (a, b, c) = (app.user().await, app.user().await, app.user().await);
    for (user, kind) in [(&a, "like"), (&b, "love"), (&c, "like")] {
        react(user, &entity, kind).await;
        app.advance(Duration::from_secs(1));
    }
    for (query, expected) in [
        ("?reactionType=like", ids(&[&c, &a])),
        ("?reactionType=like&sortDir=asc", ids(&[&a, &c])),
        ("?reactionType=love", ids(&[&b])),
        ("?reactionType=sad", ids(&[])),
        ("", ids(&[&c, &b, &a])),
    ] {
        let page = list(&author, &entity, query).await;
        assert_eq!(reactors(&page), expected, "{query}");
        assert_eq!(page["pagination"]["total"], expected.len(), "{query}");
    }
    let second = list(&author, &entity, "?reactionType=like&limit=1&page=2").await;
    assert_eq!(reactors(&second), ids(&[&a]));
    assert_eq!(second["pagination"]["totalPages"], 2);
}

async fn page_limit_type_and_direction_must_be_known(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    for query in [
        "page=0",
        "page=x",
        "page=-1",
        "limit=0",
        "limit=1.5",
        "reactionType=LIKE",
        "reactionType=total",
        "reactionType=",
        "reactionType=like,love",
        "sortDir=up",
        "sortDir=",
    ] {
        for actor in [author.v7(), (*author).clone()] {
            let refused = actor.get(&format!("{}?{query}", reactions(&entity))).await;
            assert_eq!(refused.outcome(), "400 entity/invalid-query", "{query}");
        }
    }
    author.get(&format!("{}?nonsense=1", reactions(&entity))).await.expect(200);
}

async fn space_reputation_is_shown_when_asked_for(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    publish(&reader).await;
    let entity = publish(&author).await;
    react(&reader, &entity, "like").await;
    let other = format!("%7B%22spaceId%22:%22{UNKNOWN}%22%7D");
    for (query, expected) in [
        ("spaceReputationId=none".to_owned(), 5),
        ("spaceReputationId=context".to_owned(), 5),
        (format!("spaceReputationId={UNKNOWN}"), 0),
        (format!("spaceReputationId={UNKNOWN}&spaceReputationDescendants=true"), 0),
        ("spaceReputationId=none&spaceReputationDescendants=true".to_owned(), 5),
        ("spaceReputation[spaceId]=none".to_owned(), 5),
        ("spaceReputation%5BspaceId%5D=context".to_owned(), 5),
        ("spaceReputation=%7B%22spaceId%22:%22none%22%7D".to_owned(), 5),
        (format!("spaceReputation={other}"), 0),
        // The object wins over the flat form.
        (format!("spaceReputationId=none&spaceReputation[spaceId]={UNKNOWN}"), 0),
        (format!("spaceReputationId=none&spaceReputation={other}"), 0),
    ] {
        for actor in in_every_version(&app.anonymous()) {
            let page = list(&actor, &entity, &format!("?{query}")).await;
            let user = &page["data"][0]["user"];
            assert_eq!(user["spaceReputation"], expected, "{query}");
            assert_eq!(user["reputation"], 5, "{query}");
        }
    }
}

async fn space_reputation_must_name_a_bucket(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    for query in [
        "spaceReputationId=",
        "spaceReputationId=general",
        "spaceReputationId=null",
        "spaceReputationId=context&spaceReputationDescendants=true",
        "spaceReputation[spaceId]=general",
        "spaceReputation[spaceId]=context&spaceReputation[includeDescendants]=true",
        "spaceReputation=nonsense",
        "spaceReputation=%7B%7D",
    ] {
        let refused = author.get(&format!("{}?{query}", reactions(&entity))).await;
        assert_eq!(refused.outcome(), "400 entity/invalid-query", "{query}");
    }
}

async fn space_reputation_needs_its_bundle(app: TestApp) {
    let project = app.project_with(&[Bundle::Entities]).await;
    let author = user_of(&app, &project, "author").await;
    let entity = publish(&author).await;
    react(&author, &entity, "like").await;
    let path = format!("{}?spaceReputationId=none", reactions(&entity));
    let refused = author.get(&path).await.refused(403, "database/tables-not-available");
    assert_eq!(refused["missingTables"], json!(["ReputationBuckets", "ReputationGrants"]));
    list(&author, &entity, "").await;
}

async fn a_user_sees_their_own_reaction(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    let path = format!("{}/me", reactions(&entity));
    let own = async |reader: &Actor<'_>| reader.get(&path).await.expect(200);
    react(&other, &entity, "sad").await;
    assert_eq!(own(&reader).await, json!({ "reactionType": null }));
    react(&reader, &entity, "funny").await;
    for actor in in_every_version(&reader) {
        assert_eq!(own(&actor).await, json!({ "reactionType": "funny" }));
    }
    react(&reader, &entity, "angry").await;
    assert_eq!(own(&reader).await, json!({ "reactionType": "angry" }));
    // The user that a token names is ignored: everybody sees their own.
    let named = reader.get(&format!("{path}?userId={}", other.id)).await.expect(200);
    assert_eq!(named, json!({ "reactionType": "angry" }));
    unreact(&reader, &entity).await;
    assert_eq!(own(&reader).await, json!({ "reactionType": null }));
    assert_eq!(own(&other).await, json!({ "reactionType": "sad" }));
}

async fn removed_reactions_are_not_listed(app: TestApp) {
    let (author, first, second) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    let elsewhere = publish(&author).await;
    react(&first, &entity, "like").await;
    react(&second, &entity, "like").await;
    react(&first, &elsewhere, "love").await;
    unreact(&first, &entity).await;
    let page = list(&author, &entity, "").await;
    assert_eq!(
        (reactors(&page), &page["pagination"]["total"]),
        (vec![ids(&[&second])[0].as_str()], &json!(1))
    );
    assert_eq!(reactors(&list(&author, &elsewhere, "").await), ids(&[&first]));
    // Reacting again is a new reaction.
    app.advance(Duration::from_secs(1));
    react(&first, &entity, "like").await;
    let page = list(&author, &entity, "").await;
    assert_eq!(reactors(&page), ids(&[&first, &second]));
    assert_eq!(page["data"][0]["createdAt"], app.now().to_string());
}
