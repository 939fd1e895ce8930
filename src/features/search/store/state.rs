//! The SQL about the state of a project's index. Every write of the index locks its row.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct StateRow {
        pub language: String,
        pub next_number: i64,
        /// The number of the next word that the dictionary does not know.
        pub next_word: i64,
        pub is_filled: bool,
        /// The model that vectors are of, if there are any.
        pub vector_model: Option<String>,
        /// The first document of a load that is under way.
        pub load_from: Option<i64>,
        /// Up to this term (and this word of the dictionary) the load is written.
        pub load_term: Option<String>,
        pub load_until: Option<Timestamp>,
    }
}

impl StateRow {
    /// Whether a load has not come to this term of a document yet.
    pub fn lacks(&self, number: i64, term: &str) -> bool {
        self.load_from.is_some_and(|from| number >= from)
            && self.load_term.as_deref().is_none_or(|done| term > done)
    }
}

db::statements! {
    query STATE -> StateRow =
        "SELECT language, next_number, next_word, is_filled, vector_model, load_from, load_term, load_until
         FROM search_state WHERE project_id = $1";
    /// One indexer at a time.
    query LOCK_STATE -> StateRow =
        "SELECT language, next_number, next_word, is_filled, vector_model, load_from, load_term, load_until
         FROM search_state WHERE project_id = $1 {for_update}";
    command SET_NEXT =
        "UPDATE search_state SET next_number = $2, next_word = $3 WHERE project_id = $1";
    command SET_FILLED = "UPDATE search_state SET is_filled = TRUE WHERE project_id = $1";
    command START_OVER =
        "UPDATE search_state SET language = $2, next_number = 1, next_word = 1, is_filled = FALSE, vectors_to = 0,
            load_from = NULL, load_term = NULL, load_until = NULL
         WHERE project_id = $1";
    command CONTINUE_LOAD =
        "UPDATE search_state SET load_from = $2, load_term = $3, load_until = $4 WHERE project_id = $1";
    command END_LOAD =
        "UPDATE search_state SET load_from = NULL, load_term = NULL, load_until = NULL
         WHERE project_id = $1";
}

pub fn find(c: &Conn<'_>, project: ProjectId) -> Result<Option<StateRow>> {
    Ok(c.opt(&STATE, args![project])?)
}

pub fn lock(tx: &Tx<'_>, project: ProjectId) -> Result<Option<StateRow>> {
    Ok(tx.opt(&LOCK_STATE, args![project])?)
}

/// The numbers of the next document and of the next word.
pub fn set_next(tx: &Tx<'_>, project: ProjectId, number: i64, word: i64) -> Result<()> {
    Ok(tx.pipeline(&SET_NEXT, args![project, number, word])?)
}

pub fn set_filled(tx: &Tx<'_>, project: ProjectId) -> Result<()> {
    Ok(tx.pipeline(&SET_FILLED, args![project])?)
}

/// The caller has emptied the index.
pub fn start_over(tx: &Tx<'_>, project: ProjectId, language: &str) -> Result<bool> {
    Ok(tx.execute(&START_OVER, args![project, language])? > 0)
}

/// The load that began with a number is written up to a term, and has the index for itself until then.
pub fn continue_load(
    tx: &Tx<'_>,
    project: ProjectId,
    from: i64,
    term: Option<&str>,
    until: Timestamp,
) -> Result<()> {
    Ok(tx.pipeline(&CONTINUE_LOAD, args![project, from, term, until])?)
}

pub fn end_load(tx: &Tx<'_>, project: ProjectId) -> Result<()> {
    Ok(tx.pipeline(&END_LOAD, args![project])?)
}
