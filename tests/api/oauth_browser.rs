//! The browser that a sign-in is bound to, where the app and the server share an origin.

use http::Method;
use serde_json::json;
use townhall::features::oauth::provider::Settings;

use crate::support::fake::{Fake, key};
use crate::support::openid::{
    APP, allowing_this_machine, at, configure, of_issuer, parameter, signed_in,
};
use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines![
    an_app_on_the_same_origin_is_bound_to_its_browser,
    several_sign_ins_of_a_browser_do_not_disturb_each_other,
    the_cookie_comes_along_with_the_form_of_apple,
    an_app_elsewhere_gets_no_cookie,
    an_app_elsewhere_is_bound_by_a_first_step,
];

/// In the app on the server's own origin.
const HERE: &str = "https://community.example/app";

async fn start(app: TestApp) -> (TestApp, Fake) {
    let (app, fake) = (allowing_this_machine(app).await, Fake::start().await);
    let redirect_uris =
        vec![HERE.to_owned(), APP.to_owned(), "https://community.example:8443/".to_owned()];
    configure(&app, "github", Settings { redirect_uris, ..at(&fake) }, Some("hush")).await;
    fake.reply("/plain", 200, json!({ "access_token": "at" }));
    fake.reply("/me", 200, json!({ "id": 7 }));
    (app, fake)
}

/// A sign-in begins: its state, and the cookie of the reply as it is set.
async fn begin(app: &TestApp, provider: &str, to: &str) -> (String, Option<String>) {
    let body = json!({ "provider": provider, "redirectAfterAuth": to });
    let reply = app.anonymous().post("/oauth/authorize", body).await;
    let url = reply.expect(200)["authorizationUrl"].as_str().unwrap().to_owned();
    (parameter(&url, "state").unwrap(), reply.header("set-cookie").map(ToOwned::to_owned))
}

async fn come_back(app: &TestApp, state: &str, cookie: &str) -> Reply {
    let browser = app.anonymous().with_header("Cookie", cookie);
    let address = format!("/v7/oauth/callback?state={state}&code=c");
    browser.raw(Method::GET, &address, "", "").await
}

fn pair(cookie: &str) -> &str {
    cookie.split(';').next().unwrap()
}

async fn an_app_on_the_same_origin_is_bound_to_its_browser(app: TestApp) {
    let (app, fake) = start(app).await;
    let (state, cookie) = begin(&app, "github", HERE).await;
    let cookie = cookie.unwrap();
    let (_, properties) = cookie.split_once("; ").unwrap();
    let expected = "HttpOnly; SameSite=Lax; Secure; Path=/v7/oauth/callback; Max-Age=600";
    assert_eq!(properties, expected);
    let (name, value) = pair(&cookie).split_once('=').unwrap();
    assert!(name.starts_with("townhall-oauth-") && value.len() == 64, "{cookie}");

    // Whoever has the address, but not the browser: another one, or a victim who is sent there.
    let guess = format!("{name}={}", "0".repeat(64));
    let (_, other) = begin(&app, "github", HERE).await;
    let other = other.unwrap();
    for wrong in ["", "a=b", name, &guess, pair(&other), &format!("x{}", pair(&cookie))] {
        let refused = come_back(&app, &state, wrong).await;
        refused.refused(400, "oauth/invalid-state");
        assert_eq!(refused.header("location"), None);
    }
    assert_eq!(fake.requests("/plain").len(), 0);
    // They did not use it up.
    let reply = come_back(&app, &state, &format!("a=b; {}", pair(&cookie))).await;
    reply.expect(302);
    assert!(reply.header("location").unwrap().starts_with(&format!("{HERE}#accessToken=")));
    let cleared = reply.header("set-cookie").unwrap();
    assert!(
        cleared.starts_with(&format!("{name}=; ")) && cleared.ends_with("Max-Age=0"),
        "{cleared}"
    );
    assert!(cleared.contains("Path=/v7/oauth/callback;"), "{cleared}");
    come_back(&app, &state, pair(&cookie)).await.refused(400, "oauth/invalid-state");
}

async fn several_sign_ins_of_a_browser_do_not_disturb_each_other(app: TestApp) {
    let (app, _fake) = start(app).await;
    let (one, first) = begin(&app, "github", HERE).await;
    let (two, second) = begin(&app, "github", HERE).await;
    let jar = format!("{}; {}", pair(&first.unwrap()), pair(&second.unwrap()));
    come_back(&app, &two, &jar).await.expect(302);
    come_back(&app, &one, &jar).await.expect(302);
}

async fn the_cookie_comes_along_with_the_form_of_apple(app: TestApp) {
    let (app, fake) = start(app).await;
    fake.be_issuer(json!({}));
    let redirect_uris = vec![HERE.to_owned()];
    let apple = Settings { redirect_uris, ..of_issuer(&fake.url("")) };
    configure(&app, "apple", apple, Some(&key().pem)).await;
    let (_, cookie) = begin(&app, "apple", HERE).await;
    assert!(cookie.unwrap().contains("; SameSite=None; Secure;"));
}

async fn an_app_elsewhere_gets_no_cookie(app: TestApp) {
    let (app, _fake) = start(app).await;
    // A browser would not keep it: the page is of another site, or the app is none.
    for elsewhere in [APP, "https://community.example:8443/"] {
        let (_, cookie) = begin(&app, "github", elsewhere).await;
        assert_eq!(cookie, None, "{elsewhere}");
    }
    let (state, _) = begin(&app, "github", APP).await;
    let reply = come_back(&app, &state, "").await;
    assert_eq!(reply.header("set-cookie"), None);
    signed_in(&app, &reply).await;
}

async fn an_app_elsewhere_is_bound_by_a_first_step(app: TestApp) {
    let (app, fake) = start(app).await;
    let redirect_uris = vec![HERE.to_owned(), APP.to_owned()];
    let bound = Settings { bind_browser: true, redirect_uris, ..at(&fake) };
    configure(&app, "github", bound, None).await;
    let body = json!({ "provider": "github", "redirectAfterAuth": APP });
    let reply = app.anonymous().post("/oauth/authorize", body).await;
    assert_eq!(reply.header("set-cookie"), None);
    let url = reply.expect(200)["authorizationUrl"].as_str().unwrap().to_owned();
    assert!(url.starts_with("https://community.example/v7/oauth/start?state="), "{url}");
    let state = parameter(&url, "state").unwrap();
    let other = url.replace(&parameter(&url, "browser").unwrap(), &"0".repeat(64));
    for wrong in [other.as_str(), "/v7/oauth/start", &format!("/v7/oauth/start?state={state}")] {
        app.anonymous().open(wrong).await.refused(400, "oauth/invalid-state");
    }
    let begun = app.anonymous().open(&url).await;
    begun.expect(302);
    let page = begun.header("location").unwrap();
    assert!(page.starts_with(&fake.url("/authorize?")), "{page}");
    assert_eq!(parameter(page, "state").as_ref(), Some(&state));
    assert_eq!(parameter(page, "code_challenge").unwrap().len(), 43);
    let cookie = begun.header("set-cookie").unwrap().to_owned();
    assert!(
        cookie.contains("; HttpOnly; SameSite=Lax; Secure; Path=/v7/oauth/callback;"),
        "{cookie}"
    );
    // Whoever is sent the same address comes too late, and whoever is sent the callback lacks the cookie.
    app.anonymous().open(&url).await.refused(400, "oauth/invalid-state");
    come_back(&app, &state, "").await.refused(400, "oauth/invalid-state");
    let first = format!(
        "{}={}",
        pair(&cookie).split('=').next().unwrap(),
        parameter(&url, "browser").unwrap()
    );
    come_back(&app, &state, &first).await.refused(400, "oauth/invalid-state");
    signed_in(&app, &come_back(&app, &state, pair(&cookie)).await).await;
    // The app on the server's own origin needs no first step.
    let (_, cookie) = begin(&app, "github", HERE).await;
    assert!(cookie.is_some());
}
