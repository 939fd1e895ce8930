//! Verify External User: users that the project's backend vouches for, and valid tokens.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64};
use serde_json::{Value, json};
use townhall::auth::rs256;
use townhall::error::Error;
use townhall::tenancy::store as projects;

use crate::support::{Reply, TestApp, User, all_at_once, on_both_engines};

on_both_engines![
    a_vouched_user_is_made_once_and_found_again,
    claims_are_stored_and_absent_ones_clear_nothing,
    a_user_is_found_by_foreign_id_and_by_address,
    a_token_that_does_not_hold_is_refused,
    bad_claims_are_refused,
    times_are_honoured,
    a_request_without_a_token_is_named_by_version,
    another_users_address_or_username_is_refused,
    the_previous_key_holds_until_the_next_rotation,
    a_project_without_a_key_says_so,
    parallel_first_sign_ins_make_one_user,
    a_testing_token_signs_in,
];

async fn verify(app: &TestApp, claims: Value) -> Reply {
    let body = json!({ "userJwt": app.vouch_for(claims) });
    app.anonymous().post("/auth/verify-external-user", body).await
}

/// The claims and nothing more but the issuer.
async fn verify_as_given(app: &TestApp, mut claims: Value) -> Reply {
    claims["iss"] = json!(app.project.id);
    let token = rs256::sign(&app.project.private_key, &claims).unwrap();
    app.anonymous().post("/auth/verify-external-user", json!({ "userJwt": token })).await
}

async fn a_vouched_user_is_made_once_and_found_again(app: TestApp) {
    let first = verify(&app, json!({ "sub": "ext-7", "aud": "anybody" })).await.expect(200);
    let mut keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["accessToken", "refreshToken", "success", "user"]);
    let user = &first["user"];
    for (field, value) in [
        ("foreignId", json!("ext-7")),
        ("authMethods", json!(["external"])),
        ("role", json!("visitor")),
        ("email", Value::Null),
        ("isVerified", json!(false)),
        ("createdAt", json!(app.now())),
    ] {
        assert_eq!(user[field], value, "{field}");
    }
    let session = User::from_reply(&app, app.project.id, &first);
    let listed = session.get("/oauth/identities").await.expect(200);
    let identity = &listed["identities"][0];
    assert_eq!(identity["provider"], "external");
    assert_eq!(identity["providerAccountId"], "ext-7");
    assert_eq!(identity["isVerified"], false);
    assert_eq!(listed["hasPassword"], false);

    let created = app.now();
    app.advance(Duration::from_secs(60));
    for actor in [app.anonymous().v6(), app.anonymous().v7(), app.anonymous()] {
        let body = json!({ "userJwt": app.vouch_for(json!({ "sub": "ext-7" })) });
        let again = actor.post("/auth/verify-external-user", body).await.expect(200);
        assert_eq!(again["user"]["id"], user["id"]);
        assert_eq!(again["user"]["updatedAt"], json!(created), "nothing was changed");
        assert_eq!(again["user"]["lastActive"], json!(app.now()));
        assert_ne!(again["refreshToken"], first["refreshToken"]);
    }
    let number = verify(&app, json!({ "sub": 12345 })).await.expect(200);
    assert_eq!(number["user"]["foreignId"], "12345");
}

async fn claims_are_stored_and_absent_ones_clear_nothing(app: TestApp) {
    let said = json!({
        "email": "Ada@Example.com",
        "name": " Ada ",
        "username": "Ada!",
        "avatar": "https://example.com/a.png",
        "bio": "first",
        "location": { "latitude": 1.5, "longitude": 2.5 },
        "birthdate": "1815-12-10",
        "metadata": { "a": 1, "b": 2 },
        "secureMetadata": { "s": 1 },
        "role": "admin",
        "password": "ignored",
    });
    let first = verify(&app, json!({ "sub": "7", "userData": said })).await.expect(200);
    let user = &first["user"];
    assert_eq!(user["email"], "ada@example.com");
    assert_eq!((&user["name"], &user["username"]), (&json!("Ada"), &json!("ada")));
    assert_eq!(user["location"], json!({ "type": "Point", "coordinates": [2.5, 1.5] }));
    assert_eq!(user["birthdate"], "1815-12-10T00:00:00.000Z");
    assert_eq!((&user["role"], &user["authMethods"]), (&json!("visitor"), &json!(["external"])));
    assert!(user.get("secureMetadata").is_none());

    app.advance(Duration::from_secs(60));
    let said = json!({ "name": null, "username": "!!!", "bio": "second", "metadata": { "c": 3 } });
    let second = verify(&app, json!({ "sub": "7", "userData": said })).await.expect(200);
    let mut expected = user.clone();
    expected["bio"] = json!("second");
    expected["metadata"] = json!({ "c": 3 });
    expected["updatedAt"] = json!(app.now());
    expected["lastActive"] = json!(app.now());
    assert_eq!(second["user"], expected);
    let path = format!("/users/{}", user["id"].as_str().unwrap());
    let seen_by_key = app.service().get(&path).await.expect(200);
    assert_eq!(seen_by_key["secureMetadata"], json!({ "s": 1 }));
}

async fn a_user_is_found_by_foreign_id_and_by_address(app: TestApp) {
    let made = "/users/by-foreign-id?foreignId=ext-1&createIfNotFound=true&name=Made";
    let made = app.service().get(made).await.expect(201);
    let found = verify(&app, json!({ "sub": "ext-1" })).await.expect(200);
    assert_eq!(found["user"]["id"], made["id"]);
    assert_eq!(found["user"]["authMethods"], json!(["external"]));

    let signed_up = app.user().await;
    let said = json!({ "email": signed_up.email.to_uppercase() });
    let found = verify(&app, json!({ "sub": "ext-2", "userData": said })).await.expect(200);
    assert_eq!(found["user"]["id"], json!(signed_up.id));
    assert_eq!(found["user"]["foreignId"], "ext-2");
    assert_eq!(found["user"]["authMethods"], json!(["password", "external"]));
    // Found by identity first: the address may now be somebody else's or gone.
    let again = verify(&app, json!({ "sub": "ext-2" })).await.expect(200);
    assert_eq!(again["user"]["id"], json!(signed_up.id));

    let stranger = app.stranger().await;
    let said = json!({ "email": stranger.email });
    let new = verify(&app, json!({ "sub": "ext-3", "userData": said })).await.expect(200);
    assert_ne!(new["user"]["id"], json!(stranger.id));
}

/// A token with this header whose signature is an HMAC under this key.
fn hmac_token(app: &TestApp, header: &str, key: &[u8]) -> String {
    let claims = json!({ "sub": "7", "iss": app.project.id });
    let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims.to_string()));
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, key);
    let tag = aws_lc_rs::hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", BASE64.encode(tag.as_ref()))
}

async fn a_token_that_does_not_hold_is_refused(app: TestApp) {
    let project = app.project.id;
    let stored = app.app.db.read(move |c| projects::find(c, project)).await.unwrap().unwrap();
    let public = stored.public_key.unwrap();
    let pem = STANDARD.decode(&public).unwrap();
    let claims = json!({ "sub": "7", "iss": project });
    let stranger = rs256::generate().unwrap();
    let good = app.vouch_for(claims.clone());
    let (signed, _) = good.rsplit_once('.').unwrap();
    let user = app.user().await;
    for token in [
        hmac_token(&app, r#"{"alg":"HS256","typ":"JWT"}"#, &pem),
        hmac_token(&app, r#"{"alg":"HS256","typ":"JWT"}"#, public.as_bytes()),
        hmac_token(&app, r#"{"alg":"RS256","typ":"JWT"}"#, &pem),
        hmac_token(&app, r#"{"alg":"none"}"#, b""),
        format!("{}.{}.", BASE64.encode(r#"{"alg":"none"}"#), BASE64.encode(claims.to_string())),
        format!("{signed}."),
        signed.to_owned(),
        rs256::sign(&stranger.private, &claims).unwrap(),
        user.access_token.clone(),
        "not a token".to_owned(),
        String::new(),
    ] {
        for actor in [app.anonymous().v6(), app.anonymous().v7(), app.anonymous()] {
            let reply = actor.post("/auth/verify-external-user", json!({ "userJwt": token })).await;
            reply.refused(403, "auth/invalid-token");
        }
    }
    for issuer in [json!(app.other.id), json!("nonsense"), json!(7), Value::Null] {
        let reply = verify(&app, json!({ "sub": "7", "iss": issuer })).await;
        reply.refused(403, "auth/project-mismatch");
    }
}

async fn bad_claims_are_refused(app: TestApp) {
    for sub in [Value::Null, json!(""), json!("  "), json!(true), json!({}), json!("x".repeat(256))]
    {
        verify(&app, json!({ "sub": sub })).await.refused(400, "auth/invalid-body");
    }
    for said in [
        json!("x"),
        json!(["ada@example.com"]),
        json!({ "email": "no address" }),
        json!({ "email": "" }),
        json!({ "name": 7 }),
        json!({ "name": "a\u{0}b" }),
        json!({ "bio": "x".repeat(301) }),
        json!({ "username": "x".repeat(256) }),
        json!({ "location": { "latitude": 91, "longitude": 0 } }),
        json!({ "birthdate": "someday" }),
        json!({ "metadata": [] }),
        json!({ "secureMetadata": { "x": "y".repeat(512 * 1024) } }),
    ] {
        let reply = verify(&app, json!({ "sub": "7", "userData": said })).await;
        assert_eq!(reply.status, 400, "{:.80}: {}", said.to_string(), reply.text());
        reply.refused(400, "auth/invalid-body");
    }
    let unknown = app.anonymous().get("/users/by-foreign-id?foreignId=7").await;
    unknown.refused(404, "user/not-found");
}

async fn times_are_honoured(app: TestApp) {
    let now = app.now().seconds();
    for (claims, holds) in [
        (json!({ "sub": "7", "exp": now + 1 }), true),
        (json!({ "sub": "7", "exp": now }), false),
        (json!({ "sub": "7", "exp": now - 3600 }), false),
        (json!({ "sub": "7", "exp": "2001-01-01" }), false),
        (json!({ "sub": "7", "exp": now + 1, "nbf": now }), true),
        (json!({ "sub": "7", "exp": now + 1, "nbf": now + 1 }), false),
        (json!({ "sub": "7", "exp": now + 1, "iat": now + 3600 }), true),
        (json!({ "sub": "7", "exp": now + 1, "iat": 0 }), true),
        // A token that ends nowhere must at least be fresh.
        (json!({ "sub": "7" }), false),
        (json!({ "sub": "7", "exp": null }), false),
        (json!({ "sub": "7", "iat": now }), true),
        (json!({ "sub": "7", "iat": now - 24 * 3600 }), true),
        (json!({ "sub": "7", "iat": now - 24 * 3600 - 1 }), false),
        (json!({ "sub": "7", "iat": now + 300 }), true),
        (json!({ "sub": "7", "iat": now + 301 }), false),
        (json!({ "sub": "7", "iat": now.to_string() }), false),
        (json!({ "sub": "7", "iat": now, "exp": now }), false),
        (json!({ "sub": "7", "iat": now, "nbf": now + 1 }), false),
    ] {
        let reply = verify_as_given(&app, claims.clone()).await;
        if holds {
            reply.expect(200);
        } else {
            assert_eq!(reply.status, 403, "{claims}");
            reply.refused(403, "auth/invalid-token");
        }
    }
}

async fn a_request_without_a_token_is_named_by_version(app: TestApp) {
    for body in [json!({}), json!({ "userJwt": null }), json!({ "userJwt": 7 })] {
        for actor in [app.anonymous().v7(), app.anonymous()] {
            let reply = actor.post("/auth/verify-external-user", body.clone()).await;
            reply.refused(400, "auth/invalid-body");
        }
        let reply = app.anonymous().v6().post("/auth/verify-external-user", body).await;
        reply.refused(400, "auth/missing-jwt");
    }
}

async fn another_users_address_or_username_is_refused(app: TestApp) {
    let taken = app.user().await;
    let said = json!({ "username": "user0" });
    let refused = verify(&app, json!({ "sub": "7", "userData": said })).await;
    assert_eq!(refused.refused(409, "DUPLICATE_USERNAME")["field"], "username");
    verify(&app, json!({ "sub": "7" })).await.expect(200);
    let said = json!({ "email": taken.email });
    let refused = verify(&app, json!({ "sub": "7", "userData": said })).await;
    assert_eq!(refused.refused(409, "DUPLICATE_EMAIL")["field"], "email");
}

async fn the_previous_key_holds_until_the_next_rotation(app: TestApp) {
    let (project, now) = (app.project.id, app.now());
    let old = app.vouch_for(json!({ "sub": "7" }));
    let body = json!({ "userJwt": old });
    for expected in [200, 403] {
        let public = rs256::generate().unwrap().public;
        let rotated =
            app.app.db.write(move |tx| projects::rotate_public_key(tx, project, &public, now));
        assert!(rotated.await.unwrap());
        app.advance(Duration::from_secs(1));
        let reply = app.anonymous().post("/auth/verify-external-user", body.clone()).await;
        assert_eq!(reply.status, expected, "{}", reply.text());
    }
}

async fn a_project_without_a_key_says_so(app: TestApp) {
    let project = app.project.id;
    let forget = db::Command::<()>::built(
        "forget_key",
        "UPDATE projects SET public_key = NULL WHERE id = $1",
    );
    let forgotten = app.app.db.write(move |tx| {
        projects::changed(tx, project)?;
        Ok::<_, Error>(tx.execute(&forget, db::args![project])?)
    });
    assert_eq!(forgotten.await.unwrap(), 1);
    app.advance(Duration::from_secs(1));
    verify(&app, json!({ "sub": "7" })).await.refused(403, "auth/missing-keys");
}

async fn parallel_first_sign_ins_make_one_user(app: TestApp) {
    let said = json!({ "email": "ada@example.com", "username": "ada" });
    let claims = json!({ "sub": "7", "userData": said });
    let replies = all_at_once((0..16).map(|_| verify(&app, claims.clone()))).await;
    let mut ids: Vec<String> =
        replies.iter().map(|reply| reply.expect(200)["user"]["id"].to_string()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let session = User::from_reply(&app, app.project.id, &replies[0].json());
    let listed = session.get("/oauth/identities").await.expect(200);
    assert_eq!(listed["identities"].as_array().unwrap().len(), 1);
}

async fn a_testing_token_signs_in(app: TestApp) {
    let payload = json!({ "id": "7", "name": "Ada" });
    let body = json!({ "privateKey": app.project.private_key, "payload": payload });
    let signed = app.anonymous().post("/crypto/sign-testing-jwt", body).await;
    let body = json!({ "userJwt": signed.text() });
    let verified =
        app.anonymous().post("/auth/verify-external-user", body.clone()).await.expect(200);
    assert_eq!(verified["user"]["name"], "Ada");
    app.advance(Duration::from_secs(300));
    let late = app.anonymous().post("/auth/verify-external-user", body).await;
    late.refused(403, "auth/invalid-token");
}
