//! The SQL that removes the comments of a deleted entity.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{CommentId, EntityId, ProjectId};

db::statements! {
    query SOME -> CommentId =
        "SELECT id FROM comments WHERE project_id = $1 AND entity_id = $2 AND deleted_at IS NULL
         UNION ALL
         SELECT id FROM comments WHERE project_id = $1 AND entity_id = $2 AND deleted_at IS NOT NULL
         LIMIT $3";
    command DELETE = "DELETE FROM comments WHERE project_id = $1 AND id {any}($2)";
}

/// Some of the comments, including deleted ones.
pub fn some(
    c: &Conn<'_>,
    project: ProjectId,
    entity: EntityId,
    most: i64,
) -> Result<Vec<CommentId>> {
    Ok(c.all(&SOME, args![project, entity, most])?)
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, comments: &[CommentId]) -> Result<()> {
    search_queue::note_deleted(tx, project, Kind::Comment, comments.iter().map(|id| id.0))?;
    tx.execute(&DELETE, args![project, CommentId::list(comments)])?;
    Ok(())
}
