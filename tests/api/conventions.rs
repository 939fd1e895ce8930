//! Conventions of every endpoint: addresses and their spellings, projects and their states, the order of the
//! checks, request ids, and what errors never reveal.

use std::time::Duration;

use http::Method;
use serde_json::json;
use townhall::tenancy::{ProjectState, store};

use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![
    every_spelling_of_an_address_is_the_same_endpoint,
    unknown_routes_are_not_found,
    literal_segments_win_over_parameters,
    a_project_must_be_named_and_known,
    a_project_under_maintenance_gives_no_other_reply,
    checks_come_in_their_order,
    a_token_of_another_project_is_refused,
    no_path_climbs_into_another_project,
    a_request_id_is_kept_or_made,
    every_reply_has_the_common_headers,
    failures_tell_nothing_of_the_inside,
];

async fn get(actor: &Actor<'_>, address: &str) -> Reply {
    actor.raw(Method::GET, address, "", "").await
}

async fn every_spelling_of_an_address_is_the_same_endpoint(app: TestApp) {
    let id = app.project.id.to_string();
    let upper = id.to_uppercase();
    for version in ["v6", "v7", "v8"] {
        for address in [
            format!("/{version}/{id}/projects/lean"),
            format!("/api/{version}/{id}/projects/lean"),
            format!("/{id}/api/{version}/projects/lean"),
            format!("/{version}/{upper}/projects/lean"),
            format!("/{version}/{id}/projects/lean/"),
            format!("//{version}//{id}///projects//lean//"),
            format!("/{version}/{id}/%70rojects/le%61n"),
            format!("/{version}/{id}/projects/lean?unknown=1"),
            format!("/{version}/%{:x}{}/projects/lean", id.as_bytes()[0], &id[1..]),
        ] {
            assert_eq!(get(&app.anonymous(), &address).await.expect(200)["id"], id, "{address}");
        }
    }
}

async fn unknown_routes_are_not_found(app: TestApp) {
    let id = app.project.id;
    let lean = format!("/v8/{id}/projects/lean");
    for address in [
        "/".to_owned(),
        "/v8".to_owned(),
        format!("/v8/{id}"),
        format!("/v5/{id}/projects/lean"),
        format!("/v9/{id}/projects/lean"),
        format!("/V8/{id}/projects/lean"),
        format!("/api/v9/{id}/projects/lean"),
        format!("/api/api/v8/{id}/projects/lean"),
        format!("/v8/{id}/nowhere"),
        format!("/v8/{id}/projects/lean/more"),
        format!("/v8/{id}/Projects/Lean"),
        format!("/v8/{id}/projects/lean%00"),
        format!("/v8/{id}/projects/%zz"),
        format!("/v8/{id}/projects%2flean"),
        "/internal/hosted-apps/1".to_owned(),
    ] {
        let reply = get(&app.anonymous(), &address).await;
        assert_eq!(reply.outcome(), "404 route/not-found", "{address}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "PURGE"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let reply = app.anonymous().raw(method.clone(), &lean, "", "").await;
        assert_eq!(reply.outcome(), "404 route/not-found", "{method}");
    }
    let overridden = app.service().with_header("X-HTTP-Method-Override", "DELETE");
    overridden.get("/projects/lean").await.expect(200);
}

async fn literal_segments_win_over_parameters(app: TestApp) {
    for (path, code) in [
        ("/users/suggestions", "user/invalid-query"),
        ("/users/by-username", "user/invalid-query"),
        ("/users/by-foreign-id", "user/invalid-query"),
        ("/users/check-username", "username/invalid-query"),
        ("/users/anything-else", "user/invalid-params"),
    ] {
        app.anonymous().get(path).await.refused(400, code);
    }
}

async fn a_project_must_be_named_and_known(app: TestApp) {
    let user = app.user().await;
    for version in [app.anonymous(), app.anonymous().v6(), app.anonymous().v7()] {
        for wrong in ["x", "1", "00000000000000000000000000000000", "%7B%7D", "None"] {
            let reply = version.in_project(wrong).get("/projects/lean").await;
            reply.refused(400, "project/invalid-project-id");
        }
        let unknown = version.in_project(user.id);
        unknown.get("/projects/lean").await.refused(404, "project/not-found");
    }
}

async fn set_state(app: &TestApp, state: ProjectState) {
    let (project, now) = (app.project.id, app.now());
    let set = app.app.db.write(move |tx| store::set_state(tx, project, state.name(), now));
    assert!(set.await.unwrap());
    app.advance(Duration::from_secs(1));
}

async fn a_project_under_maintenance_gives_no_other_reply(app: TestApp) {
    let user = app.user().await;
    let path = format!("/users/{}", user.id);
    for (state, status, code) in [
        (ProjectState::PendingDeletion, 423, "project/pending-deletion"),
        (ProjectState::Migrating, 503, "project/migrating"),
    ] {
        set_state(&app, state).await;
        for actor in [&app.anonymous(), &*user, &app.service(), &app.master()] {
            actor.get("/projects/lean").await.refused(status, code);
            actor.get(&path).await.refused(status, code);
            actor.v7().patch(&path, json!({ "name": "x" })).await.refused(status, code);
            actor.v6().post("/auth/sign-in", json!({})).await.refused(status, code);
        }
        let elsewhere = app.anonymous().in_project(app.other.id);
        elsewhere.get("/projects/lean").await.expect(200);
    }
    set_state(&app, ProjectState::Active).await;
    assert_eq!(user.get(&path).await.expect(200)["name"], serde_json::Value::Null);
}

async fn checks_come_in_their_order(app: TestApp) {
    let user = app.user().await;
    app.allow_origins(&["https://app.example"]).await;
    let evil = app.bearer("bad token").with_header("Origin", "https://evil.example");
    let nowhere = evil.in_project("x").get("/nowhere").await;
    nowhere.refused(404, "route/not-found");
    evil.in_project("x").get("/oauth/identities").await.refused(400, "project/invalid-project-id");
    let identities = "/oauth/identities";
    evil.get(identities).await.refused(403, "project/origin-not-allowed");
    app.bearer("bad token").get(identities).await.says(403, "Forbidden");
    // The credential before the path, the path before the body, both before the user's rights.
    let update = json!({ "name": 5 });
    app.anonymous().patch("/users/x", update.clone()).await.says(401, "Unauthorized");
    user.patch("/users/x", update.clone()).await.refused(400, "user/invalid-params");
    let other = format!("/users/{}", app.project.id);
    user.patch(&other, update).await.refused(400, "user/invalid-body");
    user.patch(&other, json!({})).await.refused(403, "user/not-authorized");
    set_state(&app, ProjectState::PendingDeletion).await;
    evil.get(identities).await.refused(423, "project/pending-deletion");
}

async fn a_token_of_another_project_is_refused(app: TestApp) {
    let (user, stranger) = (app.user().await, app.stranger().await);
    let id = app.project.id;
    for (address, method) in [
        (format!("/v8/{id}/oauth/identities"), Method::GET),
        (format!("/api/v8/{id}/oauth/identities"), Method::GET),
        (format!("/{id}/api/v8/oauth/identities"), Method::GET),
        (format!("/v8/{id}/users/{}", user.id), Method::PATCH),
        (format!("/v8/{id}/users/{}", stranger.id), Method::PATCH),
        (format!("/api/v6/{id}/users/{}", stranger.id), Method::DELETE),
    ] {
        for actor in [(*stranger).clone(), app.bearer(&app.other.master_key)] {
            let reply = actor.raw(method.clone(), &address, "application/json", "{}").await;
            reply.says(403, "Forbidden");
        }
    }
}

async fn no_path_climbs_into_another_project(app: TestApp) {
    let stranger = app.stranger().await;
    let (p, q, user) = (app.project.id, app.other.id, stranger.id);
    for address in [
        format!("/v8/{p}%2f..%2f{q}/users/{user}"),
        format!("/v8/{p}/../{q}/users/{user}"),
        format!("/v8/{p}/%2e%2e/{q}/users/{user}"),
        format!("/v8/{p}/users/..%2f..%2f{q}%2fusers%2f{user}"),
        format!("/v8/{p}/users/../../{q}/users/{user}"),
        format!("/v8/{p};{q}/users/{user}"),
        format!("/v8/{p}%00{q}/users/{user}"),
        format!("/v8/{p}/api/v8/{q}/users/{user}"),
    ] {
        let reply = get(&app.service(), &address).await;
        let outcome = reply.outcome();
        let expected = ["400 project/invalid-project-id", "404 route/not-found"];
        assert!(expected.contains(&outcome.as_str()), "{address}: {outcome}");
    }
}

async fn a_request_id_is_kept_or_made(app: TestApp) {
    let id_for = |sent: Option<&'static str>| {
        let actor = match sent {
            Some(id) => app.anonymous().with_header("X-Request-Id", id),
            None => app.anonymous(),
        };
        async move { actor.get("/nowhere").await.header("x-request-id").unwrap().to_owned() }
    };
    assert_eq!(id_for(Some("abc-DEF_1.2:3")).await, "abc-DEF_1.2:3");
    let made = [id_for(None).await, id_for(None).await];
    assert_ne!(made[0], made[1]);
    for strange in ["a b", "<script>", "", "ä"] {
        assert_ne!(id_for(Some(strange)).await, strange);
    }
    let long = app.anonymous().with_header("X-Request-Id", &"x".repeat(129));
    assert_eq!(long.get("/projects/lean").await.header("x-request-id").unwrap().len(), 24);
}

async fn every_reply_has_the_common_headers(app: TestApp) {
    let user = app.user().await;
    for reply in [
        app.anonymous().get("/projects/lean").await,
        app.anonymous().get("/nowhere").await,
        app.anonymous().get("/users/x").await,
        user.patch("/users/x", json!({})).await,
        get(&app.anonymous(), "/readyz").await,
    ] {
        assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert!(reply.header("x-request-id").is_some());
        for secretive in ["server", "x-powered-by", "set-cookie", "access-control-allow-origin"] {
            assert_eq!(reply.header(secretive), None);
        }
    }
}

/// A broken database is the one failure a test can bring about from outside.
async fn failures_tell_nothing_of_the_inside(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let path = format!("/users/{}", user.id);
    let db = app.app.db.clone();
    let broken = tokio::task::spawn_blocking(move || {
        db.execute_script("ALTER TABLE users RENAME TO users_gone").unwrap();
    });
    broken.await.unwrap();
    let body = json!({ "error": "Internal server error", "code": "user/server-error" });
    assert_eq!(app.anonymous().get(&path).await.expect(500), body);
    assert_eq!(user.v7().patch(&path, json!({})).await.expect(500), body);
    let v6 = app.anonymous().v6().get(&path).await.expect(500);
    assert_eq!(v6["code"], "user/server-error");
    assert_eq!(v6["details"], "Unexpected failure");
    let check = app.anonymous().get("/users/check-username?username=a").await;
    check.refused(500, "username/server-error");
}
