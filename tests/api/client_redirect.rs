//! `clients/redirect`: published clients with their published address, on a page and in Node, reach this server, and
//! what they get wrong is repaired on the way.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::published::{Page, ask};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    a_page_works_unchanged,
    a_page_renews_what_its_client_does_not,
    requests_of_version_seven_are_repaired,
    a_program_works_unchanged,
];

/// With the older client in a page: what it does by itself, and what only works repaired.
async fn a_page_works_unchanged(app: TestApp) {
    let page = Page::repaired(&app).await;
    let user = page.sign_up().await;
    page.call("useCreateEntity", json!({ "title": "t" }), "Entity").await;
    let other = app.user().await;
    let ask = json!({ "userId": other.id });
    page.call("useRequestConnection", ask.clone(), "ConnectionAction").await;
    page.call("useFetchConnectionStatus", ask, "ConnectionStatus").await;
    let of = json!({ "userId": user["id"] });
    page.call("useFetchConnectionsCountByUserId", of, "Count").await;
    // The client sends no token with this one.
    let change = json!([{ "password": "correct horse", "newPassword": "battery staple" }]);
    page.function("useAuth", "changePassword", change, "Nothing").await;
    let new = json!({ "email": "page@example.com", "password": "battery staple" });
    app.anonymous().legacy().post("/auth/sign-in", new).await.expect(200);
    let stored = app.service().get(&format!("/users/{}", user["id"].as_str().unwrap())).await;
    stored.expect(200);
}

/// Half of the client never renews a token.
async fn a_page_renews_what_its_client_does_not(app: TestApp) {
    let fetch = async |page: &Page| {
        let list =
            json!(["feed", { "page": 1, "limit": 10, "sortBy": "new", "followedOnly": true }]);
        page.function("useEntityListActions", "fetchEntities", list, "Entities").await;
        let name = json!([{ "name": "Ada" }]);
        let update = json!({
            "do": "call", "page": page.name, "hook": "useUser", "method": "updateUser", "args": name,
        });
        ask(update).await
    };
    let plain = Page::open(&app, None).await;
    let user = plain.sign_up().await;
    let repaired = Page::repaired(&app).await;
    let again = json!([{ "email": "page@example.com", "password": "correct horse" }]);
    repaired.function("useAuth", "signInWithEmailAndPassword", again, "Nothing").await;
    repaired.state("useUser", "user", "AuthUser").await;
    for page in [&plain, &repaired] {
        assert_eq!(fetch(page).await["result"]["id"], user["id"]);
    }
    for _ in 0..2 {
        app.advance(Duration::from_hours(2));
        assert!(fetch(&plain).await["failed"].is_string(), "without repairs it fails");
        assert_eq!(fetch(&repaired).await["result"]["id"], user["id"]);
    }
    // A feed is open to everybody: with an expired token it would be that of nobody.
    let other = app.user().await;
    crate::entities::create(&other, json!({ "title": "not followed" })).await;
    app.advance(Duration::from_mins(31));
    for (page, found) in [(&plain, 1), (&repaired, 0)] {
        ask(json!({ "do": "wait", "page": page.name, "minutes": 31 })).await;
        let list =
            json!(["mine", { "page": 1, "limit": 10, "sortBy": "new", "followedOnly": true }]);
        let feed = page.function("useEntityListActions", "fetchEntities", list, "Entities").await;
        assert_eq!(feed.as_array().unwrap().len(), found, "{feed}");
    }
    // The other half renews by itself, as before.
    repaired.call("useFetchConnectionsCount", Value::Null, "Count").await;
}

async fn requests_of_version_seven_are_repaired(app: TestApp) {
    let (user, page) = (app.user().await, Page::repaired(&app).await);
    let id = app.project.id;
    let with = |token: &str| json!({ "headers": { "Authorization": format!("Bearer {token}") } });
    let signed_in = with(&user.access_token);
    for by in ["fetch", "xhr"] {
        let doubled = format!("/v7/{id}/v7/chat/conversations");
        assert_eq!(page.send(by, &doubled, signed_in.clone()).await["status"], 200, "{by}");
        let projectless = "/v7/connections/count";
        let counted = page.send(by, projectless, signed_in.clone()).await;
        assert_eq!((&counted["status"], &counted["body"]), (&json!(200), &json!("{\"count\":0}")));
        // Clients renew on 403; without a token there is nothing to renew.
        let own = format!("/v7/{id}/connections/count");
        assert_eq!(page.send(by, &own, with("x.y.z")).await["status"], 403, "{by}");
        assert_eq!(page.send(by, &own, json!({})).await["status"], 401, "{by}");
        // A wrong password is no matter of the token.
        let mut wrong = signed_in.clone();
        wrong["method"] = json!("POST");
        wrong["headers"]["Content-Type"] = json!("application/json");
        wrong["body"] = json!(r#"{"password": "wrong", "newPassword": "battery staple"}"#);
        let refused = page.send(by, &format!("/v7/{id}/auth/change-password"), wrong).await;
        assert_eq!(refused["status"], 401, "{by}: {refused}");
    }
    let socket = format!("/socket.io/?EIO=4&transport=websocket&projectId={id}");
    assert_eq!(page.send("socket", &socket, json!({})).await, "0");
}

async fn a_program_works_unchanged(app: TestApp) {
    let user = app.user().await;
    let entity = crate::entities::create(&user, json!({ "title": "t" })).await;
    let id = app.project.id;
    let call = |path: &str, argument: Value, kind: &str| json!({ "path": path, "args": [argument], "type": kind });
    let published = |path: &str| format!("https://api.replyke.com{path}");
    let socket = format!("/socket.io/?EIO=4&transport=websocket&projectId={id}");
    let calls = [
        call("entities.fetchManyEntities", json!({ "sortBy": "new" }), "Entities"),
        call(
            "entities.updateEntity",
            json!({ "entityId": entity["id"], "title": "new" }),
            "Entity",
        ),
        call("entities.createEntity", json!({ "title": "x", "userId": user.id }), "Entity"),
        call("users.fetchUserById", json!({ "userId": user.id }), "User"),
        call(
            "fetch",
            json!(published(&format!("/v7/users/{}/connections-count", user.id))),
            "Count",
        ),
        call("socket", json!(published(&socket).replace("https", "wss")), "Text"),
        call("entities.deleteEntity", json!({ "entityId": entity["id"] }), "Anything"),
    ];
    let command = json!({
        "do": "preloaded", "server": format!("http://{}", app.address), "project": id,
        "key": app.project.service_key, "calls": calls,
    });
    let outcome = ask(command).await;
    assert_eq!(outcome["wrong"], json!([]));
    let results = outcome["results"].as_array().unwrap();
    assert_eq!((&results[0][0]["id"], &results[1]["title"]), (&entity["id"], &json!("new")));
    assert_eq!((&results[2]["userId"], &results[5]), (&json!(user.id), &json!("0")));
    user.get(&crate::entities::path(&entity)).await.refused(404, "entity/not-found");
}
