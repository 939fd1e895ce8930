//! Stored counts of saved entities against what is saved, for the operator's check-up. They may be
//! examined and repaired while a server is at work.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{CollectionId, ProjectId};

db::statements! {
    query DRIFTED -> (ProjectId, CollectionId), unscoped "the operator examines every project" =
        "SELECT c.project_id, c.id FROM collections c
         WHERE c.entity_count <> (SELECT count(*) FROM collection_entities l
            WHERE l.project_id = c.project_id AND l.collection_id = c.id)";
    query LOCK -> CollectionId =
        "SELECT id FROM collections WHERE project_id = $1 AND id = $2 {for_update}";
    command RECOUNT =
        "UPDATE collections SET entity_count = (SELECT count(*) FROM collection_entities l
            WHERE l.project_id = $1 AND l.collection_id = $2)
         WHERE project_id = $1 AND id = $2";
}

/// The collections whose count is not what it should be.
pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, CollectionId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Whoever saves something holds the collection first: so once it is held, what is committed is all
/// that it may count.
pub fn repair(tx: &Tx<'_>, project: ProjectId, id: CollectionId) -> Result<()> {
    if tx.opt(&LOCK, args![project, id])?.is_some() {
        tx.execute(&RECOUNT, args![project, id])?;
    }
    Ok(())
}
