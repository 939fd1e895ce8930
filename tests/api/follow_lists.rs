//! Followers and followed users: order, pages, search, points, and a constant number of statements.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::values::ids::UserId;

use crate::follows::{counts, follow};
use crate::notifications::UNKNOWN;
use crate::support::{Actor, TestApp, User, keys, on_both_engines};

on_both_engines![
    lists_are_newest_first_in_pages,
    a_search_looks_into_usernames_and_names_in_any_case,
    points_are_shown_on_the_lists_of_users,
    invalid_queries_are_refused,
    a_page_costs_the_same_however_long_it_is,
    follows_go_with_either_user_and_counts_stay_exact,
];

/// The usernames of a list in its order, which is counted as what it shows.
pub(crate) async fn names(actor: &Actor<'_>, list: &str) -> Vec<String> {
    let page = actor.get(list).await.expect(200);
    let data = page["data"].as_array().unwrap();
    assert_eq!(page["pagination"]["totalItems"], data.len(), "{list}");
    let user = |entry: &Value| entry.get("user").unwrap_or(&entry["connectedUser"]).clone();
    data.iter().map(|entry| user(entry)["username"].as_str().unwrap_or("-").to_owned()).collect()
}

/// Users `zoe`, `Émile`, … who are made by a key.
pub(crate) async fn people(app: &TestApp, names: &[(&str, &str)]) -> Vec<UserId> {
    let mut made = Vec::new();
    for (username, name) in names {
        let name = townhall::http::query::percent_encode(name);
        let query = format!(
            "/users/by-foreign-id?createIfNotFound=true&foreignId={username}&username={username}&name={name}"
        );
        let user = app.service().get(&query).await.expect(201);
        made.push(user["id"].as_str().unwrap().parse().unwrap());
    }
    made
}

async fn follow_as(app: &TestApp, user: UserId, other: UserId) {
    app.advance(Duration::from_secs(1));
    let acting = json!({ "actingUserId": user });
    app.service().post(&format!("/users/{other}/follow"), acting).await.expect(201);
}

async fn lists_are_newest_first_in_pages(app: TestApp) {
    let ada = app.user().await;
    let ids = people(&app, &[("one", "1"), ("two", "2"), ("three", "3")]).await;
    for id in &ids {
        follow_as(&app, *id, ada.id).await;
        follow_as(&app, ada.id, *id).await;
    }
    let expected = ["three", "two", "one"];
    let of_user = |end: &str| format!("/users/{}/{end}", ada.id);
    for list in
        ["/follows/followers", "/follows/following", &of_user("followers"), &of_user("following")]
    {
        assert_eq!(names(&ada, list).await, expected, "{list}");
        let page = ada.get(&format!("{list}?limit=2&page=2")).await.expect(200);
        assert_eq!(page["data"][0]["user"]["username"], "one");
        let pagination = json!({
            "page": 2, "pageSize": 2, "totalPages": 2, "totalItems": 3, "hasMore": false,
        });
        assert_eq!(page["pagination"], pagination);
        for (query, size) in [("limit=0&page=0", 20), ("limit=x&page=-1", 20), ("limit=1000", 100)]
        {
            let page = ada.get(&format!("{list}?{query}")).await.expect(200);
            assert_eq!(
                (&page["pagination"]["pageSize"], &page["pagination"]["page"]),
                (&json!(size), &json!(1))
            );
        }
        let beyond = ada.get(&format!("{list}?page=7")).await.expect(200);
        assert_eq!((&beyond["data"], &beyond["pagination"]["totalItems"]), (&json!([]), &json!(3)));
    }
    let entry = ada.get("/follows/followers").await.expect(200)["data"][0].clone();
    assert_eq!(keys(&entry), ["followId", "followedAt", "user"]);
    assert_eq!(entry["user"]["id"], json!(ids[2]));
    assert!(entry["user"].get("email").is_none());
    for list in [of_user("followers"), of_user("following")] {
        assert_eq!(names(&app.anonymous(), &list).await, expected);
    }
    assert_eq!(counts(&app, ada.id).await, (3, 3));
    assert_eq!(ada.get("/follows/followers-count").await.expect(200), json!({ "count": 3 }));
    for nobody in [UNKNOWN.to_owned(), app.stranger().await.id.to_string()] {
        let list = format!("/users/{nobody}/followers");
        assert!(names(&app.anonymous(), &list).await.is_empty());
        let count = app.anonymous().get(&format!("{list}-count")).await.expect(200);
        assert_eq!(count, json!({ "count": 0 }));
    }
}

async fn a_search_looks_into_usernames_and_names_in_any_case(app: TestApp) {
    let ada = app.user().await;
    let people_named = [("zoe_1", "Émile Øst"), ("bert", "Zo\u{eb} 100%"), ("carl", "ΑΘΗΝΑ")];
    for id in people(&app, &people_named).await {
        follow_as(&app, id, ada.id).await;
        follow_as(&app, ada.id, id).await;
    }
    for list in ["/follows/followers".to_owned(), format!("/users/{}/following", ada.id)] {
        for (query, expected) in [
            ("query=", "carl bert zoe_1"),
            ("query=ZO", "bert zoe_1"),
            ("query=%C3%A9MILE", "zoe_1"),
            ("query=%C3%98ST", "zoe_1"),
            ("query=%CE%B1%CE%B8%CE%B7", "carl"),
            ("query=e_1", "zoe_1"),
            ("query=_", "zoe_1"),
            ("query=%25", "bert"),
            ("query=zo&searchFields=username", "zoe_1"),
            ("query=zo&searchFields=name", "bert"),
            ("query=zo&searchFields=bio", "bert zoe_1"),
            ("searchFields=name", "carl bert zoe_1"),
            ("query=nobody", ""),
        ] {
            let found = names(&ada, &format!("{list}?{query}")).await;
            assert_eq!(found.join(" "), expected, "{list}?{query}");
        }
        let page = ada.get(&format!("{list}?query=zo&limit=1&page=2")).await.expect(200);
        assert_eq!(page["data"][0]["user"]["username"], "zoe_1");
        assert_eq!(page["pagination"]["totalItems"], 2);
    }
}

async fn points_are_shown_on_the_lists_of_users(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    follow(&bob, ada.id).await;
    bob.post("/entities", json!({})).await.expect(201);
    let list = format!("/users/{}/followers", ada.id);
    let shown = app.anonymous().get(&format!("{list}?spaceReputationId=none")).await.expect(200);
    assert_eq!(shown["data"][0]["user"]["spaceReputation"], 5);
    let plain = app.anonymous().get(&list).await.expect(200);
    assert!(plain["data"][0]["user"].get("spaceReputation").is_none());
}

async fn invalid_queries_are_refused(app: TestApp) {
    let ada = app.user().await;
    let long = "x".repeat(257);
    for end in ["followers", "following"] {
        ada.get(&format!("/users/me/{end}")).await.refused(400, "user/invalid-user-id");
        ada.get(&format!("/users/me/{end}-count")).await.refused(400, "user/invalid-user-id");
        let list = format!("/users/{}/{end}", ada.id);
        let context = ada.get(&format!("{list}?spaceReputationId=context")).await;
        context.refused(400, "user/invalid-query");
        ada.get(&format!("{list}?query={long}")).await.refused(400, "user/invalid-query");
        let own = ada.get(&format!("/follows/{end}?query={long}")).await;
        own.refused(400, "follow/invalid-query");
    }
}

async fn a_page_costs_the_same_however_long_it_is(app: TestApp) {
    let ada = app.user().await;
    let users: Vec<User<'_>> = vec![app.user().await, app.user().await, app.user().await];
    follow(&users[0], ada.id).await;
    let one = app.statements.during(ada.get("/follows/followers")).await.len();
    follow(&users[1], ada.id).await;
    follow(&users[2], ada.id).await;
    let three = app.statements.during(ada.get("/follows/followers")).await;
    assert_eq!(three.len(), one, "{three:?}");
}

async fn follows_go_with_either_user_and_counts_stay_exact(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    follow(&ada, bob.id).await;
    follow(&bob, ada.id).await;
    follow(&cleo, bob.id).await;
    follow(&ada, cleo.id).await;
    app.service().delete(&format!("/users/{}", bob.id)).await.expect(204);
    assert_eq!((counts(&app, ada.id).await, counts(&app, cleo.id).await), ((0, 1), (1, 0)));
    assert_eq!(names(&ada, "/follows/following").await.len(), 1);
    assert!(names(&ada, "/follows/followers").await.is_empty());
    crate::relation_races::counts_agree(&app).await;
}
