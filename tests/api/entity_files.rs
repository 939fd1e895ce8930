//! Entities with images and files: one form, all or nothing.

use serde_json::{Value, json};

use crate::support::{Form, Part, TestApp, on_both_engines, png, png_claiming};

on_both_engines![
    an_entity_is_created_with_images_and_files,
    a_form_without_files_is_like_json,
    a_refused_request_leaves_no_files,
    files_are_counted_and_bounded,
    pixels_are_counted_over_all_images,
    files_need_their_bundle,
    files_are_seen_with_their_entity,
    files_go_with_their_entity,
    the_order_of_refusals,
];

fn image<'a>(name: &'a str, bytes: &'a [u8]) -> Part<'a> {
    Part { name: "images.files", file: name, mime: "image/png", bytes }
}

fn document(name: &str) -> Part<'_> {
    Part { name: "files.files", file: name, mime: "application/pdf", bytes: b"%PDF-1.7 not really" }
}

fn with_options(form: Form) -> Form {
    form.json("images.options", json!({ "mode": "original-aspect", "sizes": { "small": 50 } }))
}

async fn an_entity_is_created_with_images_and_files(app: TestApp) {
    let ada = app.user().await;
    let bytes = png(120, 60);
    let form = Form::new()
        .text("title", "Two pictures")
        .json("keywords", json!(["a"]))
        .json("metadata", json!({ "n": 1 }))
        .text("nsfw", "true")
        .file(document("Report 1.PDF"))
        .file(image("one.png", &bytes))
        .file(image("two.png", &bytes));
    let created = ada.post_form("/entities", &with_options(form)).await.expect(201);
    let id = created["id"].as_str().unwrap();
    assert_eq!((&created["nsfw"], &created["keywords"]), (&json!(true), &json!(["a"])));
    let files = created["files"].as_array().unwrap();
    let positions: Vec<_> =
        files.iter().map(|f| (f["position"].clone(), f["type"].clone())).collect();
    let expected =
        [(json!(0), json!("image")), (json!(1), json!("image")), (json!(2), json!("document"))];
    assert_eq!(positions, expected);
    for file in files {
        assert_eq!((&file["entityId"], &file["userId"]), (&created["id"], &json!(ada.id)));
    }
    let first = &files[0];
    assert_eq!(first["image"]["variants"]["small"]["width"], 50);
    let file_id = first["id"].as_str().unwrap();
    let path = first["image"]["variants"]["small"]["path"].as_str().unwrap();
    assert_eq!(path, format!("entities/{id}/{file_id}/small_original.webp"));

    let url = first["originalPath"].as_str().unwrap();
    let address = &url[url.find("/internal").unwrap()..];
    let read = app.anonymous().raw(http::Method::GET, address, "", "").await;
    assert_eq!((read.status, read.header("content-type")), (200, Some("image/webp")));

    let path = format!("/entities/{id}");
    assert!(app.anonymous().get(&path).await.expect(200).get("files").is_none());
    let list = app.anonymous().get("/entities?include=files").await.expect(200);
    assert_eq!(list["data"][0]["files"].as_array().unwrap().len(), 3);
}

async fn a_form_without_files_is_like_json(app: TestApp) {
    let ada = app.user().await;
    let form = Form::new()
        .text("title", "No files")
        .text("isDraft", "true")
        .json("location", json!({ "latitude": 1.5, "longitude": 2 }));
    let created = ada.post_form("/entities", &form).await.expect(201);
    assert_eq!((&created["isDraft"], &created["title"]), (&json!(true), &json!("No files")));
    assert_eq!(created["location"]["coordinates"], json!([2.0, 1.5]));
    assert!(created.get("files").is_none());
    for wrong in [
        Form::new().text("keywords", "a,b"),
        Form::new().text("metadata", "{"),
        Form::new().text("nsfw", "yes"),
        Form::new().text("title", &"x".repeat(301)),
    ] {
        ada.post_form("/entities", &wrong).await.refused(400, "entity/invalid-body");
    }
}

async fn a_refused_request_leaves_no_files(app: TestApp) {
    let ada = app.user().await;
    let bytes = png(20, 20);
    let sent = || Form::new().text("title", "x").file(image("good.png", &bytes));
    let no_image = with_options(sent().file(image("bad.png", b"<svg/>")));
    let refused = ada.post_form("/entities", &no_image).await;
    assert_eq!(refused.status, 422);
    let body = refused.json();
    assert_eq!(body["code"], "entity/invalid-image");
    let message = body["message"].as_str().unwrap();
    assert!(message.starts_with("File \"bad.png\" is not a valid image: "), "{message}");

    ada.post_form("/entities", &sent()).await.refused(400, "entity/invalid-body");
    for options in [
        json!({}),
        json!({ "mode": "sideways" }),
        json!({ "mode": "original-aspect", "sizes": { "small": 50 }, "quality": 101 }),
        json!({ "mode": "original-aspect", "pathParts": "x" }),
        json!({ "mode": "exact-dimensions", "dimensions": { "huge": { "width": 9999, "height": 9999 } } }),
    ] {
        let form = sent().json("images.options", options.clone());
        let refused = ada.post_form("/entities", &form).await;
        assert_eq!(refused.outcome(), "400 entity/invalid-body", "{options}");
    }
    assert_eq!((app.rows("entities").await, app.rows("files").await), (0, 0));
}

async fn files_are_counted_and_bounded(app: TestApp) {
    let ada = app.user().await;
    let bytes = png(10, 10);
    let mut images = with_options(Form::new());
    let mut files = Form::new();
    for n in 0..11 {
        images = images.file(image(&format!("{n}.png"), &bytes));
        files = files.file(document(&format!("{n}.pdf")));
    }
    for form in [images, files] {
        ada.post_form("/entities", &form).await.refused(400, "entity/too-many-files");
    }
    let large = vec![0; 52_428_801];
    for (name, called) in [("images.files", "Image"), ("files.files", "File")] {
        let part = Part { name, file: "large.bin", mime: "image/png", bytes: &large };
        let refused = ada.post_form("/entities", &with_options(Form::new()).file(part)).await;
        assert_eq!(refused.outcome(), "413 entity/file-too-large");
        let message = format!("{called} \"large.bin\" exceeds 50MB limit.");
        assert_eq!(refused.json()["message"], message);
    }
    assert_eq!(app.rows("entities").await, 0);
}

/// By their headers alone: what these claim to hold is not there, and would be found damaged.
async fn pixels_are_counted_over_all_images(app: TestApp) {
    let ada = app.user().await;
    let sent = async |images: &[(u32, u32)], sizes: Value| {
        let mut form = Form::new()
            .text("title", "x")
            .json("images.options", json!({ "mode": "original-aspect", "sizes": sizes }));
        for (n, (width, height)) in images.iter().enumerate() {
            form = form.file(image(&format!("{n}.png"), &png_claiming(*width, *height)));
        }
        let refused = ada.post_form("/entities", &form).await;
        (refused.outcome(), refused.json().to_string())
    };
    let (outcome, body) = sent(&[(9_990, 9_990); 3], json!({})).await;
    assert_eq!(outcome, "422 entity/invalid-image");
    assert!(body.contains("1.png") && body.contains("together"), "{body}");
    let (outcome, body) = sent(&[(5_000, 5_000); 4], json!({ "small": 50 })).await;
    assert_eq!(outcome, "400 entity/invalid-body");
    assert!(body.contains("together"), "{body}");
    let (outcome, body) = sent(&[(5_000, 5_000); 4], json!({})).await;
    assert_eq!(outcome, "422 entity/invalid-image");
    assert!(body.contains("0.png") && body.contains("damaged"), "{body}");
    assert_eq!((app.rows("entities").await, app.stored()), (0, 0));
}

async fn files_need_their_bundle(app: TestApp) {
    let project = app.project_with(&[townhall::tenancy::Bundle::Entities]).await;
    let nobody = app.anonymous().in_project(project.id);
    let form = Form::new().text("title", "x");
    nobody.post_form("/entities", &form).await.expect(201);
    let refused = nobody.post_form("/entities", &form.file(document("a.pdf"))).await;
    refused.refused(403, "database/tables-not-available");
}

async fn files_are_seen_with_their_entity(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let form = Form::new().text("isDraft", "true").file(document("secret.pdf"));
    let draft = ada.post_form("/entities", &form).await.expect(201);
    let path = format!("/storage/{}", draft["files"][0]["id"].as_str().unwrap());
    ada.get(&path).await.expect(200);
    app.service().get(&path).await.expect(200);
    grace.get(&path).await.refused(404, "storage/file-not-found");

    let publish = format!("/entities/{}/publish", draft["id"].as_str().unwrap());
    ada.patch(&publish, json!({})).await.expect(200);
    grace.get(&path).await.expect(200);

    let attach = Form::new()
        .json("pathParts", json!(["x"]))
        .text("entityId", draft["id"].as_str().unwrap())
        .file(Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"a" });
    grace.post_form("/storage", &attach).await.refused(403, "storage/unauthorized");
    ada.post_form("/storage", &attach).await.expect(201);
    let fetched = format!("/entities/{}?include=files", draft["id"].as_str().unwrap());
    let files = grace.get(&fetched).await.expect(200)["files"].clone();
    assert_eq!(files.as_array().unwrap().len(), 2);
}

async fn files_go_with_their_entity(app: TestApp) {
    let ada = app.user().await;
    let bytes = png(20, 20);
    let form = with_options(Form::new().file(image("a.png", &bytes)));
    let created = ada.post_form("/entities", &form).await.expect(201);
    let url = created["files"][0]["originalPath"].as_str().unwrap().to_owned();
    let address = url[url.find("/internal").unwrap()..].to_owned();
    let path = format!("/entities/{}", created["id"].as_str().unwrap());
    assert_eq!(ada.delete(&path).await.status, 204);
    let gone = app.anonymous().raw(http::Method::GET, &address, "", "").await;
    gone.refused(404, "storage/file-not-found");
    assert_eq!(app.rows("files").await, 0);
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
}

/// Permissions are checked first, so that no file is processed for nothing.
async fn the_order_of_refusals(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    ada.post("/entities", json!({ "foreignId": "taken" })).await.expect(201);
    let bad = || with_options(Form::new()).file(image("bad.png", b"nothing"));
    for (form, outcome) in [
        (bad().text("userId", &grace.id.to_string()), "403 entity/unauthorized"),
        (bad().text("createdAt", "2001-01-01T00:00:00Z"), "403 entity/unauthorized"),
        (bad().text("spaceId", "x"), "404 entity/space-not-found"),
        (bad().text("foreignId", "taken"), "409 entity/duplicate-foreign-id"),
        (bad(), "422 entity/invalid-image"),
    ] {
        assert_eq!(ada.post_form("/entities", &form).await.outcome(), outcome);
    }
    let unknown = bad().text("userId", &Value::from("nobody").to_string());
    assert_eq!(
        app.service().post_form("/entities", &unknown).await.outcome(),
        "404 entity/user-not-found"
    );
    app.suspend(ada.id).await;
    assert_eq!(ada.post_form("/entities", &bad()).await.outcome(), "403 user/suspended");
    let bytes = png(20, 20);
    let good = with_options(Form::new()).file(image("good.png", &bytes));
    let refused = async || ada.post_form("/entities", &good).await.refused(403, "user/suspended");
    let seen = app.statements.during(refused()).await;
    // Stored files have a job that would remove them.
    assert!(seen.iter().all(|(_, sql)| !sql.contains("INSERT INTO jobs")), "{seen:?}");
}
