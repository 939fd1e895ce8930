//! The SQL that notes changed records. At any point of a transaction: the writer of a record holds its lock, and the
//! indexer locks nothing but its own tables.

use db::{Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::search_queue::Kind;
use crate::values::ids::ProjectId;

db::statements! {
    command NOTE =
        "INSERT INTO search_todo (project_id, record_id, kind, stamp)
         SELECT s.project_id, $2, $3, 1 FROM search_state s WHERE s.project_id = $1
         ON CONFLICT (project_id, record_id) DO UPDATE SET stamp = search_todo.stamp + 1";
    /// Those of the records that are in the index; one that waits already is looked up again anyway.
    command NOTE_INDEXED =
        "INSERT INTO search_todo (project_id, record_id, kind, stamp)
         SELECT d.project_id, d.record_id, $3, 1 FROM search_docs d
         WHERE d.project_id = $1 AND d.record_id {any}($2)
         ON CONFLICT (project_id, record_id) DO UPDATE SET stamp = search_todo.stamp + 1";
}

/// A record was created, changed or deleted.
pub fn note(tx: &Tx<'_>, project: ProjectId, kind: Kind, record: Uuid) -> Result<()> {
    Ok(tx.pipeline(&NOTE, args![project, record, kind.number()])?)
}

/// Records were deleted.
pub fn note_deleted(
    tx: &Tx<'_>,
    project: ProjectId,
    kind: Kind,
    records: impl Iterator<Item = Uuid>,
) -> Result<()> {
    let records: Vec<Uuid> = records.collect();
    Ok(tx.pipeline(&NOTE_INDEXED, args![project, records, kind.number()])?)
}
