//! OAuth against those who lie: foreign and old states, addresses to return to, ID tokens for others, replies
//! of other providers, private addresses.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use townhall::features::oauth::provider::Settings;

use crate::support::fake::{Fake, key};
use crate::support::openid::{
    APP, allowing_this_machine, authorize, begin, configure, configure_in, failure, forum,
    of_issuer, parameter, return_to, return_with, signed_in,
};
use crate::support::site::Site;
use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines![
    a_provider_must_be_configured_and_known,
    an_app_returns_only_where_the_operator_allows,
    a_state_that_is_not_live_leads_nowhere,
    errors_of_providers_cannot_inject_anything,
    a_private_address_is_never_called,
    a_provider_that_misbehaves_fails_the_sign_in_alone,
    who_may_begin_a_sign_in,
    users_who_never_return_leave_nothing,
];

pub fn settings(fake: &Fake) -> Settings {
    of_issuer(&fake.url(""))
}

/// A server with a provider `liar` that says what the test wants.
pub async fn start(app: TestApp) -> (TestApp, Fake) {
    let (app, fake) = (allowing_this_machine(app).await, Fake::start().await);
    fake.be_issuer(json!({}));
    configure(&app, "liar", settings(&fake), Some("hush")).await;
    (app, fake)
}

/// What a good ID token says, in a sign-in that begins now.
pub async fn claims(app: &TestApp, fake: &Fake) -> (String, Value) {
    let url = begin(&app.anonymous(), "liar").await;
    let claims = json!({
        "iss": fake.url(""), "aud": "forum", "sub": "7", "nonce": parameter(&url, "nonce"),
        "iat": app.now().seconds(), "exp": app.now().seconds() + 300,
    });
    (url, claims)
}

pub async fn sign_in_with(app: &TestApp, fake: &Fake, change: &Value) -> Reply {
    let (url, mut claims) = claims(app, fake).await;
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    fake.issue(&claims);
    return_to(app, &url, "&code=c").await
}

async fn a_provider_must_be_configured_and_known(app: TestApp) {
    let (app, fake) = start(app).await;
    let begin = async |body: Value| app.anonymous().post("/oauth/authorize", body).await;
    for name in ["google", "github", "facebook", "apple"] {
        let refused = begin(authorize(name)).await.refused(400, "oauth/provider-not-configured");
        assert!(refused["error"].as_str().unwrap().contains(name), "{refused}");
    }
    for name in ["keycloak", "external", "", "LIAR", "liar\0"] {
        begin(authorize(name)).await.refused(400, "oauth/invalid-body");
    }
    for body in [
        json!({}),
        json!({ "provider": "liar" }),
        json!({ "provider": "liar", "redirectAfterAuth": "/signed-in" }),
        json!({ "provider": "liar", "redirectAfterAuth": "" }),
        json!({ "provider": 7, "redirectAfterAuth": APP }),
        json!({ "redirectAfterAuth": APP }),
    ] {
        begin(body).await.refused(400, "oauth/invalid-body");
    }
    configure(&app, "liar", Settings { enabled: false, ..settings(&fake) }, None).await;
    begin(authorize("liar")).await.refused(400, "oauth/provider-not-configured");
    // It is a provider of this project alone.
    let elsewhere = app.anonymous().in_project(app.other.id);
    elsewhere.post("/oauth/authorize", authorize("liar")).await.refused(400, "oauth/invalid-body");
}

async fn an_app_returns_only_where_the_operator_allows(app: TestApp) {
    let (app, fake) = start(app).await;
    let uris = ["https://app.example.com", "myapp://in", "https://app.example.com/a?b=c"];
    let redirect_uris = uris.map(str::to_owned).to_vec();
    configure(&app, "liar", Settings { redirect_uris, ..settings(&fake) }, None).await;
    let begin = async |to: &str| {
        let body = json!({ "provider": "liar", "redirectAfterAuth": to });
        app.anonymous().post("/oauth/authorize", body).await
    };
    for good in uris {
        begin(good).await.expect(200);
    }
    for bad in [
        "https://app.example.com.evil.io",
        "https://app.example.com@evil.io",
        "https://APP.example.com",
        "https://app.example.com/",
        "https://app.example.com/a?b=c&d",
        "https://app.example.com/%2e",
        "https://app%2eexample.com",
        "http://app.example.com",
        "https://app.example.com:443",
        "https://app.example.com#x",
        "https://app.example.com ",
        "myapp://in/",
        "javascript:alert(1)",
        "https://evil.io",
    ] {
        begin(bad).await.refused(400, "oauth/invalid-redirect-uri");
    }
}

async fn a_state_that_is_not_live_leads_nowhere(app: TestApp) {
    let (app, fake) = start(app).await;
    configure_in(&app, app.other.id, "liar", settings(&fake), Some("hush")).await;
    let refused = async |state: &str| {
        let query = format!("state={state}&code=c");
        let get = format!("/v7/oauth/callback?{query}");
        let form = "application/x-www-form-urlencoded";
        for reply in [
            app.anonymous().raw(Method::GET, &get, "", "").await,
            app.anonymous().raw(Method::GET, &get.replace("v7", "v8"), "", "").await,
            app.anonymous().raw(Method::POST, "/v7/oauth/callback", form, query.clone()).await,
            app.anonymous().raw(Method::POST, "/v6/oauth/callback", form, query).await,
        ] {
            reply.refused(400, "oauth/invalid-state");
            assert_eq!(reply.header("location"), None);
            assert_eq!(reply.header("cache-control"), Some("no-store"));
        }
        let browser = app.anonymous().with_header("Accept", "text/html,*/*");
        let page = browser.raw(Method::GET, &get, "", "").await;
        assert_eq!((page.status, page.header("location")), (400, None));
        assert!(page.text().contains("<h1>Not signed in</h1>"), "{}", page.text());
    };
    refused("").await;
    refused("x").await;
    refused(&"A".repeat(64)).await;
    app.anonymous()
        .raw(Method::GET, "/v7/oauth/callback", "", "")
        .await
        .refused(400, "oauth/invalid-state");

    let state = parameter(&begin(&app.anonymous(), "liar").await, "state").unwrap();
    // The same secret, said to be of the other project.
    let own = parameter(&begin(&app.anonymous().in_project(app.other.id), "liar").await, "state");
    refused(&format!("{}{}", &own.unwrap()[..21], &state[21..])).await;
    app.advance(Duration::from_secs(600));
    refused(&state).await;
    let (url, claims) = claims(&app, &fake).await;
    fake.issue(&claims);
    let state = parameter(&url, "state").unwrap();
    signed_in(&app, &return_to(&app, &url, "&code=c").await).await;
    refused(&state).await;
    assert_eq!(fake.requests("/token").len(), 1);
}

async fn errors_of_providers_cannot_inject_anything(app: TestApp) {
    let (app, _fake) = start(app).await;
    let of = async |query: &str| failure(&return_with(&app, "liar", query).await);
    let told = of("&error=temporarily_unavailable&error_description=Try+%26+try").await;
    assert_eq!(told, ("temporarily_unavailable".to_owned(), "Try & try".to_owned()));
    let told = of("&error=x%23accessToken%3Dy%26z&error_description=%0d%0aSet-Cookie:+a").await;
    assert_eq!(told, ("x#accessToken=y&z".to_owned(), String::new()));
    for bad in
        ["&error=%0d%0aX:+y", "&error=%22", "&error=", &format!("&error={}", "x".repeat(101))]
    {
        assert_eq!(of(bad).await.0, "server_error", "{bad}");
    }
    for nothing in ["", "&code="] {
        assert_eq!(of(nothing).await.0, "token_exchange_failed");
    }
}

async fn a_private_address_is_never_called(app: TestApp) {
    let canary = Site::canary().await;
    for url in [canary.url(""), format!("http://localhost:{}", canary.address.port())] {
        configure(&app, "inside", of_issuer(&url), Some("hush")).await;
        let begun = app.anonymous().post("/oauth/authorize", authorize("inside")).await;
        let refused = begun.refused(500, "oauth/server-error");
        assert_eq!(refused["error"], "Internal server error");
    }
    let address = |path: &str| Some(canary.url(path));
    let github = Settings {
        authorize_url: address("/a"),
        token_url: address("/t"),
        user_url: address("/u"),
        emails_url: address("/e"),
        ..forum()
    };
    configure(&app, "github", github, Some("hush")).await;
    let refused = failure(&return_with(&app, "github", "&code=c").await);
    assert_eq!(refused.0, "token_exchange_failed");
    assert_eq!(canary.visits(), 0);
}

async fn a_provider_that_misbehaves_fails_the_sign_in_alone(app: TestApp) {
    let (app, fake) = start(app).await;
    let wrong = |status: u16, body: Value| fake.reply("/token", status, body);
    let cases: [&dyn Fn(); 7] = [
        &|| wrong(500, json!({})),
        &|| wrong(400, json!({ "error": "invalid_grant" })),
        &|| wrong(200, json!({ "error": "bad_verification_code" })),
        &|| wrong(200, json!({ "access_token": "at" })),
        &|| wrong(200, json!([])),
        &|| wrong(200, json!({ "id_token": "x".repeat(300_000) })),
        &|| wrong(307, json!({})),
    ];
    for case in cases {
        case();
        let refused = failure(&return_with(&app, "liar", "&code=c").await);
        assert_eq!(refused.0, "token_exchange_failed");
    }
    assert_eq!(fake.requests("/elsewhere").len(), 0, "the secret was not redirected");
    fake.reply("/jwks", 200, json!({ "keys": "none" }));
    app.advance(Duration::from_secs(3601));
    let refused = failure(&sign_in_with(&app, &fake, &json!({})).await);
    assert_eq!(
        refused,
        ("server_error".to_owned(), "Something went wrong. Please try again.".to_owned())
    );
    // Keys that cannot be fetched again stay in use for a day.
    fake.reply("/jwks", 200, json!({ "keys": [key().public] }));
    app.advance(Duration::from_secs(31));
    fake.be_issuer(json!({}));
    app.advance(Duration::from_secs(3601));
    let user = signed_in(&app, &sign_in_with(&app, &fake, &json!({})).await).await;
    fake.reply("/jwks", 503, json!({}));
    fake.reply("/.well-known/openid-configuration", 503, json!({}));
    app.advance(Duration::from_secs(3601));
    let again = signed_in(&app, &sign_in_with(&app, &fake, &json!({})).await).await;
    assert_eq!(again.id, user.id);
    app.advance(Duration::from_secs(24 * 3600));
    app.anonymous()
        .post("/oauth/authorize", authorize("liar"))
        .await
        .refused(500, "oauth/server-error");
}

async fn who_may_begin_a_sign_in(app: TestApp) {
    let (app, _fake) = start(app).await;
    let user = app.user().await;
    let post = async |actor: &crate::support::Actor<'_>, path: &str| {
        actor.post(path, authorize("liar")).await.outcome()
    };
    let (anonymous, bad) = (app.anonymous(), app.bearer("bad"));
    let (service, master) = (app.service(), app.master());
    for (actor, authorized, linked) in [
        (&anonymous, "200", "401 Unauthorized"),
        (&bad, "200", "403 Forbidden"),
        (&service, "200", "401 Unauthorized"),
        (&master, "200", "401 Unauthorized"),
        (&*user, "200", "200"),
    ] {
        assert_eq!(post(actor, "/oauth/authorize").await, authorized);
        assert_eq!(post(actor, "/oauth/link").await, linked);
    }
    let stranger = app.stranger().await.in_project(app.project.id);
    assert_eq!(post(&stranger, "/oauth/link").await, "403 Forbidden");
    app.suspend(user.id).await;
    assert_eq!(post(&user, "/oauth/link").await, "200");
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    assert_eq!(post(&user, "/oauth/link").await, "403 auth/no-user-found");
    let linking =
        "SELECT count(*) FROM oauth_states WHERE project_id = $1 AND link_to_user_id IS NOT NULL";
    let project = app.project.id;
    let count = db::Query::<i64>::built("test::linking", linking.to_owned());
    let left = app.app.db.read(move |c| c.one(&count, db::args![project]));
    assert_eq!(left.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 0);
}

async fn users_who_never_return_leave_nothing(app: TestApp) {
    let (app, _fake) = start(app).await;
    begin(&app.anonymous(), "liar").await;
    assert_eq!(app.rows("oauth_states").await, 1);
    app.advance(Duration::from_secs(601));
    let now = app.now();
    let sweep = move |tx: &db::Tx<'_>| townhall::features::oauth::store::sweep(tx, now, 100);
    app.app.db.write(sweep).await.unwrap();
    assert_eq!(app.rows("oauth_states").await, 0);
}
