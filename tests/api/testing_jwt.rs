//! Sign Testing JWT, in both spellings: signs a token as a project's backend would, for trials.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::support::{TestApp, on_both_engines};

on_both_engines![
    the_token_says_who_for_five_minutes,
    the_token_signs_its_user_in,
    both_paths_take_both_names,
    the_named_project_wins_over_the_path,
    missing_parameters_are_reported_in_plain_text,
    unusable_keys_are_refused,
];

const PATHS: [&str; 2] = ["/crypto/sign-testing-jwt", "/crypto/sign-testing-jwt/v2"];

fn part(jwt: &str, at: usize) -> Value {
    let part = jwt.split('.').nth(at).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

async fn the_token_says_who_for_five_minutes(app: TestApp) {
    let body = json!({ "privateKey": app.project.private_key, "payload": { "id": "7", "x": 1 } });
    let reply = app.anonymous().post(PATHS[0], body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let jwt = reply.text();
    assert_eq!(part(&jwt, 0)["alg"], "RS256");
    let issued = app.now().seconds();
    assert_eq!(
        part(&jwt, 1),
        json!({
            "sub": "7",
            "iss": app.project.id,
            "aud": "townhall",
            "iat": issued,
            "exp": issued + 300,
            "userData": { "id": "7", "x": 1 },
        })
    );
}

async fn the_token_signs_its_user_in(app: TestApp) {
    let user = json!({ "id": 7, "name": "Ada", "username": "Ada" });
    let body = json!({ "privateKey": app.project.private_key, "userData": user });
    let jwt = app.anonymous().post(PATHS[1], body).await.text();
    let sign_in = json!({ "userJwt": jwt });
    let signed_in = app.anonymous().post("/auth/verify-external-user", sign_in.clone()).await;
    let signed_in = signed_in.expect(200);
    assert_eq!(signed_in["user"]["foreignId"], "7");
    assert_eq!(signed_in["user"]["name"], "Ada");
    app.advance(std::time::Duration::from_secs(300));
    let late = app.anonymous().post("/auth/verify-external-user", sign_in).await;
    late.refused(403, "auth/invalid-token");
}

async fn both_paths_take_both_names(app: TestApp) {
    for path in PATHS {
        for name in ["payload", "userData"] {
            for actor in [app.anonymous(), app.anonymous().v6(), app.anonymous().v7()] {
                let body = json!({ "privateKey": app.project.private_key, name: { "id": "7" } });
                let reply = actor.post(path, body).await;
                assert_eq!(
                    (reply.status, part(&reply.text(), 1)["sub"].as_str()),
                    (200, Some("7"))
                );
            }
        }
    }
}

async fn the_named_project_wins_over_the_path(app: TestApp) {
    let body = json!({
        "privateKey": app.project.private_key,
        "payload": { "id": "7" },
        "projectId": app.other.id,
    });
    let jwt = app.anonymous().post(PATHS[0], body).await.text();
    assert_eq!(part(&jwt, 1)["iss"], app.other.id.to_string());
    let refused =
        app.anonymous().post("/auth/verify-external-user", json!({ "userJwt": jwt })).await;
    refused.refused(403, "auth/project-mismatch");
}

async fn missing_parameters_are_reported_in_plain_text(app: TestApp) {
    let key = &app.project.private_key;
    for body in [
        json!({}),
        json!({ "privateKey": key }),
        json!({ "payload": { "id": "7" } }),
        json!({ "privateKey": key, "payload": "7" }),
        json!({ "privateKey": null, "payload": { "id": "7" } }),
    ] {
        for path in PATHS {
            let reply = app.anonymous().post(path, body.clone()).await;
            reply.says(400, "Missing params in request body");
        }
    }
    for user in [json!({}), json!({ "id": null }), json!({ "id": {} })] {
        let body = json!({ "privateKey": key, "payload": user });
        app.anonymous().post(PATHS[0], body).await.refused(400, "crypto/missing-params");
    }
    let not_json = app.anonymous().post(PATHS[0], json!("text")).await;
    not_json.refused(400, "crypto/missing-params");
}

async fn unusable_keys_are_refused(app: TestApp) {
    let not_rsa = STANDARD.encode("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    for key in ["", "!", "bm8gUEVN", &not_rsa, &"A".repeat(100_000)] {
        let body = json!({ "privateKey": key, "payload": { "id": "7" } });
        app.anonymous().post(PATHS[0], body).await.refused(400, "crypto/invalid-key");
    }
}
