//! The index itself: it follows every change, and nothing of a deleted record stays in it.

use db::{Command, Engine, Query, Tx, args};
use serde_json::json;
use text_index::postings::length_code;
use text_index::{Analyzer, Document, Language};
use townhall::features::search::{admin, index};
use townhall::tenancy::registry;
use townhall::values::ids::new_id;

use crate::comments::comment;
use crate::search_content::found;
use crate::spaces::{create, path};
use crate::support::chat::{direct, send};
use crate::support::feed::post;
use crate::support::{TestApp, on_both_engines, somebody_waits_for};

on_both_engines![
    edits_replace_what_was_indexed,
    metadata_is_not_read,
    nothing_of_deleted_content_stays,
    erased_users_leave_no_words,
    deleted_spaces_leave_no_words,
    a_project_without_search_has_no_index,
    what_is_written_while_search_is_switched_off_goes_too,
    another_language_rebuilds_the_index,
    blocks_fill_and_empty,
    nodes_share_the_work,
    the_doctor_finds_and_repairs_differences,
    documents_of_earlier_versions_are_taken_out,
    blocks_of_earlier_versions_grow_and_go,
];

const TABLES: [&str; 4] = ["search_docs", "search_blocks", "search_words", "search_todo"];

pub(crate) async fn rows(app: &TestApp) -> [i64; 4] {
    let mut counts = [0; 4];
    for (count, table) in counts.iter_mut().zip(TABLES) {
        *count = app.rows_of(app.project.id, table).await;
    }
    counts
}

async fn edits_replace_what_was_indexed(app: TestApp) {
    let ada = app.user().await;
    let entity = post(&app, &ada, json!({ "title": "first words" })).await;
    app.index().await;
    let before = rows(&app).await;
    for title in ["second words", "third words", "final words"] {
        let change = json!({ "title": title });
        ada.patch(&format!("/entities/{entity}"), change).await.expect(200);
    }
    assert_eq!(app.rows_of(app.project.id, "search_todo").await, 1, "edits coalesce");
    app.index().await;
    assert_eq!(rows(&app).await, before);
    assert_eq!(found(&ada, "final").await, ["final words"]);
    assert_eq!(found(&ada, "first").await, [""; 0]);
    assert_eq!(found(&ada, "secnod").await, [""; 0], "nor are they corrections");
}

/// It is not searched, may have a mebibyte, and hundreds of records are read together.
async fn metadata_is_not_read(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let entity = post(&app, &ada, json!({ "title": "some words" })).await;
    comment(&grace, &entity.to_string(), "some reply").await;
    let conversation = direct(&ada, &grace).await;
    send(&ada, &conversation, "some message").await;
    let space = create(&ada, json!({ "name": "Some space" })).await;
    post(&app, &ada, json!({ "title": "some more words", "spaceId": space["id"] })).await;
    let seen = app.statements.during(app.index()).await;
    let reads: Vec<_> = seen.iter().filter(|(_, text)| text.contains("metadata")).collect();
    assert!(reads.is_empty(), "{reads:?}");
    assert_eq!(found(&ada, "some").await.len(), 4);
}

async fn nothing_of_deleted_content_stays(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    app.index().await;
    let before = rows(&app).await;
    let entity = post(&app, &ada, json!({ "title": "ephemeral posting" })).await;
    comment(&grace, &entity.to_string(), "ephemeral reply").await;
    let kept = post(&app, &ada, json!({ "title": "x" })).await;
    let reply = comment(&grace, &kept.to_string(), "another ephemeral reply").await;
    let conversation = direct(&ada, &grace).await;
    let message = send(&ada, &conversation, "ephemeral message").await;
    app.index().await;
    assert_eq!(found(&ada, "ephemeral").await.len(), 4);
    ada.delete(&format!("/entities/{entity}")).await.expect(204);
    ada.delete(&format!("/entities/{kept}")).await.expect(204);
    grace
        .delete(&format!("/comments/{}", reply["id"].as_str().unwrap()))
        .await
        .refused(404, "comment/not-found");
    let id = message["id"].as_str().unwrap();
    ada.delete(&format!("/chat/conversations/{conversation}/messages/{id}")).await.expect(200);
    app.run_jobs().await;
    app.index().await;
    assert_eq!(rows(&app).await, before);
}

async fn erased_users_leave_no_words(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let other = post(&app, &ada, json!({ "title": "Kept" })).await;
    app.index().await;
    let before = rows(&app).await;
    let mary = app.user().await;
    mary.patch(&format!("/users/{}", mary.id), json!({ "name": "Mary", "bio": "Unusual" }))
        .await
        .expect(200);
    let entity = post(&app, &mary, json!({ "title": "Unusual thing" })).await;
    comment(&mary, &other.to_string(), "Unusual remark").await;
    app.index().await;
    assert_eq!(found(&grace, "unusual").await.len(), 2);
    app.service().delete(&format!("/users/{}", mary.id)).await.expect(204);
    app.index().await;
    assert_eq!(found(&grace, "unusual").await, [""; 0]);
    assert_eq!(rows(&app).await, before, "the empty entity {entity} has no words");
}

async fn deleted_spaces_leave_no_words(app: TestApp) {
    let ada = app.user().await;
    app.index().await;
    let before = rows(&app).await;
    let space = create(&ada, json!({ "name": "Transient" })).await;
    let entity = post(&app, &ada, json!({ "title": "transient", "spaceId": space["id"] })).await;
    comment(&ada, &entity.to_string(), "transient too").await;
    app.index().await;
    ada.delete(&path(&space)).await.expect(200);
    app.index().await;
    assert_eq!(rows(&app).await, before, "before the purge");
    app.run_jobs().await;
    app.index().await;
    assert_eq!(rows(&app).await, before);
}

async fn a_project_without_search_has_no_index(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "words" })).await;
    app.index().await;
    app.change_settings(app.project.id, |settings| settings.has_search = false).await;
    assert_eq!(rows(&app).await, [0; 4]);
    post(&app, &ada, json!({ "title": "more words" })).await;
    app.index().await;
    assert_eq!(rows(&app).await, [0; 4]);
    app.change_settings(app.project.id, |settings| settings.has_search = true).await;
    app.index().await;
    assert_eq!(found(&ada, "words").await.len(), 2, "what was there is indexed again");
}

async fn what_is_written_while_search_is_switched_off_goes_too(app: TestApp) {
    const LOCK: &str = "SELECT next_number FROM search_state WHERE project_id = $1 {for_update}";
    const WRITE: &str =
        "INSERT INTO search_docs (project_id, number, class, record_id, created_at, length, words)
        VALUES ($1, $2, 1, $3, 0, 1, $4)";
    let (db, id, engine) = (app.app.db.clone(), app.project.id, app.engine());
    let record = new_id(app.now(), &app.app.random);
    let (tell_locked, mut locked) = tokio::sync::mpsc::unbounded_channel();
    let indexing = tokio::spawn(async move {
        let work = move |tx: &Tx<'_>| {
            let number = tx.one(&Query::<i64>::built("lock", LOCK), args![id])?;
            tell_locked.send(()).unwrap();
            // Nobody writes beside another on SQLite: there is nobody to wait for.
            while engine == Engine::Postgres && somebody_waits_for(tx)? == 0 {
                std::thread::yield_now();
            }
            let words = Document::default().packed_words();
            tx.execute(&Command::built("write", WRITE), args![id, number, record, words])
        };
        db.write::<u64, db::Error, _>(work).await
    });
    locked.recv().await.unwrap();
    app.change_settings(id, |settings| settings.has_search = false).await;
    assert_eq!(indexing.await.unwrap(), Ok(1));
    assert_eq!(rows(&app).await, [0; 4]);
}

async fn another_language_rebuilds_the_index(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "Alte Häuser" })).await;
    app.index().await;
    assert_eq!(found(&ada, "haus").await, [""; 0]);
    app.change_settings(app.project.id, |settings| settings.search_language = "german").await;
    app.index().await;
    assert_eq!(found(&ada, "haus").await, ["Alte Häuser"]);
    let project = app.project.id;
    let of = app.app.db.read(move |c| registry::load(c, project)).await.unwrap().unwrap();
    let before = admin::status(&app.app.db, &of).await.unwrap().unwrap();
    assert_eq!((before.language.as_str(), before.waiting, before.is_filled), ("german", 0, true));
    assert!(admin::reindex(&app.app.db, &of).await.unwrap());
    assert_eq!(admin::status(&app.app.db, &of).await.unwrap().unwrap().documents, 0);
    app.index().await;
    assert_eq!(admin::status(&app.app.db, &of).await.unwrap().unwrap(), before);
}

async fn blocks_fill_and_empty(app: TestApp) {
    let ada = app.user().await;
    app.index().await;
    let before = rows(&app).await;
    let mut all = Vec::new();
    for n in 0..300 {
        all.push(post(&app, &ada, json!({ "title": "common" })).await);
        if n % 70 == 0 {
            app.index().await;
        }
    }
    app.index().await;
    let search = json!({ "query": "common", "limit": 50 });
    let results = ada.post("/search/content", search).await.expect(200);
    assert_eq!(results.as_array().unwrap().len(), 50);
    assert_eq!(rows(&app).await[1], before[1] + 2, "256 and 44");
    for entity in &all[..299] {
        ada.delete(&format!("/entities/{entity}")).await.expect(204);
    }
    app.index().await;
    assert_eq!(found(&ada, "common").await.len(), 1);
    ada.delete(&format!("/entities/{}", all[299])).await.expect(204);
    app.index().await;
    assert_eq!(rows(&app).await, before);
}

async fn nodes_share_the_work(app: TestApp) {
    let ada = app.user().await;
    for n in 0..30 {
        post(&app, &ada, json!({ "title": format!("shared work {n}") })).await;
    }
    let project = app.project.id;
    let (one, two, three) = tokio::join!(
        index::catch_up(&app.app, project),
        index::catch_up(&app.app, project),
        index::catch_up(&app.app, project)
    );
    assert!([one, two, three].into_iter().all(|done| done.is_ok()));
    app.index().await;
    let search = json!({ "query": "shared", "limit": 50 });
    let results = ada.post("/search/content", search).await.expect(200);
    assert_eq!(results.as_array().unwrap().len(), 30, "each once");
}

async fn the_doctor_finds_and_repairs_differences(app: TestApp) {
    let app = app.own_server().await;
    let ada = app.user().await;
    let (kept, gone) = (
        post(&app, &ada, json!({ "title": "kept words" })).await,
        post(&app, &ada, json!({ "title": "gone words" })).await,
    );
    app.index().await;
    let db = &app.app.db;
    assert_eq!(admin::compare(db, false).await.unwrap(), 0);
    // Behind the back of the queue.
    let project = app.project.id;
    let change = db.write(move |tx| {
        let change =
            "UPDATE entity_bodies SET title = 'other words' WHERE project_id = $1 AND id = $2";
        tx.execute(&Command::built("test::change", change.to_owned()), args![project, kept])?;
        let delete = "DELETE FROM entities WHERE project_id = $1 AND id = $2";
        tx.execute(&Command::built("test::delete", delete.to_owned()), args![project, gone])
    });
    change.await.unwrap();
    assert_eq!(admin::compare(db, false).await.unwrap(), 2);
    assert_eq!(admin::compare(db, true).await.unwrap(), 2);
    app.index().await;
    assert_eq!(admin::compare(db, false).await.unwrap(), 0);
    assert_eq!(found(&ada, "words").await, ["other words"]);
}

/// They are stored with their words as texts.
async fn documents_of_earlier_versions_are_taken_out(app: TestApp) {
    let app = app.own_server().await;
    let ada = app.user().await;
    app.index().await;
    let before = rows(&app).await;
    let entity = post(&app, &ada, json!({ "title": "older words" })).await;
    app.index().await;
    let analyzer = Analyzer::new(Language::English);
    let (project, words) =
        (app.project.id, Document::new(&analyzer, &[("older words", 1)]).packed_words());
    let change = "UPDATE search_docs SET words = $3 WHERE project_id = $1 AND record_id = $2";
    let change = Command::built("test::texts", change.to_owned());
    let db = &app.app.db;
    let changed = db.write(move |tx| tx.execute(&change, args![project, entity, &words]));
    assert_eq!(changed.await, Ok::<_, db::Error>(1));
    assert_eq!(admin::compare(db, false).await.unwrap(), 0);
    ada.delete(&format!("/entities/{entity}")).await.expect(204);
    app.index().await;
    assert_eq!(rows(&app).await, before);
}

/// Their postings are bytes.
async fn blocks_of_earlier_versions_grow_and_go(app: TestApp) {
    let app = app.own_server().await;
    let ada = app.user().await;
    app.index().await;
    let before = rows(&app).await;
    let entity = post(&app, &ada, json!({ "title": "older" })).await;
    app.index().await;
    let (project, db) = (app.project.id, &app.app.db);
    let number = "SELECT number FROM search_docs WHERE project_id = $1 AND record_id = $2";
    let number = Query::<i64>::built("test::number", number.to_owned());
    let number = db.read(move |c| c.one(&number, args![project, entity])).await;
    let number = u8::try_from(number.unwrap()).unwrap();
    let bytes = vec![0, number << 1 | 1, 2, length_code(2)];
    let change = "UPDATE search_blocks SET bytes = $3 WHERE project_id = $1 AND term = $2";
    let change = Command::built("test::bytes", change.to_owned());
    let changed = db.write(move |tx| tx.execute(&change, args![project, "older", &bytes]));
    assert_eq!(changed.await, Ok::<_, db::Error>(1));
    assert_eq!(found(&ada, "older").await, ["older"]);
    let other = post(&app, &ada, json!({ "title": "older still" })).await;
    app.index().await;
    assert_eq!(found(&ada, "older").await, ["older", "older still"]);
    for entity in [entity, other] {
        ada.delete(&format!("/entities/{entity}")).await.expect(204);
        app.index().await;
    }
    assert_eq!(rows(&app).await, before);
}
