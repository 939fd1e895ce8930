//! A deleted user's profile is removed from the files of an SQLite database, not only from its rows. On
//! PostgreSQL this is left to VACUUM.

use std::time::Duration;

use db::Engine;
use serde_json::json;

use crate::support::{TestApp, User};

/// In every text of the profile.
const MARK: &str = "xq7canary";

/// Whether the database, or the log beside it, holds the mark.
fn is_on_disk(app: &TestApp) -> bool {
    let has_mark = |bytes: Vec<u8>| bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes());
    let files = ["townhall.db", "townhall.db-wal"];
    files.iter().any(|file| std::fs::read(app.data_dir().join(file)).is_ok_and(has_mark))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_profile_is_gone_from_the_file_and_its_log() {
    let app = TestApp::start(Engine::Sqlite, "a_deleted_profile_is_gone_from_the_file_and_its_log")
        .await
        .own_server()
        .await;
    // Others before and after, so that the profile shares its pages.
    let mut others = Vec::new();
    for _ in 0..10 {
        others.push(app.user().await);
    }
    let sign_up = json!({
        "email": format!("{MARK}@example.com"),
        "password": User::PASSWORD,
        "username": MARK,
        "name": format!("Name {MARK}"),
    });
    let reply = app.anonymous().post("/auth/sign-up", sign_up).await.expect(201);
    let user = User::from_reply(&app, app.project.id, &reply);
    for _ in 0..10 {
        others.push(app.user().await);
    }
    let profile = json!({
        "bio": format!("{MARK} ").repeat(30),
        "metadata": { "about": MARK, "more": format!("{MARK} ").repeat(2_000) },
    });
    user.patch(&format!("/users/{}", user.id), profile).await.expect(200);
    user.patch(&format!("/users/{}", user.id), json!({ "bio": MARK })).await.expect(200);
    user.post("/auth/send-verification-email", json!({})).await.expect(200);
    app.run_jobs().await;
    app.index().await;
    assert!(is_on_disk(&app), "it was written");

    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    app.run_jobs().await;
    app.index().await;
    app.advance(Duration::from_secs(10));
    app.run_jobs().await;
    assert!(!is_on_disk(&app), "the job has emptied the log");
    others[0].get("/users/suggestions?query=user").await.expect(200);
    app.app.db.close().await;
    assert!(!is_on_disk(&app));
}
