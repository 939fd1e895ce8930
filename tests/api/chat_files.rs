//! Files of messages: sent in a form, shown with their message, and hidden from users who may not see it.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::support::chat::{
    MESSAGE, NOBODY, add, at, block, direct, gif, group, leave, messages, of, send, words,
};
use crate::support::{Actor, Form, Part, TestApp, User, keys, on_both_engines};

on_both_engines![
    a_form_carries_everything_that_json_does,
    files_alone_are_a_message,
    files_are_shown_where_they_are_asked_for,
    forms_are_checked_as_json_is,
    files_are_counted_and_bounded,
    a_refused_message_leaves_no_files,
    forms_name_who_acts,
    files_need_their_bundle,
    files_are_seen_with_their_message,
    files_go_with_their_message,
    the_files_of_a_message_are_all_that_is_left_of_it,
];

fn part<'a>(file: &'a str, bytes: &'a [u8]) -> Part<'a> {
    Part { name: "files", file, mime: "text/plain", bytes }
}

async fn post(actor: &Actor<'_>, conversation: &str, form: &Form) -> Value {
    actor.post_form(&of(conversation, "/messages"), form).await.expect(201)
}

fn storage(file: &Value) -> String {
    format!("/storage/{}", file["id"].as_str().unwrap())
}

async fn a_form_carries_everything_that_json_does(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let first = send(&ada, &id, "first").await;
    let mentions = json!([{ "type": "user", "id": bob.id, "username": "bob" }]);
    let form = Form::new()
        .text("content", "see")
        .json("gif", gif())
        .json("mentions", mentions.clone())
        .json("metadata", json!({ "a": 1 }))
        .text("parentMessageId", first["id"].as_str().unwrap())
        .text("quotedMessageId", first["id"].as_str().unwrap())
        .text("localId", "mine")
        .file(part("one.txt", b"one"))
        .file(Part { name: "files", file: "two.pdf", mime: "application/pdf", bytes: b"%PDF" });
    let sent = post(&bob, &id, &form).await;
    assert_eq!(keys(&sent), words(&format!("{MESSAGE} localId")));
    assert_eq!((&sent["content"], &sent["gif"]), (&json!("see"), &gif()));
    assert_eq!((&sent["mentions"], &sent["metadata"]), (&mentions, &json!({ "a": 1 })));
    assert_eq!(
        (&sent["parentMessageId"], &sent["quotedMessage"]["id"]),
        (&first["id"], &first["id"])
    );
    assert_eq!(sent["localId"], "mine");
    let files = sent["files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    for (place, (file, size)) in files.iter().zip([3, 4]).enumerate() {
        assert_eq!((&file["chatMessageId"], &file["userId"]), (&sent["id"], &json!(bob.id)));
        assert_eq!((&file["position"], &file["originalSize"]), (&json!(place), &json!(size)));
    }
    let opened = app.anonymous().open(files[0]["originalPath"].as_str().unwrap()).await;
    assert_eq!((opened.status, opened.text().as_str()), (200, "one"));
    app.nothing_stays_staged().await;
}

async fn files_alone_are_a_message(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let sent = post(&ada, &id, &Form::new().file(part("a.txt", b"a"))).await;
    assert_eq!((&sent["content"], &sent["gif"]), (&Value::Null, &Value::Null));
    let shown = ada.get(&of(&id, "/preview")).await.expect(200);
    assert_eq!(shown["lastMessage"]["files"][0]["id"], sent["files"][0]["id"]);
    // A form without files is like JSON.
    let plain = post(&ada, &id, &Form::new().text("content", "x")).await;
    assert_eq!(plain["files"], json!([]));
    let empty = ada.post_form(&of(&id, "/messages"), &Form::new().text("content", " ")).await;
    empty.refused(400, "chat/empty-message");
    // What it has files for, it need not have content for.
    let path = at(&id, &sent);
    let edited = ada.patch(&path, json!({ "content": "y" })).await.expect(200);
    assert_eq!(edited["files"][0]["id"], sent["files"][0]["id"]);
    assert_eq!(
        ada.patch(&path, json!({ "content": null })).await.expect(200)["content"],
        Value::Null
    );
}

async fn files_are_shown_where_they_are_asked_for(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let plain = send(&ada, &id, "plain").await;
    let sent = post(&ada, &id, &Form::new().file(part("a.txt", b"a"))).await;
    for (query, with) in [
        ("", false),
        ("?include=grants", false),
        ("?include=files", true),
        ("?include=grants,files", true),
    ] {
        let page = messages(&ada, &id, query).await;
        let files = page["messages"][0].get("files").map(|files| files[0]["id"].clone());
        assert_eq!(files, with.then(|| sent["files"][0]["id"].clone()), "{query}");
        assert_eq!(page["messages"][1].get("files"), with.then(|| json!([])).as_ref(), "{query}");
    }
    assert_eq!(ada.get(&at(&id, &plain)).await.expect(200)["files"], json!([]));
    assert_eq!(
        ada.get(&at(&id, &sent)).await.expect(200)["files"][0]["id"],
        sent["files"][0]["id"]
    );
}

async fn forms_are_checked_as_json_is(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let form = || Form::new().text("content", "x").file(part("a.txt", b"a"));
    for (form, code) in [
        (form().text("gif", "{"), "chat/invalid-body"),
        (form().json("gif", json!({ "id": "g" })), "chat/invalid-body"),
        (form().text("mentions", "all"), "chat/invalid-body"),
        (form().json("metadata", json!([])), "chat/invalid-body"),
        (form().json("metadata", json!({ "m": "m".repeat(10 * 1024) })), "chat/invalid-body"),
        (form().text("parentMessageId", "x"), "chat/invalid-body"),
        (form().text("parentMessageId", NOBODY), "chat/invalid-parent"),
        (form().text("quotedMessageId", NOBODY), "chat/invalid-quote"),
    ] {
        let sent = ada.post_form(&of(&id, "/messages"), &form).await;
        sent.refused(400, code);
    }
    app.nothing_stays_staged().await;
    app.run_jobs().await;
    assert_eq!(app.stored(), 0, "nothing of them is kept");
}

async fn files_are_counted_and_bounded(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let of_many = |count: usize| {
        (0..count).fold(Form::new(), |form, number| {
            form.file(Part { file: &format!("{number}.txt"), ..part("", b"a") })
        })
    };
    let path = of(&id, "/messages");
    let sent = ada.post_form(&path, &of_many(10)).await.expect(201);
    assert_eq!(sent["files"].as_array().unwrap().len(), 10);
    ada.post_form(&path, &of_many(11)).await.refused(400, "chat/too-many-files");
    let large = vec![7; 52_428_801];
    let refused = ada.post_form(&path, &Form::new().file(part("large.bin", &large))).await;
    assert!(refused.refused(413, "chat/file-too-large")["message"].is_string());
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 10);
}

async fn a_refused_message_leaves_no_files(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let (id, two) = (group(&ada, &[&bob]).await, direct(&ada, &bob).await);
    leave(&bob, &id).await;
    block(&bob, &ada).await;
    let form = Form::new().file(part("a.txt", b"a"));
    for (user, id, outcome) in [
        (&bob, &id, "403 chat/not-a-member"),
        (&cleo, &id, "403 chat/not-a-member"),
        (&ada, &two, "404 chat/not-found"),
    ] {
        let sent = user.post_form(&of(id, "/messages"), &form).await;
        assert_eq!(sent.outcome(), outcome);
    }
    app.suspend(ada.id).await;
    ada.post_form(&of(&id, "/messages"), &form).await.refused(403, "user/suspended");
    app.nothing_stays_staged().await;
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
}

async fn forms_name_who_acts(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let path = of(&id, "/messages");
    let form = |user: Option<&User<'_>>| {
        let form = Form::new().file(part("a.txt", b"a"));
        user.map_or(form.clone(), |user| form.text("userId", &user.id.to_string()))
    };
    let by_key = app.service().post_form(&path, &form(Some(&bob))).await.expect(201);
    assert_eq!(
        (&by_key["userId"], &by_key["files"][0]["userId"]),
        (&json!(bob.id), &json!(bob.id))
    );
    app.service().post_form(&path, &form(None)).await.refused(400, "chat/missing-user-id");
    ada.post_form(&path, &form(Some(&bob))).await.refused(403, "chat/unauthorized");
    ada.post_form(&path, &form(Some(&ada))).await.expect(201);
}

async fn files_need_their_bundle(app: TestApp) {
    let project = app.project_with(&[Bundle::Chat]).await;
    let body = json!({ "email": "ada@example.com", "password": User::PASSWORD });
    let anonymous = app.anonymous().in_project(project.id);
    let signed_up = anonymous.post("/auth/sign-up", body).await.expect(201);
    let ada = User::from_reply(&app, project.id, &signed_up);
    let id = group(&ada, &[]).await;
    let form = Form::new().text("content", "x");
    let with_file = form.clone().file(part("a.txt", b"a"));
    let refused = ada.post_form(&of(&id, "/messages"), &with_file).await;
    refused.refused(403, "database/tables-not-available");
    post(&ada, &id, &form).await;
}

async fn files_are_seen_with_their_message(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (cleo, stranger) = (app.user().await, app.stranger().await);
    let id = group(&ada, &[&bob]).await;
    let before = post(&ada, &id, &Form::new().file(part("a.txt", b"a"))).await;
    let before = storage(&before["files"][0]);
    let is_seen = async |path: &str, expected: [bool; 3]| {
        for (user, expected) in [&ada, &bob, &cleo].into_iter().zip(expected) {
            let outcome = user.get(path).await.outcome();
            assert_eq!(outcome, if expected { "200" } else { "404 storage/file-not-found" });
        }
        stranger.get(path).await.refused(404, "storage/file-not-found");
        app.service().get(path).await.expect(200);
    };
    is_seen(&before, [true, true, false]).await;
    leave(&bob, &id).await;
    app.advance(Duration::from_secs(1));
    let after = post(&ada, &id, &Form::new().file(part("b.txt", b"b"))).await;
    let after_path = storage(&after["files"][0]);
    is_seen(&before, [true, true, false]).await;
    is_seen(&after_path, [true, false, false]).await;
    add(&ada, &id, &cleo).await.expect(201);
    is_seen(&before, [true, true, true]).await;
    // Only its owner may delete it, and for users who may not see it, it does not exist.
    cleo.delete(&after_path).await.refused(403, "storage/unauthorized");
    bob.delete(&after_path).await.refused(404, "storage/file-not-found");
    // Removed by an admin: out of sight, and kept.
    let of_cleo = post(&cleo, &id, &Form::new().file(part("c.txt", b"c"))).await;
    ada.delete(&at(&id, &of_cleo)).await.expect(200);
    is_seen(&storage(&of_cleo["files"][0]), [false, false, false]).await;
}

async fn files_go_with_their_message(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let form = Form::new().file(part("a.txt", b"a")).file(part("b.txt", b"b"));
    let (sent, kept) = (post(&bob, &id, &form).await, post(&bob, &id, &form).await);
    assert_eq!(app.stored(), 4);
    bob.delete(&at(&id, &sent)).await.expect(200);
    for file in sent["files"].as_array().unwrap() {
        for user in [&ada, &bob] {
            user.get(&storage(file)).await.refused(404, "storage/file-not-found");
        }
        let url = file["originalPath"].as_str().unwrap();
        assert_eq!(app.anonymous().open(url).await.status, 404);
    }
    assert_eq!(ada.get(&at(&id, &sent)).await.expect(200)["files"], json!([]));
    app.run_jobs().await;
    assert_eq!(app.stored(), 2);
    bob.get(&storage(&kept["files"][0])).await.expect(200);
}

async fn the_files_of_a_message_are_all_that_is_left_of_it(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let form = Form::new().file(part("a.txt", b"a")).file(part("b.txt", b"b"));
    let sent = post(&ada, &id, &form).await;
    ada.delete(&storage(&sent["files"][0])).await.expect(200);
    let shown = ada.get(&at(&id, &sent)).await.expect(200);
    assert_eq!(shown["files"].as_array().unwrap().len(), 1);
    assert_eq!(shown["files"][0]["id"], sent["files"][1]["id"]);
    // Nobody attaches a file to a message that is there.
    let file = Part { name: "file", ..part("c.txt", b"c") };
    let form = Form::new().text("pathParts", "[]").file(file);
    let form = form.text("chatMessageId", sent["id"].as_str().unwrap());
    let attached = ada.post_form("/storage", &form).await;
    let shown = ada.get(&at(&id, &sent)).await.expect(200);
    assert_eq!(shown["files"].as_array().unwrap().len(), 1, "{}", attached.text());
}
