//! Many records at once: they are loaded in steps, and a load that was interrupted is taken back exactly.

use std::time::Duration;

use db::{Command, Engine, Query, Tx, args};
use serde_json::{Value, json};
use text_index::{Analyzer, Language};
use townhall::features::search::index::load::{Load, SIZE, Size, load};
use townhall::features::search::index::records::{self, Prepared};
use townhall::features::search::{index, store};
use townhall::values::ids::EntityId;
use uuid::Uuid;

use crate::comments::comment;
use crate::search_content::found;
use crate::search_index::rows;
use crate::support::feed::post;
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    a_load_indexes_what_is_new,
    a_load_changes_more_words_than_a_statement_takes,
    loads_of_any_size_write_the_same,
    an_interrupted_load_is_taken_back,
    words_of_a_load_that_is_taken_back_go,
    a_rebuild_ends_a_load,
    a_load_whose_last_step_is_undone_ends,
];

/// Until another node takes back a load that its own node has left.
const CLAIM: Duration = Duration::from_secs(60);

const TITLES: [&str; 4] =
    ["Apples and gardens", "Gardening with bees", "Carrots, dill, eggplants", "Zebras in a garden"];

/// Waiting for the index, with a comment.
async fn posts(app: &TestApp, ada: &Actor<'_>) -> Vec<EntityId> {
    let mut all = Vec::new();
    for title in TITLES {
        all.push(post(app, ada, json!({ "title": title })).await);
    }
    comment(ada, &all[0].to_string(), "garden comments").await;
    all
}

async fn delete(ada: &Actor<'_>, all: Vec<EntityId>) {
    for entity in all {
        ada.delete(&format!("/entities/{entity}")).await.expect(204);
    }
}

async fn waiting(app: &TestApp) -> Vec<Prepared> {
    let project = app.project.id;
    let prepared = app.app.db.read_slow(move |c| {
        let todo = store::todo(c, project, Uuid::nil(), Uuid::max(), 100)?;
        records::prepare(c, project, &Analyzer::new(Language::English), todo)
    });
    prepared.await.unwrap()
}

async fn similarities(ada: &Actor<'_>) -> Vec<Value> {
    let results = ada.post("/search/content", json!({ "query": "garden" })).await.expect(200);
    results.as_array().unwrap().iter().map(|one| one["similarity"].clone()).collect()
}

async fn a_load_indexes_what_is_new(app: TestApp) {
    let ada = app.user().await;
    app.index().await;
    let before = rows(&app).await;
    let all = posts(&app, &ada).await;
    let (project, english) = (app.project.id, Language::English);
    assert_eq!(load(&app.app, project, english, SIZE).await.unwrap(), 5);
    let loaded = (rows(&app).await, similarities(&ada).await);
    assert_eq!(found(&ada, "carrots").await, [TITLES[2]]);
    assert_eq!(found(&ada, "eggplnats").await, [TITLES[2]], "its words correct others");
    ada.patch(&format!("/entities/{}", all[3]), json!({ "title": TITLES[3] })).await.expect(200);
    assert_eq!(load(&app.app, project, english, SIZE).await.unwrap(), 0, "it is indexed already");
    app.index().await;
    assert_eq!((rows(&app).await, similarities(&ada).await), loaded, "as if one by one");
    delete(&ada, all).await;
    app.index().await;
    assert_eq!(rows(&app).await, before);
}

async fn loads_of_any_size_write_the_same(app: TestApp) {
    let ada = app.user().await;
    app.index().await;
    let mut expected = None;
    for (documents, postings) in [(100, 1000), (1, 1), (1, 5), (2, 8), (2, 1000), (3, 1)] {
        let before = rows(&app).await;
        let all = posts(&app, &ada).await;
        let size = Size { documents, postings };
        let loaded = load(&app.app, app.project.id, Language::English, size).await.unwrap();
        assert_eq!(loaded, 5);
        let found = similarities(&ada).await;
        assert_eq!(&found, expected.get_or_insert(found.clone()), "{size:?}");
        delete(&ada, all).await;
        app.index().await;
        assert_eq!(rows(&app).await, before, "{size:?}");
    }
}

/// What it planned for an empty table it would use for a large one, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_has_postgres_measure_its_tables() {
    const SIZES: &str = "SELECT CAST(reltuples AS BIGINT) FROM pg_class
        WHERE relname IN ('search_docs', 'search_words', 'search_blocks') ORDER BY relname";
    let app = TestApp::start(Engine::Postgres, module_path!()).await.own_server().await;
    // A cluster plans with the arguments, by the size of the tables.
    if app.is_distributed() {
        return;
    }
    let ada = app.user().await;
    posts(&app, &ada).await;
    app.app.db.execute_script("{analyze}").unwrap();
    let measured = || app.app.db.read(|c| c.all(&Query::<i64>::built("sizes", SIZES), args![]));
    assert_eq!(measured().await.unwrap(), [0, 0, 0]);
    load(&app.app, app.project.id, Language::English, SIZE).await.unwrap();
    let measured = measured().await.unwrap();
    assert!(measured.iter().all(|rows| *rows > 0), "{measured:?}");
}

async fn an_interrupted_load_is_taken_back(app: TestApp) {
    // After every step that a load can be interrupted at.
    for steps in 0.. {
        let ada = app.user().await;
        app.index().await;
        let before = rows(&app).await;
        let all = posts(&app, &ada).await;
        let mut interrupted = Load::new(app.project.id, Language::English);
        let added = interrupted.add(&app.app, waiting(&app).await).await.unwrap();
        assert_eq!(added, Some(5));
        let mut left = interrupted.sorted().unwrap();
        for _ in 0..steps {
            let ready = left.read(&app.app, 3).await.unwrap().unwrap();
            assert!(left.write(&app.app, ready).await.unwrap());
        }
        let next = left.read(&app.app, 3).await.unwrap();
        let is_whole = next.is_none();
        let alone = index::catch_up(&app.app, app.project.id).await.unwrap();
        assert_eq!(alone, 0, "others leave the index alone");
        app.advance(CLAIM);
        app.index().await;
        if let Some(ready) = next {
            assert!(!left.write(&app.app, ready).await.unwrap(), "it is too late");
        }
        assert_eq!(found(&ada, "carrots").await, [TITLES[2]]);
        assert_eq!(found(&ada, "zebras").await, [TITLES[3]]);
        delete(&ada, all).await;
        app.index().await;
        assert_eq!(rows(&app).await, before, "after {steps} slices");
        if is_whole {
            assert!(steps > 2);
            return;
        }
    }
}

async fn words_of_a_load_that_is_taken_back_go(app: TestApp) {
    let ada = app.user().await;
    app.index().await;
    let before = rows(&app).await;
    let all = posts(&app, &ada).await;
    let mut interrupted = Load::new(app.project.id, Language::English);
    interrupted.add(&app.app, waiting(&app).await).await.unwrap();
    delete(&ada, all).await;
    app.advance(CLAIM);
    app.index().await;
    assert_eq!(rows(&app).await, before);
}

async fn a_load_changes_more_words_than_a_statement_takes(app: TestApp) {
    const WORDS: &str =
        "SELECT count(*) FROM search_words WHERE project_id = $1 AND frequency = $2";
    const BLOCKS: &str = "SELECT count(*) FROM search_blocks WHERE project_id = $1 AND count = $2";
    let (ada, id) = (app.user().await, app.project.id);
    app.index().await;
    let words: Vec<String> = (0..200).map(|number| format!("w{number}")).collect();
    for times in 1..=3_i64 {
        post(
            &app,
            &ada,
            json!({ "title": words[..50].join(" "), "content": words[50..].join(" ") }),
        )
        .await;
        load(&app.app, id, Language::English, SIZE).await.unwrap();
        for counted in [WORDS, BLOCKS] {
            let query = Query::<i64>::built("counted", counted);
            let found = app.app.db.read(move |c| c.one(&query, args![id, times]));
            let found: Result<i64, db::Error> = found.await;
            assert!((200..210).contains(&found.unwrap()), "{counted}: {times}");
        }
    }
}

/// A step does not wait for the disk, so a crash of PostgreSQL may undo the last ones.
async fn a_load_whose_last_step_is_undone_ends(app: TestApp) {
    const UNDO: &str =
        "UPDATE search_state SET next_number = next_number - 1 WHERE project_id = $1";
    let (ada, id) = (app.user().await, app.project.id);
    app.index().await;
    posts(&app, &ada).await;
    let mut begun = Load::new(id, Language::English);
    let all = waiting(&app).await;
    begun.add(&app.app, all.clone()).await.unwrap();
    let undo = move |tx: &Tx<'_>| tx.execute(&Command::built("undo", UNDO), args![id]);
    app.app.db.write::<_, db::Error, _>(undo).await.unwrap();
    assert_eq!(begun.add(&app.app, all).await.unwrap(), None);
    let mut left = begun.sorted().unwrap();
    let ready = left.read(&app.app, 3).await.unwrap().unwrap();
    assert!(!left.write(&app.app, ready).await.unwrap());
}

async fn a_rebuild_ends_a_load(app: TestApp) {
    let ada = app.user().await;
    app.index().await;
    posts(&app, &ada).await;
    let mut begun = Load::new(app.project.id, Language::English);
    begun.add(&app.app, waiting(&app).await).await.unwrap();
    let mut left = begun.sorted().unwrap();
    let ready = left.read(&app.app, 3).await.unwrap().unwrap();
    assert!(left.write(&app.app, ready).await.unwrap());
    index::rebuild(&app.app.db, app.project.id, Language::English.name()).await.unwrap();
    let ready = left.read(&app.app, 3).await.unwrap().unwrap();
    assert!(!left.write(&app.app, ready).await.unwrap());
    app.index().await;
    assert_eq!(found(&ada, "apples").await, [TITLES[0]]);
    assert_eq!(similarities(&ada).await.len(), 4, "three posts and a comment, each once");
}
