//! The avatar of a conversation: whose file it may be, who sees it, and when it is deleted.

use serde_json::{Value, json};

use crate::support::chat::{group, of};
use crate::support::{Actor, Form, Part, TestApp, all_at_once, on_both_engines, png};

on_both_engines![
    an_avatar_is_an_unattached_file_of_the_user_who_sets_it,
    a_key_sets_a_picture_of_the_project,
    only_those_who_know_a_conversation_see_its_picture,
    a_picture_is_changed_and_deleted_at_once,
    an_update_that_changes_nothing_is_none,
];

const TEXT: Part<'_> = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };

async fn upload(actor: &Actor<'_>) -> Value {
    let form = Form::new().json("pathParts", json!(["a"])).file(TEXT);
    actor.post_form("/storage", &form).await.expect(201)["fileId"].take()
}

async fn an_avatar_is_an_unattached_file_of_the_user_who_sets_it(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let set = async |actor: &Actor<'_>, id: &str, file: &Value| {
        actor.patch(&of(id, ""), json!({ "avatarFileId": file })).await
    };
    let theirs = upload(&bob).await;
    set(&ada, &id, &theirs).await.refused(400, "chat/invalid-field");
    let avatar = png(60, 60);
    let avatar = Part { name: "avatarFile", file: "a.png", mime: "image/png", bytes: &avatar };
    let form = Form::new()
        .file(avatar)
        .json("avatarFile.options", json!({ "mode": "original-aspect", "sizes": { "small": 50 } }));
    let profile = ada.send_form(http::Method::PATCH, &format!("/users/{}", ada.id), &form).await;
    let portrait = profile.expect(200)["avatarFileId"].take();
    assert!(portrait.is_string());
    set(&ada, &id, &portrait).await.refused(400, "chat/invalid-field");
    let other = group(&ada, &[&bob]).await;
    let picture = upload(&ada).await;
    set(&ada, &other, &picture).await.expect(200);
    set(&ada, &id, &picture).await.refused(400, "chat/invalid-field");
    // What was refused is still there; what is replaced goes.
    let at = |file: &Value| format!("/storage/{}", file.as_str().unwrap());
    for file in [&theirs, &portrait, &picture] {
        app.service().get(&at(file)).await.expect(200);
    }
    set(&ada, &other, &Value::Null).await.expect(200);
    app.service().get(&at(&picture)).await.refused(404, "storage/file-not-found");
}

async fn a_key_sets_a_picture_of_the_project(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let file = upload(&app.service()).await;
    let body = json!({ "userId": ada.id, "avatarFileId": file });
    ada.patch(&of(&id, ""), body.clone()).await.refused(400, "chat/invalid-field");
    let shown = app.service().patch(&of(&id, ""), body).await.expect(200);
    assert_eq!(shown["avatarFile"]["id"], file);
}

async fn only_those_who_know_a_conversation_see_its_picture(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let file = upload(&ada).await;
    let at = format!("/storage/{}", file.as_str().unwrap());
    cleo.get(&at).await.expect(200);
    ada.patch(&of(&id, ""), json!({ "avatarFileId": file })).await.expect(200);
    cleo.get(&at).await.refused(404, "storage/file-not-found");
    for actor in [&*ada, &*bob, &app.service()] {
        actor.get(&at).await.expect(200);
    }
}

async fn a_picture_is_changed_and_deleted_at_once(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    for _ in 0..6 {
        let file = upload(&app.service()).await;
        let key = app.service();
        let set = json!({ "userId": ada.id, "avatarFileId": file });
        key.patch(&of(&id, ""), set).await.expect(200);
        let (key, path) = (&key, &of(&id, ""));
        let (at, ada) = (&format!("/storage/{}", file.as_str().unwrap()), &ada);
        let both = [true, false].map(|deletes| async move {
            match deletes {
                true => key.delete(at).await.status,
                false => ada.patch(path, json!({ "avatarFileId": null })).await.status,
            }
        });
        let statuses = all_at_once(both).await;
        assert!([200, 404].contains(&statuses[0]), "{statuses:?}");
        assert_eq!(statuses[1], 200);
        assert_eq!(ada.get(path).await.expect(200)["avatarFileId"], Value::Null);
    }
}

async fn an_update_that_changes_nothing_is_none(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let before = ada.get(&of(&id, "")).await.expect(200);
    app.advance(std::time::Duration::from_secs(1));
    for body in [json!({}), json!({ "name": before["name"] })] {
        let after = ada.patch(&of(&id, ""), body).await.expect(200);
        assert_eq!(after["updatedAt"], before["updatedAt"]);
    }
    let after = ada.patch(&of(&id, ""), json!({ "name": "Other" })).await.expect(200);
    assert_ne!(after["updatedAt"], before["updatedAt"]);
}
