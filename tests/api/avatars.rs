//! Avatar and banner: images sent with a sign-up or an update, how they are shown with a user, and what
//! happens to the replaced ones.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Form, Part, TestApp, User, keys, on_both_engines, png, png_claiming};

on_both_engines![
    a_sign_up_takes_pictures,
    pictures_are_shown_where_they_are_asked_for,
    a_sign_up_without_files_may_be_a_form,
    pictures_need_their_options,
    invalid_images_are_refused,
    avatar_and_banner_are_bounded_together,
    an_update_replaces_pictures,
    an_update_by_form_clears_and_sets_fields,
    an_avatar_is_taken_down_with_its_file,
    an_address_takes_the_place_of_an_uploaded_avatar,
    the_oldest_version_takes_pictures_too,
    users_change_only_their_own_pictures,
    a_deleted_file_leaves_the_profile,
    a_deleted_user_takes_their_files_along,
    files_of_other_users_stay,
];

/// A picture with the options that it needs.
pub(crate) fn picture(form: Form, name: &str) -> Form {
    let bytes = png(80, 60);
    form.file(Part { name, file: "Me.png", mime: "image/png", bytes: &bytes }).json(
        &format!("{name}.options"),
        json!({ "mode": "exact-dimensions", "dimensions": { "small": { "width": 50, "height": 50 } } }),
    )
}

fn new_user(email: &str) -> Form {
    Form::new().text("email", email).text("password", User::PASSWORD)
}

async fn opens(app: &TestApp, url: &Value) -> bool {
    app.anonymous().open(url.as_str().unwrap()).await.status == 200
}

async fn a_sign_up_takes_pictures(app: TestApp) {
    let form = picture(picture(new_user("ada@example.com"), "avatarFile"), "bannerFile")
        .text("name", "Ada")
        .text("avatar", "https://elsewhere.example/a.png")
        .json("location", json!({ "latitude": 1.5, "longitude": 2.5 }))
        .json("metadata", json!({ "a": [1, 2] }));
    let reply = app.anonymous().post_form("/auth/sign-up", &form).await.expect(201);
    let user = &reply["user"];
    assert_eq!((&user["name"], &user["metadata"]), (&json!("Ada"), &json!({ "a": [1, 2] })));
    assert_eq!(user["location"]["coordinates"], json!([2.5, 1.5]));
    let (avatar, banner) = (&user["avatarFile"], &user["bannerFile"]);
    assert_eq!((&user["avatarFileId"], &user["bannerFileId"]), (&avatar["id"], &banner["id"]));
    assert_eq!(user["avatar"], avatar["originalPath"], "the address that was sent is ignored");
    let id = avatar["id"].as_str().unwrap();
    let variant = &avatar["image"]["variants"]["small"];
    assert_eq!(variant["path"], format!("avatars/{id}/small_original.webp"));
    assert_eq!(avatar["userId"], user["id"]);
    for url in [&user["avatar"], &variant["publicPath"], &banner["originalPath"]] {
        assert!(opens(&app, url).await, "{url}");
    }
    assert_eq!(app.stored(), 4);
    app.nothing_stays_staged().await;
}

async fn signed_up<'a>(app: &'a TestApp, email: &str) -> User<'a> {
    let form = picture(picture(new_user(email), "avatarFile"), "bannerFile");
    let reply = app.anonymous().post_form("/auth/sign-up", &form).await.expect(201);
    User::from_reply(app, app.project.id, &reply)
}

async fn pictures_are_shown_where_they_are_asked_for(app: TestApp) {
    let user = signed_up(&app, "ada@example.com").await;
    let path = format!("/users/{}", user.id);
    let plain = app.anonymous().get(&path).await.expect(200);
    assert!(opens(&app, &plain["avatar"]).await);
    assert!(plain["avatarFileId"].is_string());
    assert!(!keys(&plain).contains(&"avatarFile".to_owned()));
    let full = app.anonymous().get(&format!("{path}?include=files")).await.expect(200);
    assert_eq!(full["avatarFile"]["id"], full["avatarFileId"]);
    assert_eq!(full["bannerFile"]["image"]["originalWidth"], 80);
    let signed_in = user.sign_in_reply().await.expect(200);
    assert_eq!(signed_in["user"]["bannerFile"]["id"], full["bannerFileId"]);
    let body = json!({ "refreshToken": user.refresh_token });
    let refreshed = app.anonymous().post("/auth/request-new-access-token", body).await.expect(200);
    assert_eq!(refreshed["user"]["avatarFile"]["id"], full["avatarFileId"]);

    let bare = app.user().await;
    let full = bare.get(&format!("/users/{}?include=files", bare.id)).await.expect(200);
    assert_eq!((&full["avatarFile"], &full["bannerFile"]), (&Value::Null, &Value::Null));
    assert!(keys(&full).contains(&"avatarFile".to_owned()));
}

async fn a_sign_up_without_files_may_be_a_form(app: TestApp) {
    let form = new_user("ada@example.com").text("name", "").text("username", "ada");
    let reply = app.anonymous().post_form("/auth/sign-up", &form).await.expect(201);
    assert_eq!((&reply["user"]["name"], &reply["user"]["username"]), (&Value::Null, &json!("ada")));
    assert_eq!(reply["user"]["avatarFile"], Value::Null);
    let wrong = new_user("b@example.com").text("location", "here");
    app.anonymous().post_form("/auth/sign-up", &wrong).await.refused(400, "auth/invalid-body");
    let missing = Form::new().text("email", "c@example.com");
    let v6 = app.anonymous().v6().post_form("/auth/sign-up", &missing).await;
    v6.refused(400, "auth/missing-fields");
}

async fn pictures_need_their_options(app: TestApp) {
    let bytes = png(80, 60);
    let part = Part { name: "bannerFile", file: "b.png", mime: "image/png", bytes: &bytes };
    let form = new_user("ada@example.com").file(part);
    for options in [None, Some("{}"), Some("null"), Some("[]"), Some("\"mode\"")] {
        let form =
            options.map_or(form.clone(), |text| form.clone().text("bannerFile.options", text));
        let refused = app.anonymous().post_form("/auth/sign-up", &form).await;
        let body = refused.refused(400, "auth/missing-image-options");
        assert_eq!(body["message"], body["error"]);
    }
    for options in [
        "{",
        "{\"mode\":\"x\"}",
        "{\"mode\":\"original-aspect\",\"quality\":0}",
        "{\"mode\":\"original-aspect\",\"pathParts\":[\"..\"]}",
    ] {
        let form = form.clone().text("bannerFile.options", options);
        let refused = app.anonymous().post_form("/auth/sign-up", &form).await;
        refused.refused(400, "auth/invalid-body");
    }
    // Only the mode is needed.
    let folders = json!({ "mode": "original-aspect", "pathParts": ["Covers"] });
    let form = form.clone().json("bannerFile.options", folders);
    let reply = app.anonymous().post_form("/auth/sign-up", &form).await.expect(201);
    let banner = &reply["user"]["bannerFile"];
    assert_eq!(banner["image"]["variants"], json!({}));
    assert!(banner["originalPath"].as_str().unwrap().contains("/covers/"), "{banner}");
    let user = app.user().await;
    let path = format!("/users/{}", user.id);
    let refused = user.send_form(Method::PATCH, &path, &Form::new().file(part)).await;
    refused.refused(400, "user/missing-image-options");
}

async fn invalid_images_are_refused(app: TestApp) {
    let options = json!({ "mode": "original-aspect" });
    let with = |bytes: &[u8]| {
        let part = Part { name: "avatarFile", file: "me.png", mime: "image/png", bytes };
        Form::new().file(part).json("avatarFile.options", options.clone())
    };
    let user = app.user().await;
    let path = format!("/users/{}", user.id);
    let large = vec![0; 52_428_801];
    for (form, status, slug) in
        [(with(b"text"), 422, "invalid-image"), (with(&large), 413, "file-too-large")]
    {
        let updated = user.send_form(Method::PATCH, &path, &form).await;
        let body = updated.refused(status, &format!("user/{slug}"));
        assert_eq!(body["message"], body["error"]);
        assert!(body["error"].as_str().unwrap().contains("\"me.png\""), "{body}");
        let form = form.text("email", "ada@example.com").text("password", "correct horse");
        let signed = app.anonymous().post_form("/auth/sign-up", &form).await;
        let body = signed.refused(status, &format!("auth/{slug}"));
        if status == 413 {
            assert_eq!(body["message"], "Avatar \"me.png\" exceeds 50MB limit.");
        }
    }
    let two = picture(picture(Form::new(), "avatarFile"), "avatarFile");
    user.send_form(Method::PATCH, &path, &two).await.refused(400, "user/invalid-body");
    let sign_in = json!({ "email": "ada@example.com", "password": "correct horse" });
    app.anonymous().post("/auth/sign-in", sign_in).await.refused(403, "auth/no-user-found");
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 0);
}

async fn avatar_and_banner_are_bounded_together(app: TestApp) {
    let large = png_claiming(8_000, 8_000);
    let mut form = new_user("ada@example.com");
    for name in ["avatarFile", "bannerFile"] {
        form = form
            .file(Part { name, file: name, mime: "image/png", bytes: &large })
            .json(&format!("{name}.options"), json!({ "mode": "original-aspect" }));
    }
    let refused = app.anonymous().post_form("/auth/sign-up", &form).await;
    assert_eq!(refused.outcome(), "422 auth/invalid-image");
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("bannerFile") && message.contains("together"), "{message}");
    assert_eq!(app.stored(), 0);
}

async fn an_update_replaces_pictures(app: TestApp) {
    let user = signed_up(&app, "ada@example.com").await;
    let path = format!("/users/{}", user.id);
    let before = user.get(&path).await.expect(200);
    let form = picture(Form::new(), "avatarFile");
    for actor in [(*user).clone(), app.service()] {
        let after = actor.send_form(Method::PATCH, &path, &form).await.expect(200);
        assert_ne!(after["avatarFileId"], before["avatarFileId"]);
        assert_eq!(after["bannerFileId"], before["bannerFileId"]);
        assert!(opens(&app, &after["avatar"]).await);
        assert_eq!(after["avatarFile"]["userId"], user.id.to_string());
    }
    let gone = app.anonymous().open(before["avatar"].as_str().unwrap()).await;
    gone.refused(404, "storage/file-not-found");
    app.run_jobs().await;
    assert_eq!(app.stored(), 4, "the replaced ones are gone");
}

async fn an_update_by_form_clears_and_sets_fields(app: TestApp) {
    let user = app.user().await;
    let path = format!("/users/{}", user.id);
    let set = json!({ "name": "Ada", "birthdate": "1815-12-10", "bio": "x",
        "location": { "latitude": 1, "longitude": 2 } });
    user.patch(&path, set).await.expect(200);
    let form = Form::new().text("name", "").text("birthdate", "").text("location", "null");
    let after = user.send_form(Method::PATCH, &path, &form).await.expect(200);
    for cleared in ["name", "birthdate", "location"] {
        assert_eq!(after[cleared], Value::Null, "{cleared}");
    }
    assert_eq!(after["bio"], "x");
    let wrong = Form::new().json("metadata", json!([1]));
    user.send_form(Method::PATCH, &path, &wrong).await.refused(400, "user/invalid-body");
}

async fn an_avatar_is_taken_down_with_its_file(app: TestApp) {
    let user = signed_up(&app, "ada@example.com").await;
    let path = format!("/users/{}", user.id);
    let after = user.patch(&path, json!({ "avatar": null })).await.expect(200);
    for cleared in ["avatar", "avatarFileId", "avatarFile"] {
        assert_eq!(after[cleared], Value::Null, "{cleared}");
    }
    assert!(after["bannerFile"].is_object());
    app.run_jobs().await;
    assert_eq!(app.stored(), 2, "the banner and its variant");
}

async fn an_address_takes_the_place_of_an_uploaded_avatar(app: TestApp) {
    let user = signed_up(&app, "ada@example.com").await;
    let path = format!("/users/{}", user.id);
    let url = "https://elsewhere.example/a.png";
    let after = user.patch(&path, json!({ "avatar": url })).await.expect(200);
    assert_eq!(after["avatar"], url);
    let form = picture(Form::new(), "avatarFile").text("avatar", url);
    let after = user.send_form(Method::PATCH, &path, &form).await.expect(200);
    assert_eq!(after["avatar"], after["avatarFile"]["originalPath"]);
}

async fn the_oldest_version_takes_pictures_too(app: TestApp) {
    let user = app.user().await;
    let path = format!("/users/{}", user.id);
    let form = picture(Form::new(), "avatarFile");
    let after = user.v6().send_form(Method::PATCH, &path, &form).await.expect(200);
    assert!(after["avatarFile"].is_object());
    let wrapped = form.json("update", json!({ "name": "Ada" }));
    let after = user.v6().send_form(Method::PATCH, &path, &wrapped).await.expect(200);
    assert_eq!(after["name"], "Ada");
    let empty = Form::new().json("update", json!({}));
    let refused = user.v6().send_form(Method::PATCH, &path, &empty).await;
    refused.refused(400, "user/missing-data");
}

async fn users_change_only_their_own_pictures(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let form = picture(Form::new(), "avatarFile");
    let path = format!("/users/{}", other.id);
    user.send_form(Method::PATCH, &path, &form).await.refused(403, "user/not-authorized");
    let stranger = format!("/users/{}", app.stranger().await.id);
    app.service().send_form(Method::PATCH, &stranger, &form).await.refused(404, "user/not-found");
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
}

async fn a_deleted_file_leaves_the_profile(app: TestApp) {
    let user = signed_up(&app, "ada@example.com").await;
    let path = format!("/users/{}", user.id);
    let before = user.get(&path).await.expect(200);
    for (file, cleared) in [("avatarFileId", "avatar"), ("bannerFileId", "bannerFileId")] {
        let file = before[file].as_str().unwrap();
        user.delete(&format!("/storage/{file}")).await.expect(200);
        let after = user.get(&format!("{path}?include=files")).await.expect(200);
        assert_eq!(after[cleared], Value::Null, "{cleared}");
    }
    let after = user.get(&format!("{path}?include=files")).await.expect(200);
    assert_eq!((&after["avatarFile"], &after["bannerFile"]), (&Value::Null, &Value::Null));
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
}

async fn a_deleted_user_takes_their_files_along(app: TestApp) {
    let user = signed_up(&app, "ada@example.com").await;
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };
    let form = Form::new().file(part).text("pathParts", "[]");
    let file = user.post_form("/storage", &form).await.expect(201);
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    let gone = app.anonymous().open(file["publicPath"].as_str().unwrap()).await;
    gone.refused(404, "storage/file-not-found");
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
}

async fn files_of_other_users_stay(app: TestApp) {
    let (leaving, staying) =
        (signed_up(&app, "ada@example.com").await, signed_up(&app, "bob@example.com").await);
    app.service().delete(&format!("/users/{}", leaving.id)).await.expect(204);
    app.run_jobs().await;
    assert_eq!(app.stored(), 4);
    let seen = app.anonymous().get(&format!("/users/{}", staying.id)).await.expect(200);
    assert!(opens(&app, &seen["avatar"]).await);
}
