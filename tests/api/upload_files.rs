//! Upload File: where it is stored, under which name, and for which user.

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::support::{Form, Part, TestApp, keys, on_both_engines};

on_both_engines![
    a_file_is_stored_below_its_path,
    path_parts_are_slugged_or_refused,
    names_are_slugged_and_shown_as_they_were,
    types_follow_the_media_type,
    a_file_is_needed_and_only_one,
    fields_are_checked,
    a_file_is_attached_to_one_thing_at_most,
    a_key_uploads_for_the_project_or_for_a_user,
    users_upload_only_for_themselves,
    anonymous_uploads_are_refused,
    a_project_without_the_bundle_stores_nothing,
    ten_uploads_in_five_minutes_are_enough,
];

const TEXT: Part<'_> =
    Part { name: "file", file: "Notes.TXT", mime: "text/plain", bytes: b"hello there" };

fn form() -> Form {
    Form::new().file(TEXT).json("pathParts", json!(["documents", "user-123"]))
}

async fn a_file_is_stored_below_its_path(app: TestApp) {
    let user = app.user().await;
    let sent = form().json("metadata", json!({ "colour": "red" })).text("position", "7");
    for actor in [user.v6(), user.v7(), (*user).clone()] {
        let reply = actor.post_form("/storage", &sent).await;
        let stored = reply.expect(201);
        let id = stored["fileId"].as_str().unwrap();
        let path = format!("documents/user-123/{id}/notes.txt");
        assert_eq!(stored["relativePath"], path);
        assert_eq!(stored["type"], "document");
        assert_eq!(stored["size"], 11);
        assert_eq!(stored["mimeType"], "text/plain");
        assert_eq!(stored["createdAt"], "2026-08-01T12:00:00.000Z");
        let place = app.data_dir().join("files").join(app.project.id.to_string()).join(path);
        assert_eq!(std::fs::read(place).unwrap(), b"hello there");
        let opened = app.anonymous().open(stored["publicPath"].as_str().unwrap()).await;
        assert_eq!((opened.status, opened.text().as_str()), (200, "hello there"));

        let file = user.get(&format!("/storage/{id}")).await.expect(200);
        assert_eq!((&file["id"], &file["fileId"]), (&stored["fileId"], &stored["fileId"]));
        assert_eq!(file["userId"], user.id.to_string());
        assert_eq!(file["position"], 7);
        assert_eq!(file["originalSize"], 11);
        assert_eq!(file["originalMimeType"], "text/plain");
        let metadata = json!({
            "colour": "red",
            "originalName": "Notes.TXT",
            "uploadedAt": "2026-08-01T12:00:00.000Z",
        });
        assert_eq!(file["metadata"], metadata);
        assert!(!keys(&file).contains(&"image".to_owned()), "it was not processed");
    }
    app.nothing_stays_staged().await;
}

async fn path_parts_are_slugged_or_refused(app: TestApp) {
    let app = app.own_server().await;
    let user = app.service();
    let upload = |parts: &str| {
        let form = Form::new().file(TEXT).text("pathParts", parts);
        let user = user.clone();
        async move { user.post_form("/storage", &form).await }
    };
    for (parts, folders) in [
        (r#"[" Größe & Maß ", "Отчёт"]"#, "grosse-mass/otchiot/"),
        (r#"["a/../../b", "%2e%2e"]"#, "a-b/2e-2e/"),
        (r#"["A_B.C"]"#, "a-b-c/"),
        ("[]", ""),
    ] {
        let stored = upload(parts).await.expect(201);
        let path = stored["relativePath"].as_str().unwrap();
        let id = stored["fileId"].as_str().unwrap();
        assert_eq!(path, format!("{folders}{id}/notes.txt"), "{parts}");
    }
    let many = format!("[{}\"a\"]", "\"a\",".repeat(10));
    let long = format!("[\"{}\"]", "a".repeat(101));
    let wrong = [
        r#"["..","etc"]"#,
        r#"["\u0000"]"#,
        r#"["a",""]"#,
        r#"["-"]"#,
        r#"["a",1]"#,
        r#"{"a":1}"#,
        "documents",
        "",
        "null",
        "[",
        &many,
        &long,
    ];
    for parts in wrong {
        let reply = upload(parts).await;
        let body = reply.refused(400, "storage/invalid-path-parts");
        assert_eq!(body["error"], "pathParts must be an array of strings");
    }
    let missing = user.post_form("/storage", &Form::new().file(TEXT)).await;
    missing.refused(400, "storage/invalid-path-parts");
    assert_eq!(files_outside(&app), Vec::<String>::new());
}

/// What lies in the data directory beside the files, and beside what belongs there.
fn files_outside(app: &TestApp) -> Vec<String> {
    let known = ["files", "staging", "townhall.db", "townhall.db-wal", "townhall.db-shm"];
    let entries = std::fs::read_dir(app.data_dir()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !known.contains(&name.as_str())).collect()
}

async fn names_are_slugged_and_shown_as_they_were(app: TestApp) {
    let key = app.service();
    let long = format!("{}.png", "x".repeat(7_000));
    for (name, stored, shown) in [
        ("../../x.png", "x.png", "../../x.png"),
        ("CON", "con", "CON"),
        (".htaccess", "htaccess", ".htaccess"),
        ("a%0D%0AX-Evil: 1.txt", "a-x-evil-1.txt", "aX-Evil: 1.txt"),
        ("photo\u{202e}gnp.exe", "photognp.exe", "photo\u{202e}gnp.exe"),
        ("", "file", ""),
        (long.as_str(), &format!("{}.png", "x".repeat(100)), &"x".repeat(255)),
    ] {
        let form = Form::new().file(Part { file: name, ..TEXT }).text("pathParts", "[\"a\"]");
        let reply = key.post_form("/storage", &form).await.expect(201);
        let path = reply["relativePath"].as_str().unwrap();
        assert!(path.ends_with(&format!("/{stored}")), "{name}: {path}");
        let id = reply["fileId"].as_str().unwrap();
        let file = key.get(&format!("/storage/{id}")).await.expect(200);
        assert_eq!(file["metadata"]["originalName"], shown, "{name}");
    }
    let nameless = Form::new()
        .part("Content-Disposition: form-data; name=\"file\"", b"x")
        .text("pathParts", "[]");
    let reply = key.post_form("/storage", &nameless).await.expect(201);
    assert!(reply["relativePath"].as_str().unwrap().ends_with("/file"));
    assert_eq!(reply["mimeType"], "application/octet-stream");
    let empty = Form::new().file(Part { bytes: b"", ..TEXT }).text("pathParts", "[]");
    let reply = key.post_form("/storage", &empty).await.expect(201);
    assert_eq!(reply["size"], 0);
    let opened = key.open(reply["publicPath"].as_str().unwrap()).await;
    assert_eq!((opened.status, opened.body.len()), (200, 0));
}

async fn types_follow_the_media_type(app: TestApp) {
    for (mime, kind, kept) in [
        ("image/png", "image", "image/png"),
        ("video/mp4", "video", "video/mp4"),
        ("application/pdf", "document", "application/pdf"),
        ("application/zip", "other", "application/zip"),
        ("", "other", "application/octet-stream"),
        ("nonsense", "other", "application/octet-stream"),
    ] {
        let form = Form::new().file(Part { mime, ..TEXT }).text("pathParts", "[]");
        let stored = app.service().post_form("/storage", &form).await.expect(201);
        assert_eq!((&stored["type"], &stored["mimeType"]), (&json!(kind), &json!(kept)), "{mime}");
    }
}

async fn a_file_is_needed_and_only_one(app: TestApp) {
    let key = app.service();
    let none = key.post_form("/storage", &Form::new().text("pathParts", "[]")).await;
    assert_eq!(none.refused(400, "storage/no-file")["error"], "No file provided");
    key.post("/storage", json!({ "pathParts": [] })).await.refused(400, "storage/no-file");
    let elsewhere = Form::new().file(Part { name: "files", ..TEXT }).text("pathParts", "[]");
    key.post_form("/storage", &elsewhere).await.refused(400, "storage/no-file");
    let two = form().file(TEXT);
    key.post_form("/storage", &two).await.refused(400, "storage/invalid-body");
}

async fn fields_are_checked(app: TestApp) {
    let key = app.service();
    let large = json!({ "a": "x".repeat(1024 * 1024) }).to_string();
    for (name, value) in [
        ("metadata", "{"),
        ("metadata", "[]"),
        ("metadata", ""),
        ("metadata", "{\"a\":\"\\u0000\"}"),
        ("metadata", &large),
        ("position", "first"),
        ("position", "1.5"),
        ("entityId", "x"),
        ("spaceId", "a\0b"),
    ] {
        let reply = key.post_form("/storage", &form().text(name, value)).await;
        reply.refused(400, "storage/invalid-body");
    }
    let twice = form().text("position", "1").text("position", "2");
    key.post_form("/storage", &twice).await.refused(400, "storage/invalid-body");
    app.nothing_stays_staged().await;
}

async fn a_file_is_attached_to_one_thing_at_most(app: TestApp) {
    let user = app.user().await;
    let nobody = "a44521d0-0fb8-4ade-8002-3385545c3318";
    for target in ["entityId", "commentId", "spaceId", "eventId"] {
        let reply = user.post_form("/storage", &form().text(target, nobody)).await;
        reply.refused(404, "storage/target-not-found");
    }
    let two = form().text("entityId", nobody).text("spaceId", nobody);
    user.post_form("/storage", &two).await.refused(400, "storage/invalid-body");
    assert_eq!(app.stored(), 0, "nothing was stored on the way");
}

async fn a_key_uploads_for_the_project_or_for_a_user(app: TestApp) {
    let user = app.user().await;
    let named = form().text("userId", &user.id.to_string());
    for (form, owner) in [(form(), Value::Null), (named, json!(user.id.to_string()))] {
        let stored = app.service().post_form("/storage", &form).await.expect(201);
        let path = format!("/storage/{}", stored["fileId"].as_str().unwrap());
        assert_eq!(app.service().get(&path).await.expect(200)["userId"], owner);
    }
}

async fn users_upload_only_for_themselves(app: TestApp) {
    let (user, other, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let named = |id: String| form().text("userId", &id);
    user.post_form("/storage", &named(user.id.to_string())).await.expect(201);
    let reply = user.post_form("/storage", &named(other.id.to_string())).await;
    reply.refused(403, "storage/unauthorized");
    for unknown in [stranger.id.to_string(), "x".to_owned()] {
        let reply = app.service().post_form("/storage", &named(unknown)).await;
        reply.refused(404, "user/not-found");
    }
}

async fn anonymous_uploads_are_refused(app: TestApp) {
    app.anonymous().post_form("/storage", &form()).await.says(401, "Unauthorized");
    let stranger = app.stranger().await.in_project(app.project.id);
    stranger.post_form("/storage", &form()).await.says(403, "Forbidden");
    app.anonymous().v7().post_form("/storage", &form()).await.refused(401, "auth/unauthorized");
    assert_eq!(app.stored(), 0);
}

async fn a_project_without_the_bundle_stores_nothing(app: TestApp) {
    let project = app.project_with(&[Bundle::Entities]).await;
    let key = app.bearer(&project.service_key).in_project(project.id);
    key.post_form("/storage", &form()).await.refused(403, "database/tables-not-available");
    let sign_up = Form::new()
        .text("email", "a@example.com")
        .text("password", "correct horse")
        .file(Part { name: "avatarFile", ..TEXT });
    let reply = key.post_form("/auth/sign-up", &sign_up).await;
    reply.refused(403, "database/tables-not-available");
    let plain = Form::new().text("email", "a@example.com").text("password", "correct horse");
    key.post_form("/auth/sign-up", &plain).await.expect(201);
}

async fn ten_uploads_in_five_minutes_are_enough(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let user = app.user().await;
    for _ in 0..10 {
        user.post_form("/storage", &form()).await.expect(201);
    }
    assert_eq!(user.post_form("/storage", &form()).await.status, 429);
    app.service().post_form("/storage", &form()).await.expect(201);
}
