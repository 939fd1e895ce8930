//! Lists of connections: accepted and pending, one's own and those of others; order, pages, search.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::values::ids::UserId;

use crate::follow_lists::{names, people};
use crate::notifications::{UNKNOWN, in_every_version};
use crate::support::{TestApp, keys, on_both_engines};
use crate::user_connections::{accept, ask, path};

on_both_engines![
    accepted_ones_are_listed_newest_first_in_pages,
    pending_ones_are_listed_on_both_sides,
    a_search_looks_into_usernames_and_names_in_any_case,
    a_search_among_very_many_is_exact,
    grams_are_those_that_the_migration_finds_and_go_with_the_user,
    points_are_shown_on_the_lists_of_users,
    invalid_queries_are_refused,
    a_page_costs_the_same_however_long_it_is,
];

/// A connection of the two that is made by a key.
async fn connect(app: &TestApp, one: UserId, other: UserId) -> String {
    app.advance(Duration::from_secs(1));
    let key = app.service();
    let asked = key.post(&path(other), json!({ "actingUserId": one })).await.expect(201);
    let id = asked["id"].as_str().unwrap().to_owned();
    app.advance(Duration::from_secs(1));
    let accept = format!("/connections/{id}/accept");
    key.patch(&accept, json!({ "userId": other })).await.expect(200);
    id
}

async fn accepted_ones_are_listed_newest_first_in_pages(app: TestApp) {
    let ada = app.user().await;
    let ids = people(&app, &[("one", "1"), ("two", "2"), ("three", "3")]).await;
    connect(&app, ada.id, ids[0]).await;
    connect(&app, ids[1], ada.id).await;
    let last = connect(&app, ada.id, ids[2]).await;
    ask(&ada, app.user().await.id).await;
    let of_user = format!("/users/{}/connections", ada.id);
    for list in ["/connections", of_user.as_str()] {
        for actor in in_every_version(&ada) {
            assert_eq!(names(&actor, list).await, ["three", "two", "one"], "{list}");
        }
        let page = ada.get(&format!("{list}?limit=2&page=2")).await.expect(200);
        assert_eq!(page["data"][0]["connectedUser"]["username"], "one");
        let pagination = json!({
            "page": 2, "pageSize": 2, "totalPages": 2, "totalItems": 3, "hasMore": false,
        });
        assert_eq!(page["pagination"], pagination);
        let odd = ada.get(&format!("{list}?limit=0&page=x")).await.expect(200);
        assert_eq!(
            (&odd["pagination"]["pageSize"], &odd["pagination"]["page"]),
            (&json!(20), &json!(1))
        );
        let beyond = ada.get(&format!("{list}?page=7")).await.expect(200);
        assert_eq!((&beyond["data"], &beyond["pagination"]["totalItems"]), (&json!([]), &json!(3)));
    }
    let entry = ada.get("/connections").await.expect(200)["data"][0].clone();
    assert_eq!(keys(&entry), ["connectedAt", "connectedUser", "id"]);
    assert_eq!((&entry["id"], &entry["connectedAt"]), (&json!(last), &json!(app.now())));
    assert!(entry["connectedUser"].get("email").is_none());
    let from_there = app.anonymous().get(&format!("/users/{}/connections", ids[0])).await;
    assert_eq!(from_there.expect(200)["data"][0]["connectedUser"]["id"], json!(ada.id));
    for count in ["/connections/count".to_owned(), format!("{of_user}-count")] {
        assert_eq!(ada.get(&count).await.expect(200), json!({ "count": 3 }), "{count}");
    }
    for nobody in [UNKNOWN.to_owned(), app.stranger().await.id.to_string()] {
        let list = format!("/users/{nobody}/connections");
        assert!(names(&app.anonymous(), &list).await.is_empty());
        let count = app.anonymous().get(&format!("{list}-count")).await.expect(200);
        assert_eq!(count, json!({ "count": 0 }));
    }
}

async fn pending_ones_are_listed_on_both_sides(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let first = ask(&ada, bob.id).await;
    app.advance(Duration::from_secs(1));
    let second = ask(&ada, cleo.id).await;
    let pending = async |user: &crate::support::User<'_>, list: &str| {
        let page = user.get(&format!("/connections/pending/{list}")).await.expect(200);
        let data = page["data"].as_array().unwrap().clone();
        assert_eq!(page["pagination"]["totalItems"], data.len());
        data
    };
    let sent = pending(&ada, "sent").await;
    let ids: Vec<&Value> = sent.iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(second), &json!(first)]);
    assert_eq!(keys(&sent[0]), ["createdAt", "id", "message", "type", "user"]);
    assert_eq!((&sent[0]["type"], &sent[0]["user"]["id"]), (&json!("sent"), &json!(cleo.id)));
    assert_eq!(sent[0]["createdAt"], json!(app.now()));
    let received = pending(&bob, "received").await;
    assert_eq!(
        (&received[0]["type"], &received[0]["user"]["id"]),
        (&json!("received"), &json!(ada.id))
    );
    assert!(pending(&ada, "received").await.is_empty());
    assert!(pending(&bob, "sent").await.is_empty());
    accept(&bob, &first).await;
    cleo.delete(&path(ada.id)).await.expect(200);
    for user in [&ada, &bob, &cleo] {
        assert!(
            pending(user, "sent").await.is_empty() && pending(user, "received").await.is_empty()
        );
    }
    let page = ada.get("/connections/pending/sent?limit=0&page=-1").await.expect(200);
    assert_eq!(page["pagination"]["pageSize"], 20);
}

async fn a_search_looks_into_usernames_and_names_in_any_case(app: TestApp) {
    let ada = app.user().await;
    let named = [("zoe_1", "Émile Øst"), ("bert", "Zo\u{eb} 100%"), ("carl", "ΑΘΗΝΑ")];
    for id in people(&app, &named).await {
        connect(&app, ada.id, id).await;
    }
    let of_user = format!("/users/{}/connections", ada.id);
    for list in ["/connections", of_user.as_str()] {
        for (query, expected) in [
            ("query=", "carl bert zoe_1"),
            ("query=ZO", "bert zoe_1"),
            ("query=%C3%A9MILE", "zoe_1"),
            ("query=%CE%B1%CE%B8%CE%B7", "carl"),
            ("query=_", "zoe_1"),
            ("query=%25", "bert"),
            ("query=zo&searchFields=username", "zoe_1"),
            ("query=zo&searchFields=name", "bert"),
            ("query=nobody", ""),
        ] {
            let found = names(&ada, &format!("{list}?{query}")).await;
            assert_eq!(found.join(" "), expected, "{list}?{query}");
        }
    }
    // A new name is found at once, the old one no longer.
    let carl = app.service().get("/users/by-username?username=carl").await.expect(200);
    let carl = format!("/users/{}", carl["id"].as_str().unwrap());
    app.service().patch(&carl, json!({ "name": "Sparta" })).await.expect(200);
    assert_eq!(names(&ada, "/connections?query=spart").await, ["carl"]);
    assert!(names(&ada, "/connections?query=%CE%B1%CE%B8%CE%B7").await.is_empty());
}

async fn a_search_among_very_many_is_exact(app: TestApp) {
    let app = app.own_server().await;
    let ada = app.user().await;
    let many = crate::relation_races::connect_with_many(&app, ada.id, 2500).await;
    assert_eq!(many, 2500);
    for (query, total) in [
        ("query=PERSON", 2500),
        ("query=person%2024", 111),
        ("query=24&searchFields=name", 154),
        ("query=m2499", 1),
        ("query=nobody%20at%20all", 0),
    ] {
        let page = ada.get(&format!("/connections?{query}&limit=5")).await.expect(200);
        assert_eq!(page["pagination"]["totalItems"], total, "{query}");
    }
    // Begun with the few whose names may hold it, or walked: never the whole list for a rare name.
    let walked =
        |seen: &[(&str, String)]| seen.iter().all(|(_, text)| !text.contains("FROM s CROSS JOIN"));
    let seen = app.statements.during(ada.get("/connections?query=m2499")).await;
    assert!(!walked(&seen), "{seen:?}");
    let seen = app.statements.during(ada.get("/connections?query=person")).await;
    assert!(walked(&seen), "{seen:?}");
    let seen = app.statements.during(ada.get("/connections?query=24")).await;
    assert!(walked(&seen), "{seen:?}");
    let renamed = app.service().get("/users/by-username?username=m7").await.expect(200);
    let renamed = format!("/users/{}", renamed["id"].as_str().unwrap());
    app.service().patch(&renamed, json!({ "name": "Ωmega Prime" })).await.expect(200);
    assert_eq!(names(&ada, "/connections?query=%CF%89MEGA").await, ["m7"]);
    app.service().patch(&renamed, json!({ "name": "Person 7" })).await.expect(200);
    assert!(names(&ada, "/connections?query=%CF%89MEGA").await.is_empty());
    let page = ada.get("/connections?query=person%20249&limit=3&page=2").await.expect(200);
    let shown: Vec<&str> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["connectedUser"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(shown, ["Person 2496", "Person 2495", "Person 2494"]);
}

async fn grams_are_those_that_the_migration_finds_and_go_with_the_user(app: TestApp) {
    let app = app.own_server().await;
    let named = [("zoe_1", "Émile Øst"), ("bert", "bertbert"), ("ab", "ΑΘΗΝΑ"), ("xyz", "é")];
    let ids = people(&app, &named).await;
    let grams = async || {
        let all = db::Query::<(String, UserId)>::built(
            "test::grams",
            "SELECT gram, user_id FROM user_grams ORDER BY gram, user_id",
        );
        app.app.db.read(move |c| c.all(&all, db::args![])).await.unwrap()
    };
    let kept = grams().await;
    assert_eq!(kept.len(), 18, "{kept:?}");
    // This migration is older than clusters, so it has run before a database is distributed.
    if !app.is_distributed() {
        let script = include_str!("../../migrations/0008_relationships.sql");
        let script = script.split_once("INSERT INTO user_grams").unwrap().1;
        let script = format!("DELETE FROM user_grams; INSERT INTO user_grams {script}");
        let db = app.app.db.clone();
        let filled = tokio::task::spawn_blocking(move || db.execute_script(&script)).await;
        filled.unwrap().unwrap();
        assert_eq!(grams().await, kept);
    }
    for id in ids {
        app.service().delete(&format!("/users/{id}")).await.expect(204);
    }
    assert!(grams().await.is_empty());
}

async fn points_are_shown_on_the_lists_of_users(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    connect(&app, ada.id, bob.id).await;
    bob.post("/entities", json!({})).await.expect(201);
    let list = format!("/users/{}/connections", ada.id);
    let shown = app.anonymous().get(&format!("{list}?spaceReputationId=none")).await.expect(200);
    assert_eq!(shown["data"][0]["connectedUser"]["spaceReputation"], 5);
}

async fn invalid_queries_are_refused(app: TestApp) {
    let ada = app.user().await;
    let long = "x".repeat(257);
    ada.get("/users/me/connections").await.refused(400, "user/invalid-user-id");
    ada.get("/users/me/connections-count").await.refused(400, "user/invalid-user-id");
    let list = format!("/users/{}/connections", ada.id);
    let context = ada.get(&format!("{list}?spaceReputationId=context")).await;
    context.refused(400, "user/invalid-query");
    ada.get(&format!("{list}?query={long}")).await.refused(400, "user/invalid-query");
    let own = ada.get(&format!("/connections?query={long}")).await;
    own.refused(400, "connection/invalid-query");
}

async fn a_page_costs_the_same_however_long_it_is(app: TestApp) {
    let ada = app.user().await;
    let ids = people(&app, &[("one", "1"), ("two", "2"), ("three", "3")]).await;
    connect(&app, ada.id, ids[0]).await;
    for list in ["/connections", "/connections?query=o"] {
        let one = app.statements.during(ada.get(list)).await.len();
        if list == "/connections" {
            connect(&app, ada.id, ids[1]).await;
            connect(&app, ada.id, ids[2]).await;
        }
        let three = app.statements.during(ada.get(list)).await;
        assert_eq!(three.len(), one, "{three:?}");
    }
}
