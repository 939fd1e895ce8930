//! The ways of Apple, GitHub and Facebook, played by a small service.

use http::Method;
use serde_json::{Value, json};
use townhall::auth::jwk::{Jwt, KeySet};
use townhall::features::oauth::provider::Settings;
use townhall::http::query::{pairs, percent_encode};

use crate::support::fake::{Fake, key};
use crate::support::openid::{
    allowing_this_machine, at, begin, configure, failure, of_issuer, parameter, return_with,
    signed_in,
};
use crate::support::{Reply, TestApp, User, on_both_engines};

on_both_engines![
    apple_returns_by_form_and_tells_the_name_once,
    apple_gets_a_signed_secret,
    github_has_profiles_and_lists_of_addresses,
    github_refuses_with_status_200,
    facebook_shows_confirmed_addresses_only,
];

async fn start(app: TestApp) -> (TestApp, Fake) {
    let (app, fake) = (allowing_this_machine(app).await, Fake::start().await);
    fake.reply("/plain", 200, json!({ "access_token": "at", "token_type": "bearer" }));
    (app, fake)
}

async fn own(user: &User<'_>) -> Value {
    user.patch(&format!("/users/{}", user.id), json!({})).await.expect(200)
}

async fn with_apple(app: TestApp) -> (TestApp, Fake) {
    let (app, fake) = start(app).await;
    fake.be_issuer(json!({}));
    let apple = Settings {
        team_id: Some("TEAM".to_owned()),
        key_id: Some("first".to_owned()),
        ..of_issuer(&fake.url(""))
    };
    configure(&app, "apple", apple, Some(&key().pem)).await;
    (app, fake)
}

/// Apple's page posts the form, with a name or without.
async fn apple(app: &TestApp, fake: &Fake, sub: &str, user: Option<&str>) -> Reply {
    let begun = begin(&app.anonymous(), "apple").await;
    fake.issue(&json!({
        "iss": fake.url(""), "aud": "forum", "sub": sub, "nonce": parameter(&begun, "nonce"),
        "exp": app.now().seconds() + 300, "email": format!("{sub}@privaterelay.appleid.com"),
        "email_verified": "true", "is_private_email": "true",
    }));
    let state = parameter(&begun, "state").unwrap();
    let user = user.map(|user| format!("&user={}", percent_encode(user))).unwrap_or_default();
    let form = format!("state={state}&code=c{user}");
    let page = app.anonymous().with_header("Origin", "https://appleid.apple.com");
    page.raw(Method::POST, "/v7/oauth/callback", "application/x-www-form-urlencoded", form).await
}

async fn apple_returns_by_form_and_tells_the_name_once(app: TestApp) {
    let (app, fake) = with_apple(app).await;
    app.allow_origins(&["https://app.example"]).await;
    let begun = begin(&app.anonymous(), "apple").await;
    assert_eq!(parameter(&begun, "response_mode").as_deref(), Some("form_post"));
    assert_eq!(parameter(&begun, "scope").as_deref(), Some("name email"));
    assert_eq!(parameter(&begun, "code_challenge"), None);

    let told = r#"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"forged@example.com"}"#;
    let user = signed_in(&app, &apple(&app, &fake, "ada", Some(told)).await).await;
    let first = own(&user).await;
    assert_eq!(first["name"], "Ada Lovelace");
    assert_eq!(first["email"], "ada@privaterelay.appleid.com", "only the signed address counts");
    assert_eq!(first["isVerified"], true);
    let again = signed_in(&app, &apple(&app, &fake, "ada", None).await).await;
    assert_eq!(again.id, user.id);
    assert_eq!(own(&again).await["name"], "Ada Lovelace");
    let listed = again.get("/oauth/identities").await.expect(200);
    assert_eq!(listed["identities"][0]["name"], "Ada Lovelace");
    for odd in ["", "null", "not JSON", r#"{"name":7}"#] {
        let sub = format!("odd-{}", odd.len());
        let user = signed_in(&app, &apple(&app, &fake, &sub, Some(odd)).await).await;
        assert_eq!(own(&user).await["name"], Value::Null, "{odd}");
    }
}

async fn apple_gets_a_signed_secret(app: TestApp) {
    let (app, fake) = with_apple(app).await;
    signed_in(&app, &apple(&app, &fake, "ada", None).await).await;
    let asked = pairs(&fake.requests("/token")[0].body);
    assert_eq!((&asked["grant_type"], &asked["code"]), (&json!("authorization_code"), &json!("c")));
    assert_eq!(asked["client_id"], "forum");
    assert_eq!(asked.get("code_verifier"), None);
    let secret = asked["client_secret"].as_str().unwrap();
    let keys = KeySet::parse(&json!({ "keys": [key().public] })).unwrap();
    let claims = Jwt::parse(secret).unwrap().verified(&keys).unwrap();
    let now = app.now().seconds();
    let expected = json!({
        "iss": "TEAM", "sub": "forum", "aud": fake.url(""), "iat": now, "exp": now + 300,
    });
    assert_eq!(claims, expected);
}

async fn github_has_profiles_and_lists_of_addresses(app: TestApp) {
    let (app, fake) = start(app).await;
    configure(&app, "github", at(&fake), Some("hush")).await;
    let profile = |id: u64, email: Value| {
        let avatar = "https://avatars.example/1";
        let user =
            json!({ "id": id, "login": "ada", "name": null, "email": email, "avatar_url": avatar });
        fake.reply("/me", 200, user);
    };
    let listed = json!([
        { "email": "old@example.com", "primary": false, "verified": true },
        { "email": "Ada@Example.com", "primary": true, "verified": true },
        { "email": "new@example.com", "primary": false, "verified": false },
    ]);
    let cases = [
        // Hidden: the primary one.
        (1, Value::Null, (200, listed.clone()), json!("ada@example.com"), true),
        // Shown: what the list says of it.
        (2, json!("old@example.com"), (200, listed.clone()), json!("old@example.com"), true),
        (3, json!("new@example.com"), (200, listed.clone()), json!("new@example.com"), false),
        (4, json!("else@example.com"), (200, listed.clone()), json!("else@example.com"), false),
        // No list.
        (5, json!("five@example.com"), (404, json!({})), json!("five@example.com"), false),
        (6, Value::Null, (403, json!({})), Value::Null, false),
        (
            7,
            Value::Null,
            (200, json!([{ "email": "p@example.com", "primary": true, "verified": false }])),
            json!("p@example.com"),
            false,
        ),
    ];
    for (id, shown, (status, emails), email, verified) in cases {
        profile(id, shown);
        fake.reply("/emails", status, emails);
        let user = signed_in(&app, &return_with(&app, "github", "&code=c").await).await;
        let own = own(&user).await;
        assert_eq!((&own["email"], &own["isVerified"]), (&email, &json!(verified)), "{id}");
        assert_eq!(
            (&own["name"], &own["avatar"]),
            (&json!("ada"), &json!("https://avatars.example/1"))
        );
        let listed = user.get("/oauth/identities").await.expect(200);
        assert_eq!(listed["identities"][0]["providerAccountId"], id.to_string());
    }
    let begun = begin(&app.anonymous(), "github").await;
    assert_eq!(parameter(&begun, "scope").as_deref(), Some("user:email"));
    assert_eq!(parameter(&begun, "nonce"), None);
    let asked = &fake.requests("/plain")[0];
    assert!(asked.head.contains("accept: application/json"), "{}", asked.head);
    let form = pairs(&asked.body);
    assert_eq!((&form["client_id"], &form["client_secret"]), (&json!("forum"), &json!("hush")));
    assert_eq!(form["code_verifier"].as_str().unwrap().len(), 43);
    assert!(fake.requests("/emails")[0].head.contains("authorization: bearer at"));
}

async fn github_refuses_with_status_200(app: TestApp) {
    let (app, fake) = start(app).await;
    configure(&app, "github", at(&fake), Some("hush")).await;
    fake.reply("/plain", 200, json!({ "error": "bad_verification_code", "access_token": "at" }));
    let refused = failure(&return_with(&app, "github", "&code=c").await);
    assert_eq!(refused.0, "token_exchange_failed");
    for profile in [json!({}), json!({ "id": null }), json!({ "id": { "a": 1 } })] {
        fake.reply("/plain", 200, json!({ "access_token": "at" }));
        fake.reply("/me", 200, profile);
        let refused = failure(&return_with(&app, "github", "&code=c").await);
        assert_eq!(refused.0, "token_exchange_failed");
    }
    assert_eq!(app.rows("users").await, 0);
}

async fn facebook_shows_confirmed_addresses_only(app: TestApp) {
    let (app, fake) = start(app).await;
    configure(&app, "facebook", at(&fake), Some("hush")).await;
    let picture = json!({ "data": { "url": "https://img.example/f.jpg", "is_silhouette": false } });
    let ada = json!({ "id": "10", "name": "Ada", "email": "ada@example.com", "picture": picture });
    fake.reply("/me", 200, ada);
    let user = signed_in(&app, &return_with(&app, "facebook", "&code=c").await).await;
    let shown = own(&user).await;
    assert_eq!((&shown["email"], &shown["isVerified"]), (&json!("ada@example.com"), &json!(true)));
    assert_eq!(shown["avatar"], "https://img.example/f.jpg");
    let head = &fake.requests("/me")[0].head;
    assert!(head.contains("fields=id%2cname%2cemail%2cpicture"), "{head}");
    let proof = head.split("appsecret_proof=").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(proof.len(), 64);
    // Signed up with a telephone number.
    fake.reply("/me", 200, json!({ "id": "11", "name": "Grace" }));
    let user = signed_in(&app, &return_with(&app, "facebook", "&code=c").await).await;
    let shown = own(&user).await;
    assert_eq!((&shown["email"], &shown["isVerified"]), (&Value::Null, &json!(false)));
    let begun = begin(&app.anonymous(), "facebook").await;
    assert_eq!(parameter(&begun, "scope").as_deref(), Some("email public_profile"));
}
