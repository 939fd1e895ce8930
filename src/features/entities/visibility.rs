//! Who may see an entity. Every endpoint asks this one rule: fetches, reactions, files, comments. Hidden
//! entities are treated as not found: drafts of others, entities in spaces that the viewer may not read, and
//! entities with a block between author and viewer.

use db::{Conn, Later, Tx};

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::entities::store::{self, EntityRow};
use crate::features::spaces::store::access::{self, KnownSpace};
use crate::features::visibility::store::blocks;
use crate::tenancy::Project;
use crate::values::ids::{EntityId, UserId};

/// Whether the entity is published, or the viewer's own draft, or their own and held for a moderator.
pub fn is_published_for(perspective: Perspective, entity: &EntityRow) -> bool {
    let is_published = !entity.is_draft && !entity.moderation.is_held();
    is_published || perspective.owns(entity.user_id)
}

/// The entity, if this perspective may see it.
pub fn find(
    c: &Conn<'_>,
    project: &Project,
    id: EntityId,
    perspective: Perspective,
) -> Result<Option<EntityRow>> {
    seen(c, project, store::find(c, project.id, id)?, perspective)
}

/// The row, if this perspective may see it.
pub fn seen(
    c: &Conn<'_>,
    project: &Project,
    found: Option<EntityRow>,
    perspective: Perspective,
) -> Result<Option<EntityRow>> {
    let Some(entity) = found.filter(|entity| is_published_for(perspective, entity)) else {
        return Ok(None);
    };
    let is_hidden = match entity.user_id {
        Some(author) => blocks::is_blocked_between(c, project, perspective.viewer(), author)?,
        None => false,
    };
    let may_read = access::may_read(c, project.id, entity.space_id, entity.user_id, perspective)?;
    Ok((!is_hidden && may_read).then_some(entity))
}

/// Those of the rows that this perspective may see.
pub fn among(
    c: &Conn<'_>,
    project: &Project,
    mut rows: Vec<EntityRow>,
    perspective: Perspective,
) -> Result<Vec<EntityRow>> {
    let authors: Vec<UserId> = rows.iter().filter_map(|row| row.user_id).collect();
    let hidden = blocks::blocked_among(c, project, perspective.viewer(), &authors)?;
    let written = rows.iter().map(|row| (row.space_id, row.user_id)).collect();
    let readable = access::among(c, project.id, written, perspective)?;
    rows.retain(|row| {
        let is_visible = row.user_id.is_none_or(|author| !hidden.contains(&author));
        is_published_for(perspective, row)
            && is_visible
            && readable.contains(&(row.space_id, row.user_id))
    });
    Ok(rows)
}

/// The same, locked against deletion until the transaction ends.
pub fn lock_shared(
    tx: &Tx<'_>,
    project: &Project,
    id: EntityId,
    perspective: Perspective,
) -> Result<Option<EntityRow>> {
    seen(tx, project, store::lock_shared(tx, project.id, id)?, perspective)
}

/// Locks the entity until the transaction ends; [`locked`] tells whether this perspective may see it. The same
/// statement checks blocks.
pub fn lock(
    tx: &Tx<'_>,
    project: &Project,
    id: EntityId,
    perspective: Perspective,
) -> Result<Later<EntityRow>> {
    let viewer = blocks::counting(project, perspective.viewer());
    store::find_for_update_later(tx, project.id, id, viewer)
}

/// What [`lock`] has found, if this perspective may see it.
pub fn locked(
    tx: &Tx<'_>,
    project: &Project,
    found: Option<EntityRow>,
    perspective: Perspective,
) -> Result<Option<EntityRow>> {
    found.map_or(Ok(None), |row| locked_in(tx, project, row, perspective, None))
}

/// The same in a space that is known already.
pub fn locked_in(
    tx: &Tx<'_>,
    project: &Project,
    row: EntityRow,
    perspective: Perspective,
    space: Option<&KnownSpace>,
) -> Result<Option<EntityRow>> {
    if !is_published_for(perspective, &row) {
        return Ok(None);
    }
    let may_read = match space {
        Some(space) => space.may_read(row.user_id, perspective),
        None => access::may_read(tx, project.id, row.space_id, row.user_id, perspective)?,
    };
    Ok(may_read.then_some(row))
}
