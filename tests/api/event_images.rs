//! Covers and galleries of events, and files that are attached to them.

use http::Method;
use serde_json::{Value, json};
use townhall::tenancy::{Bundle, Deletion};

use crate::events::{create, path, soon};
use crate::support::{Form, Part, TestApp, on_both_engines, png};

on_both_engines![
    an_event_comes_with_a_cover_and_a_gallery,
    images_are_replaced_appended_and_removed,
    wrong_images_leave_nothing_behind,
    images_need_their_bundle,
    files_are_seen_with_their_event,
    files_go_with_their_event,
    hosts_attach_files,
    a_deleted_cover_is_forgotten,
];

fn image<'a>(field: &'a str, bytes: &'a [u8]) -> Part<'a> {
    Part { name: field, file: "a.png", mime: "image/png", bytes }
}

fn options() -> Value {
    json!({ "mode": "original-aspect", "sizes": { "small": 50 } })
}

fn form(app: &TestApp) -> Form {
    Form::new()
        .text("title", "Pictures")
        .text("startTime", &soon(app))
        .text("type", "physical")
        .json("location", json!({ "latitude": 1, "longitude": 2 }))
}

/// An event with a cover and two more images.
async fn with_images(app: &TestApp, actor: &crate::support::Actor<'_>, visibility: &str) -> Value {
    let bytes = png(60, 40);
    let form = form(app)
        .text("visibility", visibility)
        .file(image("gallery", &bytes))
        .file(image("cover", &bytes))
        .file(image("gallery", &bytes))
        .json("cover.options", options())
        .json("gallery.options", options());
    actor.post_form("/events", &form).await.expect(201)
}

async fn files(app: &TestApp, event: &Value) -> Vec<Value> {
    let shown = app.service().get(&path(event, "?include=files")).await.expect(200);
    shown["files"].as_array().unwrap().clone()
}

async fn an_event_comes_with_a_cover_and_a_gallery(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let bytes = png(60, 40);
    let form = form(&app)
        .json("hostIds", json!([bob.id]))
        .json("metadata", json!({ "n": 1 }))
        .json("capacity", json!(4))
        .text("allowMaybe", "false")
        .text("endTime", "")
        .file(image("cover", &bytes))
        .json("cover.options", options());
    let event = ada.post_form("/events", &form).await.expect(201);
    assert_eq!((&event["capacity"], &event["allowMaybe"]), (&json!(4), &json!(false)));
    assert_eq!(event["hostIds"], json!([ada.id, bob.id]));
    let shown = event["files"].as_array().unwrap();
    assert_eq!((shown.len(), &shown[0]["id"]), (1, &event["coverImageId"]));
    assert_eq!((&shown[0]["eventId"], &shown[0]["userId"]), (&event["id"], &Value::Null));
    assert_eq!(shown[0]["image"]["variants"]["small"]["width"], 50);
    assert_eq!(ada.open(shown[0]["originalPath"].as_str().unwrap()).await.status, 200);
    let event = with_images(&app, &ada, "public").await;
    let positions: Vec<_> =
        event["files"].as_array().unwrap().iter().map(|f| f["position"].clone()).collect();
    assert_eq!(positions, [json!(0), json!(1), json!(2)]);
    assert_eq!(event["files"][0]["id"], event["coverImageId"]);
    assert!(ada.get(&path(&event, "")).await.expect(200).get("files").is_none());
}

async fn images_are_replaced_appended_and_removed(app: TestApp) {
    let ada = app.user().await;
    let event = with_images(&app, &ada, "public").await;
    let bytes = png(30, 30);
    let more = Form::new()
        .file(image("cover", &bytes))
        .file(image("gallery", &bytes))
        .json("cover.options", options())
        .json("gallery.options", options())
        .json("removeImageIds", json!([event["files"][1]["id"]]));
    let changed = ada.send_form(Method::PATCH, &path(&event, ""), &more).await.expect(200);
    assert_ne!(changed["coverImageId"], event["coverImageId"]);
    let now = files(&app, &event).await;
    let ids: Vec<&Value> = now.iter().map(|file| &file["id"]).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!((ids[0], ids[1]), (&changed["coverImageId"], &event["files"][2]["id"]));
    assert_eq!(now[2]["position"], 3);
    let removed = json!({ "removeImageIds": [changed["coverImageId"]] });
    let bare = ada.patch(&path(&event, ""), removed).await.expect(200);
    assert_eq!(bare["coverImageId"], Value::Null);
    assert_eq!(files(&app, &event).await.len(), 2);
    // Images of another event are not its own.
    let other = with_images(&app, &ada, "public").await;
    let foreign = json!({ "removeImageIds": [other["coverImageId"]] });
    let refused = ada.patch(&path(&event, ""), foreign).await;
    refused.refused(400, "event/invalid-remove-image-ids");
    assert_eq!(files(&app, &other).await.len(), 3);
    app.run_jobs().await;
    // An original and a variant of each.
    assert_eq!(app.stored(), 2 * 5);
}

async fn wrong_images_leave_nothing_behind(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let bytes = png(20, 20);
    let new = || form(&app);
    let without_options = new().file(image("cover", &bytes));
    ada.post_form("/events", &without_options).await.refused(400, "event/invalid-body");
    let text = new().file(image("cover", b"no image")).json("cover.options", options());
    let refused = ada.post_form("/events", &text).await.refused(422, "event/invalid-image");
    assert_eq!(refused["error"], refused["message"]);
    let mut many = new().json("gallery.options", options());
    for _ in 0..11 {
        many = many.file(image("gallery", &bytes));
    }
    ada.post_form("/events", &many).await.refused(400, "event/invalid-body");
    let two = new()
        .file(image("cover", &bytes))
        .file(image("cover", &bytes))
        .json("cover.options", options());
    ada.post_form("/events", &two).await.refused(400, "event/invalid-body");
    let event = create(&app, &ada, json!({})).await;
    let cover = Form::new().file(image("cover", &bytes)).json("cover.options", options());
    let refused = bob.send_form(Method::PATCH, &path(&event, ""), &cover).await;
    refused.refused(403, "event/forbidden");
    let wrong = Form::new()
        .text("removeImageIds", "[")
        .file(image("cover", &bytes))
        .json("cover.options", options());
    let refused = ada.send_form(Method::PATCH, &path(&event, ""), &wrong).await;
    refused.refused(400, "event/invalid-remove-image-ids");
    app.run_jobs().await;
    assert_eq!((app.stored(), app.rows("files").await), (0, 0));
    app.nothing_stays_staged().await;
}

async fn images_need_their_bundle(app: TestApp) {
    let bare = app.project_with(&[Bundle::Events]).await;
    let key = app.bearer(&bare.service_key).in_project(bare.id);
    let created = key.get("/users/by-foreign-id?foreignId=f&createIfNotFound=true").await;
    let user = created.json()["id"].as_str().unwrap().to_owned();
    let bytes = png(20, 20);
    let new = form(&app)
        .text("userId", &user)
        .file(image("cover", &bytes))
        .json("cover.options", options());
    key.post_form("/events", &new).await.refused(403, "event/files-images-bundle-required");
    let event = key.post_form("/events", &form(&app).text("userId", &user)).await.expect(201);
    let cover = Form::new().file(image("cover", &bytes)).json("cover.options", options());
    let refused = key.send_form(Method::PATCH, &path(&event, ""), &cover).await;
    refused.refused(403, "event/files-images-bundle-required");
}

async fn files_are_seen_with_their_event(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = with_images(&app, &ada, "invite").await;
    let file = format!("/storage/{}", event["coverImageId"].as_str().unwrap());
    ada.get(&file).await.expect(200);
    app.service().get(&file).await.expect(200);
    bob.get(&file).await.refused(404, "storage/file-not-found");
    bob.delete(&file).await.refused(404, "storage/file-not-found");
    ada.post(&path(&event, "/invites"), json!({ "userId": bob.id })).await.expect(200);
    bob.get(&file).await.expect(200);
    bob.delete(&file).await.refused(403, "storage/unauthorized");
}

async fn files_go_with_their_event(app: TestApp) {
    let ada = app.user().await;
    let event = with_images(&app, &ada, "public").await;
    ada.delete(&path(&event, "")).await.expect(204);
    app.run_jobs().await;
    assert_eq!((app.rows("files").await, app.stored()), (0, 0));
    let id = app.project.id;
    app.change_settings(id, |settings| settings.event_deletion = Deletion::Soft.name()).await;
    let event = with_images(&app, &ada, "public").await;
    ada.delete(&path(&event, "")).await.expect(204);
    app.run_jobs().await;
    assert_eq!(app.rows("files").await, 3, "they stay by default");
    app.change_settings(id, |settings| settings.keeps_files_of_deleted_events = false).await;
    let event = with_images(&app, &ada, "public").await;
    ada.delete(&path(&event, "")).await.expect(204);
    app.run_jobs().await;
    assert_eq!(app.rows("files").await, 3);
}

async fn hosts_attach_files(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = create(&app, &ada, json!({})).await;
    let id = event["id"].as_str().unwrap();
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"text" };
    let upload = |event: &str| {
        Form::new().file(part).json("pathParts", json!(["docs"])).text("eventId", event)
    };
    bob.post_form("/storage", &upload(id)).await.refused(403, "storage/unauthorized");
    let unknown = crate::notifications::UNKNOWN;
    ada.post_form("/storage", &upload(unknown)).await.refused(404, "storage/target-not-found");
    ada.post_form("/storage", &upload(id)).await.expect(201);
    assert_eq!(files(&app, &event).await.len(), 1);
}

async fn a_deleted_cover_is_forgotten(app: TestApp) {
    let ada = app.user().await;
    let event = with_images(&app, &ada, "public").await;
    let file = format!("/storage/{}", event["coverImageId"].as_str().unwrap());
    app.service().delete(&file).await.expect(200);
    let shown = ada.get(&path(&event, "?include=files")).await.expect(200);
    assert_eq!(
        (&shown["coverImageId"], shown["files"].as_array().unwrap().len()),
        (&Value::Null, 2)
    );
}
