//! Signing up and in, refreshing, signing out.

use serde_json::json;

use crate::support::{TestApp, User, on_both_engines};

on_both_engines![sign_up_answers_with_a_session];

async fn sign_up_answers_with_a_session(app: TestApp) {
    let body =
        json!({ "email": " Ada@Example.com ", "password": "correct horse", "username": "Ada!" });
    let signed_up = app.anonymous().post("/auth/sign-up", body).await.expect(201);
    assert_eq!(signed_up["user"]["email"], "ada@example.com");
    assert_eq!(signed_up["user"]["username"], "ada");
    assert_eq!(signed_up["user"]["authMethods"], json!(["password"]));
    let user = User::from_reply(&app, app.project.id, &signed_up);
    user.get("/oauth/identities").await.expect(200);
}
