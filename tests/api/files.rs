//! Fetch File, Delete File: permissions, replies, and the bytes, also when a request or the server dies
//! halfway.

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};
use townhall::features::files::model::ImageFacts;
use townhall::features::files::store;
use townhall::jobs::store as jobs;
use townhall::values::ids::{FileId, JobId};

use crate::support::{Actor, Form, Part, TestApp, on_both_engines, png};

on_both_engines![
    a_file_is_shown_in_full,
    unattached_files_are_visible_to_every_user,
    a_file_is_as_visible_as_its_holder,
    only_an_author_or_a_key_attaches_to_an_entity,
    files_of_another_project_are_not_there,
    only_the_owner_or_a_key_deletes,
    deleting_a_file_deletes_its_bytes,
    a_failed_removal_is_tried_again,
    bytes_without_a_row_are_swept,
    leftovers_of_a_crash_are_removed_after_an_hour,
    a_job_that_was_begun_is_not_taken_back,
    a_suspended_user_stores_and_deletes_nothing,
    every_stored_object_has_its_hash,
];

async fn upload(actor: &Actor<'_>) -> Value {
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    actor.post_form("/storage", &form).await.expect(201)
}

fn path(file: &Value) -> String {
    format!("/storage/{}", file["fileId"].as_str().unwrap())
}

async fn a_file_is_shown_in_full(app: TestApp) {
    let user = app.user().await;
    let stored = upload(&user).await;
    let file = user.v7().get(&path(&stored)).await;
    let expected = [
        "chatMessageId",
        "commentId",
        "createdAt",
        "entityId",
        "eventId",
        "fileId",
        "id",
        "metadata",
        "originalMimeType",
        "originalPath",
        "originalSize",
        "position",
        "projectId",
        "spaceId",
        "type",
        "updatedAt",
        "userId",
    ];
    assert_eq!(file.keys(), expected);
    let file = file.expect(200);
    assert_eq!(file["projectId"], app.project.id.to_string());
    for unset in ["entityId", "commentId", "chatMessageId", "spaceId", "eventId"] {
        assert_eq!(file[unset], Value::Null, "{unset}");
    }
    assert_eq!((&file["type"], &file["position"]), (&json!("document"), &json!(0)));
    user.get("/storage/x").await.refused(400, "storage/invalid-params");
    let unknown = "/storage/a44521d0-0fb8-4ade-8002-3385545c3318";
    let body = user.get(unknown).await.refused(404, "storage/file-not-found");
    assert_eq!(body["error"], "File not found");
}

async fn unattached_files_are_visible_to_every_user(app: TestApp) {
    let (owner, other) = (app.user().await, app.user().await);
    for stored in [upload(&owner).await, upload(&app.service()).await] {
        for actor in [(*owner).clone(), (*other).clone(), app.service(), app.master()] {
            actor.get(&path(&stored)).await.expect(200);
        }
        app.anonymous().get(&path(&stored)).await.says(401, "Unauthorized");
    }
}

async fn entity(actor: &Actor<'_>, is_draft: bool) -> String {
    let made = actor.post("/entities", json!({ "title": "x", "isDraft": is_draft })).await;
    made.expect(201)["id"].as_str().unwrap().to_owned()
}

fn attached_to(entity: &str) -> Form {
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };
    Form::new().file(part).json("pathParts", json!(["docs"])).text("entityId", entity)
}

async fn a_file_is_as_visible_as_its_holder(app: TestApp) {
    let (owner, other) = (app.user().await, app.user().await);
    let (draft, published) = (entity(&owner, true).await, entity(&owner, false).await);
    let hidden = owner.post_form("/storage", &attached_to(&draft)).await.expect(201);
    let shown = owner.post_form("/storage", &attached_to(&published)).await.expect(201);
    let file = owner.get(&path(&hidden)).await.expect(200);
    assert_eq!((&file["entityId"], &file["spaceId"]), (&json!(draft), &Value::Null));
    app.service().get(&path(&hidden)).await.expect(200);
    other.get(&path(&shown)).await.expect(200);

    let unknown = other.get("/storage/a44521d0-0fb8-4ade-8002-3385545c3318").await;
    for refused in [other.get(&path(&hidden)).await, other.delete(&path(&hidden)).await] {
        assert_eq!((refused.status, &refused.body), (unknown.status, &unknown.body));
    }
    other.delete(&path(&shown)).await.refused(403, "storage/unauthorized");
}

async fn only_an_author_or_a_key_attaches_to_an_entity(app: TestApp) {
    let (owner, other, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let (draft, published) = (entity(&owner, true).await, entity(&owner, false).await);
    let elsewhere = entity(&stranger, false).await;
    let sent = other.post_form("/storage", &attached_to(&published)).await;
    sent.refused(403, "storage/unauthorized");
    for hidden in [&draft, &elsewhere] {
        let sent = other.post_form("/storage", &attached_to(hidden)).await;
        sent.refused(404, "storage/target-not-found");
    }
    app.service().post_form("/storage", &attached_to(&draft)).await.expect(201);
    let two = attached_to(&published).text("spaceId", &draft);
    owner.post_form("/storage", &two).await.refused(400, "storage/invalid-body");
    assert_eq!(app.stored(), 1);
}

async fn files_of_another_project_are_not_there(app: TestApp) {
    let stranger = app.stranger().await;
    let stored = upload(&stranger).await;
    let user = app.user().await;
    for actor in [(*user).clone(), app.service(), app.master()] {
        actor.get(&path(&stored)).await.refused(404, "storage/file-not-found");
        actor.delete(&path(&stored)).await.refused(404, "storage/file-not-found");
    }
    stranger.get(&path(&stored)).await.expect(200);
}

async fn only_the_owner_or_a_key_deletes(app: TestApp) {
    let (owner, other) = (app.user().await, app.user().await);
    let (theirs, projects) = (upload(&owner).await, upload(&app.service()).await);
    for (actor, file) in [(&*other, &theirs), (&*owner, &projects)] {
        let body = actor.delete(&path(file)).await.refused(403, "storage/unauthorized");
        assert_eq!(body["error"], "Unauthorized");
    }
    app.anonymous().delete(&path(&theirs)).await.says(401, "Unauthorized");
    owner.delete(&path(&theirs)).await.expect(200);
    app.service().delete(&path(&projects)).await.expect(200);
    owner.delete(&path(&theirs)).await.refused(404, "storage/file-not-found");
    owner.delete("/storage/x").await.refused(400, "storage/invalid-params");
}

async fn deleting_a_file_deletes_its_bytes(app: TestApp) {
    let user = app.user().await;
    let bytes = png(60, 60);
    let form = Form::new()
        .file(Part { name: "file", file: "a.png", mime: "image/png", bytes: &bytes })
        .text("mode", "original-aspect")
        .json("sizes", json!({ "b": 50, "a": 55 }));
    let image = user.post_form("/storage/images", &form).await.expect(201);
    let kept = upload(&user).await;
    assert_eq!(app.stored(), 4);

    let reply = user.delete(&path(&image)).await;
    assert_eq!(reply.keys(), ["deletedPaths", "fileId", "message"]);
    let deleted = reply.expect(200);
    assert_eq!(deleted["message"], "File deleted successfully");
    let id = image["fileId"].as_str().unwrap();
    let expected =
        ["original", "a_original", "b_original"].map(|name| format!("images/{id}/{name}.webp"));
    assert_eq!(deleted["deletedPaths"], json!(expected));
    // The address is dead at once, the bytes soon after.
    for url in [&image["originalPath"], &image["variants"]["a"]["publicPath"]] {
        let gone = app.anonymous().open(url.as_str().unwrap()).await;
        gone.refused(404, "storage/file-not-found");
    }
    app.run_jobs().await;
    assert_eq!(app.stored(), 1);
    app.anonymous().open(kept["publicPath"].as_str().unwrap()).await.expect(200);
}

async fn a_failed_removal_is_tried_again(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let file = upload(&user).await;
    let files = app.data_dir().join("files");
    user.delete(&path(&file)).await.expect(200);
    // A file in place of the directory makes every attempt fail.
    std::fs::rename(&files, files.with_extension("aside")).unwrap();
    std::fs::write(&files, b"").unwrap();
    app.run_jobs().await;
    std::fs::remove_file(&files).unwrap();
    std::fs::rename(files.with_extension("aside"), &files).unwrap();
    assert_eq!(app.stored(), 1);
    app.advance(Duration::from_secs(60));
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
}

async fn bytes_without_a_row_are_swept(app: TestApp) {
    let user = app.user().await;
    let seen = user.get(&format!("/users/{}", user.id)).await.expect(200);
    // The name is taken: the avatar has been stored by then, and its user is never made.
    let bytes = png(60, 60);
    let form = Form::new()
        .text("email", "late@example.com")
        .text("password", "correct horse")
        .text("username", seen["username"].as_str().unwrap())
        .file(Part { name: "avatarFile", file: "a.png", mime: "image/png", bytes: &bytes })
        .json("avatarFile.options", json!({ "mode": "original-aspect" }));
    let refused = app.anonymous().post_form("/auth/sign-up", &form).await;
    refused.refused(409, "DUPLICATE_USERNAME");
    assert_eq!(app.stored(), 1, "the bytes came first");
    app.run_jobs().await;
    assert_eq!(app.stored(), 0, "and went, without waiting for the hour");
    upload(&user).await;
    app.advance(Duration::from_secs(2 * 3600));
    app.run_jobs().await;
    assert_eq!(app.stored(), 1, "what has a row stays");
}

async fn leftovers_of_a_crash_are_removed_after_an_hour(app: TestApp) {
    let stored = upload(&app.service()).await;
    let id: FileId = stored["fileId"].as_str().unwrap().parse().unwrap();
    let (project, now) = (app.project.id, app.now());
    // As if the server had died between the bytes and the row: the job is still there.
    let payload = json!({ "kind": "remove-files", "directories": [format!("docs/{id}")] });
    let (job, due) = (JobId(id.0), now.plus(Duration::from_secs(3600)));
    let died = app.app.db.write(move |tx| {
        store::delete(tx, project, &[id])?;
        jobs::insert(tx, project, job, &payload.to_string(), due, now)
    });
    died.await.unwrap();
    app.advance(Duration::from_secs(3599));
    app.run_jobs().await;
    assert_eq!(app.stored(), 1);
    app.advance(Duration::from_secs(1));
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
}

/// What keeps a row from being written whose bytes a worker is about to remove.
async fn a_job_that_was_begun_is_not_taken_back(app: TestApp) {
    let (project, now) = (app.project.id, app.now());
    let job = JobId(townhall::values::ids::new_id(now, &app.app.random));
    let taken = app.app.db.write(move |tx| {
        jobs::insert(tx, project, job, "{}", now, now)?;
        let before = jobs::cancel(tx, project, job)?;
        jobs::insert(tx, project, job, "{}", now, now)?;
        jobs::claim(tx, project, job, now, now.plus(Duration::from_secs(60)))?;
        Ok::<_, townhall::error::Error>((before, jobs::cancel(tx, project, job)?))
    });
    assert_eq!(taken.await.unwrap(), (true, false));
}

async fn a_suspended_user_stores_and_deletes_nothing(app: TestApp) {
    let user = app.user().await;
    let stored = upload(&user).await;
    app.suspend(user.id).await;
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    user.post_form("/storage", &form).await.refused(403, "user/suspended");
    user.delete(&path(&stored)).await.refused(403, "user/suspended");
    user.get(&path(&stored)).await.expect(200);
    let named = form.text("userId", &user.id.to_string());
    app.service().post_form("/storage", &named).await.refused(403, "user/suspended");
    app.master().post_form("/storage", &named).await.expect(201);
    app.nothing_stays_staged().await;
}

/// More than one piece of what an upload is written in, so that the hash goes on over several.
async fn every_stored_object_has_its_hash(app: TestApp) {
    let (large, picture) = (vec![7; 700_000], png(120, 60));
    let key = app.service();
    let file = |bytes| Form::new().file(Part { name: "file", file: "a", mime: "image/png", bytes });
    let image = file(&picture).text("mode", "original-aspect").json("sizes", json!({ "s": 50 }));
    let mut hashed = 0;
    for (path, form) in [
        ("/storage", file(&large).json("pathParts", json!(["docs"]))),
        ("/storage", file(b"").json("pathParts", json!([]))),
        ("/storage/images", image),
    ] {
        let stored = key.post_form(path, &form).await.expect(201);
        let id: FileId = stored["fileId"].as_str().unwrap().parse().unwrap();
        let project = app.project.id;
        let row = app.app.db.read(move |c| store::find(c, project, id)).await.unwrap().unwrap();
        let facts = ImageFacts::of(&row).unwrap();
        let outputs = facts.iter().flat_map(ImageFacts::all).map(|one| (&one.path, &one.sha256));
        for (path, sha256) in outputs.chain([(&row.path, &row.sha256)]) {
            let place = app.data_dir().join("files").join(project.to_string()).join(path);
            let digest = digest(&SHA256, &std::fs::read(place).unwrap());
            let expected: String = digest.as_ref().iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(sha256.as_deref(), Some(expected.as_str()), "{path}");
            hashed += 1;
        }
    }
    assert_eq!(hashed, 5);
}
