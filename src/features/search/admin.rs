//! What the operator asks of the search index: how it is, and to build it again.

use serde::Serialize;

use crate::error::Result;
use crate::features::search::index;
use crate::features::search::store::{self, postings, words};
use crate::state::App;
use crate::tenancy::Project;

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
    /// Changed records that are not indexed yet.
    pub waiting: i64,
}

/// None if the project is not indexed.
pub async fn status(app: &App, project: &Project) -> Result<Option<IndexStatus>> {
    let id = project.id;
    let found = app.db.read_slow(move |c| {
        let Some(state) = store::state(c, id)? else { return Ok(None) };
        let (blocks, block_bytes) = postings::size(c, id)?;
        Ok(Some(IndexStatus {
            language: state.language,
            is_filled: state.is_filled,
            documents: store::count_docs(c, id)?,
            words: words::count(c, id)?,
            blocks,
            block_bytes,
            waiting: store::count_todo(c, id)?,
        }))
    });
    found.await
}

/// Empties the index and queues everything; false if the project is not indexed. A running server, or `work`, does the
/// rest.
pub async fn reindex(app: &App, project: &Project) -> Result<bool> {
    index::rebuild(app, project.id, project.search_language.name()).await
}

/// Indexes what waits, of all projects; returns the number of records.
pub async fn work(app: &App) -> Result<usize> {
    index::run_due(app).await
}
