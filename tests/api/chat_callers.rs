//! Permissions in a conversation and the errors without them: one table for all operations.

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::support::chat::{
    NOBODY, Request, add, direct, group, leave, requests_about, requests_of_a_user, send, set_role,
};
use crate::support::{Actor, TestApp, User, on_both_engines};

on_both_engines![
    non_members_are_refused,
    a_direct_conversation_has_no_members_to_change,
    keys_act_as_the_user_they_name,
    a_token_acts_only_for_its_own_user,
    anonymous_callers_are_refused,
    suspended_users_read_and_write_nothing,
    another_project_has_none_of_it,
    without_the_bundle_there_is_no_chat,
    the_oldest_version_has_no_chat,
    ids_must_be_ids,
    input_is_validated_before_the_conversation_is_loaded,
];

async fn outcomes(requests: &[Request], actor: &Actor<'_>) -> Vec<String> {
    let mut outcomes = Vec::new();
    for request in requests {
        let outcome = request.by(actor).await.outcome();
        outcomes.push(format!("{} {outcome}", label(request)));
    }
    outcomes
}

/// A request without the ids in its path.
fn label(request: &Request) -> String {
    let is_id = |part: &&str| part.len() == 36 && part.matches('-').count() == 4;
    let path = request.path.split('?').next().unwrap().trim_start_matches("/chat/conversations");
    let parts: Vec<&str> =
        path.split('/').map(|part| if is_id(&part) { "*" } else { part }).collect();
    format!("{} {}", request.method, parts.join("/"))
}

fn id_of(message: &Value) -> &str {
    message["id"].as_str().unwrap()
}

async fn non_members_are_refused(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (cleo, dora) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &cleo]).await;
    let message = send(&ada, &id, "x").await;
    leave(&cleo, &id).await;
    let requests = requests_about(&id, id_of(&message), ada.id);
    let never = [
        "GET /* 404 chat/not-found",
        "GET /*/preview 404 chat/not-found",
        "PATCH /* 404 chat/not-found",
        "POST /*/mute 404 chat/not-found",
        "GET /*/members 403 chat/not-a-member",
        "POST /*/members 404 chat/not-found",
        "PATCH /*/members/*/role 404 chat/not-found",
        "GET /*/messages 403 chat/not-a-member",
        "POST /*/messages 403 chat/not-a-member",
        "GET /*/messages/* 403 chat/not-a-member",
        "PATCH /*/messages/* 403 chat/not-a-member",
        "POST /*/messages/*/reactions 403 chat/not-a-member",
        "GET /*/messages/*/reactions 403 chat/not-a-member",
        "POST /*/read 403 chat/not-a-member",
        "DELETE /*/messages/* 403 chat/not-a-member",
        "DELETE /*/members/* 404 chat/not-found",
        "DELETE /*/leave 404 chat/not-found",
        "DELETE /* 404 chat/not-found",
    ];
    assert_eq!(outcomes(&requests, &dora).await, never);
    // Conversations of others get the same reply as unknown ones.
    let missing = requests_about(NOBODY, NOBODY, ada.id);
    assert_eq!(outcomes(&missing, &dora).await, never);
    for (one, other) in requests.iter().zip(&missing) {
        assert_eq!(one.by(&dora).await.text(), other.by(&dora).await.text());
    }
    let left = [
        "GET /* 200",
        "GET /*/preview 404 chat/not-found",
        "PATCH /* 403 chat/not-a-member",
        "POST /*/mute 400 chat/not-a-member",
        "GET /*/members 200",
        "POST /*/members 403 chat/not-a-member",
        "PATCH /*/members/*/role 403 chat/not-a-member",
        "GET /*/messages 200",
        "POST /*/messages 403 chat/not-a-member",
        "GET /*/messages/* 200",
        "PATCH /*/messages/* 403 chat/not-a-member",
        "POST /*/messages/*/reactions 403 chat/not-a-member",
        "GET /*/messages/*/reactions 200",
        "POST /*/read 403 chat/not-a-member",
        "DELETE /*/messages/* 403 chat/not-a-member",
        "DELETE /*/members/* 403 chat/not-a-member",
        "DELETE /*/leave 400 chat/not-a-member",
        "DELETE /* 403 chat/not-a-member",
    ];
    assert_eq!(outcomes(&requests, &cleo).await, left);
    let member = [
        "GET /* 200",
        "GET /*/preview 200",
        "PATCH /* 403 chat/not-a-member",
        "POST /*/mute 200",
        "GET /*/members 200",
        "POST /*/members 403 chat/not-a-member",
        "PATCH /*/members/*/role 403 chat/not-a-member",
        "GET /*/messages 200",
        "POST /*/messages 201",
        "GET /*/messages/* 200",
        "PATCH /*/messages/* 403 chat/forbidden",
        "POST /*/messages/*/reactions 200",
        "GET /*/messages/*/reactions 200",
        "POST /*/read 200",
        "DELETE /*/messages/* 403 chat/forbidden",
        "DELETE /*/members/* 403 chat/not-a-member",
        "DELETE /*/leave 200",
        "DELETE /* 403 chat/not-a-member",
    ];
    assert_eq!(outcomes(&requests, &bob).await, member);
}

async fn a_direct_conversation_has_no_members_to_change(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = direct(&ada, &bob).await;
    let message = send(&ada, &id, "x").await;
    let changes = requests_about(&id, id_of(&message), cleo.id);
    let changes: Vec<Request> = changes.into_iter().filter(|one| !one.is_read()).collect();
    let expected = [
        "PATCH /* 400 chat/cannot-update-dm",
        "POST /*/mute 200",
        "POST /*/members 400 chat/invalid-type",
        "PATCH /*/members/*/role 400 chat/invalid-type",
        "POST /*/messages 201",
        "PATCH /*/messages/* 200",
        "POST /*/messages/*/reactions 200",
        "POST /*/read 200",
        "DELETE /*/messages/* 200",
        "DELETE /*/members/* 400 chat/invalid-type",
        "DELETE /*/leave 400 chat/cannot-leave-dm",
        "DELETE /* 400 chat/cannot-delete-dm",
    ];
    assert_eq!(outcomes(&changes, &ada).await, expected);
}

/// Requests that all succeed, one after the other, for an admin of a group.
async fn good(app: &TestApp, admin: &User<'_>) -> Vec<Request> {
    let (bob, cleo) = (app.user().await, app.user().await);
    let (id, spare) = (group(admin, &[&bob]).await, group(admin, &[]).await);
    set_role(admin, &id, &bob, "admin").await.expect(200);
    let message = send(admin, &id, "x").await;
    let mut requests = requests_about(&id, id_of(&message), cleo.id);
    let last = requests_about(&spare, id_of(&message), cleo.id).pop();
    requests.pop();
    requests.extend(last);
    requests_of_a_user(cleo.id).into_iter().chain(requests).collect()
}

async fn keys_act_as_the_user_they_name(app: TestApp) {
    let ada = app.user().await;
    for key in [app.service(), app.master().v7()] {
        for request in good(&app, &ada).await {
            let nobody = request.by(&key).await;
            nobody.refused(400, "chat/missing-user-id");
            for unknown in [NOBODY, "me"] {
                let outcome = request.naming(&key, unknown).await.outcome();
                let expected = match (request.path.as_str(), request.is_read()) {
                    ("/chat/conversations" | "/chat/conversations/direct", false) => {
                        "400 chat/invalid-member"
                    }
                    ("/chat/conversations" | "/chat/conversations/unread-count", _) => {
                        "403 chat/not-a-member"
                    }
                    (path, is_read) => {
                        let inside = path.contains("/messages")
                            || path.ends_with("/read")
                            || (path.ends_with("/members") && is_read);
                        if inside { "403 chat/not-a-member" } else { "404 chat/not-found" }
                    }
                };
                assert_eq!(outcome, expected, "{}", label(&request));
            }
            let done = request.naming(&key, ada.id).await;
            assert!([200, 201].contains(&done.status), "{} {}", label(&request), done.text());
        }
    }
    // A key is in no conversation that its user is not in.
    let (bob, cleo) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let path = format!("/chat/conversations/{id}/messages?userId={}", cleo.id);
    app.master().get(&path).await.refused(403, "chat/not-a-member");
}

async fn a_token_acts_only_for_its_own_user(app: TestApp) {
    let (ada, eve) = (app.user().await, app.user().await);
    for request in good(&app, &ada).await {
        for other in [eve.id.to_string(), NOBODY.to_owned(), "me".to_owned()] {
            request.naming(&ada, other).await.refused(403, "chat/unauthorized");
        }
        request.naming(&eve, ada.id).await.refused(403, "chat/unauthorized");
        let done = request.naming(&ada, ada.id).await;
        assert!([200, 201].contains(&done.status), "{} {}", label(&request), done.text());
    }
}

async fn anonymous_callers_are_refused(app: TestApp) {
    let ada = app.user().await;
    let elsewhere = app.stranger().await;
    for request in good(&app, &ada).await {
        request.by(&app.anonymous()).await.says(401, "Unauthorized");
        request.by(&app.bearer("not.a.token")).await.says(403, "Forbidden");
        request.by(&elsewhere.in_project(app.project.id)).await.says(403, "Forbidden");
        request.naming(&app.bearer(&app.other.service_key), ada.id).await.says(403, "Forbidden");
    }
}

async fn suspended_users_read_and_write_nothing(app: TestApp) {
    let ada = app.user().await;
    let requests = good(&app, &ada).await;
    app.suspend(ada.id).await;
    for request in requests {
        let is_open =
            request.is_read() || request.path.ends_with("/read") || request.path.ends_with("/mute");
        for reply in [request.by(&ada).await, request.naming(&app.service(), ada.id).await] {
            if is_open {
                reply.expect(200);
            } else {
                let refused = reply.refused(403, "user/suspended");
                assert_eq!((&refused["reason"], &refused["endDate"]), (&Value::Null, &Value::Null));
            }
        }
    }
    // Before anything of the request is looked at.
    ada.post("/chat/conversations", json!({ "type": 7 })).await.refused(403, "user/suspended");
}

async fn another_project_has_none_of_it(app: TestApp) {
    let (ada, bob, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let id = group(&ada, &[&bob]).await;
    let message = send(&ada, &id, "x").await;
    let theirs = group(&stranger, &[]).await;
    let key = app.bearer(&app.other.service_key).in_project(app.other.id);
    let (there, missing) =
        (requests_about(&id, id_of(&message), bob.id), requests_about(NOBODY, NOBODY, bob.id));
    for (there, missing) in there.iter().zip(&missing) {
        let outcome = missing.by(&stranger).await.outcome();
        assert!(outcome.starts_with("403 chat/") || outcome.starts_with("404 chat/"), "{outcome}");
        assert_eq!(there.by(&stranger).await.outcome(), outcome);
        assert_eq!(there.naming(&key, stranger.id).await.outcome(), outcome);
        assert_eq!(there.naming(&key, ada.id).await.outcome(), outcome);
    }
    // Their own conversation takes nobody and no message from here.
    for request in requests_about(&theirs, id_of(&message), bob.id) {
        if request.path.contains("/messages/") || request.path.ends_with("/read") {
            request.by(&stranger).await.refused(404, "chat/message-not-found");
        }
    }
    add(&stranger, &theirs, &bob).await.refused(400, "chat/invalid-member");
    for body in [json!({ "userId": bob.id }), json!({ "userId": NOBODY })] {
        let made = stranger.post("/chat/conversations/direct", body).await;
        made.refused(400, "chat/invalid-member");
    }
    let body = json!({ "type": "group", "memberIds": [bob.id] });
    stranger.post("/chat/conversations", body).await.refused(400, "chat/invalid-member");
    for (field, code) in
        [("parentMessageId", "chat/invalid-parent"), ("quotedMessageId", "chat/invalid-quote")]
    {
        let mut body = json!({ "content": "x" });
        body[field] = message["id"].clone();
        let path = format!("/chat/conversations/{theirs}/messages");
        stranger.post(&path, body).await.refused(400, code);
    }
    let listed = ada.get("/chat/conversations").await.expect(200);
    assert_eq!(listed["conversations"].as_array().unwrap().len(), 1);
}

async fn without_the_bundle_there_is_no_chat(app: TestApp) {
    let project = app.project_with(&[Bundle::Entities]).await;
    let body = json!({ "email": "ada@example.com", "password": User::PASSWORD });
    let anonymous = app.anonymous().in_project(project.id);
    let signed_up = anonymous.post("/auth/sign-up", body).await.expect(201);
    let user = User::from_reply(&app, project.id, &signed_up);
    let key = app.bearer(&project.service_key).in_project(project.id);
    let requests = requests_about(NOBODY, NOBODY, user.id).into_iter();
    for request in requests.chain(requests_of_a_user(user.id)) {
        request.by(&user).await.refused(403, "database/tables-not-available");
        request.naming(&key, user.id).await.refused(403, "database/tables-not-available");
    }
}

async fn the_oldest_version_has_no_chat(app: TestApp) {
    let ada = app.user().await;
    for request in good(&app, &ada).await {
        assert_eq!(request.by(&ada.v6()).await.status, 404);
        let done = request.by(&ada.v7()).await;
        assert!([200, 201].contains(&done.status), "{} {}", label(&request), done.text());
    }
}

async fn ids_must_be_ids(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let message = send(&ada, &id, "x").await;
    for request in requests_about("nope", id_of(&message), ada.id) {
        request.by(&ada).await.refused(400, "chat/invalid-params");
    }
    for mut request in requests_about(&id, "nope", ada.id) {
        if request.path.contains("nope") {
            request.by(&ada).await.refused(400, "chat/invalid-params");
        } else if request.path.contains("/members/") {
            request.path = request.path.replace(&ada.id.to_string(), "nope");
            request.by(&ada).await.refused(400, "chat/invalid-params");
        } else if request.path.ends_with("/read") {
            request.by(&ada).await.refused(400, "chat/invalid-body");
        }
    }
}

async fn input_is_validated_before_the_conversation_is_loaded(app: TestApp) {
    let (ada, eve) = (app.user().await, app.user().await);
    let id = group(&ada, &[]).await;
    let message = send(&ada, &id, "x").await;
    for place in [id.as_str(), NOBODY] {
        for mut request in requests_about(place, id_of(&message), ada.id) {
            let Some(body) = &mut request.body else { continue };
            let key = body.as_object().unwrap().keys().next().unwrap().clone();
            body[&key] = json!({ "of": "the wrong kind" });
            let expected = if key == "emoji" { "chat/invalid-emoji" } else { "chat/invalid-body" };
            request.by(&eve).await.refused(400, expected);
            request.naming(&app.service(), eve.id).await.refused(400, expected);
        }
        for path in ["/messages?sort=up", "/members?role=owner"] {
            let path = format!("/chat/conversations/{place}{path}");
            eve.get(&path).await.refused(400, "chat/invalid-query");
        }
    }
}
