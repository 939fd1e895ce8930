//! The SQL about collections; that about what is saved in them is in `links.rs`. Whoever holds
//! several holds those nearer the root first and then goes by id: one order, no deadlock.

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
    /// A user's root, with nothing in it.
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

/// `SELECT` of whole rows of a user's own collections, followed by which.
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

/// The user's own; that of another is not there.
pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    id: CollectionId,
) -> Result<Option<CollectionRow>> {
    Ok(c.opt(&FIND, args![project, user, id])?)
}

/// The same, held until the transaction ends.
pub fn lock(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    id: CollectionId,
) -> Result<Option<CollectionRow>> {
    Ok(tx.opt(&LOCK, args![project, user, id])?)
}

/// The same, kept from being deleted until the transaction ends. The user is kept first, as the
/// new row will keep them: whoever deletes a user holds them before their collections.
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

/// All that is directly below any of the parents, which the caller holds: so nothing is added.
pub fn lock_children(
    tx: &Tx<'_>,
    project: ProjectId,
    parents: &[CollectionId],
) -> Result<Vec<CollectionId>> {
    Ok(tx.all(&LOCK_CHILDREN, args![project, CollectionId::list(parents)])?)
}

/// `taken`: for a name that the parent has below it already.
pub fn insert(tx: &Tx<'_>, project: ProjectId, new: &CollectionRow, taken: Fault) -> Result<()> {
    let inserted = tx.execute(&INSERT, &values(project, new));
    inserted.map(drop).map_err(|error| user_gone(error).on_unique(NAME_INDEX, about_name(taken)))
}

/// Nothing happens if the user has a root already.
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

/// Writes the count of a collection that the caller holds.
pub fn set_count(tx: &Tx<'_>, project: ProjectId, row: &CollectionRow) -> Result<()> {
    Ok(tx.pipeline(&COUNT, args![project, row.id, row.entity_count, row.updated_at])?)
}

/// With everything that is saved in them.
pub fn delete(tx: &Tx<'_>, project: ProjectId, ids: &[CollectionId]) -> Result<()> {
    Ok(tx.pipeline(&DELETE, args![project, CollectionId::list(ids)])?)
}

const NAME_INDEX: &str = "collections_name";

fn about_name(taken: Fault) -> Error {
    taken.with("field", "name")
}

/// The user was deleted a moment ago.
fn user_gone(error: db::Error) -> Error {
    Error::from(error).on_foreign_key(users::NOT_FOUND)
}
