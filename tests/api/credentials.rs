//! Every kind of credential on every kind of route, in every version: one table.

use std::time::Duration;

use serde_json::json;
use townhall::features::projects::admin;
use townhall::tenancy::keys::KeyKind;
use townhall::tenancy::store as projects;

use crate::support::{Actor, Reply, TestApp, TestProject, User, on_both_engines};

on_both_engines![
    every_credential_on_every_kind_of_route,
    v7_speaks_like_v8_when_the_operator_wants_it,
    v7_speaks_like_v8_in_a_project_that_wants_it,
    the_setting_of_a_project_wins_over_the_servers,
    a_key_may_name_its_project_in_either_header,
    a_key_counts_only_as_a_bearer_value,
    an_access_token_lasts_half_an_hour,
    the_aliases_of_a_route_check_the_same,
    the_service_key_check_knows_keys_of_the_project_only,
];

/// What a route makes of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// The operation ran, for nobody in particular.
    Anonymous,
    User,
    Key,
    /// 401, in the form of the version.
    NoCredential,
    /// 403, or what the version says instead.
    BadCredential,
    Refused(u16, &'static str),
}

use Answer::{Anonymous, BadCredential, Key, NoCredential, Refused};

const MISMATCH: Answer = Refused(403, "auth/project-mismatch");
const ELEVATED: Answer = Refused(403, "auth/elevated-auth-required");
const GONE: Answer = Refused(403, "auth/no-user-found");

/// The kinds of routes, each with one whose reply shows how the caller was recognized.
const ROUTES: [&str; 5] = ["required", "user or key", "optional", "key only", "ignoring"];

async fn call(actor: &Actor<'_>, route: &str, target: &str) -> Reply {
    match route {
        "required" => actor.get("/oauth/identities").await,
        "user or key" => actor.post("/auth/change-password", json!({})).await,
        "optional" => actor.get(&format!("/users/{target}")).await,
        "key only" => actor.delete("/users/01234567-89ab-4def-8123-456789abcdef").await,
        _ => actor.get("/users/check-username?username=free").await,
    }
}

/// What the reply of a route that let the caller in says about who it thinks they are.
fn taken_for(route: &str, reply: &Reply) -> Answer {
    let body = reply.json();
    let code = body["code"].as_str().unwrap_or_default();
    match (route, reply.status, code) {
        ("required", 200, _)
        | ("user or key", 400, "auth/invalid-body" | "auth/missing-fields") => Answer::User,
        ("user or key", 400, "auth/missing-user-id") | ("key only", 404, "user/not-found") => Key,
        ("optional", 200, _) if body.get("email").is_some() => Key,
        ("optional" | "ignoring", 200, _) => Anonymous,
        _ => panic!("{route}: {} {}", reply.status, reply.text()),
    }
}

fn check(
    version: &str,
    v7_forbids: bool,
    route: &str,
    name: &str,
    expected: Answer,
    reply: &Reply,
) {
    let in_json = version == "v7" && !v7_forbids;
    let context = format!("{name} on a route that is {route}, {version}: {}", reply.text());
    let actual = (reply.status, reply.text());
    match expected {
        NoCredential | BadCredential if in_json => {
            let body = json!({ "error": "Unauthorized", "code": "auth/unauthorized" });
            assert_eq!((reply.status, reply.json()), (401, body), "{context}");
        }
        NoCredential => assert_eq!(actual, (401, "Unauthorized".to_owned()), "{context}"),
        BadCredential => assert_eq!(actual, (403, "Forbidden".to_owned()), "{context}"),
        Refused(status, code) => {
            assert_eq!(
                (reply.status, reply.json()["code"].as_str()),
                (status, Some(code)),
                "{context}"
            );
        }
        answer => assert_eq!(taken_for(route, reply), answer, "{context}"),
    }
}

/// A key of the project that was revoked a second ago.
async fn revoked_key(app: &TestApp) -> String {
    let (project, now) = (app.project.id, app.now());
    let key = admin::new_key(KeyKind::Service, now, &app.app.random);
    let stored = key.clone();
    let added = app
        .app
        .db
        .write(move |tx| admin::add_key(tx, project, &stored, &admin::Limits::default(), now));
    added.await.unwrap();
    app.advance(Duration::from_secs(1));
    // The server has seen it and keeps a copy of it by now.
    let before =
        app.bearer(&key.secret).delete("/users/01234567-89ab-4def-8123-456789abcdef").await;
    before.refused(404, "user/not-found");
    let revoked = app.app.db.write(move |tx| projects::revoke_key(tx, key.id, now));
    assert!(revoked.await.unwrap());
    app.advance(Duration::from_secs(1));
    key.secret
}

/// A token of the right form and claims under a signature of our own making.
fn forged(token: &str, header: &str, key: &[u8]) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
    let payload = token.split('.').nth(1).unwrap();
    let signed = format!("{}.{payload}", BASE64.encode(header));
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, key);
    let tag = aws_lc_rs::hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", BASE64.encode(tag.as_ref()))
}

async fn matrix(app: &TestApp, v7_forbids: bool) {
    let expired = app.user().await;
    app.advance(Duration::from_secs(1800));
    let deleted = app.user().await;
    app.service().delete(&format!("/users/{}", deleted.id)).await.expect(204);
    let revoked = revoked_key(app).await;
    let (user, stranger) = (app.user().await, app.stranger().await);
    let target = user.id.to_string();
    let (hs256, other) = (r#"{"alg":"HS256","typ":"JWT"}"#, app.other.id.to_string());
    let none = forged(&user.access_token, r#"{"alg":"none"}"#, b"");
    let unsigned = none.rsplit_once('.').unwrap().0.to_owned() + ".";
    let with_authorization = |value: &str| app.anonymous().with_header("authorization", value);
    let misplaced = |key: &str| app.bearer(key).with_header("X-Sublay-Project-ID", &other);

    // The reply of each route, in the order of ROUTES.
    let nothing = [NoCredential, NoCredential, Anonymous, NoCredential, Anonymous];
    let unusable = [BadCredential, BadCredential, Anonymous, BadCredential, Anonymous];
    let a_user = [Answer::User, Answer::User, Anonymous, ELEVATED, Anonymous];
    let gone = [GONE, GONE, Anonymous, ELEVATED, Anonymous];
    let a_key = [NoCredential, Key, Key, Key, Anonymous];
    let mismatch = [MISMATCH, MISMATCH, MISMATCH, MISMATCH, Anonymous];
    let table = [
        ("no header", app.anonymous(), nothing),
        ("Basic", with_authorization("Basic YWRhOnNlY3JldA=="), nothing),
        ("a key without its scheme", with_authorization(&app.project.service_key), nothing),
        (
            "the internal header alone",
            app.anonymous().with_header("X-Sublay-Internal", "true"),
            nothing,
        ),
        ("Bearer null", app.bearer("null"), unusable),
        ("Bearer without a value", app.bearer(""), unusable),
        ("an expired token", app.bearer(&expired.access_token), unusable),
        ("a token without a signature", app.bearer(&unsigned), unusable),
        ("a token of algorithm none", app.bearer(&none), unusable),
        (
            "a token under an empty key",
            app.bearer(&forged(&user.access_token, hs256, b"")),
            unusable,
        ),
        ("a token of another project", app.bearer(&stranger.access_token), unusable),
        ("a refresh token", app.bearer(&user.refresh_token), unusable),
        ("the token of a deleted user", app.bearer(&deleted.access_token), gone),
        ("a user", (*user).clone(), a_user),
        ("a user who says internal", user.with_header("X-Sublay-Internal", "true"), a_user),
        ("a service key", app.service(), a_key),
        ("a master key", app.master(), a_key),
        ("a key of another project", app.bearer(&app.other.service_key), unusable),
        ("a master key of another project", app.bearer(&app.other.master_key), unusable),
        ("a revoked key", app.bearer(&revoked), unusable),
        ("a key that names another project", misplaced(&app.project.service_key), mismatch),
        ("another project's key that names it", misplaced(&app.other.service_key), unusable),
    ];
    for (name, actor, answers) in table {
        for (version, actor) in [("v6", actor.v6()), ("v7", actor.v7()), ("v8", actor)] {
            for (route, expected) in ROUTES.into_iter().zip(answers) {
                let reply = call(&actor, route, &target).await;
                check(version, v7_forbids, route, name, expected, &reply);
            }
        }
    }
}

async fn every_credential_on_every_kind_of_route(app: TestApp) {
    matrix(&app, false).await;
}

async fn v7_speaks_like_v8_when_the_operator_wants_it(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_V7_AUTH_STATUS", "403")).await;
    matrix(&app, true).await;
}

async fn v7_speaks_like_v8_in_a_project_that_wants_it(app: TestApp) {
    let forbid = |settings: &mut projects::Settings| settings.v7_auth_forbids = Some(true);
    app.change_settings(app.project.id, forbid).await;
    matrix(&app, true).await;
    let elsewhere = app.bearer("x").v7().in_project(app.other.id);
    elsewhere.get("/oauth/identities").await.refused(401, "auth/unauthorized");
}

async fn the_setting_of_a_project_wins_over_the_servers(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_V7_AUTH_STATUS", "403")).await;
    let get = async || app.bearer("x").v7().get("/oauth/identities").await;
    get().await.says(403, "Forbidden");
    let refuse = |settings: &mut projects::Settings| settings.v7_auth_forbids = Some(false);
    app.change_settings(app.project.id, refuse).await;
    get().await.refused(401, "auth/unauthorized");
    app.change_settings(app.project.id, |settings| settings.v7_auth_forbids = None).await;
    get().await.says(403, "Forbidden");
}

async fn a_key_may_name_its_project_in_either_header(app: TestApp) {
    let (right, wrong) = (app.project.id.to_string(), app.other.id.to_string());
    for header in ["X-Sublay-Project-ID", "x-replyke-project-id"] {
        for (named, status) in [
            (right.as_str(), 404),
            (&right.to_uppercase(), 404),
            (&wrong, 403),
            ("nonsense", 403),
            ("", 403),
        ] {
            let key = app.service().with_header(header, named);
            let reply = call(&key, "key only", "").await;
            assert_eq!(reply.status, status, "{header}: {named}: {}", reply.text());
        }
    }
    // A token says itself whose it is.
    let user = app.user().await;
    let named = user.with_header("X-Sublay-Project-ID", &wrong);
    named.get("/oauth/identities").await.expect(200);
}

async fn a_key_counts_only_as_a_bearer_value(app: TestApp) {
    let key = &app.project.service_key;
    let path = "/users/01234567-89ab-4def-8123-456789abcdef";
    let anonymous = app.anonymous();
    let basic = format!("Basic {key}");
    for header in ["X-API-Key", "X-Sublay-Service-Key", "Cookie"] {
        anonymous.with_header(header, key).delete(path).await.says(401, "Unauthorized");
    }
    anonymous.with_header("authorization", &basic).delete(path).await.says(401, "Unauthorized");
    for parameter in ["apiKey", "key", "access_token"] {
        let reply = anonymous.delete(&format!("{path}?{parameter}={key}")).await;
        reply.says(401, "Unauthorized");
    }
    for spelled in [format!("bearer {key}"), format!("BEARER  {key} ")] {
        let reply = anonymous.with_header("authorization", &spelled).delete(path).await;
        reply.refused(404, "user/not-found");
    }
}

async fn an_access_token_lasts_half_an_hour(app: TestApp) {
    let user = app.user().await;
    app.advance(Duration::from_secs(1799));
    user.get("/oauth/identities").await.expect(200);
    app.advance(Duration::from_secs(1));
    user.get("/oauth/identities").await.says(403, "Forbidden");
    let body = json!({ "refreshToken": user.refresh_token });
    let renewed = app.anonymous().post("/auth/request-new-access-token", body).await.expect(200);
    let renewed = User::from_reply(&app, app.project.id, &renewed);
    renewed.get("/oauth/identities").await.expect(200);
}

async fn the_aliases_of_a_route_check_the_same(app: TestApp) {
    let (user, stranger) = (app.user().await, app.stranger().await);
    let project = app.project.id;
    for version in ["v6", "v8"] {
        for address in [
            format!("/{version}/{project}/oauth/identities"),
            format!("/api/{version}/{project}/oauth/identities"),
            format!("/{project}/api/{version}/oauth/identities"),
            format!("/{version}/{project}/oauth/identities/"),
            format!("//{version}//{project}//oauth//%69dentities"),
        ] {
            let get =
                async |actor: &Actor<'_>| actor.raw(http::Method::GET, &address, "", "").await;
            get(&app.anonymous()).await.says(401, "Unauthorized");
            get(&app.bearer(&stranger.access_token)).await.says(403, "Forbidden");
            get(&user).await.expect(200);
        }
    }
}

async fn the_service_key_check_knows_keys_of_the_project_only(app: TestApp) {
    let revoked = revoked_key(&app).await;
    let verify = async |key: Option<&str>, project: Option<&str>| {
        let mut actor = key.map_or(app.anonymous(), |key| app.bearer(key));
        if let Some(project) = project {
            actor = actor.with_header("X-Sublay-Project-ID", project);
        }
        actor.raw(http::Method::GET, "/internal/service/verify", "", "").await
    };
    let named = |project: &TestProject| project.id.to_string();
    let (here, there) = (named(&app.project), named(&app.other));
    let key = app.project.service_key.as_str();
    for good in [key, &app.project.master_key] {
        let valid = verify(Some(good), Some(&here)).await.expect(200);
        assert_eq!(valid, json!({ "valid": true, "projectId": here }));
    }
    verify(None, Some(&here)).await.refused(401, "auth/unauthorized");
    verify(Some(key), None).await.refused(400, "project/invalid-project-id");
    verify(Some(key), Some("nonsense")).await.refused(400, "project/invalid-project-id");
    let nowhere = "01234567-89ab-4def-8123-456789abcdef";
    for (key, project) in [
        (key, there.as_str()),
        (&app.other.service_key, &here),
        (&revoked, &here),
        ("thk_service_unknown", &here),
        (key, nowhere),
    ] {
        verify(Some(key), Some(project)).await.refused(403, "auth/invalid-service-key");
    }
}
