//! What comments count, recounted for the operator: answers of an entity and of a comment, and the
//! reactions to comments.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::features::comments::store;
use crate::features::reactions;
use crate::features::reactions::store::miscounted::miscounted_reactions;
use crate::features::reactions::target::TargetId;
use crate::values::ids::{CommentId, EntityId, ProjectId};

db::statements! {
    query MISCOUNTED_ENTITIES -> (ProjectId, EntityId), unscoped "the operator examines every project" =
        "SELECT e.project_id, e.id FROM entities e LEFT JOIN
            (SELECT project_id, entity_id, count(*) AS listed,
                count(*) FILTER (WHERE parent_id IS NULL) AS top,
                count(*) FILTER (WHERE user_deleted_at IS NULL AND parent_deleted_at IS NULL) AS live
             FROM comments WHERE deleted_at IS NULL GROUP BY project_id, entity_id) c
            ON c.project_id = e.project_id AND c.entity_id = e.id
         WHERE e.deleted_at IS NULL AND (e.replies_count <> COALESCE(c.live, 0)
            OR e.comments_count <> COALESCE(c.listed, 0)
            OR e.top_comments_count <> COALESCE(c.top, 0))";
    query MISCOUNTED_COMMENTS -> (ProjectId, CommentId), unscoped "the operator examines every project" =
        "SELECT p.project_id, p.id FROM comments p LEFT JOIN
            (SELECT project_id, thread_id, count(*) AS listed,
                count(*) FILTER (WHERE user_deleted_at IS NULL) AS live
             FROM comments WHERE deleted_at IS NULL GROUP BY project_id, thread_id) a
            ON a.project_id = p.project_id AND a.thread_id = p.id
         WHERE p.deleted_at IS NULL AND (p.replies_count <> COALESCE(a.live, 0)
            OR p.answers_count <> COALESCE(a.listed, 0))";
    query MISCOUNTED_REACTIONS -> (ProjectId, CommentId), unscoped "the operator examines every project" =
        miscounted_reactions!("comments");
    query UNBALANCED -> (ProjectId, CommentId), unscoped "the operator examines every project" =
        "SELECT c.project_id, c.id FROM comments c WHERE c.balance <> c.upvote_count - c.downvote_count";
    command BALANCE =
        "UPDATE comments SET balance = upvote_count - downvote_count WHERE project_id = $1 AND id = $2";
    command RECOUNT_ENTITY =
        "UPDATE entities SET
            replies_count = (SELECT count(*) FROM comments c WHERE c.project_id = $1
                AND c.entity_id = $2 AND c.deleted_at IS NULL AND c.user_deleted_at IS NULL
                AND c.parent_deleted_at IS NULL),
            comments_count = (SELECT count(*) FROM comments c WHERE c.project_id = $1
                AND c.entity_id = $2 AND c.deleted_at IS NULL),
            top_comments_count = (SELECT count(*) FROM comments c WHERE c.project_id = $1
                AND c.thread_id = $2 AND c.deleted_at IS NULL)
         WHERE project_id = $1 AND id = $2";
    command RECOUNT_COMMENT =
        "UPDATE comments SET
            replies_count = (SELECT count(*) FROM comments c WHERE c.project_id = $1
                AND c.thread_id = $2 AND c.deleted_at IS NULL AND c.user_deleted_at IS NULL),
            answers_count = (SELECT count(*) FROM comments c WHERE c.project_id = $1
                AND c.thread_id = $2 AND c.deleted_at IS NULL)
         WHERE project_id = $1 AND id = $2";
}

pub fn miscounted_entities(c: &Conn<'_>) -> Result<Vec<(ProjectId, EntityId)>> {
    Ok(c.all(&MISCOUNTED_ENTITIES, args![])?)
}

pub fn miscounted_comments(c: &Conn<'_>) -> Result<Vec<(ProjectId, CommentId)>> {
    Ok(c.all(&MISCOUNTED_COMMENTS, args![])?)
}

pub fn miscounted_reactions(c: &Conn<'_>) -> Result<Vec<(ProjectId, CommentId)>> {
    Ok(c.all(&MISCOUNTED_REACTIONS, args![])?)
}

pub fn unbalanced(c: &Conn<'_>) -> Result<Vec<(ProjectId, CommentId)>> {
    Ok(c.all(&UNBALANCED, args![])?)
}

pub fn balance(tx: &Tx<'_>, project: ProjectId, id: CommentId) -> Result<()> {
    tx.execute(&BALANCE, args![project, id])?;
    Ok(())
}

/// Whoever comments or deletes holds the entity: so once it is held, the comments that are
/// committed are all that it may count.
pub fn repair_entity(tx: &Tx<'_>, project: ProjectId, id: EntityId) -> Result<()> {
    crate::features::entities::store::lock(tx, project, id)?;
    tx.execute(&RECOUNT_ENTITY, args![project, id])?;
    Ok(())
}

pub fn repair_comment(tx: &Tx<'_>, project: ProjectId, id: CommentId) -> Result<()> {
    let Some(row) = store::find(tx, project, id)? else { return Ok(()) };
    crate::features::entities::store::lock(tx, project, row.entity_id)?;
    tx.execute(&RECOUNT_COMMENT, args![project, id])?;
    Ok(())
}

/// Whoever reacts holds the comment.
pub fn repair_reactions(tx: &Tx<'_>, project: ProjectId, id: CommentId) -> Result<()> {
    let Some(comment) = store::find_for_update(tx, project, id)? else { return Ok(()) };
    let found = reactions::store::counts(tx, project, TargetId::Comment(id))?;
    store::change_reactions(tx, project, id, found.less(comment.reactions))
}
