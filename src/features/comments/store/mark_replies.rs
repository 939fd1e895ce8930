//! The SQL that marks the replies below a deleted comment.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{CommentId, ProjectId};
use crate::values::time::Timestamp;

db::statements! {
    /// The replies to any of these, and whether they are marked already. Replies below a hidden comment were
    /// marked with it.
    query ANSWERS -> (CommentId, bool) =
        "SELECT id, parent_deleted_at IS NOT NULL FROM comments
         WHERE project_id = $1 AND thread_id {any}($2) AND deleted_at IS NULL";
    /// Returns for each whether it counted until now.
    command MARK -> bool =
        "UPDATE comments SET parent_deleted_at = $3
         WHERE project_id = $1 AND id {any}($2) AND parent_deleted_at IS NULL
         RETURNING user_deleted_at IS NULL AND deleted_at IS NULL";
}

/// The replies to any of these comments, and whether each is marked already.
pub fn replies(
    c: &Conn<'_>,
    project: ProjectId,
    comments: &[CommentId],
) -> Result<Vec<(CommentId, bool)>> {
    Ok(c.all(&ANSWERS, args![project, CommentId::list(comments)])?)
}

/// Marks those that are not marked yet; returns for each whether it counted until now.
pub fn mark(
    tx: &Tx<'_>,
    project: ProjectId,
    comments: &[CommentId],
    at: Timestamp,
) -> Result<Vec<bool>> {
    Ok(tx.all(&MARK, args![project, CommentId::list(comments), at])?)
}
