//! Export User: everything that is stored about somebody, for them.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Form, Part, TestApp, User, fresh_directory, on_both_engines};
use crate::transfer::{command, json_of};

on_both_engines![
    a_user_gets_everything_by_mail,
    a_key_gets_the_address_and_others_get_nothing,
    an_archive_goes_after_three_days_or_with_its_user,
    the_command_writes_the_same_archive,
];

/// Something of every kind that a user has.
async fn fill(app: &TestApp) -> (User<'_>, User<'_>) {
    let (ann, bob) = (app.user().await, app.user().await);
    let entity = ann.post("/entities", json!({ "title": "mine" })).await.expect(201);
    let id = entity["id"].as_str().unwrap();
    bob.post("/entities", json!({ "title": "of another" })).await.expect(201);
    ann.post("/comments", json!({ "entityId": id, "content": "my comment" })).await.expect(201);
    bob.post("/comments", json!({ "entityId": id, "content": "not mine" })).await.expect(201);
    ann.post(&format!("/entities/{id}/reactions"), json!({ "reactionType": "like" }))
        .await
        .expect(200);
    ann.post(&format!("/users/{}/follow", bob.id), json!({})).await.expect(201);
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"my bytes" };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    ann.post_form("/storage", &form).await.expect(201);
    app.run_jobs().await;
    (ann, bob)
}

/// The files in an archive.
pub fn opened(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(name, bytes);
    }
    files
}

#[track_caller]
fn check(app: &TestApp, ann: &User<'_>, bytes: &[u8]) {
    let files = opened(bytes);
    let json = |name: &str| -> Vec<Value> {
        let bytes = files.get(name).unwrap_or_else(|| panic!("{name}: {:?}", files.keys()));
        serde_json::from_slice(bytes).unwrap()
    };
    let profile = &json("user.json")[0];
    assert_eq!((&profile["id"], &profile["email"]), (&json!(ann.id), &json!(ann.email)));
    assert!(profile.get("passwordHash").is_none() && profile.get("secureMetadata").is_none());
    assert_eq!((json("entity.json").len(), &json("entity.json")[0]["title"]), (1, &json!("mine")));
    assert_eq!(json("comment.json")[0]["content"], "my comment");
    assert_eq!(json("comment.json").len(), 1);
    assert_eq!(json("reaction.json")[0]["reactionType"], "like");
    assert_eq!((json("follow.json").len(), json("notification.json").len()), (1, 1));
    assert!(json("session.json")[0].get("expiresAt").is_some());
    assert!(json("session.json")[0].get("id").is_none(), "a token's id is not for everybody");
    assert_eq!(json("file.json").len(), 1, "an earlier archive is not part of it");
    let stored: Vec<&Vec<u8>> = files
        .iter()
        .filter(|(name, _)| name.starts_with("files/"))
        .map(|(_, bytes)| bytes)
        .collect();
    assert_eq!(stored, [b"my bytes"]);
    let about: Value = serde_json::from_slice(&files["about.json"]).unwrap();
    assert_eq!((&about["projectId"], &about["files"]), (&json!(app.project.id), &json!(1)));
    assert_eq!(about["missingFiles"], json!([]));
}

/// The address in a mail.
fn address(text: &str) -> String {
    let at = text.find("https://community.example/internal/files/");
    let at = at.unwrap_or_else(|| panic!("{text}"));
    text[at..].split_whitespace().next().unwrap().to_owned()
}

async fn a_user_gets_everything_by_mail(app: TestApp) {
    let app = app.own_server().await;
    let (ann, _) = fill(&app).await;
    for _ in 0..2 {
        let asked = ann.post(&format!("/users/{}/export", ann.id), json!({})).await.expect(202);
        assert_eq!(
            asked["expiresAt"],
            app.now().plus(Duration::from_secs(3 * 24 * 3600)).to_string()
        );
        assert!(asked.get("url").is_none(), "only the mail has it");
        let mail = app.next_mail().await;
        assert!(mail.contains(&format!("To: {}", ann.email)), "{mail}");
        let plain = mail.replace("=\r\n", "").replace("=3D", "=");
        let reply = app.anonymous().open(&address(&plain)).await;
        check(&app, &ann, &reply.body);
        app.advance(Duration::from_secs(1));
    }
}

async fn a_key_gets_the_address_and_others_get_nothing(app: TestApp) {
    let app = app.own_server().await;
    let (ann, bob) = fill(&app).await;
    let path = format!("/users/{}/export", ann.id);
    bob.post(&path, json!({})).await.refused(403, "user/not-authorized");
    app.anonymous().post(&path, json!({})).await.says(401, "Unauthorized");
    let nobody = "/users/0f8fad5b-d9cb-469f-a165-70867728950e/export";
    app.service().post(nobody, json!({})).await.refused(404, "user/not-found");
    let address = "/users/by-foreign-id?foreignId=silent&createIfNotFound=true";
    let without = app.service().get(address).await.expect(201);
    let silent = format!("/users/{}/export", without["id"].as_str().unwrap());
    app.service().post(&silent, json!({})).await.expect(202);
    let asked = app.service().post(&path, json!({})).await.expect(202);
    let url = asked["url"].as_str().unwrap().to_owned();
    let early = app.anonymous().open(&url).await;
    assert_eq!(early.status, 404, "it is not made yet");
    app.run_jobs().await;
    check(&app, &ann, &app.anonymous().open(&url).await.body);
    let forged = url.replace("signature=", "signature=0");
    assert_eq!(app.anonymous().open(&forged).await.status, 403);
}

async fn an_archive_goes_after_three_days_or_with_its_user(app: TestApp) {
    let app = app.own_server().await;
    let (ann, bob) = fill(&app).await;
    let before = app.rows("files").await;
    let mut urls = Vec::new();
    for user in [&ann, &bob] {
        let asked = app.service().post(&format!("/users/{}/export", user.id), json!({})).await;
        urls.push(asked.expect(202)["url"].as_str().unwrap().to_owned());
    }
    app.run_jobs().await;
    assert_eq!(app.rows("files").await, before + 2);
    app.service().delete(&format!("/users/{}", ann.id)).await.expect(204);
    app.run_jobs().await;
    assert_eq!(app.anonymous().open(&urls[0]).await.status, 404);
    assert_eq!(app.anonymous().open(&urls[1]).await.status, 200);
    app.advance(Duration::from_secs(3 * 24 * 3600 + 1));
    app.run_jobs().await;
    app.run_jobs().await;
    assert_eq!(app.anonymous().open(&urls[1]).await.status, 403);
    assert_eq!((app.rows("files").await, app.stored()), (0, 0), "bytes, too");
}

async fn the_command_writes_the_same_archive(app: TestApp) {
    let app = app.own_server().await;
    let (ann, _) = fill(&app).await;
    let path = fresh_directory().join("ann.tar.gz");
    let (project, user) = (app.project.id.to_string(), ann.id.to_string());
    let arguments = ["user", "export", "--project", &project, &user];
    let done = json_of(command(&app).args(arguments).arg(&path));
    assert_eq!(done["files"], 1);
    check(&app, &ann, &std::fs::read(&path).unwrap());
    let receipt = ["user", "erase", "--project", &project, "--user", &user, "--yes"];
    let receipt = json_of(command(&app).args(receipt));
    assert_eq!((&receipt["documents"]["entity"], &receipt["files"]), (&json!(1), &json!(1)));
}
