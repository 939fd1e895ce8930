//! What comments count, recounted for the operator: answers of an entity and of a comment, and the
//! reactions to comments.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::features::comments::store;
use crate::features::reactions;
use crate::features::reactions::store::miscounted::miscounted_reactions;
use crate::features::reactions::target::TargetId;
use crate::recount::sql::{drifted, recount};
use crate::values::ids::{CommentId, EntityId, ProjectId};

/// What an entity counts, except what a rule holds: comments that are neither deleted nor below a deleted one, all of them, and those on top.
macro_rules! on_entity {
    ($statement:ident) => {
        $statement!(in "entities" where "t.deleted_at IS NULL":
            ("replies_count" counts "comments" by "entity_id" where "n.deleted_at IS NULL AND COALESCE(n.moderated_by_type, '') <> 'hold'
                AND n.user_deleted_at IS NULL AND n.parent_deleted_at IS NULL")
            ("comments_count" counts "comments" by "entity_id" where "n.deleted_at IS NULL AND COALESCE(n.moderated_by_type, '') <> 'hold'")
            ("top_comments_count" counts "comments" by "thread_id" where "n.deleted_at IS NULL AND COALESCE(n.moderated_by_type, '') <> 'hold'"))
    };
}

/// What a comment counts: replies that their authors have not deleted, and all of them.
macro_rules! on_comment {
    ($statement:ident) => {
        $statement!(in "comments" where "t.deleted_at IS NULL":
            ("replies_count" counts "comments" by "thread_id"
                where "n.deleted_at IS NULL AND COALESCE(n.moderated_by_type, '') <> 'hold' AND n.user_deleted_at IS NULL")
            ("answers_count" counts "comments" by "thread_id" where "n.deleted_at IS NULL AND COALESCE(n.moderated_by_type, '') <> 'hold'"))
    };
}

db::statements! {
    query MISCOUNTED_ENTITIES -> (ProjectId, EntityId), unscoped "the operator examines every project" =
        on_entity!(drifted);
    command RECOUNT_ENTITY = on_entity!(recount);
    query MISCOUNTED_COMMENTS -> (ProjectId, CommentId), unscoped "the operator examines every project" =
        on_comment!(drifted);
    command RECOUNT_COMMENT = on_comment!(recount);
    query MISCOUNTED_REACTIONS -> (ProjectId, CommentId), unscoped "the operator examines every project" =
        miscounted_reactions!("comments");
    query UNBALANCED -> (ProjectId, CommentId), unscoped "the operator examines every project" =
        "SELECT c.project_id, c.id FROM comments c WHERE c.balance <> c.upvote_count - c.downvote_count";
    command BALANCE =
        "UPDATE comments SET balance = upvote_count - downvote_count WHERE project_id = $1 AND id = $2";
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

/// Creating and deleting comments lock the entity, so once it is locked all comments are committed.
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

/// Reactions lock the comment first.
pub fn repair_reactions(tx: &Tx<'_>, project: ProjectId, id: CommentId) -> Result<()> {
    let Some(comment) = store::find_for_update(tx, project, id)? else { return Ok(()) };
    let found = reactions::store::counts(tx, project, TargetId::Comment(id))?;
    store::change_reactions(tx, project, id, found.less(comment.reactions))
}
