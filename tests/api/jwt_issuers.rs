//! Verify External User with the JWTs of outside issuers: whose tokens count, for whom, and which user they
//! lead to.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::features::identities::issuers::{self, Settings};
use townhall::features::identities::store::issuers as store;

use crate::support::fake::{Fake, SigningKey, key};
use crate::support::openid::{OpenId, allowing_this_machine, client};
use crate::support::site::Site;
use crate::support::{Reply, TestApp, User, all_at_once, on_both_engines};

on_both_engines![
    tokens_of_a_real_issuer_sign_users_in,
    a_token_must_be_of_the_issuer_for_the_audience_and_in_time,
    keys_are_cached_and_renewed_but_not_at_every_request,
    claims_fill_the_user_as_the_operator_says,
    an_issuer_knows_only_its_own_users,
    a_verified_address_leads_to_its_user_and_takes_it_from_others,
    many_first_sign_ins_at_once_make_one_user,
    the_keys_of_a_private_address_are_never_fetched,
    the_projects_own_tokens_work_as_before,
];

async fn trust(app: &TestApp, issuer: &str, settings: Settings) {
    issuers::check(issuer, &settings).unwrap();
    let (project, issuer, now) = (app.project.id, issuer.to_owned(), app.now());
    let text = serde_json::to_string(&settings).unwrap();
    let trusted = app.app.db.write(move |tx| store::replace(tx, project, &issuer, &text, now));
    trusted.await.unwrap();
}

fn for_forum(fake: &Fake) -> Settings {
    Settings {
        jwks_url: Some(fake.url("/jwks")),
        audiences: vec!["forum".to_owned()],
        ..Settings::default()
    }
}

const ISSUER: &str = "https://issuer.example/";

/// A server that trusts an issuer whose keys a small service publishes.
async fn start(app: TestApp) -> (TestApp, Fake) {
    let (app, fake) = (allowing_this_machine(app).await, Fake::start().await);
    fake.reply("/jwks", 200, json!({ "keys": [key().public] }));
    trust(&app, ISSUER, for_forum(&fake)).await;
    (app, fake)
}

async fn present(app: &TestApp, token: &str) -> Reply {
    app.anonymous().post("/auth/verify-external-user", json!({ "userJwt": token })).await
}

/// A token of the issuer that says this besides what it must.
fn token(app: &TestApp, claims: &Value) -> String {
    let mut all = json!({ "iss": ISSUER, "aud": "forum", "exp": app.now().seconds() + 300 });
    all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
    key().sign(&all)
}

async fn sign_in(app: &TestApp, claims: Value) -> Value {
    present(app, &token(app, &claims)).await.expect(200)["user"].take()
}

async fn tokens_of_a_real_issuer_sign_users_in(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let algorithms = ["RS256", "PS256", "ES256", "EdDSA"];
    let clients: Vec<Value> = algorithms
        .iter()
        .map(|alg| client(alg, json!({ "id_token_signed_response_alg": alg })))
        .collect();
    let ada = json!({ "email": "ada@example.com", "email_verified": true, "name": "Ada" });
    let openid = OpenId::start(json!(clients), json!({ "ada": ada }), true).await;
    // Its keys are found by discovery.
    let audiences = algorithms[..3].iter().map(|one| (*one).to_owned()).collect();
    trust(&app, &openid.issuer, Settings { audiences, ..Settings::default() }).await;
    for audience in &algorithms[..3] {
        let reply = present(&app, &openid.id_token(audience, "ada").await).await;
        let user = reply.expect(200)["user"].take();
        assert_eq!((&user["foreignId"], &user["name"]), (&json!("ada"), &json!("Ada")));
        assert_eq!(
            (&user["email"], &user["isVerified"]),
            (&json!("ada@example.com"), &json!(true))
        );
        assert_eq!(user["authMethods"], json!(["external"]));
    }
    assert_eq!(app.rows("users").await, 1);
    let other = openid.id_token("EdDSA", "ada").await;
    present(&app, &other).await.refused(403, "auth/invalid-token");
    // Another project does not trust it.
    let elsewhere = app.anonymous().in_project(app.other.id);
    let body = json!({ "userJwt": openid.id_token("RS256", "ada").await });
    elsewhere.post("/auth/verify-external-user", body).await.refused(403, "auth/invalid-token");
}

async fn a_token_must_be_of_the_issuer_for_the_audience_and_in_time(app: TestApp) {
    let (app, fake) = start(app).await;
    let at = |offset: i64| app.now().seconds() + offset;
    for good in [
        json!({ "sub": "7" }),
        json!({ "sub": 7 }),
        json!({ "sub": "7", "aud": ["else", "forum"] }),
        json!({ "sub": "7", "exp": at(-59) }),
        json!({ "sub": "7", "exp": null, "iat": at(-86_000) }),
        json!({ "sub": "7", "nbf": at(59) }),
    ] {
        assert_eq!(sign_in(&app, good).await["foreignId"], "7");
    }
    let bad = [
        json!({ "sub": "7", "aud": "else" }),
        json!({ "sub": "7", "aud": null }),
        json!({ "sub": "7", "iss": "https://issuer.example" }),
        json!({ "sub": "7", "iss": "https://else.example/" }),
        json!({ "sub": "7", "iss": null }),
        json!({ "sub": "7", "exp": at(-60) }),
        json!({ "sub": "7", "exp": null }),
        json!({ "sub": "7", "exp": null, "iat": at(-86_500) }),
        json!({ "sub": "7", "nbf": at(61) }),
    ];
    for claims in bad {
        for actor in [app.anonymous().v6(), app.anonymous().v7(), app.anonymous()] {
            let body = json!({ "userJwt": token(&app, &claims) });
            let refused = actor.post("/auth/verify-external-user", body).await;
            refused.refused(403, "auth/invalid-token");
        }
    }
    for sub in [Value::Null, json!(""), json!({}), json!("x".repeat(256))] {
        let refused = present(&app, &token(&app, &json!({ "sub": sub }))).await;
        refused.refused(400, "auth/invalid-body");
    }
    // Signed by nobody, by somebody else, or by the project for somebody else's issuer.
    let good = token(&app, &json!({ "sub": "7" }));
    let (signed, _) = good.rsplit_once('.').unwrap();
    let claims = json!({ "iss": ISSUER, "aud": "forum", "sub": "7", "exp": at(300) });
    for token in [
        format!("{signed}."),
        signed.to_owned(),
        SigningKey::generate("first").sign(&claims),
        app.vouch_for(claims.clone()),
    ] {
        present(&app, &token).await.refused(403, "auth/invalid-token");
    }
    // For anybody, if the operator says so.
    trust(&app, ISSUER, Settings { audiences: Vec::new(), ..for_forum(&fake) }).await;
    sign_in(&app, json!({ "sub": "7", "aud": "else" })).await;
    assert_eq!(app.rows("users").await, 1);
}

async fn keys_are_cached_and_renewed_but_not_at_every_request(app: TestApp) {
    let (app, fake) = start(app).await;
    app.stay_on_one_node();
    for _ in 0..3 {
        sign_in(&app, json!({ "sub": "7" })).await;
    }
    assert_eq!(fake.requests("/jwks").len(), 1);
    let next = SigningKey::generate("second");
    let claims =
        json!({ "iss": ISSUER, "aud": "forum", "sub": "7", "exp": app.now().seconds() + 9_999 });
    let by_next = next.sign(&claims);
    fake.reply("/jwks", 200, json!({ "keys": [next.public] }));
    for _ in 0..3 {
        present(&app, &by_next).await.refused(403, "auth/invalid-token");
    }
    assert_eq!(fake.requests("/jwks").len(), 1, "it was fetched a moment ago");
    app.advance(Duration::from_secs(30));
    let replies = all_at_once((0..8).map(|_| present(&app, &by_next))).await;
    assert!(replies.iter().all(|reply| reply.status == 200));
    assert_eq!(fake.requests("/jwks").len(), 2, "once for all of them");
    // The old key is gone, and unknown keys do not make the server fetch them each time.
    app.advance(Duration::from_secs(30));
    for _ in 0..5 {
        let old = token(&app, &json!({ "sub": "7" }));
        present(&app, &old).await.refused(403, "auth/invalid-token");
    }
    assert_eq!(fake.requests("/jwks").len(), 3);
    // While the issuer is down, its keys stay in use for a day.
    fake.reply("/jwks", 503, json!({}));
    app.advance(Duration::from_secs(3_600));
    present(&app, &by_next).await.expect(200);
    assert_eq!(fake.requests("/jwks").len(), 4);
    app.advance(Duration::from_secs(86_400));
    let claims =
        json!({ "iss": ISSUER, "aud": "forum", "sub": "7", "exp": app.now().seconds() + 9 });
    present(&app, &next.sign(&claims)).await.refused(500, "auth/server-error");
}

async fn claims_fill_the_user_as_the_operator_says(app: TestApp) {
    let (app, fake) = start(app).await;
    let said = json!({
        "sub": "7", "email": "Ada@Example.com", "email_verified": true, "name": "Ada",
        "picture": "https://img.example/a.png", "preferred_username": "Ada.L",
        "userData": { "name": "Not this way", "secureMetadata": { "admin": true } },
        "app_metadata": { "plan": "pro", "flags": { "beta": true } },
    });
    let user = sign_in(&app, said.clone()).await;
    assert_eq!((&user["name"], &user["username"]), (&json!("Ada"), &Value::Null));
    assert_eq!(user["avatar"], "https://img.example/a.png");
    assert_eq!((&user["metadata"], &user["bio"]), (&json!({}), &Value::Null));
    let claims = [
        ("username", "preferred_username"),
        ("bio", "app_metadata.plan"),
        ("metadata", "app_metadata.flags"),
        ("secureMetadata", "app_metadata"),
        ("name", ""),
    ];
    let claims = claims.map(|(field, claim)| (field.to_owned(), claim.to_owned())).into();
    trust(&app, ISSUER, Settings { claims, ..for_forum(&fake) }).await;
    let mut renamed = said;
    renamed["name"] = json!("Countess");
    let user = sign_in(&app, renamed).await;
    assert_eq!((&user["name"], &user["username"]), (&json!("Ada"), &json!("ada.l")));
    assert_eq!((&user["bio"], &user["metadata"]), (&json!("pro"), &json!({ "beta": true })));
    let path = format!("/users/{}", user["id"].as_str().unwrap());
    let seen = app.service().get(&path).await.expect(200);
    assert_eq!(seen["secureMetadata"], json!({ "plan": "pro", "flags": { "beta": true } }));
    let wrong = json!({ "sub": "8", "preferred_username": 7 });
    present(&app, &token(&app, &wrong)).await.refused(400, "auth/invalid-body");
    let taken = json!({ "sub": "9", "preferred_username": "ada.l" });
    present(&app, &token(&app, &taken)).await.refused(409, "DUPLICATE_USERNAME");
}

async fn an_issuer_knows_only_its_own_users(app: TestApp) {
    let (app, fake) = start(app).await;
    let body = json!({ "userJwt": app.vouch_for(json!({ "sub": "7" })) });
    let own = app.anonymous().post("/auth/verify-external-user", body).await.expect(200);
    // The same id, said by somebody else.
    let other = sign_in(&app, json!({ "sub": "7" })).await;
    assert_ne!(other["id"], own["user"]["id"]);
    assert_eq!(other["foreignId"], Value::Null, "the id is taken");
    let again = sign_in(&app, json!({ "sub": "7" })).await;
    assert_eq!(again["id"], other["id"]);
    let second = "https://second.example/";
    trust(&app, second, for_forum(&fake)).await;
    let third = sign_in(&app, json!({ "sub": "7", "iss": second })).await;
    assert!(third["id"] != other["id"] && third["id"] != own["user"]["id"]);

    // A user whom nobody vouches for yet was made for this id by the backend.
    let made = "/users/by-foreign-id?foreignId=8&createIfNotFound=true";
    let made = app.service().get(made).await.expect(201);
    let found = sign_in(&app, json!({ "sub": "8" })).await;
    assert_eq!((&found["id"], &found["foreignId"]), (&made["id"], &json!("8")));
    let thief = sign_in(&app, json!({ "sub": "8", "iss": second })).await;
    assert_ne!(thief["id"], made["id"]);
}

async fn a_verified_address_leads_to_its_user_and_takes_it_from_others(app: TestApp) {
    let (app, fake) = start(app).await;
    let thief = app.user().await;
    let unverified = json!({ "sub": "1", "email": thief.email });
    let nobody = sign_in(&app, unverified.clone()).await;
    assert_ne!(nobody["id"], json!(thief.id));
    assert_eq!((&nobody["email"], &nobody["isVerified"]), (&Value::Null, &json!(false)));
    thief.sign_in_again().await;

    let verified = json!({ "sub": "2", "email": thief.email, "email_verified": true });
    let owner = present(&app, &token(&app, &verified)).await.expect(200);
    assert_eq!(owner["user"]["id"], json!(thief.id));
    assert_eq!(owner["user"]["authMethods"], json!(["external"]));
    assert_eq!(
        (&owner["user"]["isVerified"], &owner["user"]["foreignId"]),
        (&json!(true), &json!("2"))
    );
    thief.sign_in_reply().await.refused(403, "auth/invalid-credentials");
    let refresh = json!({ "refreshToken": thief.refresh_token });
    let refused = app.anonymous().post("/auth/request-new-access-token", refresh).await;
    refused.refused(403, "auth/refresh-token-mismatch");
    User::from_reply(&app, app.project.id, &owner).get("/oauth/identities").await.expect(200);

    // Of an issuer whose addresses the operator trusts.
    trust(&app, ISSUER, Settings { trusts_email: true, ..for_forum(&fake) }).await;
    let trusted = sign_in(&app, json!({ "sub": "3", "email": "new@example.com" })).await;
    assert_eq!(
        (&trusted["email"], &trusted["isVerified"]),
        (&json!("new@example.com"), &json!(true))
    );
    let stranger = app.stranger().await;
    let claims = json!({ "sub": "4", "email": stranger.email, "email_verified": true });
    assert_ne!(sign_in(&app, claims).await["id"], json!(stranger.id));
}

async fn many_first_sign_ins_at_once_make_one_user(app: TestApp) {
    let (app, fake) = start(app).await;
    let claims = json!({ "sub": "7", "email": "ada@example.com", "email_verified": true });
    let token = token(&app, &claims);
    let replies = all_at_once((0..16).map(|_| present(&app, &token))).await;
    let ids: Vec<Value> =
        replies.iter().map(|reply| reply.expect(200)["user"]["id"].clone()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(app.rows("identities").await, 1);
    if !app.is_distributed() {
        assert_eq!(fake.requests("/jwks").len(), 1);
    }
}

async fn the_keys_of_a_private_address_are_never_fetched(app: TestApp) {
    let canary = Site::canary().await;
    let jwks_url = Some(canary.url("/jwks"));
    trust(&app, ISSUER, Settings { jwks_url, ..Settings::default() }).await;
    let refused = present(&app, &token(&app, &json!({ "sub": "7" }))).await;
    refused.refused(500, "auth/server-error");
    assert_eq!(canary.visits(), 0);
}

async fn the_projects_own_tokens_work_as_before(app: TestApp) {
    let (app, fake) = start(app).await;
    // An issuer cannot speak for the project's own backend.
    let claims = json!({ "iss": app.project.id, "sub": "7", "exp": app.now().seconds() + 300 });
    present(&app, &key().sign(&claims)).await.refused(403, "auth/invalid-token");
    trust(&app, &app.project.id.to_string(), for_forum(&fake)).await;
    present(&app, &key().sign(&claims)).await.refused(403, "auth/invalid-token");
    let user = present(&app, &app.vouch_for(json!({ "sub": "7" }))).await.expect(200);
    assert_eq!(user["user"]["foreignId"], "7");
    assert_eq!(fake.requests("/jwks").len(), 0);
}
