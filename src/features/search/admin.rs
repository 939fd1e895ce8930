//! What the operator asks of the search index: how it is, whether it agrees with the content, and to build it again.

use db::Db;
use serde::Serialize;
use uuid::Uuid;

use crate::error::Result;
use crate::features::search::class::Class;
use crate::features::search::index;
use crate::features::search::store::{self, fill, postings, vectors, words};
use crate::search_queue::{self, Kind};
use crate::tenancy::{Project, registry};

/// Records compared at a time.
const PAGE: i64 = 500;

/// The size of a project's index and what waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    pub language: String,
    /// Everything that was there when search was switched on has been queued.
    pub is_filled: bool,
    pub documents: i64,
    pub words: i64,
    pub blocks: i64,
    pub block_bytes: i64,
    /// Vectors of meaning, of the chunks of documents.
    pub vectors: i64,
    /// Changed records that are not indexed yet.
    pub waiting: i64,
}

/// None if the project is not indexed.
pub async fn status(db: &Db, project: &Project) -> Result<Option<IndexStatus>> {
    let id = project.id;
    let found = db.read_slow(move |c| {
        let Some(state) = store::state::find(c, id)? else { return Ok(None) };
        let (blocks, block_bytes) = postings::size(c, id)?;
        Ok(Some(IndexStatus {
            language: state.language,
            is_filled: state.is_filled,
            documents: store::count_docs(c, id)?,
            words: words::count(c, id)?,
            blocks,
            block_bytes,
            vectors: vectors::count(c, id)?,
            waiting: store::count_todo(c, id)?,
        }))
    });
    found.await
}

/// Empties the index and queues everything; false if the project is not indexed. A running server does the rest.
pub async fn reindex(db: &Db, project: &Project) -> Result<bool> {
    index::rebuild(db, project.id, project.search_language.name()).await
}

/// Records that are not indexed as they are, of every indexed project; queues them if they are to be repaired.
pub async fn compare(db: &Db, fix: bool) -> Result<usize> {
    let mut wrong = 0;
    for project in db.read(store::projects).await? {
        let Some(project) = db.read(move |c| registry::load(c, project)).await? else { continue };
        let project = std::sync::Arc::new(project);
        let id = project.id;
        let Some(state) = db.read(move |c| store::state::find(c, id)).await? else { continue };
        // Then everything is queued anyway.
        if !state.is_filled || state.language != project.search_language.name() {
            continue;
        }
        for kind in [Kind::User, Kind::Space, Kind::Entity, Kind::Comment, Kind::Message] {
            let mut after = Uuid::nil();
            loop {
                let of = project.clone();
                let found = db.read_slow(move |c| {
                    let ids = fill::after(c, id, kind, after, PAGE)?;
                    let last = ids.last().copied();
                    Ok::<_, crate::error::Error>((last, index::differing(c, &of, kind, ids)?))
                });
                let (last, differing) = found.await?;
                wrong += differing.len();
                repair(db, &project, kind, differing, fix).await?;
                match last {
                    Some(last) => after = last,
                    None => break,
                }
            }
        }
        wrong += compare_documents(db, &project, fix).await?;
    }
    Ok(wrong)
}

/// Documents whose records are gone.
async fn compare_documents(db: &Db, project: &std::sync::Arc<Project>, fix: bool) -> Result<usize> {
    let (id, mut after, mut wrong) = (project.id, 0, 0);
    loop {
        let docs = db.read_slow(move |c| store::docs_after(c, id, after, PAGE)).await?;
        let Some((last, ..)) = docs.last() else { return Ok(wrong) };
        after = *last;
        for kind in [Kind::User, Kind::Space, Kind::Entity, Kind::Comment, Kind::Message] {
            let of_kind = docs.iter().filter(|(_, class, _)| {
                Class::from_number(*class).is_some_and(|class| class.kind() == kind)
            });
            let ids: Vec<Uuid> = of_kind.map(|(.., record)| *record).collect();
            let of = project.clone();
            let there = ids.clone();
            let gone = db.read_slow(move |c| {
                let existing = fill::existing(c, id, kind, there.clone())?;
                let gone = there.iter().filter(|record| !existing.contains(record)).copied();
                index::differing(c, &of, kind, gone.collect())
            });
            let gone = gone.await?;
            wrong += gone.len();
            repair(db, project, kind, gone, fix).await?;
        }
    }
}

async fn repair(
    db: &Db,
    project: &Project,
    kind: Kind,
    records: Vec<Uuid>,
    fix: bool,
) -> Result<()> {
    if !fix || records.is_empty() {
        return Ok(());
    }
    let id = project.id;
    let noted = db.write(move |tx| {
        records.iter().try_for_each(|record| search_queue::store::note(tx, id, kind, *record))
    });
    noted.await
}
