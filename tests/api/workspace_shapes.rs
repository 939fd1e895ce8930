//! How requests about workspaces are read: strictly, and who acts. Shapes are checked before who may.

use http::Method;
use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::entities::UNKNOWN;
use crate::support::{Actor, Reply, TestApp, on_both_engines};
use crate::workspaces::{create, id, join, path, verified, with_invitations};

on_both_engines![
    undeclared_keys_are_refused_everywhere,
    a_key_that_names_nobody_must_send_json,
    a_token_names_nobody_else,
    keys_name_a_user_where_one_is_needed,
    shapes_are_refused_before_anything_else,
    ids_in_paths_are_checked,
    a_credential_and_the_bundle_are_needed,
    suspended_users_read_and_write_nothing,
    cache_busters_are_dropped_if_they_are_single,
];

/// All 21 operations on a workspace: method, path, a body that fits.
pub fn operations(workspace: &str, user: &str, invite: &str) -> Vec<(Method, String, Value)> {
    let one = format!("/workspaces/{workspace}");
    let (get, post, patch) = (Method::GET, Method::POST, Method::PATCH);
    let member = format!("{one}/members/{user}");
    vec![
        (post.clone(), "/workspaces".to_owned(), json!({ "name": "n" })),
        (get.clone(), "/workspaces".to_owned(), Value::Null),
        (get.clone(), one.clone(), Value::Null),
        (patch.clone(), one.clone(), json!({ "name": "n" })),
        (patch.clone(), format!("{one}/inherit-flag"), json!({ "inheritsFromParent": true })),
        (Method::DELETE, one.clone(), json!({})),
        (post.clone(), format!("{one}/transfer-ownership"), json!({ "newOwnerId": user })),
        (get.clone(), format!("{one}/authority/me"), Value::Null),
        (get.clone(), format!("{one}/members"), Value::Null),
        (get.clone(), member.clone(), Value::Null),
        (patch, member.clone(), json!({ "title": "t" })),
        (Method::DELETE, member.clone(), json!({})),
        (Method::DELETE, format!("{one}/members/me"), json!({})),
        (post.clone(), format!("{member}/remove-from-subtree"), json!({})),
        (post.clone(), format!("{one}/invites"), json!({ "email": "x@example.com" })),
        (get.clone(), format!("{one}/invites"), Value::Null),
        (post.clone(), format!("{one}/invites/{invite}/revoke"), json!({})),
        (post.clone(), format!("{one}/invites/{invite}/resend"), json!({})),
        (post.clone(), format!("/workspace-invites/{invite}/accept"), json!({})),
        (post, format!("/workspace-invites/{invite}/decline"), json!({})),
        (get, "/me/workspace-invites".to_owned(), Value::Null),
    ]
}

/// Those where a key must name a user.
const NEED_A_USER: [usize; 10] = [0, 1, 7, 10, 11, 12, 13, 18, 19, 20];

async fn send(actor: &Actor<'_>, (method, path, body): &(Method, String, Value)) -> Reply {
    let body = (!body.is_null()).then(|| body.clone());
    actor.send(method.clone(), path, body).await
}

/// With one more key, in the query of a GET or in the body of anything else.
fn with(one: &(Method, String, Value), key: &str, value: &Value) -> (Method, String, Value) {
    let (method, path, mut body) = one.clone();
    if method == Method::GET {
        let text = value.as_str().unwrap_or("7");
        return (method, format!("{path}?{key}={text}"), body);
    }
    body[key] = value.clone();
    (method, path, body)
}

fn code(method: &Method) -> &'static str {
    if *method == Method::GET { "workspace/invalid-query" } else { "workspace/invalid-body" }
}

async fn undeclared_keys_are_refused_everywhere(app: TestApp) {
    let ada = verified(&app).await;
    let all = operations(UNKNOWN, UNKNOWN, UNKNOWN);
    assert_eq!(all.len(), 21);
    let own = json!(ada.id);
    for (n, one) in all.iter().enumerate() {
        // Declared, but not a UUID.
        for value in [json!(""), json!("me"), json!(null), json!(7)] {
            if one.0 == Method::GET && !value.is_string() {
                continue;
            }
            let wrong = with(one, "actingUserId", &value);
            send(&ada, &wrong).await.refused(400, code(&one.0));
        }
        for key in ["surplus", "user", "ActingUserId", "acting_user_id", "page[]"] {
            send(&ada, &with(one, key, &own)).await.refused(400, code(&one.0));
        }
        // The target of an invitation is the only `userId`.
        if n != 14 {
            send(&ada, &with(one, "userId", &own)).await.refused(400, code(&one.0));
        }
        // The query of a write, and the body of a read.
        let (method, path, body) = one.clone();
        if method == Method::GET {
            let reply = ada.send(method, &path, Some(json!({ "surplus": 1 }))).await;
            reply.refused(400, "workspace/invalid-body");
        } else {
            for key in ["surplus=1", "userId=1", "actingUserId=me", "_[a]=1"] {
                let place = (method.clone(), format!("{path}?{key}"), body.clone());
                send(&ada, &place).await.refused(400, "workspace/invalid-query");
            }
        }
        // What is declared everywhere changes nothing.
        let plain = send(&ada, one).await;
        for declared in ["projectId", "actingUserId"] {
            let same = send(&ada, &with(one, declared, &own)).await;
            assert_eq!(same.outcome(), plain.outcome(), "{declared} {one:?}");
        }
        let many = (one.0.clone(), format!("{}?{}", one.1, "&".repeat(999)), one.2.clone());
        send(&ada, &many).await.refused(400, "workspace/invalid-query");
    }
    // Pages are not declared where there are none.
    let members = format!("/workspaces/{UNKNOWN}/members");
    for query in ["page=1", "limit=5"] {
        let reply = ada.get(&format!("{members}?{query}")).await;
        reply.refused(400, "workspace/invalid-query");
    }
}

async fn a_key_that_names_nobody_must_send_json(app: TestApp) {
    let ada = verified(&app).await;
    let root = create(&ada, "root").await;
    let (service, address) = (app.service(), app.service().address(&path(&root)));
    let sent = async |media: &str, body: &str| {
        service.raw(Method::PATCH, &address, media, body.to_owned()).await.outcome()
    };
    let body = r#"{"name":"new"}"#;
    assert_eq!(sent("application/json", body).await, "200");
    assert_eq!(sent("Application/JSON; charset=utf-8", body).await, "200");
    for media in ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"] {
        assert_eq!(sent(media, body).await, "400 workspace/invalid-body", "{media}");
    }
    let named = format!(r#"{{"name":"new","actingUserId":"{}"}}"#, ada.id);
    assert_eq!(sent("text/plain", &named).await, "200", "it names somebody");
    // Nothing is sent: there is nothing to misread.
    assert_eq!(service.raw(Method::DELETE, &address, "text/plain", "").await.status, 200);
}

async fn a_token_names_nobody_else(app: TestApp) {
    let (ada, bob) = (verified(&app).await, app.user().await);
    for one in operations(UNKNOWN, UNKNOWN, UNKNOWN) {
        let other = with(&one, "actingUserId", &json!(bob.id));
        send(&ada, &other).await.refused(403, "workspace/unauthorized");
        let elsewhere = with(&one, "actingUserId", &json!(UNKNOWN));
        send(&ada, &elsewhere).await.refused(403, "workspace/unauthorized");
    }
    // Named twice, differently.
    let twice = format!("/workspaces?actingUserId={}", bob.id);
    let body = json!({ "name": "n", "actingUserId": ada.id });
    app.service().post(&twice, body).await.refused(400, "workspace/invalid-body");
    let once = format!("/workspaces?actingUserId={}", ada.id);
    let made = app.service().post(&once, json!({ "name": "n" })).await.expect(201);
    assert_eq!(made["ownerId"], json!(ada.id));
}

async fn keys_name_a_user_where_one_is_needed(app: TestApp) {
    for key in [app.service(), app.master()] {
        for (n, one) in operations(UNKNOWN, UNKNOWN, UNKNOWN).iter().enumerate() {
            let reply = send(&key, one).await;
            if NEED_A_USER.contains(&n) {
                reply.refused(400, "workspace/missing-user-id");
            } else {
                assert_eq!(reply.outcome(), "404 workspace/not-found", "{one:?}");
            }
            let unknown = with(one, "actingUserId", &json!(UNKNOWN));
            send(&key, &unknown).await.refused(404, "workspace/invalid-target");
        }
    }
    let eve = app.stranger().await;
    let one = format!("/workspaces?actingUserId={}", eve.id);
    app.service().get(&one).await.refused(404, "workspace/invalid-target");
}

async fn shapes_are_refused_before_anything_else(app: TestApp) {
    let stranger = app.user().await;
    let ada = verified(&app).await;
    let root = create(&ada, "root").await;
    let invites = format!("{}/invites", path(&root));
    let wrong = json!({ "email": "x@example.com", "surplus": 1 });
    stranger.post(&invites, wrong.clone()).await.refused(400, "workspace/invalid-body");
    app.service()
        .post("/workspaces", json!({ "name": 1 }))
        .await
        .refused(400, "workspace/invalid-body");
    let elsewhere = format!("/workspaces/{UNKNOWN}/invites");
    stranger.post(&elsewhere, wrong).await.refused(400, "workspace/invalid-body");
    let broken = app.service();
    let address = broken.address(&invites);
    let reply = broken.raw(Method::POST, &address, "application/json", "{").await;
    reply.refused(400, "workspace/invalid-body");
}

async fn ids_in_paths_are_checked(app: TestApp) {
    let ada = verified(&app).await;
    let places = [
        ("x", UNKNOWN, UNKNOWN, vec![0, 1, 18, 19, 20]),
        (UNKNOWN, "x", UNKNOWN, (0..9).chain([12]).chain(14..21).collect()),
        (UNKNOWN, UNKNOWN, "x", (0..16).chain([20]).collect::<Vec<usize>>()),
    ];
    for (workspace, user, invite, without) in places {
        let all = operations(workspace, user, invite);
        // A transfer has the user in its body.
        let all = all.iter().enumerate().filter(|(n, _)| *n != 6 && !without.contains(n));
        for (_, one) in all {
            send(&ada, one).await.refused(400, "workspace/invalid-params");
        }
    }
    // `me` is a member's path for leaving alone.
    let me = format!("/workspaces/{UNKNOWN}/members/me");
    ada.get(&me).await.refused(400, "workspace/invalid-params");
}

async fn a_credential_and_the_bundle_are_needed(app: TestApp) {
    for (n, one) in operations(UNKNOWN, UNKNOWN, UNKNOWN).iter().enumerate() {
        let nobody = send(&app.anonymous(), one).await.outcome();
        let rubbish = send(&app.bearer("rubbish"), one).await.outcome();
        if n == 2 {
            assert_eq!([nobody, rubbish], ["404 workspace/not-found", "404 workspace/not-found"]);
        } else {
            assert_eq!([nobody, rubbish], ["401 Unauthorized", "403 Forbidden"], "{one:?}");
        }
    }
    let without: Vec<Bundle> =
        Bundle::ALL.into_iter().filter(|bundle| *bundle != Bundle::Workspaces).collect();
    let project = app.project_with(&without).await;
    let key = app.bearer(&project.service_key).in_project(project.id);
    for one in operations(UNKNOWN, UNKNOWN, UNKNOWN) {
        let reply = send(&key, &one).await.refused(403, "database/tables-not-available");
        assert_eq!(reply["missingTables"], json!(["Workspaces"]));
        send(&app.anonymous().v6(), &one).await.refused(404, "route/not-found");
    }
}

async fn suspended_users_read_and_write_nothing(app: TestApp) {
    with_invitations(&app).await;
    let (ada, bob) = (verified(&app).await, app.user().await);
    let root = create(&ada, "root").await;
    join(&app, &root, &bob, json!({})).await;
    let invites = format!("{}/invites", path(&root));
    let invite = ada.post(&invites, json!({ "email": "x@example.com" })).await.expect(201);
    app.suspend(ada.id).await;
    let all = operations(&id(&root), &bob.id.to_string(), &id(&invite));
    for one in &all {
        let named = with(one, "actingUserId", &json!(ada.id));
        if one.0 == Method::GET {
            send(&ada, one).await.expect(200);
            send(&app.service(), &named).await.expect(200);
        } else {
            send(&ada, one).await.refused(403, "user/suspended");
            send(&app.service(), &named).await.refused(403, "user/suspended");
        }
    }
    // The master key is not bound by a suspension, nor is a key that names nobody.
    let body = json!({ "name": "new", "actingUserId": ada.id });
    app.master().patch(&path(&root), body).await.expect(200);
    app.service().patch(&path(&root), json!({ "name": "newer" })).await.expect(200);
}

async fn cache_busters_are_dropped_if_they_are_single(app: TestApp) {
    let ada = verified(&app).await;
    let root = create(&ada, "root").await;
    let fetch = async |query: &str| ada.get(&format!("{}?{query}", path(&root))).await.outcome();
    for fine in ["_=1", "_t=1", "_=1&_t=2", "_", "include=memberCount&_=7", "&&"] {
        assert_eq!(fetch(fine).await, "200", "{fine}");
    }
    for wrong in ["_=1&_=2", "_t=1&_t=1", "_[]=1", "_t[a]=1", "__=1", "include=a&include=b"] {
        assert_eq!(fetch(wrong).await, "400 workspace/invalid-query", "{wrong}");
    }
}
