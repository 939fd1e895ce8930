//! The SQL about comments and their bodies. Lists are in `list/sql.rs`, marking replies in `mark_replies.rs`.

pub mod anonymize;
pub mod best;
pub mod mark_replies;
pub mod purge;
pub mod recount;

use db::{Conn, Later, Tx, args};

use crate::error::Result;
pub use crate::features::comments::row::CommentRow;
use crate::features::reactions::store::reaction_deltas;
use crate::features::reactions::target::TargetId;
use crate::features::reactions::{ReactionCounts, reaction_columns};
use crate::features::users::store::authored::Written;
use crate::features::visibility::moderation::{ModerationRow, moderation_columns};
use crate::features::visibility::store::blocks::not_blocked;
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{CommentId, EntityId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// The columns of a whole comment.
macro_rules! comment_columns {
    () => {
        concat!(
            "c.id, c.foreign_id, c.entity_id, c.space_id, c.user_id, c.parent_id, c.referenced_id, ",
            reaction_columns!("c."),
            ", c.replies_count, ",
            moderation_columns!("c."),
            ", c.created_at, c.updated_at, c.parent_deleted_at,
                c.user_deleted_at, c.deleted_at, b.content, b.gif, b.mentions, b.attachments, b.metadata,
                COALESCE(e.moderation_status, '') = 'removed' AS entity_is_removed, e.is_draft AS entity_is_draft,
                e.user_id AS entity_user_id"
        )
    };
}

/// Comments `c` with their bodies `b` and their entities `e`.
macro_rules! whole_comments {
    () => {
        "comments c
            JOIN comment_bodies b ON b.project_id = c.project_id AND b.id = c.id
            JOIN entities e ON e.project_id = c.project_id AND e.id = c.entity_id"
    };
}

impl Written for CommentRow {
    const NAME: &'static str = "comments::list::page";
    const SELECTED: &'static str = comment_columns!();
    const ALIAS: &'static str = "c";
    const FROM: &'static str = whole_comments!();
    const IS_LIVE: &'static str = "c.deleted_at IS NULL AND e.deleted_at IS NULL";
}

/// `SELECT` of a whole comment; conditions follow. Skips deleted comments unless asked for, and comments of
/// deleted entities.
macro_rules! select_comment {
    ($rest:expr) => {
        select_comment!(
            even deleted,
            concat!("AND c.deleted_at IS NULL AND e.deleted_at IS NULL ", $rest)
        )
    };
    (even deleted, $rest:expr) => {
        concat!(
            "SELECT ",
            comment_columns!(),
            " FROM ",
            whole_comments!(),
            " WHERE c.project_id = $1 ",
            $rest
        )
    };
}

pub(super) use {comment_columns, select_comment, whole_comments};

db::statements! {
    query FIND -> CommentRow = select_comment!("AND c.id = $2");
    /// Reads the body after the lock is held; otherwise it would be as of before the wait. Also locks the
    /// entity, so that nobody is notified about one that is deleted meanwhile.
    query FIND_FOR_UPDATE -> CommentRow = select_comment!("AND c.id = $2 {for_update_of_c_b_keeping_e}");
    query FIND_UNBLOCKED_FOR_UPDATE -> CommentRow = select_comment!(concat!(
        "AND c.id = $2 AND (c.user_id = $3 OR (1 = 1 ", not_blocked!("c.user_id"), not_blocked!("e.user_id"), "))
         {for_update_of_c_b_keeping_e}"));
    /// A new comment that a rule holds.
    query HELD_PLACE -> (EntityId, Option<CommentId>) =
        "SELECT entity_id, parent_id FROM comments
         WHERE project_id = $1 AND id = $2 AND deleted_at IS NULL AND moderated_by_type = 'hold'";
    /// A comment that was removed before anybody saw it.
    query UNSEEN_PLACE -> (EntityId, Option<CommentId>) =
        "SELECT entity_id, parent_id FROM comments
         WHERE project_id = $1 AND id = $2 AND moderation_status = 'removed' AND deleted_at = moderated_at";
    command HOLD_AGAIN =
        "UPDATE comments SET deleted_at = NULL, moderated_by_type = 'hold'
         WHERE project_id = $1 AND id = $2 AND moderation_status = 'removed' AND deleted_at = moderated_at";
    command MODERATE =
        "UPDATE comments SET moderation_status = $3, moderated_at = $4, moderated_by_type = $5,
            moderation_reason = $6
         WHERE project_id = $1 AND id = $2";
    query FIND_ALL -> CommentRow = select_comment!("AND c.id {any}($2)");
    query FIND_ALL_EVER -> CommentRow = select_comment!(even deleted, "AND c.id {any}($2)");
    query FIND_BY_FOREIGN_ID -> CommentRow =
        select_comment!("AND c.foreign_id = $2 ORDER BY c.created_at, c.id LIMIT $3");
    query PLACE -> (EntityId, Option<CommentId>) =
        "SELECT entity_id, parent_id FROM comments
         WHERE project_id = $1 AND id = $2 AND deleted_at IS NULL";
    query LOCK -> CommentId =
        "SELECT id FROM comments WHERE project_id = $1 AND id {any}($2) ORDER BY id {for_update}";
    command INSERT = concat!(
        "INSERT INTO comments (project_id, id, foreign_id, entity_id, space_id, user_id, parent_id,
            thread_id, referenced_id, ",
        reaction_columns!(""),
        ", balance, controversy, replies_count, answers_count, created_at, updated_at,
            parent_deleted_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, $10, $11,
            $12)"
    );
    command INSERT_BODY =
        "INSERT INTO comment_bodies (project_id, id, content, gif, mentions, attachments, metadata)
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    command INSERT_MENTION =
        "INSERT INTO comment_mentions (project_id, user_id, comment_id) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING";
    command COUNT_ON_ENTITY =
        "UPDATE entities SET replies_count = replies_count + $3,
            comments_count = comments_count + $4, top_comments_count = top_comments_count + $5
         WHERE project_id = $1 AND id = $2";
    command COUNT_ON_PARENT =
        "UPDATE comments SET replies_count = replies_count + $3, answers_count = answers_count + $4
         WHERE project_id = $1 AND id = $2";
    command UPDATE =
        "UPDATE comments SET updated_at = $3 WHERE project_id = $1 AND id = $2";
    command UPDATE_BODY =
        "UPDATE comment_bodies SET content = $3, metadata = $4 WHERE project_id = $1 AND id = $2";
    command HIDE = "UPDATE comments SET deleted_at = $3 WHERE project_id = $1 AND id = $2";
    command EMPTY = "UPDATE comments SET user_deleted_at = $3 WHERE project_id = $1 AND id = $2";
    command EMPTY_BODY =
        "UPDATE comment_bodies SET content = NULL, gif = NULL, mentions = '[]', attachments = '[]'
         WHERE project_id = $1 AND id = $2";
    command FORGET_MENTIONS =
        "DELETE FROM comment_mentions WHERE project_id = $1 AND comment_id = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: CommentId) -> Result<Option<CommentRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// Locked until the transaction ends.
pub fn find_for_update(
    tx: &Tx<'_>,
    project: ProjectId,
    id: CommentId,
) -> Result<Option<CommentRow>> {
    Ok(tx.opt(&FIND_FOR_UPDATE, args![project, id])?)
}

/// The same without waiting for it, and only if it is the viewer's own or there is no block between them and its
/// authors.
pub fn find_for_update_later(
    tx: &Tx<'_>,
    project: ProjectId,
    id: CommentId,
    viewer: Option<UserId>,
) -> Result<Later<CommentRow>> {
    Ok(match viewer {
        Some(viewer) => tx.later(&FIND_UNBLOCKED_FOR_UPDATE, args![project, id, viewer])?,
        None => tx.later(&FIND_FOR_UPDATE, args![project, id])?,
    })
}

/// Those of the ids that exist, in the order of the ids.
pub fn find_all(c: &Conn<'_>, project: ProjectId, ids: &[CommentId]) -> Result<Vec<CommentRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = c.all(&FIND_ALL, args![project, CommentId::list(ids)])?;
    rows.sort_by_cached_key(|row| ids.iter().position(|id| *id == row.id));
    Ok(rows)
}

/// Includes soft-deleted ones, in no particular order.
pub fn find_all_ever(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[CommentId],
) -> Result<Vec<CommentRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL_EVER, args![project, CommentId::list(ids)])?)
}

/// The oldest first, up to a limit.
pub fn find_by_foreign_id(
    c: &Conn<'_>,
    project: ProjectId,
    foreign_id: &str,
    limit: i64,
) -> Result<Vec<CommentRow>> {
    Ok(c.all(&FIND_BY_FOREIGN_ID, args![project, foreign_id, limit])?)
}

/// The entity and the parent of the comment, which never change.
pub fn place(
    c: &Conn<'_>,
    project: ProjectId,
    id: CommentId,
) -> Result<Option<(EntityId, Option<CommentId>)>> {
    Ok(c.opt(&PLACE, args![project, id])?)
}

/// Locks comments until the transaction ends, in the order of their ids.
pub fn lock(tx: &Tx<'_>, project: ProjectId, ids: &[CommentId]) -> Result<()> {
    tx.all(&LOCK, args![project, CommentId::list(ids)])?;
    Ok(())
}

/// The author exists, and is locked against deletion.
pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    row: &CommentRow,
    mentioned: &[UserId],
) -> Result<()> {
    let thread = row.parent_id.map_or(row.entity_id.0, |parent| parent.0);
    tx.pipeline(
        &INSERT,
        args![
            project,
            row.id,
            &row.foreign_id,
            row.entity_id,
            row.space_id,
            row.user_id,
            row.parent_id,
            thread,
            row.referenced_id,
            row.created_at,
            row.updated_at,
            row.parent_deleted_at
        ],
    )?;
    let (content, gif) = (&row.content, row.gif.as_ref());
    let (mentions, attachments) = (&row.mentions, &row.attachments);
    let body = args![project, row.id, content, gif, mentions, attachments, &row.metadata];
    tx.pipeline(&INSERT_BODY, body)?;
    insert_mentions(tx, project, row.id, mentioned)?;
    search_queue::note(tx, project, Kind::Comment, row.id.0)
}

/// For a new comment.
pub fn insert_mentions(
    tx: &Tx<'_>,
    project: ProjectId,
    id: CommentId,
    mentioned: &[UserId],
) -> Result<()> {
    for user in mentioned {
        tx.pipeline(&INSERT_MENTION, args![project, *user, id])?;
    }
    Ok(())
}

/// How a created or deleted comment changes the counts above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Live comments of the entity, at every depth.
    pub live: i64,
    /// Live replies of the parent.
    pub direct: i64,
    /// Entries of the lists it is in.
    pub listed: i64,
}

pub fn count(tx: &Tx<'_>, project: ProjectId, row: &CommentRow, by: Counted) -> Result<()> {
    let Counted { live, direct, listed } = by;
    let top = if row.parent_id.is_none() { listed } else { 0 };
    tx.pipeline(&COUNT_ON_ENTITY, args![project, row.entity_id, live, listed, top])?;
    match row.parent_id {
        Some(parent) => Ok(tx.pipeline(&COUNT_ON_PARENT, args![project, parent, direct, listed])?),
        None => Ok(()),
    }
}

/// Subtracts from the entity's live comments.
pub fn uncount_live(tx: &Tx<'_>, project: ProjectId, entity: EntityId, by: i64) -> Result<()> {
    Ok(tx.pipeline(&COUNT_ON_ENTITY, args![project, entity, -by, 0, 0])?)
}

pub fn update(tx: &Tx<'_>, project: ProjectId, row: &CommentRow) -> Result<()> {
    tx.pipeline(&UPDATE, args![project, row.id, row.updated_at])?;
    search_queue::note(tx, project, Kind::Comment, row.id.0)?;
    Ok(tx.pipeline(&UPDATE_BODY, args![project, row.id, &row.content, &row.metadata])?)
}

/// Locks a comment that a moderator decides about. Lock order: if it is to be counted, its entity and its parent first.
pub fn lock_to_moderate(
    tx: &Tx<'_>,
    project: ProjectId,
    id: CommentId,
) -> Result<Option<CommentRow>> {
    if let Some((entity, parent)) = tx.opt(&HELD_PLACE, args![project, id])? {
        crate::features::entities::store::lock(tx, project, entity)?;
        lock(tx, project, parent.as_slice())?;
    }
    find_for_update(tx, project, id)
}

/// A comment that was removed before anybody saw it is held again, so that it can be approved. Lock order: its entity
/// and its parent first.
pub fn hold_again(tx: &Tx<'_>, project: ProjectId, id: CommentId) -> Result<()> {
    let Some((entity, parent)) = tx.opt(&UNSEEN_PLACE, args![project, id])? else { return Ok(()) };
    crate::features::entities::store::lock(tx, project, entity)?;
    lock(tx, project, parent.as_slice())?;
    tx.execute(&HOLD_AGAIN, args![project, id])?;
    Ok(())
}

/// Hides it as a rule says: one that was visible is a placeholder, a new one is its author's alone.
pub fn hide_by_rule(
    tx: &Tx<'_>,
    project: ProjectId,
    id: CommentId,
    moderation: &ModerationRow,
) -> Result<()> {
    let ModerationRow { moderation_status, moderated_at, moderated_by_type, .. } = moderation;
    let reason = &moderation.moderation_reason;
    let args = args![project, id, moderation_status, *moderated_at, moderated_by_type, reason];
    tx.pipeline(&MODERATE, args)?;
    search_queue::note(tx, project, Kind::Comment, id.0)
}

/// Hides it for good.
pub fn hide(tx: &Tx<'_>, project: ProjectId, id: CommentId, now: Timestamp) -> Result<()> {
    search_queue::note(tx, project, Kind::Comment, id.0)?;
    Ok(tx.pipeline(&HIDE, args![project, id, now])?)
}

/// Leaves an empty placeholder.
pub fn empty(tx: &Tx<'_>, project: ProjectId, id: CommentId, now: Timestamp) -> Result<()> {
    tx.pipeline(&EMPTY, args![project, id, now])?;
    search_queue::note(tx, project, Kind::Comment, id.0)?;
    tx.pipeline(&EMPTY_BODY, args![project, id])?;
    Ok(tx.pipeline(&FORGET_MENTIONS, args![project, id])?)
}

/// Adds to (or subtracts from) each count.
pub fn change_reactions(
    tx: &Tx<'_>,
    project: ProjectId,
    id: CommentId,
    by: ReactionCounts,
) -> Result<()> {
    reaction_deltas::change(tx, project, TargetId::Comment(id), by)
}
