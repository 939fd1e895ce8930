//! The SQL about entities, their bodies and terms; feed totals are in `feed_totals.rs`, statements of lists
//! in `list/sql`.

pub mod anonymize;
pub mod feed_totals;
pub mod listed;
pub mod recount;

use std::collections::HashMap;

use db::{Builder, Command, Conn, Later, Tx, Value, args};

use crate::error::{Error, Result};
pub use crate::features::entities::row::EntityRow;
use crate::features::entities::terms::Terms;
use crate::features::entities::{DUPLICATE_FOREIGN_ID, USER_NOT_FOUND};
use crate::features::reactions::store::reaction_deltas;
use crate::features::reactions::target::TargetId;
use crate::features::reactions::{ReactionCounts, reaction_columns};
use crate::features::visibility::moderation::{ModerationRow, moderation_columns};
use crate::features::visibility::store::blocks::not_blocked;
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{EntityId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// The columns of a whole entity `e` with its body `b`.
macro_rules! entity_columns {
    () => {
        concat!(
            "e.id, e.foreign_id, e.source_id, e.space_id, e.user_id, e.is_draft, e.is_listed,
                e.is_emptied, e.nsfw, ",
            reaction_columns!("e."),
            ", e.replies_count, e.shares_count, e.views, e.score, e.score_updated_at, e.latitude,
                e.longitude, ",
            moderation_columns!("e."),
            ", e.created_at, e.updated_at, e.deleted_at, b.title, b.content, b.mentions, b.attachments,
                b.keywords, b.metadata"
        )
    };
}
use entity_columns;

/// `SELECT` of a whole entity; conditions follow. Skips deleted ones unless asked for.
macro_rules! select_entity {
    ($rest:expr) => {
        select_entity!(even deleted, concat!("AND e.deleted_at IS NULL ", $rest))
    };
    (even deleted, $rest:expr) => {
        concat!(
            "SELECT ",
            entity_columns!(),
            " FROM entities e JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id
             WHERE e.project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> EntityRow = select_entity!("AND e.id = $2");
    query FIND_FOR_UPDATE -> EntityRow = select_entity!("AND e.id = $2 {for_update}");
    query FIND_UNBLOCKED_FOR_UPDATE -> EntityRow =
        select_entity!(concat!("AND e.id = $2 ", not_blocked!("e.user_id"), "{for_no_key_update_of_e}"));
    query LOCK -> EntityId =
        "SELECT id FROM entities WHERE project_id = $1 AND id = $2 {for_update}";
    query LOCK_SHARED -> EntityRow = select_entity!("AND e.id = $2 {for_key_share}");
    query FIND_ALL -> EntityRow = select_entity!("AND e.id {any}($2)");
    query FIND_ALL_EVER -> EntityRow = select_entity!(even deleted, "AND e.id {any}($2)");
    query FIND_BY_FOREIGN_ID -> EntityRow = select_entity!("AND e.foreign_id = $2");
    command INSERT = concat!(
        "INSERT INTO entities (project_id, id, foreign_id, source_id, space_id, user_id, is_draft,
            is_listed, is_wide, nsfw, ",
        reaction_columns!(""),
        ", replies_count, shares_count, views, score, score_updated_at, latitude, longitude,
            has_attachments, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $11, $12, $13,
            $14, $15, $16, $17, $18)"
    );
    command INSERT_BODY =
        "INSERT INTO entity_bodies (project_id, id, title, content, mentions, attachments, keywords,
            metadata)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    command UPDATE =
        "UPDATE entities SET is_wide = $3, nsfw = $4, latitude = $5, longitude = $6,
            has_attachments = $7, updated_at = $8
         WHERE project_id = $1 AND id = $2";
    command UPDATE_BODY =
        "UPDATE entity_bodies SET title = $3, content = $4, mentions = $5, attachments = $6,
            keywords = $7, metadata = $8
         WHERE project_id = $1 AND id = $2";
    command PUBLISH =
        "UPDATE entities SET is_draft = FALSE, is_listed = NOT is_emptied, created_at = $3, updated_at = $3,
            score = $4, score_updated_at = $3
         WHERE project_id = $1 AND id = $2";
    command ADD_VIEWS =
        "UPDATE entities SET views = views + $3
         WHERE project_id = $1 AND id = $2 AND deleted_at IS NULL";
    command DELETE = "DELETE FROM entities WHERE project_id = $1 AND id = $2 AND deleted_at IS NULL";
    command SOFT_DELETE =
        "UPDATE entities SET deleted_at = $3, is_listed = FALSE, is_wide = FALSE
         WHERE project_id = $1 AND id = $2 AND deleted_at IS NULL";
    command HIDE =
        "UPDATE entities SET moderation_status = $3, moderated_at = $4, moderated_by_type = $5,
            moderation_reason = $6, is_listed = FALSE
         WHERE project_id = $1 AND id = $2";
    command DELETE_TERMS = "DELETE FROM entity_terms WHERE project_id = $1 AND entity_id = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: EntityId) -> Result<Option<EntityRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// Locked until the transaction ends, so that checks on it stay true.
pub fn find_for_update(tx: &Tx<'_>, project: ProjectId, id: EntityId) -> Result<Option<EntityRow>> {
    Ok(tx.opt(&FIND_FOR_UPDATE, args![project, id])?)
}

/// The same without waiting for it, and only if there is no block between its author and the viewer.
pub fn find_for_update_later(
    tx: &Tx<'_>,
    project: ProjectId,
    id: EntityId,
    viewer: Option<UserId>,
) -> Result<Later<EntityRow>> {
    Ok(match viewer {
        Some(viewer) => tx.later(&FIND_UNBLOCKED_FOR_UPDATE, args![project, id, viewer])?,
        None => tx.later(&FIND_FOR_UPDATE, args![project, id])?,
    })
}

/// Locks the entity until the transaction ends, without reading it.
pub fn lock(tx: &Tx<'_>, project: ProjectId, id: EntityId) -> Result<()> {
    tx.opt(&LOCK, args![project, id])?;
    Ok(())
}

/// Locked against deletion until the transaction ends (shared).
pub fn lock_shared(tx: &Tx<'_>, project: ProjectId, id: EntityId) -> Result<Option<EntityRow>> {
    Ok(tx.opt(&LOCK_SHARED, args![project, id])?)
}

pub fn find_by_foreign_id(c: &Conn<'_>, project: ProjectId, id: &str) -> Result<Option<EntityRow>> {
    Ok(c.opt(&FIND_BY_FOREIGN_ID, args![project, id])?)
}

/// Those of the ids that exist, in the order of the ids.
pub fn find_all(c: &Conn<'_>, project: ProjectId, ids: &[EntityId]) -> Result<Vec<EntityRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = c.all(&FIND_ALL, args![project, EntityId::list(ids)])?;
    let places: HashMap<EntityId, usize> = ids.iter().copied().zip(0..).collect();
    // Rows are large: their places are looked up once for each, and each is moved once.
    rows.sort_by_cached_key(|row| places.get(&row.id).copied());
    Ok(rows)
}

/// Includes soft-deleted ones, in no particular order.
pub fn find_all_ever(c: &Conn<'_>, project: ProjectId, ids: &[EntityId]) -> Result<Vec<EntityRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL_EVER, args![project, EntityId::list(ids)])?)
}

/// Only sends it: a refusal is the error of the transaction, and [`insert_refused`] names the reason.
pub fn insert(tx: &Tx<'_>, project: ProjectId, e: &EntityRow, terms: &Terms) -> Result<()> {
    tx.batch(|| insert_parts(tx, project, e, terms))
}

fn insert_parts(tx: &Tx<'_>, project: ProjectId, e: &EntityRow, terms: &Terms) -> Result<()> {
    tx.pipeline(
        &INSERT,
        args![
            project,
            e.id,
            &e.foreign_id,
            &e.source_id,
            e.space_id,
            e.user_id,
            e.is_draft,
            e.is_listed,
            terms.is_wide,
            e.nsfw,
            e.views,
            e.score,
            e.score_updated_at,
            e.latitude,
            e.longitude,
            e.has_attachments(),
            e.created_at,
            e.updated_at
        ],
    )?;
    tx.pipeline(&INSERT_BODY, &body(project, e))?;
    insert_terms(tx, project, e, terms)?;
    if e.is_draft { Ok(()) } else { search_queue::note(tx, project, Kind::Entity, e.id.0) }
}

/// The error of a transaction that inserted an entity.
pub fn insert_refused(error: Error) -> Error {
    error
        .on_unique("entities_foreign_id", DUPLICATE_FOREIGN_ID.with("field", "foreignId"))
        // The author was deleted by a concurrent request.
        .on_foreign_key(USER_NOT_FOUND)
}

/// Writes all fields that an update may change, and the terms.
pub fn update(tx: &Tx<'_>, project: ProjectId, e: &EntityRow, terms: &Terms) -> Result<()> {
    tx.execute(
        &UPDATE,
        args![
            project,
            e.id,
            terms.is_wide,
            e.nsfw,
            e.latitude,
            e.longitude,
            e.has_attachments(),
            e.updated_at
        ],
    )?;
    tx.pipeline(&UPDATE_BODY, &body(project, e))?;
    search_queue::note(tx, project, Kind::Entity, e.id.0)?;
    replace_terms(tx, project, e, terms)
}

fn body(project: ProjectId, e: &EntityRow) -> [Value<'_>; 8] {
    [
        project.into(),
        e.id.into(),
        (&e.title).into(),
        (&e.content).into(),
        (&e.mentions).into(),
        (&e.attachments).into(),
        (&e.keywords).into(),
        (&e.metadata).into(),
    ]
}

/// Hides it as a rule says. The caller keeps the feed totals.
pub fn hide(
    tx: &Tx<'_>,
    project: ProjectId,
    id: EntityId,
    moderation: &ModerationRow,
) -> Result<()> {
    let ModerationRow { moderation_status, moderated_at, moderated_by_type, .. } = moderation;
    let reason = &moderation.moderation_reason;
    let args = args![project, id, moderation_status, *moderated_at, moderated_by_type, reason];
    Ok(tx.pipeline(&HIDE, args)?)
}

/// Publishes a draft. The caller has locked it.
pub fn publish(tx: &Tx<'_>, project: ProjectId, e: &EntityRow, terms: &Terms) -> Result<()> {
    tx.pipeline(&PUBLISH, args![project, e.id, e.created_at, e.score])?;
    search_queue::note(tx, project, Kind::Entity, e.id.0)?;
    replace_terms(tx, project, e, terms)
}

fn replace_terms(tx: &Tx<'_>, project: ProjectId, e: &EntityRow, terms: &Terms) -> Result<()> {
    tx.pipeline(&DELETE_TERMS, args![project, e.id])?;
    insert_terms(tx, project, e, terms)
}

/// For a new entity.
pub fn insert_terms(tx: &Tx<'_>, project: ProjectId, e: &EntityRow, terms: &Terms) -> Result<()> {
    if terms.terms.is_empty() {
        return Ok(());
    }
    let mut rows = Builder::list([project.into(), e.created_at.into(), e.id.into()]);
    for term in &terms.terms {
        let term = rows.bind(*term);
        rows.add(format_args!("($1, {term}, $2, $3)"));
    }
    let text =
        format!("INSERT INTO entity_terms (project_id, term, created_at, entity_id) VALUES {rows}");
    Ok(tx.pipeline(&Command::<()>::built("entities::insert_terms", text), rows.args())?)
}

/// Adds to (or subtracts from) each count.
pub fn change_reactions(
    tx: &Tx<'_>,
    project: ProjectId,
    id: EntityId,
    by: ReactionCounts,
) -> Result<()> {
    reaction_deltas::change(tx, project, TargetId::Entity(id), by)
}

/// False if there is no such entity.
pub fn add_views(tx: &Tx<'_>, project: ProjectId, id: EntityId, views: i64) -> Result<bool> {
    Ok(tx.execute(&ADD_VIEWS, args![project, id, views])? > 0)
}

/// Deletes the entity with its body and terms; false if it was deleted already.
pub fn delete(tx: &Tx<'_>, project: ProjectId, id: EntityId) -> Result<bool> {
    search_queue::note(tx, project, Kind::Entity, id.0)?;
    Ok(tx.execute(&DELETE, args![project, id])? > 0)
}

/// Hides the entity for good; false if it was deleted already.
pub fn soft_delete(tx: &Tx<'_>, project: ProjectId, id: EntityId, now: Timestamp) -> Result<bool> {
    let deleted = tx.execute(&SOFT_DELETE, args![project, id, now])? > 0;
    if deleted {
        tx.execute(&DELETE_TERMS, args![project, id])?;
        search_queue::note(tx, project, Kind::Entity, id.0)?;
    }
    Ok(deleted)
}
