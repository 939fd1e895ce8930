//! Users, follows and connections in the legacy dialect: the older envelope.

use std::time::Duration;

use serde_json::{Value, json};

use crate::follows::follow;
use crate::legacy_entities::{has, id, is_user};
use crate::support::{TestApp, User, keys, on_both_engines};

on_both_engines![
    follows_and_connections_have_the_older_envelope,
    a_message_of_a_request_is_a_text,
    users_show_when_they_changed,
    a_user_changes_only_their_profile,
];

/// The rows of an older envelope, which has these numbers.
#[track_caller]
fn page<'a>(reply: &'a Value, name: &str, page: u32, limit: u32, total: u32) -> &'a [Value] {
    let mut names = [name, "pagination"];
    names.sort_unstable();
    assert_eq!(keys(reply), names);
    let pages = total.div_ceil(limit);
    let expected = json!({
        "currentPage": page,
        "totalPages": pages,
        "totalCount": total,
        "hasNextPage": page < pages,
        "hasPreviousPage": page > 1,
        "limit": limit,
    });
    assert_eq!(reply["pagination"], expected);
    reply[name].as_array().unwrap()
}

async fn follows_and_connections_have_the_older_envelope(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    for user in [&bob, &eve] {
        follow(&ada, user.id).await;
        follow(user, ada.id).await;
        let ask = format!("/users/{}/connection", ada.id);
        let asked = user.legacy().post(&ask, json!({ "message": "hi" })).await.expect(201);
        let accept = format!("/connections/{}/accept", id(&asked));
        ada.legacy().patch(&accept, json!({})).await.expect(200);
        app.advance(Duration::from_secs(1));
    }
    let of_ada = format!("/users/{}", ada.id);
    for (name, path, count) in [
        ("followers", "/follows/followers".to_owned(), "-count"),
        ("following", "/follows/following".to_owned(), "-count"),
        ("followers", format!("{of_ada}/followers"), "-count"),
        ("following", format!("{of_ada}/following"), "-count"),
        ("connections", "/connections".to_owned(), "/count"),
        ("connections", format!("{of_ada}/connections"), "-count"),
    ] {
        let get = async |query: &str| ada.legacy().get(&format!("{path}{query}")).await.expect(200);
        let all = get("").await;
        let rows = page(&all, name, 1, 20, 2);
        assert_eq!(rows.len(), 2, "{path}");
        for row in rows {
            if name == "connections" {
                has(row, "id connectedUser connectedAt requestedAt message");
                assert_eq!(row["message"], "hi");
                is_user(&row["connectedUser"]);
            } else {
                has(row, "followId user followedAt");
                is_user(&row["user"]);
            }
        }
        assert_eq!(page(&get("?page=2&limit=1").await, name, 2, 1, 2)[0], rows[1]);
        page(&get("?page=1&limit=1").await, name, 1, 1, 2);
        // What is no number is the default, and too many are the most.
        page(&get("?page=x&limit=-1").await, name, 1, 20, 2);
        page(&get("?limit=1000").await, name, 1, 100, 2);
        assert_eq!(get(count).await, json!({ "count": 2 }), "{path}");
    }
    let nobody = app.user().await;
    page(&nobody.legacy().get("/connections").await.expect(200), "connections", 1, 20, 0);
    // The common form has neither that envelope nor the request.
    let common = ada.v6().get("/connections").await.expect(200);
    assert_eq!(common["pagination"]["totalItems"], 2);
    assert!(common["data"][0].get("message").is_none());
}

async fn a_message_of_a_request_is_a_text(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let path = |user: &User<'_>| format!("/users/{}/connection", user.id);
    ada.legacy().post(&path(&bob), json!({ "message": "hello" })).await.expect(201);
    app.advance(Duration::from_secs(1));
    ada.legacy().post(&path(&eve), json!({})).await.expect(201);
    let sent = ada.legacy().get("/connections/pending/sent").await.expect(200);
    let rows = page(&sent, "requests", 1, 20, 2);
    for row in rows {
        has(row, "id type user message createdAt");
        is_user(&row["user"]);
    }
    assert_eq!((&rows[0]["message"], &rows[1]["message"]), (&Value::Null, &json!("hello")));
    let received = bob.legacy().get("/connections/pending/received").await.expect(200);
    assert_eq!(page(&received, "requests", 1, 20, 1)[0]["message"], "hello");
    let common = bob.v6().get("/connections/pending/received").await.expect(200);
    assert_eq!(common["data"][0]["message"], json!({ "content": "hello" }));
}

async fn users_show_when_they_changed(app: TestApp) {
    let user = app.user().await;
    app.advance(Duration::from_secs(60));
    let own = format!("/users/{}", user.id);
    let update = json!({ "update": { "name": "Ada", "username": "ada.l" } });
    let changed = user.legacy().patch(&own, update).await.expect(200)["updatedAt"].take();
    assert_eq!(changed, json!(app.now()));
    let suggested = app.anonymous().legacy().get("/users/suggestions?query=ada").await.expect(200);
    let found = app.anonymous().legacy().get(&own).await.expect(200);
    for shown in [&found, &suggested[0]] {
        is_user(shown);
        assert_eq!(shown["updatedAt"], changed);
    }
    // Not in the common form, nor twice for users themselves and for the holder of a key.
    assert!(app.anonymous().v6().get(&own).await.expect(200).get("updatedAt").is_none());
    let sign_in = json!({ "email": user.email, "password": User::PASSWORD });
    for reply in [
        app.service().legacy().get(&own).await,
        app.anonymous().legacy().post("/auth/sign-in", sign_in).await,
    ] {
        assert_eq!(reply.text().matches("\"updatedAt\"").count(), 1, "{}", reply.text());
    }
    let available = app.anonymous().legacy().get("/users/check-username?username=ada.l").await;
    assert_eq!(available.expect(200), json!({ "available": false }));
    let foreign = "/users/by-foreign-id?foreignId=new&createIfNotFound=true";
    has(&app.service().legacy().get(foreign).await.expect(201), "id username foreignId");
}

async fn a_user_changes_only_their_profile(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let own = format!("/users/{}", user.id);
    let update = json!({ "update": { "role": "admin", "reputation": 99, "bio": "x" } });
    let updated = user.legacy().patch(&own, update.clone()).await.expect(200);
    has(
        &updated,
        "id foreignId role email name username avatar bio metadata reputation isVerified isActive \
         lastActive suspensions",
    );
    let kept = (&updated["role"], &updated["reputation"], &updated["bio"]);
    assert_eq!(kept, (&json!("visitor"), &json!(0), &json!("x")));
    other.legacy().patch(&own, update).await.refused(403, "user/not-authorized");
}
