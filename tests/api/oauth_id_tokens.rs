//! ID tokens and replies of providers that lie: meant for others, of others, too old.

use std::time::Duration;

use serde_json::json;

use crate::oauth_refusals::{claims, settings, sign_in_with, start};
use crate::support::fake::{Fake, SigningKey, key};
use crate::support::openid::{
    authorize, begin, configure, failure, return_to, return_with, signed_in,
};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    an_id_token_must_be_for_this_client_and_this_sign_in,
    clocks_may_differ_by_a_minute,
    a_reply_of_another_provider_is_refused,
    a_profile_must_be_of_the_same_user,
];

async fn an_id_token_must_be_for_this_client_and_this_sign_in(app: TestApp) {
    let (app, fake) = start(app).await;
    let good = signed_in(&app, &sign_in_with(&app, &fake, &json!({})).await).await;
    for good_too in [
        json!({ "aud": ["forum"] }),
        json!({ "aud": ["forum", "else"], "azp": "forum" }),
        json!({ "azp": "forum" }),
    ] {
        let user = signed_in(&app, &sign_in_with(&app, &fake, &good_too).await).await;
        assert_eq!(user.id, good.id, "{good_too}");
    }
    for bad in [
        json!({ "aud": "another client" }),
        json!({ "aud": ["else"] }),
        json!({ "aud": [] }),
        json!({ "aud": null }),
        json!({ "aud": ["forum", "else"] }),
        json!({ "azp": "another client" }),
        json!({ "iss": "https://accounts.google.com" }),
        json!({ "iss": format!("{}/", fake.url("")) }),
        json!({ "iss": null }),
        json!({ "nonce": "of another sign-in" }),
        json!({ "nonce": null }),
        json!({ "exp": null }),
        json!({ "exp": "tomorrow" }),
        json!({ "sub": null }),
        json!({ "sub": "" }),
        json!({ "sub": "x".repeat(256) }),
        json!({ "sub": "nul\0" }),
    ] {
        let refused = failure(&sign_in_with(&app, &fake, &bad).await);
        assert_eq!(refused.0, "token_exchange_failed", "{bad}");
    }
    // Signed by somebody else, with a key of the same name.
    let (url, claims) = claims(&app, &fake).await;
    let forged = SigningKey::generate("first").sign(&claims);
    let (signed, _) =
        key().sign(&claims).rsplit_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    for (token, url) in
        [(forged, url), (format!("{signed}."), begin(&app.anonymous(), "liar").await)]
    {
        fake.reply("/token", 200, json!({ "id_token": token }));
        assert_eq!(failure(&return_to(&app, &url, "&code=c").await).0, "token_exchange_failed");
    }
    assert_eq!(app.rows("users").await, 1);
    assert_eq!(app.rows("oauth_states").await, 0, "each of them was used up");
}

async fn clocks_may_differ_by_a_minute(app: TestApp) {
    let (app, fake) = start(app).await;
    let at = |offset: i64| app.now().seconds() + offset;
    for good in [json!({ "exp": at(-59) }), json!({ "nbf": at(60) }), json!({ "iat": at(120) })] {
        signed_in(&app, &sign_in_with(&app, &fake, &good).await).await;
    }
    for bad in [json!({ "exp": at(-60) }), json!({ "nbf": at(61) })] {
        let refused = failure(&sign_in_with(&app, &fake, &bad).await);
        assert_eq!(refused.0, "token_exchange_failed", "{bad}");
    }
}

/// Mix-up: a browser comes back to the right address with the reply of another provider.
async fn a_reply_of_another_provider_is_refused(app: TestApp) {
    let (app, fake) = start(app).await;
    let own = format!("&code=c&iss={}", fake.url(""));
    let other = "&code=c&iss=https://accounts.google.com";
    let (url, good) = claims(&app, &fake).await;
    fake.issue(&good);
    signed_in(&app, &return_to(&app, &url, &own).await).await;
    assert_eq!(failure(&return_with(&app, "liar", other).await).0, "token_exchange_failed");
    let error = "&error=access_denied&iss=https://accounts.google.com";
    assert_eq!(failure(&return_with(&app, "liar", error).await).0, "token_exchange_failed");

    let strict = Fake::start().await;
    strict.be_issuer(json!({ "authorization_response_iss_parameter_supported": true }));
    configure(&app, "strict", settings(&strict), Some("hush")).await;
    let silent = failure(&return_with(&app, "strict", "&code=c").await);
    assert_eq!(silent.0, "token_exchange_failed");
    assert_eq!(strict.requests("/token").len(), 0, "the code went nowhere");
    assert_eq!(fake.requests("/token").len(), 1);

    let about_another = Fake::start().await;
    about_another.be_issuer(json!({ "issuer": fake.url("") }));
    configure(&app, "another", settings(&about_another), Some("hush")).await;
    let refused = app.anonymous().post("/oauth/authorize", authorize("another")).await;
    refused.refused(500, "oauth/server-error");
}

async fn a_profile_must_be_of_the_same_user(app: TestApp) {
    let (app, fake) = start(app).await;
    fake.be_issuer(json!({ "userinfo_endpoint": fake.url("/me") }));
    app.advance(Duration::from_secs(3600));
    fake.reply(
        "/me",
        200,
        json!({ "sub": "8", "email": "eve@example.com", "email_verified": true }),
    );
    let refused = failure(&sign_in_with(&app, &fake, &json!({})).await);
    assert_eq!(refused.0, "token_exchange_failed");
    fake.reply(
        "/me",
        200,
        json!({ "sub": "7", "email": "ada@example.com", "email_verified": "yes" }),
    );
    let user = signed_in(&app, &sign_in_with(&app, &fake, &json!({})).await).await;
    assert_eq!(user.email, "ada@example.com");
    let own = user.patch(&format!("/users/{}", user.id), json!({})).await.expect(200);
    assert_eq!(own["isVerified"], false, "only `true` is true");
    let asked = fake.requests("/me");
    assert!(asked[0].head.contains("authorization: bearer at"), "{}", asked[0].head);
}
