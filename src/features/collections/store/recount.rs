//! Stored counts of saved entities against what is saved, for the operator's check-up. They may be
//! examined and repaired while a server is at work.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::recount::sql::{drifted, lock, recount};
use crate::values::ids::{CollectionId, ProjectId};

/// How many entities are saved in a collection.
macro_rules! counts {
    ($statement:ident) => {
        $statement!(in "collections":
            ("entity_count" counts "collection_entities" by "collection_id"))
    };
}

db::statements! {
    query DRIFTED -> (ProjectId, CollectionId), unscoped "the operator examines every project" = counts!(drifted);
    query LOCK -> CollectionId = counts!(lock);
    command RECOUNT = counts!(recount);
}

/// The collections whose count is not what it should be.
pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, CollectionId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Saving locks the collection first, so once it is locked all saved entities are committed.
pub fn repair(tx: &Tx<'_>, project: ProjectId, id: CollectionId) -> Result<()> {
    if tx.opt(&LOCK, args![project, id])?.is_some() {
        tx.execute(&RECOUNT, args![project, id])?;
    }
    Ok(())
}
