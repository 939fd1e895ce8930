//! Sign Up: the fields of a new user, and conflicts.

use serde_json::{Value, json};
use townhall::values::time::Timestamp;

use crate::support::{TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    sign_up_answers_with_a_session_and_the_whole_own_user,
    every_profile_field_is_kept,
    secure_metadata_is_written_by_keys_alone,
    sign_up_refuses_what_breaks_a_rule,
    v6_names_missing_fields,
    addresses_and_usernames_are_unique_within_a_project,
    sixteen_sign_ups_with_one_address_make_one_user,
    credentials_change_nothing_about_sign_up,
    sign_up_sends_no_mail,
];

async fn sign_up_answers_with_a_session_and_the_whole_own_user(app: TestApp) {
    let body =
        json!({ "email": " Ada@Example.com ", "password": "correct horse", "username": "Ada!" });
    let signed_up = app.anonymous().post("/auth/sign-up", body).await.expect(201);
    let user = User::from_reply(&app, app.project.id, &signed_up);
    let now = app.now().to_string();
    let expected = json!({
        "success": true,
        "accessToken": user.access_token,
        "refreshToken": user.refresh_token,
        "user": {
            "id": user.id,
            "projectId": app.project.id,
            "foreignId": null,
            "role": "visitor",
            "name": null,
            "username": "ada",
            "avatar": null,
            "avatarFileId": null,
            "bannerFileId": null,
            "avatarFile": null,
            "bannerFile": null,
            "bio": null,
            "birthdate": null,
            "location": null,
            "metadata": {},
            "reputation": 0,
            "createdAt": now,
            "email": "ada@example.com",
            "isVerified": false,
            "isActive": true,
            "lastActive": now,
            "updatedAt": now,
            "suspensions": [],
            "authMethods": ["password"],
        },
    });
    assert_eq!(signed_up, expected);
    user.get("/oauth/identities").await.expect(200);
}

async fn every_profile_field_is_kept(app: TestApp) {
    let body = json!({
        "email": "grace@example.com",
        "password": "correct horse",
        "name": "  Grace Hopper ",
        "username": "Grace.Hopper_1906",
        "avatar": "https://example.com/grace.png",
        "bio": " found the bug ",
        "location": { "latitude": 40.7, "longitude": -74.0 },
        "birthdate": "1906-12-09",
        "metadata": { "rank": "rear admiral" },
        "secureMetadata": { "clearance": 7 },
        "role": "admin",
        "isVerified": true,
        "reputation": 999,
        "foreignId": "7",
    });
    let signed_up = app.anonymous().post("/auth/sign-up", body).await.expect(201);
    let user = &signed_up["user"];
    let born = Timestamp::parse("1906-12-09T00:00:00.000Z").unwrap();
    for (field, value) in [
        ("name", json!("Grace Hopper")),
        ("username", json!("grace.hopper_1906")),
        ("avatar", json!("https://example.com/grace.png")),
        ("bio", json!("found the bug")),
        ("location", json!({ "type": "Point", "coordinates": [-74.0, 40.7] })),
        ("birthdate", json!(born)),
        ("metadata", json!({ "rank": "rear admiral" })),
        ("role", json!("visitor")),
        ("isVerified", json!(false)),
        ("reputation", json!(0)),
        ("foreignId", Value::Null),
        ("secureMetadata", Value::Null),
    ] {
        assert_eq!(user[field], value, "{field}");
    }
}

async fn secure_metadata_is_written_by_keys_alone(app: TestApp) {
    let somebody = app.user().await;
    let given = json!({ "clearance": 7 });
    let callers = [
        (app.anonymous(), json!({})),
        ((*somebody).clone(), json!({})),
        (app.bearer(&app.other.service_key), json!({})),
        (app.service(), given.clone()),
        (app.master(), given.clone()),
    ];
    for (number, (caller, kept)) in callers.iter().enumerate() {
        let body = |value: &Value| {
            let email = format!("new{number}@example.com");
            json!({ "email": email, "password": "correct horse", "secureMetadata": value })
        };
        let wrong = caller.post("/auth/sign-up", body(&json!("x"))).await;
        if *kept == given {
            wrong.refused(400, "auth/invalid-body");
            caller.post("/auth/sign-up", body(&given)).await.expect(201);
        } else {
            // Like a field that nobody knows.
            wrong.expect(201);
        }
        let seen = app.service().get(&format!("/users/{}", somebody.id)).await.expect(200);
        assert_eq!(seen["secureMetadata"], json!({}));
    }
    for (number, (_, kept)) in callers.iter().enumerate() {
        let sign_in =
            json!({ "email": format!("new{number}@example.com"), "password": "correct horse" });
        let signed_in = app.anonymous().post("/auth/sign-in", sign_in).await.expect(200);
        let path = format!("/users/{}", signed_in["user"]["id"].as_str().unwrap());
        let seen_by_key = app.service().get(&path).await.expect(200);
        assert_eq!(seen_by_key["secureMetadata"], *kept, "caller {number}");
    }
}

async fn sign_up_refuses_what_breaks_a_rule(app: TestApp) {
    let with = |field: &str, value: Value| {
        let mut body = json!({ "email": "ada@example.com", "password": "correct horse" });
        body[field] = value;
        body
    };
    let bodies = [
        with("email", json!("ada")),
        with("email", json!("")),
        with("email", json!(7)),
        with("email", json!(format!("{}@example.com", "a".repeat(244)))),
        with("password", json!("12345")),
        with("password", json!("x".repeat(257))),
        with("password", json!("x".repeat(1_000_000))),
        with("password", json!(123_456)),
        with("username", json!("!!!")),
        with("name", json!("x".repeat(256))),
        with("bio", json!("x".repeat(301))),
        with("location", json!({ "latitude": 1 })),
        with("location", json!({ "latitude": 91, "longitude": 0 })),
        with("birthdate", json!("yesterday")),
        with("metadata", json!([])),
        with("metadata", json!({ "x": "y".repeat(512 * 1024) })),
        with("name", json!("a\u{0}b")),
        json!(["ada@example.com", "correct horse"]),
        json!("ada@example.com"),
        json!(null),
    ];
    for body in bodies {
        for actor in [app.anonymous(), app.anonymous().v7(), app.anonymous().v6()] {
            let reply = actor.post("/auth/sign-up", body.clone()).await;
            assert_eq!(reply.status, 400, "{:.80}: {}", body.to_string(), reply.text());
            reply.refused(400, "auth/invalid-body");
        }
    }
    let broken = app.anonymous();
    let address = format!("/v8/{}/auth/sign-up", app.project.id);
    for text in ["{", "{\"email\":}", "\u{feff}{}"] {
        let reply = broken.raw(http::Method::POST, &address, "application/json", text).await;
        reply.refused(400, "auth/invalid-body");
    }
    let free = json!({ "email": "ada@example.com", "password": "correct horse" });
    app.anonymous().post("/auth/sign-up", free).await.expect(201);
}

async fn v6_names_missing_fields(app: TestApp) {
    for body in [
        json!({}),
        json!({ "email": "ada@example.com" }),
        json!({ "password": "correct horse" }),
        json!({ "email": null, "password": "correct horse" }),
    ] {
        let anonymous = app.anonymous();
        anonymous
            .v6()
            .post("/auth/sign-up", body.clone())
            .await
            .refused(400, "auth/missing-fields");
        anonymous.v7().post("/auth/sign-up", body.clone()).await.refused(400, "auth/invalid-body");
        anonymous.post("/auth/sign-up", body).await.refused(400, "auth/invalid-body");
    }
}

async fn addresses_and_usernames_are_unique_within_a_project(app: TestApp) {
    let first = app.user().await;
    let body = |email: &str, username: &str| json!({ "email": email, "password": "correct horse", "username": username });
    let anonymous = app.anonymous();

    let same_address = body(&first.email.to_uppercase(), "somebody");
    let refused =
        anonymous.post("/auth/sign-up", same_address).await.refused(409, "DUPLICATE_EMAIL");
    assert_eq!(refused["field"], "email");
    let same_name = body("somebody@example.com", "User0");
    let refused =
        anonymous.post("/auth/sign-up", same_name).await.refused(409, "DUPLICATE_USERNAME");
    assert_eq!(refused["field"], "username");

    let elsewhere = anonymous.in_project(app.other.id);
    elsewhere.post("/auth/sign-up", body(&first.email, "user0")).await.expect(201);
}

async fn sixteen_sign_ups_with_one_address_make_one_user(app: TestApp) {
    let anonymous = app.anonymous();
    let replies = all_at_once((0..16).map(|_| {
        let body = json!({ "email": "ada@example.com", "password": "correct horse" });
        anonymous.post("/auth/sign-up", body)
    }))
    .await;
    assert_eq!(count(&replies, 201), 1);
    for reply in replies.iter().filter(|reply| reply.status != 201) {
        assert_eq!(reply.refused(409, "DUPLICATE_EMAIL")["field"], "email");
    }
}

async fn credentials_change_nothing_about_sign_up(app: TestApp) {
    let user = app.user().await;
    let mismatch = app.service().with_header("X-Sublay-Project-ID", &app.other.id.to_string());
    let actors = [
        app.service(),
        app.master(),
        app.bearer(&user.access_token),
        app.bearer("null"),
        app.bearer(""),
        mismatch,
    ];
    for (number, actor) in actors.iter().enumerate() {
        let email = format!("new{number}@example.com");
        let body = json!({ "email": email, "password": "correct horse" });
        let signed_up = actor.post("/auth/sign-up", body).await.expect(201);
        assert_eq!(signed_up["user"]["email"], email);
    }
}

async fn sign_up_sends_no_mail(app: TestApp) {
    app.user().await;
    app.run_jobs().await;
    assert_eq!(app.mails(), Vec::<String>::new());
}
