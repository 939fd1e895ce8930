//! Validation events: an endpoint is asked before anything is stored, and only a signed yes lets it pass.

use http::Method;
use serde_json::{Value, json};

use crate::oauth_refusals::{sign_in_with, start as start_provider};
use crate::support::openid::{failure, signed_in};
use crate::support::receiver::{Answer, Receiver, SECRET, subscribe, subscribed};
use crate::support::{Form, Part, Reply, TestApp, on_both_engines, png};

on_both_engines![
    a_refused_entity_is_not_stored,
    whatever_is_no_signed_yes_is_a_refusal,
    a_reply_may_be_signed_in_its_compact_form,
    every_kind_of_write_is_asked_about,
    an_update_says_what_it_changes,
    nobody_is_asked_about_what_is_refused_anyway,
    files_of_a_refused_entity_go,
    no_transaction_is_open_meanwhile,
    a_hook_of_another_project_is_not_asked,
    a_refused_sign_up_with_an_account_elsewhere_leaves_nothing,
];

async fn a_refused_entity_is_not_stored(app: TestApp) {
    let (app, hook) = subscribed(app, &["entity.created"]).await;
    let user = app.user().await;
    hook.reply(Answer::Invalid(json!({ "message": "Mind your language" })));
    let new = json!({ "title": "Hm", "metadata": { "b": 1.0, "10": "ä/", "9": null } });
    let refused =
        user.post("/entities", new.clone()).await.refused(400, "entity/validation-failed");
    assert_eq!(refused["error"], "Mind your language");
    assert_eq!(app.rows("entities").await, 0);
    assert_eq!(app.rows("jobs").await, 0);

    let [asked] = &hook.take()[..] else { panic!("asked once") };
    let head = format!(
        r#"{{"type":"entity.created","projectId":"{}","initiatorId":"{}","stage":"before","data":{{"#,
        app.project.id, user.id
    );
    assert!(asked.text.starts_with(&head), "{}", asked.text);
    assert!(asked.text.contains(r#""metadata":{"9":null,"10":"ä/","b":1}"#), "{}", asked.text);
    assert_eq!(asked.json["data"]["title"], "Hm");
    assert_eq!(asked.timestamp, app.now().millis().to_string());
    assert_eq!(asked.id, None);

    hook.reply(Answer::Invalid(json!({})));
    let refused =
        user.post("/entities", new.clone()).await.refused(400, "entity/validation-failed");
    assert_eq!(refused["error"], "Entity validation failed");
    hook.reply(Answer::Valid);
    let created = user.post("/entities", new).await.expect(201);
    assert_eq!(app.rows("entities").await, 1);
    let asked = hook.take().pop().unwrap();
    assert_eq!(asked.json["data"]["title"], created["title"]);
}

async fn whatever_is_no_signed_yes_is_a_refusal(app: TestApp) {
    let (app, hook) = subscribed(app, &["entity.created"]).await;
    let user = app.user().await;
    for answer in [
        Answer::Unsigned,
        Answer::WronglySigned,
        Answer::Status(500),
        Answer::Status(302),
        Answer::Text("ok".to_owned()),
        Answer::Text("{}".to_owned()),
        Answer::Text("true".to_owned()),
        Answer::Text(r#"{"valid":1}"#.to_owned()),
        Answer::Text(r#"{"valid":"true"}"#.to_owned()),
        Answer::Invalid(json!({ "message": 7 })),
        Answer::Nothing,
    ] {
        hook.reply_next([answer.clone()]);
        let reply = user.post("/entities", json!({ "title": "T" })).await;
        let refused = reply.refused(400, "entity/validation-failed");
        assert_eq!(refused["error"], "Entity validation failed", "{answer:?}");
    }
    assert_eq!(hook.take().len(), 11, "nothing is asked twice");
    assert_eq!(app.rows("entities").await, 0);
    hook.reply_next([Answer::Status(202)]);
    user.post("/entities", json!({ "title": "T" })).await.expect(201);
}

async fn a_reply_may_be_signed_in_its_compact_form(app: TestApp) {
    let (app, hook) = subscribed(app, &["entity.created"]).await;
    let user = app.user().await;
    hook.reply(Answer::Spaced("{ \"valid\": true }\n".to_owned()));
    user.post("/entities", json!({ "title": "T" })).await.expect(201);
}

const VALIDATING: [&str; 9] = [
    "user.created",
    "user.updated",
    "entity.created",
    "entity.updated",
    "comment.created",
    "comment.updated",
    "space.created",
    "space.updated",
    "message.created",
];

async fn every_kind_of_write_is_asked_about(app: TestApp) {
    let (app, hook) = subscribed(app, &VALIDATING).await;
    let user = app.user().await;
    let other = app.user().await;
    let entity = user.post("/entities", json!({ "title": "T" })).await.expect(201);
    let entity = entity["id"].as_str().unwrap();
    let new = json!({ "entityId": entity, "content": "C" });
    let comment = user.post("/comments", new.clone()).await.expect(201);
    let comment = comment["id"].as_str().unwrap();
    let space = user.post("/spaces", json!({ "name": "First" })).await.expect(201);
    let space = space["id"].as_str().unwrap();
    let draft = user.post("/entities", json!({ "title": "D", "isDraft": true })).await.expect(201);
    let draft = draft["id"].as_str().unwrap();
    let direct = json!({ "userId": other.id });
    let chat = user.post("/chat/conversations/direct", direct).await.json();
    let chat = chat["id"].as_str().unwrap();
    hook.take();
    hook.reply(Answer::Invalid(json!({ "message": "No" })));

    let sign_up = json!({ "email": "new@example.com", "password": "long enough 1" });
    let jwt = app.vouch_for(json!({ "sub": "them", "userData": { "name": "N" } }));
    let tries: Vec<(&str, Reply, &str)> = vec![
        ("auth", app.anonymous().post("/auth/sign-up", sign_up).await, "user.created"),
        (
            "auth",
            app.anonymous().post("/auth/verify-external-user", json!({ "userJwt": jwt })).await,
            "user.created",
        ),
        (
            "user",
            app.service().get("/users/by-foreign-id?foreignId=x&createIfNotFound=true").await,
            "user.created",
        ),
        (
            "user",
            user.patch(&format!("/users/{}", user.id), json!({ "name": "N" })).await,
            "user.updated",
        ),
        ("entity", user.post("/entities", json!({ "title": "U" })).await, "entity.created"),
        (
            "entity",
            user.get("/entities/by-foreign-id?foreignId=f&createIfNotFound=true").await,
            "entity.created",
        ),
        (
            "entity",
            user.patch(&format!("/entities/{entity}"), json!({ "title": "U" })).await,
            "entity.updated",
        ),
        (
            "entity",
            user.patch(&format!("/entities/{draft}/publish"), json!({})).await,
            "entity.updated",
        ),
        ("comment", user.post("/comments", new).await, "comment.created"),
        (
            "comment",
            user.patch(&format!("/comments/{comment}"), json!({ "content": "D" })).await,
            "comment.updated",
        ),
        ("space", user.post("/spaces", json!({ "name": "Second" })).await, "space.created"),
        (
            "space",
            user.patch(&format!("/spaces/{space}"), json!({ "name": "Second" })).await,
            "space.updated",
        ),
        (
            "chat",
            user.post(
                &format!("/chat/conversations/{chat}/messages"),
                json!({ "content": "Hello" }),
            )
            .await,
            "message.created",
        ),
    ];
    let expected: Vec<&str> = tries.iter().map(|(_, _, name)| *name).collect();
    for (feature, reply, name) in &tries {
        let refused = reply.refused(400, &format!("{feature}/validation-failed"));
        assert_eq!(refused["error"], "No", "{name}");
    }
    assert_eq!(hook.take_names(), expected);
    for (table, rows) in
        [("users", 2), ("entities", 2), ("comments", 1), ("spaces", 1), ("chat_messages", 0)]
    {
        assert_eq!(app.rows(table).await, rows, "{table}");
    }
    assert_eq!(user.get(&format!("/entities/{entity}")).await.expect(200)["title"], "T");
    assert_eq!(user.get(&format!("/spaces/{space}")).await.expect(200)["name"], "First");
}

async fn an_update_says_what_it_changes(app: TestApp) {
    let (app, hook) =
        subscribed(app, &["entity.updated", "user.updated", "comment.updated", "space.updated"])
            .await;
    let user = app.user().await;
    let new = json!({ "title": "T", "content": "C", "keywords": ["a"] });
    let entity = user.post("/entities", new).await.expect(201)["id"].clone();
    let path = format!("/entities/{}", entity.as_str().unwrap());
    app.advance(std::time::Duration::from_secs(1));
    user.patch(&path, json!({ "title": "U", "content": "C" })).await.expect(200);
    let asked = hook.take().pop().unwrap().json;
    assert_eq!(asked["data"], json!({ "id": entity, "title": "U", "updatedAt": app.now() }));
    user.patch(&path, json!({})).await.expect(200);
    assert_eq!(hook.take().len(), 0, "nothing changes");

    user.patch(&format!("/users/{}", user.id), json!({ "bio": "B" })).await.expect(200);
    let asked = hook.take().pop().unwrap().json;
    assert_eq!(asked["data"], json!({ "id": user.id, "bio": "B", "updatedAt": app.now() }));
    assert_eq!(asked.get("initiatorId"), None);

    let space = user.post("/spaces", json!({ "name": "First" })).await.expect(201)["id"].clone();
    let path = format!("/spaces/{}", space.as_str().unwrap());
    app.advance(std::time::Duration::from_secs(1));
    user.patch(&path, json!({ "slug": "slug" })).await.expect(200);
    let asked = hook.take().pop().unwrap().json;
    assert_eq!(asked["data"], json!({ "id": space, "slug": "slug", "updatedAt": app.now() }));
}

async fn nobody_is_asked_about_what_is_refused_anyway(app: TestApp) {
    let (app, hook) = subscribed(app, &VALIDATING).await;
    let (user, other) = (app.user().await, app.user().await);
    let new = json!({ "title": "T", "foreignId": "f" });
    let entity = user.post("/entities", new.clone()).await.expect(201);
    let path = format!("/entities/{}", entity["id"].as_str().unwrap());
    hook.take();
    user.post("/entities", new).await.refused(409, "entity/duplicate-foreign-id");
    let elsewhere = json!({ "title": "T", "spaceId": entity["id"] });
    user.post("/entities", elsewhere).await.refused(404, "entity/space-not-found");
    other.patch(&path, json!({ "title": "Mine" })).await.refused(403, "entity/not-authorized");
    app.anonymous().patch(&path, json!({ "title": "Mine" })).await.expect(401);
    user.post("/comments", json!({ "entityId": user.id, "content": "C" })).await.expect(404);
    let taken = json!({ "email": user.email, "password": "long enough 1" });
    app.anonymous().post("/auth/sign-up", taken).await.expect(409);
    assert_eq!(hook.take_names(), [""; 0]);
}

async fn files_of_a_refused_entity_go(app: TestApp) {
    let (app, hook) = subscribed(app, &["entity.created"]).await;
    let user = app.user().await;
    hook.reply(Answer::Invalid(json!({})));
    let before = app.stored();
    let image = Part { name: "images.files", file: "a.png", mime: "image/png", bytes: &png(8, 8) };
    let options = json!({ "mode": "original-aspect", "sizes": { "small": 50 } });
    let form = Form::new().text("title", "T").file(image).json("images.options", options);
    user.post_form("/entities", &form).await.refused(400, "entity/validation-failed");
    app.run_jobs().await;
    assert_eq!((app.stored(), app.rows("files").await), (before, 0));
}

/// The endpoint itself writes while it is asked; on SQLite it would otherwise wait for itself.
async fn no_transaction_is_open_meanwhile(app: TestApp) {
    let (app, _hook) = subscribed(app, &[]).await;
    let user = app.user().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let body = json!({ "url": url, "secret": SECRET, "events": ["entity.created"] });
    app.master().send(Method::PUT, "/webhook-config", Some(body)).await.expect(200);
    let asking = user.post("/entities", json!({ "title": "T" }));
    let writing = async {
        let (stream, _) = listener.accept().await.unwrap();
        user.patch(&format!("/users/{}", user.id), json!({ "name": "N" })).await.expect(200);
        drop(stream);
    };
    let (asked, ()) = tokio::join!(asking, writing);
    asked.refused(400, "entity/validation-failed");
}

async fn a_hook_of_another_project_is_not_asked(app: TestApp) {
    let (app, hook) = subscribed(app, &[]).await;
    let other = app.bearer(&app.other.master_key).in_project(app.other.id);
    subscribe(&other, &hook, &VALIDATING).await;
    hook.reply(Answer::Invalid(json!({})));
    let user = app.user().await;
    user.post("/entities", json!({ "title": "T" })).await.expect(201);
    assert_eq!(hook.take().len(), 0);
    let theirs = other.post("/entities", json!({ "title": "T" })).await;
    let refused: Value = theirs.refused(400, "entity/validation-failed");
    assert_eq!(refused["error"], "Entity validation failed");
}

async fn a_refused_sign_up_with_an_account_elsewhere_leaves_nothing(app: TestApp) {
    let (app, provider) = start_provider(app).await;
    let hook = Receiver::start().await;
    subscribe(&app.master(), &hook, &["user.created"]).await;
    let account = json!({ "sub": "7", "name": "Ada" });
    for (answer, why) in [
        (json!({ "message": "Not here & now" }), "Not here & now"),
        (json!({}), "User validation failed"),
    ] {
        hook.reply(Answer::Invalid(answer));
        let back = sign_in_with(&app, &provider, &account).await;
        assert_eq!(failure(&back), ("validation_failed".to_owned(), why.to_owned()));
        let [asked] = &hook.take()[..] else { panic!("asked once") };
        assert_eq!(asked.json["data"]["name"], "Ada");
        for table in ["users", "identities", "refresh_tokens", "jobs"] {
            assert_eq!(app.rows(table).await, 0, "{table}");
        }
    }
    hook.reply(Answer::Valid);
    let back = sign_in_with(&app, &provider, &account).await;
    signed_in(&app, &back).await;
    assert_eq!(hook.take().len(), 1);
    // Whoever has an account is not asked about again.
    let back = sign_in_with(&app, &provider, &account).await;
    signed_in(&app, &back).await;
    assert_eq!(hook.take().len(), 0);
}
