//! An owner imports a file in the admin: a dry run first, then the import, as the command does it, and nobody else.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use townhall::audit::store::{Filter, list};
use townhall::auth::operators::Role;
use townhall::values::ids::ProjectId;

use crate::admin_export::fill;
use crate::support::visitor::Visitor;
use crate::support::{Form, Part, TestApp, on_both_engines};
use crate::user_export::opened;

on_both_engines![
    a_download_moves_into_another_project,
    a_download_as_tables_moves_too,
    the_same_file_can_be_imported_again,
    a_file_that_cannot_be_read_changes_nothing,
    a_long_name_is_read,
    an_archive_leads_nowhere_else,
    only_owners_import,
    a_file_is_kept_for_three_days,
];

const USERS: &str = "foreignId,username,name\nu1,ann,Ann\nu2,ben,Ben\n";

fn at(project: ProjectId) -> String {
    format!("/admin/p/{project}/import")
}

fn form(format: &str, file: &str, bytes: &[u8]) -> Form {
    let part = Part { name: "file", file, mime: "application/octet-stream", bytes };
    Form::new().text("format", format).file(part)
}

async fn owner(app: &TestApp, project: ProjectId) -> Visitor<'_> {
    Visitor::operator(app, Role::Owner, Some(project)).await
}

/// Uploads a file and waits for its dry run; the page then.
async fn tried(app: &TestApp, owner: &Visitor<'_>, project: ProjectId, form: Form) -> String {
    // The newest is the one that was asked for last.
    app.advance(Duration::from_secs(1));
    let reply = owner.submit_files(&at(project), form).await;
    assert_eq!(
        (reply.status, reply.header("location")),
        (303, Some(&*at(project))),
        "{}",
        reply.text()
    );
    assert!(owner.get(&at(project)).await.text().contains("It waits"));
    app.run_jobs().await;
    owner.get(&at(project)).await.text()
}

/// The job that the first button on the page imports.
fn offered(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("name=\"job\" value=\"")?;
    rest.split('"').next().map(ToOwned::to_owned)
}

/// Imports what was tried last; the page then.
async fn imported(app: &TestApp, owner: &Visitor<'_>, project: ProjectId, page: &str) -> String {
    let job = offered(page).unwrap_or_else(|| panic!("{page}"));
    app.advance(Duration::from_secs(1));
    let reply = owner.submit(&format!("{}/run", at(project)), &[("job", &*job)]).await;
    assert_eq!(reply.status, 303, "{}", reply.text());
    app.run_jobs().await;
    owner.get(&at(project)).await.text()
}

/// The part of the page about the newest import.
fn newest(page: &str) -> &str {
    page.split("<h3>").nth(1).unwrap_or_else(|| panic!("{page}"))
}

async fn downloaded(owner: &Visitor<'_>, project: ProjectId, format: &str) -> Vec<u8> {
    let reply = owner.submit(&format!("/admin/p/{project}/export"), &[("format", format)]).await;
    assert_eq!(reply.status, 200);
    reply.body.to_vec()
}

/// The documents of a download, and its stored bytes.
fn content(archive: &[u8]) -> (BTreeSet<String>, BTreeSet<Vec<u8>>) {
    let mut files = opened(archive);
    let lines = String::from_utf8(files.remove("export.jsonl").unwrap()).unwrap();
    let documents = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let documents =
        documents.filter(|one| one["type"] != "townhall-export" && one["type"] != "end");
    (documents.map(|one| one.to_string()).collect(), files.into_values().collect())
}

async fn a_download_moves_into_another_project(app: TestApp) {
    moves(&app, "jsonl").await;
}

async fn a_download_as_tables_moves_too(app: TestApp) {
    moves(&app, "csv").await;
}

async fn moves(app: &TestApp, format: &str) {
    fill(app, 100_000).await;
    let ben = app.user().await;
    let post = ben.post("/entities", json!({ "title": "With a comment" })).await.expect(201);
    ben.post("/comments", json!({ "entityId": post["id"], "content": "A comment" }))
        .await
        .expect(201);
    let (from, to) = (app.project.id, app.other.id);
    let (here, there) = (owner(app, from).await, owner(app, to).await);
    let archive = downloaded(&here, from, format).await;
    let all = content(&downloaded(&here, from, "jsonl").await);
    let before = content(&downloaded(&there, to, "jsonl").await);

    let page = tried(app, &there, to, form(format, "town.tar.gz", &archive)).await;
    assert!(newest(&page).contains("2 of entity would be added"), "{page}");
    assert_eq!(
        content(&downloaded(&there, to, "jsonl").await),
        before,
        "a dry run changes nothing"
    );

    let page = imported(app, &there, to, &page).await;
    assert!(newest(&page).contains("2 of entity added"), "{page}");
    let after = content(&downloaded(&there, to, "jsonl").await);
    let came: BTreeSet<String> = after.0.difference(&before.0).cloned().collect();
    assert_eq!(came, all.0);
    assert_eq!(&after.1 - &before.1, all.1);
}

async fn the_same_file_can_be_imported_again(app: TestApp) {
    let project = app.project.id;
    let owner = owner(&app, project).await;
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(USERS.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    // Compressed or not.
    let page = tried(&app, &owner, project, form("csv", "users.csv.gz", &packed)).await;
    assert!(newest(&page).contains("2 of user would be added"), "{page}");
    let page = imported(&app, &owner, project, &page).await;
    assert!(newest(&page).contains("2 of user added"), "{page}");
    let found = app.service().get("/users/by-foreign-id?foreignId=u1").await.expect(200);
    assert_eq!(found["username"], "ann");

    let page = tried(&app, &owner, project, form("csv", "users.csv", USERS.as_bytes())).await;
    assert!(newest(&page).contains("2 of user were there already"), "{page}");
    assert!(!newest(&page).contains("would be added"), "{page}");
    let page = imported(&app, &owner, project, &page).await;
    assert!(newest(&page).contains("2 of user were there already"), "{page}");

    // What is left out is named, with the reason.
    let more = "foreignId,username\nu3,ann\n";
    let page = tried(&app, &owner, project, form("csv", "more.csv", more.as_bytes())).await;
    assert!(newest(&page).contains("u3"), "{page}");
    let entries = app.app.db.read(move |c| list(c, project, &Filter::default(), 10)).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| &*entry.action).collect();
    let upload = "Upload Import";
    assert_eq!(actions, [upload, "Import Project", upload, "Import Project", upload]);
}

async fn a_file_that_cannot_be_read_changes_nothing(app: TestApp) {
    let project = app.project.id;
    let owner = owner(&app, project).await;
    for (format, file, bytes) in [
        ("jsonl", "a.jsonl", "no json at all"),
        ("jsonl", "users.csv", USERS),
        ("wxr", "a.xml", "<rss><channel>"),
        ("disqus", "a.xml", "{}"),
    ] {
        let page = tried(&app, &owner, project, form(format, file, bytes.as_bytes())).await;
        let newest = newest(&page);
        assert!(newest.contains("It failed: "), "{format}: {newest}");
        assert!(!newest.contains("/staging/"), "{newest}");
        assert_eq!(offered(newest), None, "{newest}");
    }
    let none = form("jsonl", "empty", b"");
    assert_eq!(owner.submit_files(&at(project), none).await.status, 400);
    let unknown = form("xml", "a.xml", b"<a/>");
    assert_eq!(owner.submit_files(&at(project), unknown).await.status, 400);
    assert_eq!(owner.submit(&at(project), &[("format", "jsonl")]).await.status, 400);
    let run = format!("{}/run", at(project));
    let nothing = "0198f0a1-0000-4abc-8abc-0123456789ab";
    assert_eq!(owner.submit(&run, &[("job", nothing)]).await.status, 404);
}

/// A tar keeps it in front of the file.
async fn a_long_name_is_read(app: TestApp) {
    let project = app.project.id;
    let owner = owner(&app, project).await;
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, bytes) in [
        ("export/users.csv", USERS.as_bytes()),
        (&*format!("export.files/{}", "x".repeat(150)), b"a picture".as_slice()),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, path, bytes).unwrap();
    }
    let archive = archive.into_inner().unwrap().finish().unwrap();
    let page = tried(&app, &owner, project, form("csv", "town.tar.gz", &archive)).await;
    assert!(newest(&page).contains("2 of user would be added"), "{page}");
}

async fn an_archive_leads_nowhere_else(app: TestApp) {
    let project = app.project.id;
    let owner = owner(&app, project).await;
    for (path, kind) in [
        ("../outside", tar::EntryType::Regular),
        ("/tmp/outside", tar::EntryType::Regular),
        ("export.jsonl", tar::EntryType::Symlink),
        ("other.jsonl", tar::EntryType::Regular),
    ] {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_size(0);
        if kind.is_symlink() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        archive.append(&header, &b""[..]).unwrap();
        let packed = archive.into_inner().unwrap().finish().unwrap();
        let page = tried(&app, &owner, project, form("jsonl", "a.tar.gz", &packed)).await;
        assert!(newest(&page).contains("It failed: "), "{path}: {page}");
    }
}

async fn only_owners_import(app: TestApp) {
    let project = app.project.id;
    let users = || form("csv", "users.csv", USERS.as_bytes());
    let run = format!("{}/run", at(project));
    let admin = Visitor::operator(&app, Role::Admin, Some(project)).await;
    let elsewhere = owner(&app, app.other.id).await;
    for (visitor, status) in [(&admin, 403), (&elsewhere, 404)] {
        assert_eq!(visitor.get(&at(project)).await.status, status);
        assert_eq!(visitor.submit_files(&at(project), users()).await.status, status);
        assert_eq!(visitor.submit(&run, &[("job", "x")]).await.status, status);
    }
    let stranger = Visitor::stranger(&app).post_files(&at(project), users()).await;
    assert_eq!((stranger.status, stranger.header("location")), (303, Some("/admin/sign-in")));
    let owner = owner(&app, project).await;
    assert_eq!(owner.post_files(&at(project), users()).await.status, 403, "it has no token");
    assert!(!owner.get(&at(project)).await.text().contains("users.csv"));
    assert_eq!(app.run_jobs().await, 0);

    // A dry run of one project is not imported into another.
    let page = tried(&app, &owner, project, users()).await;
    let job = offered(&page).unwrap();
    let run = format!("{}/run", at(app.other.id));
    assert_eq!(elsewhere.submit(&run, &[("job", &*job)]).await.status, 404);
}

async fn a_file_is_kept_for_three_days(app: TestApp) {
    let project = app.project.id;
    let owner = owner(&app, project).await;
    let page = tried(&app, &owner, project, form("csv", "users.csv", USERS.as_bytes())).await;
    let job = offered(&page).unwrap();
    app.advance(Duration::from_secs(3 * 86_400));
    app.run_jobs().await;
    let owner = crate::admin_import::owner(&app, project).await;
    let page = owner.get(&at(project)).await.text();
    assert_eq!(offered(&page), None, "{page}");
    app.advance(Duration::from_secs(1));
    let run = format!("{}/run", at(project));
    assert_eq!(owner.submit(&run, &[("job", &*job)]).await.status, 303);
    app.run_jobs().await;
    let page = owner.get(&at(project)).await.text();
    assert!(newest(&page).contains("It failed: the file is gone"), "{page}");
}
