//! An owner downloads everything of a project: the archive is what the command writes, and nobody else gets it.

use serde_json::{Value, json};
use townhall::audit::store::{Filter, list};
use townhall::auth::operators::Role;
use townhall::features::exports::download::{self, Format, Wanted};

use crate::support::visitor::Visitor;
use crate::support::{Form, Part, TestApp, on_both_engines};
use crate::user_export::opened;

on_both_engines![
    an_owner_downloads_a_project,
    it_can_be_tables,
    it_is_for_owners_and_in_the_log,
    one_is_made_at_a_time,
    files_that_are_lost_are_named,
];

/// A post, and a file of this many bytes that do not compress.
pub async fn fill(app: &TestApp, size: usize) -> Vec<u8> {
    let ada = app.user().await;
    ada.post("/entities", json!({ "title": "Of this project" })).await.expect(201);
    let stranger = app.stranger().await;
    stranger.post("/entities", json!({ "title": "Of another" })).await.expect(201);
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u8::try_from(state >> 56).unwrap()
    };
    let bytes: Vec<u8> = std::iter::repeat_with(&mut next).take(size).collect();
    let part =
        Part { name: "file", file: "a.bin", mime: "application/octet-stream", bytes: &bytes };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    ada.post_form("/storage", &form).await.expect(201);
    bytes
}

fn at(app: &TestApp) -> String {
    format!("/admin/p/{}/export", app.project.id)
}

async fn owner(app: &TestApp) -> Visitor<'_> {
    Visitor::operator(app, Role::Owner, Some(app.project.id)).await
}

async fn an_owner_downloads_a_project(app: TestApp) {
    let stored = fill(&app, 300_000).await;
    let reply = owner(&app).await.submit(&at(&app), &[("format", "jsonl")]).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let name = format!("attachment; filename=\"townhall-{}.tar.gz\"", app.project.id);
    assert_eq!(reply.header("content-disposition"), Some(&*name));
    assert_eq!(reply.header("content-type"), Some("application/gzip"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let files = opened(&reply.body);
    let lines = String::from_utf8(files["export.jsonl"].clone()).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!(
        (&first["type"], &first["projectId"]),
        (&json!("townhall-export"), &json!(app.project.id))
    );
    assert_eq!((&last["type"], &last["documents"]), (&json!("end"), &json!(lines.len() - 2)));
    let titles: Vec<&Value> =
        lines.iter().filter(|one| one["type"] == "entity").map(|one| &one["title"]).collect();
    assert_eq!(titles, [&json!("Of this project")]);
    let found: Vec<&Vec<u8>> = files
        .iter()
        .filter(|(name, _)| name.starts_with("export.jsonl.files/"))
        .map(|(_, bytes)| bytes)
        .collect();
    assert_eq!(found, [&stored]);
    assert_eq!(files.len(), 2, "{:?}", files.keys());
}

async fn it_can_be_tables(app: TestApp) {
    let stored = fill(&app, 1_000).await;
    let owner = owner(&app).await;
    let reply = owner.submit(&at(&app), &[("format", "csv")]).await;
    let files = opened(&reply.body);
    let about: Value = serde_json::from_slice(&files["export/export.json"]).unwrap();
    assert_eq!(about["projectId"], json!(app.project.id));
    let entities = String::from_utf8(files["export/entity.csv"].clone()).unwrap();
    assert!(entities.contains("Of this project") && !entities.contains("Of another"));
    assert!(
        files.iter().any(|(name, bytes)| name.starts_with("export/files/") && *bytes == stored)
    );
    for fields in [&[][..], &[("format", "xml")]] {
        assert_eq!(owner.submit(&at(&app), fields).await.status, 400);
    }
}

async fn it_is_for_owners_and_in_the_log(app: TestApp) {
    let settings = format!("/admin/p/{}/settings", app.project.id);
    let form = format!("action=\"{}\"", at(&app));
    let admin = Visitor::operator(&app, Role::Admin, Some(app.project.id)).await;
    assert!(!admin.get(&settings).await.text().contains(&form));
    assert_eq!(admin.submit(&at(&app), &[("format", "jsonl")]).await.status, 403);
    let elsewhere = Visitor::operator(&app, Role::Owner, Some(app.other.id)).await;
    assert_eq!(elsewhere.submit(&at(&app), &[("format", "jsonl")]).await.status, 404);
    let owner = owner(&app).await;
    assert!(owner.get(&settings).await.text().contains(&form));
    let overview = owner.get(&format!("/admin/p/{}", app.project.id)).await.text();
    assert!(overview.contains("settings#export"), "{overview}");
    assert_eq!(owner.submit(&at(&app), &[("format", "jsonl")]).await.status, 200);
    let project = app.project.id;
    let entries = app.app.db.read(move |c| list(c, project, &Filter::default(), 10)).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| &*entry.action).collect();
    assert_eq!(actions, ["Export Project"]);
}

async fn one_is_made_at_a_time(app: TestApp) {
    let app = app.own_server().await;
    // More than waits for a client that does not read.
    fill(&app, 2_000_000).await;
    let wanted = Wanted { project: app.project.id, format: Format::Jsonl };
    let mut parts = download::begin(&app.app, wanted).await.unwrap();
    let first = parts.recv().await.unwrap().unwrap();
    assert!(first.len() <= 64 * 1024, "{}", first.len());
    let owner = owner(&app).await;
    let busy = owner.submit(&at(&app), &[("format", "jsonl")]).await;
    assert_eq!(busy.status, 409, "{}", busy.text());
    // The client goes away: what made it stops, and the next one gets its turn.
    drop(parts);
    for _ in 0..1_000_000 {
        if let Ok(mut parts) = download::begin(&app.app, wanted).await {
            while let Some(part) = parts.recv().await {
                part.unwrap();
            }
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the export that nobody reads still has its turn");
}

async fn files_that_are_lost_are_named(app: TestApp) {
    fill(&app, 1_000).await;
    app.app.storage.remove_under(&app.project.id.to_string()).await.unwrap();
    let reply = owner(&app).await.submit(&at(&app), &[("format", "jsonl")]).await;
    let files = opened(&reply.body);
    let missing = String::from_utf8(files["missing-files.txt"].clone()).unwrap();
    assert!(missing.contains("a.bin") || missing.contains("docs"), "{missing}");
}
