//! The SQL about collections; `links.rs` has that about the entities saved in them. Lock order: nearer the
//! root first, then by id.

pub mod anonymize;
pub mod links;
pub mod recount;

use db::{Conn, Tx, args};

use crate::error::{Error, Fault, Result};
use crate::features::collections::rules::ROOT_NAME;
use crate::features::users;
use crate::values::ids::{CollectionId, ProjectId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct CollectionRow {
        pub id: CollectionId,
        pub user_id: UserId,
        pub parent_id: Option<CollectionId>,
        pub is_root: bool,
        pub name: String,
        pub depth: i64,
        pub entity_count: i64,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

impl CollectionRow {
    /// An empty root for a user.
    pub fn root(id: CollectionId, user_id: UserId, now: Timestamp) -> Self {
        CollectionRow {
            id,
            user_id,
            parent_id: None,
            is_root: true,
            name: ROOT_NAME.to_owned(),
            depth: 0,
            entity_count: 0,
            created_at: now,
            updated_at: now,
        }
    }
}

/// `SELECT` of whole rows of a user's own collections; conditions follow.
macro_rules! select_own {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, parent_id, is_root, name, depth, entity_count, created_at, updated_at
             FROM collections WHERE project_id = $1 AND user_id = $2 ",
            $rest
        )
    };
}

macro_rules! insert {
    ($rest:literal) => {
        concat!(
            "INSERT INTO collections (project_id, id, user_id, parent_id, is_root, name, depth,
                entity_count, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            $rest
        )
    };
}

db::statements! {
    query FIND -> CollectionRow = select_own!("AND id = $3");
    query LOCK -> CollectionRow = select_own!("AND id = $3 {for_update}");
    query LOCK_SHARED -> CollectionRow = select_own!("AND id = $3 {for_key_share}");
    query ROOT -> CollectionRow = select_own!("AND is_root");
    query CHILDREN -> CollectionRow = select_own!("AND parent_id = $3 ORDER BY created_at, id");
    query LOCK_CHILDREN -> CollectionId =
        "SELECT id FROM collections WHERE project_id = $1 AND parent_id {any}($2)
         ORDER BY id {for_update}";
    command INSERT = insert!("");
    command INSERT_ROOT = insert!(" ON CONFLICT DO NOTHING");
    command RENAME =
        "UPDATE collections SET name = $3, updated_at = $4 WHERE project_id = $1 AND id = $2";
    command COUNT =
        "UPDATE collections SET entity_count = $3, updated_at = $4
         WHERE project_id = $1 AND id = $2";
    command DELETE = "DELETE FROM collections WHERE project_id = $1 AND id {any}($2)";
}

/// Only the user's own: another user's collection is not found.
pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    id: CollectionId,
) -> Result<Option<CollectionRow>> {
    Ok(c.opt(&FIND, args![project, user, id])?)
}

/// The same, locked until the transaction ends.
pub fn lock(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    id: CollectionId,
) -> Result<Option<CollectionRow>> {
    Ok(tx.opt(&LOCK, args![project, user, id])?)
}

/// The same, locked against deletion until the transaction ends. Lock order: the user before their
/// collections, as in user deletion.
pub fn lock_shared(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    id: CollectionId,
) -> Result<Option<CollectionRow>> {
    users::store::lock_shared(tx, project, user)?;
    Ok(tx.opt(&LOCK_SHARED, args![project, user, id])?)
}

pub fn root(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Option<CollectionRow>> {
    Ok(c.opt(&ROOT, args![project, user])?)
}

/// The oldest first.
pub fn children(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    parent: CollectionId,
) -> Result<Vec<CollectionRow>> {
    Ok(c.all(&CHILDREN, args![project, user, parent])?)
}

/// All collections directly below these parents. The caller has locked the parents, so none is added.
pub fn lock_children(
    tx: &Tx<'_>,
    project: ProjectId,
    parents: &[CollectionId],
) -> Result<Vec<CollectionId>> {
    Ok(tx.all(&LOCK_CHILDREN, args![project, CollectionId::list(parents)])?)
}

/// `taken`: the error if the parent has a child of this name already.
pub fn insert(tx: &Tx<'_>, project: ProjectId, new: &CollectionRow, taken: Fault) -> Result<()> {
    let inserted = tx.execute(&INSERT, &values(project, new));
    inserted.map(drop).map_err(|error| user_gone(error).on_unique(NAME_INDEX, about_name(taken)))
}

/// Does nothing if the user has a root already.
pub fn insert_root(tx: &Tx<'_>, project: ProjectId, new: &CollectionRow) -> Result<()> {
    tx.execute(&INSERT_ROOT, &values(project, new)).map(drop).map_err(user_gone)
}

fn values(project: ProjectId, new: &CollectionRow) -> [db::Value<'_>; 10] {
    [
        project.into(),
        new.id.into(),
        new.user_id.into(),
        new.parent_id.into(),
        new.is_root.into(),
        (&new.name).into(),
        new.depth.into(),
        new.entity_count.into(),
        new.created_at.into(),
        new.updated_at.into(),
    ]
}

/// Writes the name; `taken` as in [`insert`].
pub fn rename(tx: &Tx<'_>, project: ProjectId, row: &CollectionRow, taken: Fault) -> Result<()> {
    let renamed = tx.execute(&RENAME, args![project, row.id, &row.name, row.updated_at]);
    renamed.map(drop).map_err(|error| Error::from(error).on_unique(NAME_INDEX, about_name(taken)))
}

/// Writes the count of a collection that the caller has locked.
pub fn set_count(tx: &Tx<'_>, project: ProjectId, row: &CollectionRow) -> Result<()> {
    Ok(tx.pipeline(&COUNT, args![project, row.id, row.entity_count, row.updated_at])?)
}

/// Deletes them with all their entries.
pub fn delete(tx: &Tx<'_>, project: ProjectId, ids: &[CollectionId]) -> Result<()> {
    Ok(tx.pipeline(&DELETE, args![project, CollectionId::list(ids)])?)
}

const NAME_INDEX: &str = "collections_name";

fn about_name(taken: Fault) -> Error {
    taken.with("field", "name")
}

/// The user was deleted by a concurrent request.
fn user_gone(error: db::Error) -> Error {
    Error::from(error).on_foreign_key(users::NOT_FOUND)
}
