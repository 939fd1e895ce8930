//! Which user an account elsewhere leads to, and who keeps which way in (O1).

use serde_json::{Value, json};

use crate::support::fake::Fake;
use crate::support::openid::{
    allowing_this_machine, at, begin, begin_link, configure, failure, of_issuer, parameter,
    return_to, signed_in,
};
use crate::support::{Reply, TestApp, User, all_at_once, on_both_engines};

on_both_engines![
    a_verified_address_leads_to_its_user,
    whoever_signed_up_with_the_address_of_another_loses_everything,
    an_unverified_address_leads_to_nobody,
    a_user_may_have_no_address,
    many_first_sign_ins_at_once_make_one_user,
    many_links_at_once_link_once,
    accounts_of_the_other_project_are_strangers,
];

async fn start(app: TestApp) -> (TestApp, Fake) {
    let (app, fake) = (allowing_this_machine(app).await, Fake::start().await);
    fake.be_issuer(json!({}));
    for name in ["one", "two"] {
        configure(&app, name, of_issuer(&fake.url("")), Some("hush")).await;
    }
    // Without a nonce: what it says is the same for all sign-ins.
    configure(&app, "google", at(&fake), Some("hush")).await;
    fake.reply("/plain", 200, json!({ "access_token": "at" }));
    (app, fake)
}

/// Returns from the provider as this account.
async fn come_back(app: &TestApp, fake: &Fake, begun: &str, account: Value) -> Reply {
    let mut claims = json!({
        "iss": fake.url(""), "aud": "forum", "nonce": parameter(begun, "nonce"),
        "exp": app.now().seconds() + 300,
    });
    claims.as_object_mut().unwrap().extend(account.as_object().unwrap().clone());
    fake.issue(&claims);
    return_to(app, begun, "&code=c").await
}

async fn sign_in<'a>(app: &'a TestApp, fake: &Fake, provider: &str, account: Value) -> User<'a> {
    let begun = begin(&app.anonymous(), provider).await;
    signed_in(app, &come_back(app, fake, &begun, account).await).await
}

async fn own(user: &User<'_>) -> Value {
    user.patch(&format!("/users/{}", user.id), json!({})).await.expect(200)
}

/// Verifies the user's address, by the code of a mail.
async fn verify(app: &TestApp, user: &User<'_>) {
    user.post("/auth/send-verification-email", json!({})).await.expect(200);
    let mail = app.next_mail().await;
    let token = mail.split_whitespace().find(|word| word.len() == 64).unwrap();
    user.post("/auth/verify-email", json!({ "token": token })).await.expect(200);
}

async fn a_verified_address_leads_to_its_user(app: TestApp) {
    let (app, fake) = start(app).await;
    let user = app.user().await;
    verify(&app, &user).await;
    let account = json!({ "sub": "7", "email": user.email.to_uppercase(), "email_verified": true, "name": "N" });
    let found = sign_in(&app, &fake, "one", account.clone()).await;
    assert_eq!(found.id, user.id);
    let shown = own(&found).await;
    assert_eq!(shown["authMethods"], json!(["password", "one"]));
    assert_eq!(shown["name"], Value::Null, "the profile here is the user's own");
    // What was theirs before still is.
    user.sign_in_again().await;
    let body = json!({ "refreshToken": user.refresh_token });
    app.anonymous().post("/auth/request-new-access-token", body).await.expect(200);
    // By identity from now on, whatever the address says.
    let moved = json!({ "sub": "7", "email": "new@example.com", "email_verified": false });
    assert_eq!(sign_in(&app, &fake, "one", moved).await.id, user.id);
    let listed = user.get("/oauth/identities").await.expect(200);
    let identity = &listed["identities"][0];
    assert_eq!(identity["email"], "new@example.com", "the latest profile");
    assert_eq!((&identity["name"], &identity["isVerified"]), (&json!("N"), &json!(false)));
    assert_eq!(sign_in(&app, &fake, "two", account).await.id, user.id);
    assert_eq!(app.rows("users").await, 1);
}

async fn whoever_signed_up_with_the_address_of_another_loses_everything(app: TestApp) {
    let (app, fake) = start(app).await;
    let thief = app.user().await;
    let begun = begin_link(&thief, "two").await;
    let linked = come_back(&app, &fake, &begun, json!({ "sub": "thief" })).await;
    let linked = signed_in(&app, &linked).await;
    let said = json!({ "sub": "ext", "userData": { "email": thief.email } });
    let body = json!({ "userJwt": app.vouch_for(said) });
    let vouched = app.anonymous().post("/auth/verify-external-user", body).await.expect(200);
    assert_eq!(app.rows("identities").await, 2);
    let refresh = |token: &str| json!({ "refreshToken": token });
    let sessions = [
        refresh(&thief.refresh_token),
        refresh(&linked.refresh_token),
        refresh(vouched["refreshToken"].as_str().unwrap()),
    ];

    let owner = json!({ "sub": "owner", "email": thief.email, "email_verified": true });
    let owner = sign_in(&app, &fake, "one", owner).await;
    assert_eq!(owner.id, thief.id, "the user stays, with another owner");
    let shown = own(&owner).await;
    assert_eq!((&shown["isVerified"], &shown["authMethods"]), (&json!(true), &json!(["one"])));
    thief.sign_in_reply().await.refused(403, "auth/invalid-credentials");
    for session in sessions {
        let refused = app.anonymous().post("/auth/request-new-access-token", session).await;
        refused.refused(403, "auth/refresh-token-mismatch");
    }
    let again = begin(&app.anonymous(), "two").await;
    let again = come_back(&app, &fake, &again, json!({ "sub": "thief" })).await;
    assert_ne!(signed_in(&app, &again).await.id, owner.id);
}

async fn an_unverified_address_leads_to_nobody(app: TestApp) {
    let (app, fake) = start(app).await;
    let user = app.user().await;
    verify(&app, &user).await;
    for (sub, verified) in
        [("1", json!(false)), ("2", Value::Null), ("3", json!("false")), ("4", json!(1))]
    {
        let account = json!({ "sub": sub, "email": user.email, "email_verified": verified });
        let other = sign_in(&app, &fake, "one", account).await;
        assert_ne!(other.id, user.id, "{sub}");
        let shown = own(&other).await;
        assert_eq!((&shown["email"], &shown["isVerified"]), (&Value::Null, &json!(false)));
    }
    let account = json!({ "sub": "5", "email": "free@example.com", "email_verified": false });
    let free = own(&sign_in(&app, &fake, "one", account).await).await;
    assert_eq!((&free["email"], &free["isVerified"]), (&json!("free@example.com"), &json!(false)));
    user.sign_in_again().await;
}

async fn a_user_may_have_no_address(app: TestApp) {
    let (app, fake) = start(app).await;
    for (sub, email) in [("1", Value::Null), ("2", json!("not an address")), ("3", json!(7))] {
        let account = json!({ "sub": sub, "email": email, "email_verified": true, "picture": "javascript:x" });
        let shown = own(&sign_in(&app, &fake, "one", account).await).await;
        assert_eq!((&shown["email"], &shown["avatar"]), (&Value::Null, &Value::Null));
        assert_eq!(shown["isVerified"], false);
    }
    assert_eq!(app.rows("users").await, 3);
}

async fn many_first_sign_ins_at_once_make_one_user(app: TestApp) {
    let (app, fake) = start(app).await;
    fake.reply(
        "/me",
        200,
        json!({ "sub": "7", "email": "ada@example.com", "email_verified": true }),
    );
    let mut begun = Vec::new();
    for _ in 0..12 {
        begun.push(begin(&app.anonymous(), "google").await);
    }
    let replies = all_at_once(begun.iter().map(|url| return_to(&app, url, "&code=c"))).await;
    for reply in &replies {
        signed_in(&app, reply).await;
    }
    assert_eq!(app.rows("users").await, 1);
    assert_eq!(app.rows("identities").await, 1);
}

async fn many_links_at_once_link_once(app: TestApp) {
    let (app, fake) = start(app).await;
    let users = [app.user().await, app.user().await];
    fake.reply("/me", 200, json!({ "sub": "7" }));
    let mut begun = Vec::new();
    for user in &users {
        begun.push(begin_link(user, "google").await);
    }
    let replies = all_at_once(begun.iter().map(|url| return_to(&app, url, "&code=c"))).await;
    let linked = replies.iter().filter(|r| r.header("location").unwrap().contains('#')).count();
    assert_eq!(linked, 1);
    let refused = replies.iter().find(|r| r.header("location").unwrap().contains('?')).unwrap();
    assert_eq!(failure(refused).0, "identity_already_linked");
    assert_eq!(app.rows("identities").await, 1);
}

async fn accounts_of_the_other_project_are_strangers(app: TestApp) {
    let (app, fake) = start(app).await;
    let stranger = app.stranger().await;
    let account = json!({ "sub": "7", "email": stranger.email, "email_verified": true });
    let user = sign_in(&app, &fake, "one", account).await;
    assert_ne!(user.id, stranger.id);
    assert_eq!(app.rows_of(app.project.id, "identities").await, 1);
    assert_eq!(app.rows_of(app.other.id, "identities").await, 0);
    stranger.sign_in_again().await;
}
