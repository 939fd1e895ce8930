//! Sign-in with a real OpenID provider: discovery, PKCE, ID tokens and profiles, rotated keys, linking.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::features::oauth::provider::{Settings, TokenAuth};

use crate::support::openid::{
    APP, CALLBACK, OpenId, allowing_this_machine, begin, begin_link, client, come_back, configure,
    failure, parameter, signed_in,
};
use crate::support::{TestApp, User, all_at_once, on_both_engines};

on_both_engines![
    a_new_user_signs_in_and_is_found_again,
    the_address_of_the_provider_has_what_it_needs,
    every_signature_and_every_way_to_authenticate_is_understood,
    rotated_keys_are_fetched_but_not_at_every_request,
    a_user_who_refuses_returns_with_the_error,
    a_user_links_and_unlinks_an_account,
    an_account_of_another_user_is_not_linked,
    a_sign_in_works_once,
];

fn ada() -> Value {
    json!({
        "ada": {
            "email": "Ada@Example.com",
            "email_verified": true,
            "name": "Ada Lovelace",
            "picture": "https://img.example/ada.png",
        },
    })
}

/// A server with this provider under the name `keycloak`.
async fn start(app: TestApp) -> (TestApp, OpenId) {
    let (app, openid) = (allowing_this_machine(app).await, OpenId::with_accounts(ada()).await);
    configure(&app, "keycloak", openid.settings(), Some("hush")).await;
    (app, openid)
}

async fn sign_in<'a>(app: &'a TestApp, openid: &OpenId, account: &str) -> User<'a> {
    let url = begin(&app.anonymous(), "keycloak").await;
    let back = openid.visit(&url, account).await;
    signed_in(app, &come_back(app, &back).await).await
}

async fn a_new_user_signs_in_and_is_found_again(app: TestApp) {
    let (app, openid) = start(app).await;
    let user = sign_in(&app, &openid, "ada").await;
    let own = user.patch(&format!("/users/{}", user.id), json!({})).await.expect(200);
    for (field, value) in [
        ("email", json!("ada@example.com")),
        ("isVerified", json!(true)),
        ("name", json!("Ada Lovelace")),
        ("avatar", json!("https://img.example/ada.png")),
        ("username", Value::Null),
        ("role", json!("visitor")),
        ("authMethods", json!(["keycloak"])),
        ("lastActive", json!(app.now())),
    ] {
        assert_eq!(own[field], value, "{field}");
    }
    let listed = user.get("/oauth/identities").await.expect(200);
    let identity = &listed["identities"][0];
    assert_eq!(identity["provider"], "keycloak");
    assert_eq!(identity["providerAccountId"], "ada");
    assert_eq!(identity["email"], "ada@example.com");
    assert_eq!(identity["isVerified"], true);

    // The claims are in the profile; another provider has them in the ID token.
    let accounts = json!({ "ada": { "name": "Countess", "email": "other@example.com" } });
    let whole = OpenId::start(json!([client("forum", json!({}))]), accounts, true).await;
    configure(&app, "authentik", whole.settings(), Some("hush")).await;
    app.advance(Duration::from_secs(1));
    let again = sign_in(&app, &openid, "ada").await;
    assert_eq!(again.id, user.id);
    let url = begin(&app.anonymous(), "authentik").await;
    let back = whole.visit(&url, "ada").await;
    let other = signed_in(&app, &come_back(&app, &back).await).await;
    assert_ne!(other.id, user.id, "the same id at another provider is somebody else");
    let own = other.patch(&format!("/users/{}", other.id), json!({})).await.expect(200);
    assert_eq!((&own["name"], &own["isVerified"]), (&json!("Countess"), &json!(false)));
    assert_eq!(app.rows("users").await, 2);
    assert_eq!(app.rows("oauth_states").await, 0);
}

async fn the_address_of_the_provider_has_what_it_needs(app: TestApp) {
    let (app, openid) = start(app).await;
    for actor in [app.anonymous().v6(), app.anonymous().v7(), app.service()] {
        let url = begin(&actor, "keycloak").await;
        assert!(url.starts_with(&format!("{}/auth?", openid.issuer)), "{url}");
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", "forum"),
            ("redirect_uri", CALLBACK),
            ("scope", "openid email profile"),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(parameter(&url, name).as_deref(), Some(value), "{name}");
        }
        for (name, length) in [("state", 64), ("code_challenge", 43), ("nonce", 43)] {
            assert_eq!(parameter(&url, name).unwrap().len(), length, "{name}");
        }
        assert_eq!(parameter(&url, "client_secret"), None);
        assert_ne!(parameter(&begin(&actor, "keycloak").await, "state"), parameter(&url, "state"));
    }
    let scopes = Some(vec!["openid".to_owned(), "groups".to_owned()]);
    configure(&app, "keycloak", Settings { scopes, ..openid.settings() }, None).await;
    let url = begin(&app.anonymous(), "keycloak").await;
    assert_eq!(parameter(&url, "scope").as_deref(), Some("openid groups"));
}

async fn every_signature_and_every_way_to_authenticate_is_understood(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let algorithms = ["RS256", "PS256", "ES256", "EdDSA"];
    let mut clients: Vec<Value> = algorithms
        .iter()
        .map(|alg| client(alg, json!({ "id_token_signed_response_alg": alg })))
        .collect();
    clients.push(client("post", json!({ "token_endpoint_auth_method": "client_secret_post" })));
    clients.push(json!({
        "client_id": "public", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none",
    }));
    clients.push(client("a b:c", json!({ "client_secret": "hu+sh &%:=" })));
    let openid = OpenId::start(json!(clients), ada(), false).await;
    let post = Some(TokenAuth::Post);
    let more =
        [("post", post, Some("hush")), ("public", None, None), ("a b:c", None, Some("hu+sh &%:="))];
    let cases = algorithms.map(|name| (name, None, Some("hush"))).into_iter().chain(more);
    for (place, (client_id, token_auth, secret)) in cases.enumerate() {
        let name = format!("client-{place}");
        let settings =
            Settings { client_id: client_id.to_owned(), token_auth, ..openid.settings() };
        configure(&app, &name, settings, secret).await;
        let back = openid.visit(&begin(&app.anonymous(), &name).await, "ada").await;
        let user = signed_in(&app, &come_back(&app, &back).await).await;
        assert_eq!(user.email, "ada@example.com", "{client_id}");
    }
    // Every account has the same verified address.
    assert_eq!(app.rows("users").await, 1);
    let wrong = Settings { client_id: "RS256".to_owned(), ..openid.settings() };
    configure(&app, "wrong", wrong, Some("not the secret")).await;
    let back = openid.visit(&begin(&app.anonymous(), "wrong").await, "ada").await;
    assert_eq!(failure(&come_back(&app, &back).await).0, "token_exchange_failed");
}

async fn rotated_keys_are_fetched_but_not_at_every_request(app: TestApp) {
    let (app, openid) = start(app).await;
    app.stay_on_one_node();
    let user = sign_in(&app, &openid, "ada").await;
    openid.rotate().await;
    let back = openid.visit(&begin(&app.anonymous(), "keycloak").await, "ada").await;
    let refused = failure(&come_back(&app, &back).await);
    assert_eq!(refused.0, "token_exchange_failed", "the keys were fetched a moment ago");
    app.advance(Duration::from_secs(30));
    assert_eq!(sign_in(&app, &openid, "ada").await.id, user.id);
    assert_eq!(sign_in(&app, &openid, "ada").await.id, user.id);
}

async fn a_user_who_refuses_returns_with_the_error(app: TestApp) {
    let (app, openid) = start(app).await;
    let back = openid.visit(&begin(&app.anonymous(), "keycloak").await, "nobody").await;
    let refused = failure(&come_back(&app, &back).await);
    assert_eq!(refused, ("access_denied".to_owned(), "The user said no".to_owned()));
    assert_eq!(app.rows("users").await, 0);
    assert_eq!(app.rows("oauth_states").await, 0);
}

async fn a_user_links_and_unlinks_an_account(app: TestApp) {
    let (app, openid) = start(app).await;
    let user = app.user().await;
    app.suspend(user.id).await;
    let back = openid.visit(&begin_link(&user, "keycloak").await, "ada").await;
    let linked = signed_in(&app, &come_back(&app, &back).await).await;
    assert_eq!(linked.id, user.id);
    assert_eq!(linked.email, user.email, "the address of the account here stays");
    let listed = user.get("/oauth/identities").await.expect(200);
    assert_eq!(listed["identities"][0]["email"], "ada@example.com");
    // Once more is a success.
    let back = openid.visit(&begin_link(&user, "keycloak").await, "ada").await;
    assert_eq!(signed_in(&app, &come_back(&app, &back).await).await.id, user.id);
    assert_eq!(app.rows("identities").await, 1);
    // The old password and the new account lead to the same user.
    user.sign_in_again().await;
    assert_eq!(sign_in(&app, &openid, "ada").await.id, user.id);

    let id = listed["identities"][0]["id"].as_str().unwrap();
    user.delete(&format!("/oauth/identities/{id}")).await.expect(200);
    assert_ne!(sign_in(&app, &openid, "ada").await.id, user.id);
}

async fn an_account_of_another_user_is_not_linked(app: TestApp) {
    let (app, openid) = start(app).await;
    let owner = sign_in(&app, &openid, "ada").await;
    let thief = app.user().await;
    let back = openid.visit(&begin_link(&thief, "keycloak").await, "ada").await;
    assert_eq!(failure(&come_back(&app, &back).await).0, "identity_already_linked");
    assert_eq!(sign_in(&app, &openid, "ada").await.id, owner.id);
    let listed = thief.get("/oauth/identities").await.expect(200);
    assert_eq!(listed["identities"], json!([]));
}

async fn a_sign_in_works_once(app: TestApp) {
    let (app, openid) = start(app).await;
    let back = openid.visit(&begin(&app.anonymous(), "keycloak").await, "ada").await;
    let replies = all_at_once((0..16).map(|_| come_back(&app, &back))).await;
    let mut outcomes: Vec<String> = replies.iter().map(|reply| reply.outcome()).collect();
    outcomes.sort();
    let mut expected = vec!["302".to_owned()];
    expected.extend(vec!["400 oauth/invalid-state".to_owned(); 15]);
    assert_eq!(outcomes, expected);
    assert!(replies.iter().all(|r| r.status == 302 || r.header("location").is_none()));
    assert_eq!(app.rows("users").await, 1);
    assert_eq!(app.rows("refresh_tokens").await, 1);
    let sent = replies.iter().find_map(|reply| reply.header("location")).unwrap();
    assert!(sent.starts_with(APP));
}
