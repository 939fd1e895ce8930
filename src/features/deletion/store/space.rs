//! The SQL that hides a space with everything below it, and then removes it in batches.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{EntityId, ProjectId, SpaceId};
use crate::values::time::Timestamp;

db::statements! {
    query COUNT_ENTITIES -> i64 =
        "SELECT count(*) FROM entities WHERE project_id = $1 AND space_id {any}($2)
            AND deleted_at IS NULL";
    query COUNT_MEMBERS -> i64 =
        "SELECT CAST(COALESCE(sum(members_count), 0) AS {int}) FROM spaces
         WHERE project_id = $1 AND id {any}($2)";
    command HIDE =
        "UPDATE spaces SET deleted_at = $3, is_open = FALSE WHERE project_id = $1 AND id {any}($2)";
    query DELETED_BELOW -> SpaceId =
        "SELECT s.id FROM spaces s WHERE s.project_id = $1 AND s.deleted_at IS NOT NULL AND s.id IN
            (SELECT l.space_id FROM space_lines l WHERE l.project_id = $1 AND l.ancestor_id = $2)
         ORDER BY s.id DESC LIMIT $3";
    query ENTITIES -> EntityId =
        "SELECT id FROM entities WHERE project_id = $1 AND space_id = $2 ORDER BY id LIMIT $3";
    command DELETE_MEMBERS =
        "DELETE FROM space_members WHERE project_id = $1 AND space_id = $2 AND user_id IN
            (SELECT m.user_id FROM space_members m WHERE m.project_id = $1 AND m.space_id = $2
             LIMIT $3)";
    command DELETE =
        "DELETE FROM spaces WHERE project_id = $1 AND id = $2 AND deleted_at IS NOT NULL";
}

/// How many entities these spaces hold.
pub fn count_entities(c: &Conn<'_>, project: ProjectId, spaces: &[SpaceId]) -> Result<i64> {
    Ok(c.one(&COUNT_ENTITIES, args![project, SpaceId::list(spaces)])?)
}

pub fn count_members(c: &Conn<'_>, project: ProjectId, spaces: &[SpaceId]) -> Result<i64> {
    Ok(c.one(&COUNT_MEMBERS, args![project, SpaceId::list(spaces)])?)
}

/// Marks the spaces as deleted.
pub fn hide(tx: &Tx<'_>, project: ProjectId, spaces: &[SpaceId], now: Timestamp) -> Result<()> {
    tx.pipeline(&HIDE, args![project, SpaceId::list(spaces), now])?;
    spaces.iter().try_for_each(|space| search_queue::note(tx, project, Kind::Space, space.0))
}

/// Some of the deleted spaces at and below this one, the deepest first.
pub fn deleted_below(
    c: &Conn<'_>,
    project: ProjectId,
    root: SpaceId,
    most: i64,
) -> Result<Vec<SpaceId>> {
    Ok(c.all(&DELETED_BELOW, args![project, root, most])?)
}

/// Some of the entities in a space.
pub fn some_entities(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    most: i64,
) -> Result<Vec<EntityId>> {
    Ok(c.all(&ENTITIES, args![project, space, most])?)
}

/// Deletes some of the memberships of a space; returns how many those were.
pub fn delete_members(tx: &Tx<'_>, project: ProjectId, space: SpaceId, most: i64) -> Result<u64> {
    Ok(tx.execute(&DELETE_MEMBERS, args![project, space, most])?)
}

/// Deletes the row of a space that is marked as deleted.
pub fn delete(tx: &Tx<'_>, project: ProjectId, space: SpaceId) -> Result<()> {
    tx.execute(&DELETE, args![project, space])?;
    Ok(())
}
