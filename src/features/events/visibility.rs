//! Whether an event exists for a caller. The only place that decides it for single events; `list/sql.rs` says the same
//! for lists.

use db::{Conn, Tx};

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::events::rules::Visibility;
use crate::features::events::store::{self, EventRow, people};
use crate::features::events::{FORBIDDEN, NOT_FOUND};
use crate::features::spaces::rules::Status as Membership;
use crate::features::spaces::store as spaces;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{EventId, SpaceId, UserId};

/// Whether this perspective sees the event.
pub fn sees(
    c: &Conn<'_>,
    project: &Project,
    row: &EventRow,
    perspective: Perspective,
) -> Result<bool> {
    if perspective.is_key() || row.visibility == Visibility::Public {
        return Ok(true);
    }
    let Perspective::User(user) = perspective else { return Ok(false) };
    if people::is_host(c, project.id, row.id, user)? {
        return Ok(true);
    }
    match (row.visibility, row.space_id) {
        (Visibility::Members, Some(space)) => is_member(c, project, space, user),
        (Visibility::Invite, _) => people::is_invited(c, project.id, row.id, user),
        _ => Ok(false),
    }
}

/// An active member of a space that exists.
fn is_member(c: &Conn<'_>, project: &Project, space: SpaceId, user: UserId) -> Result<bool> {
    if !project.has(Bundle::Spaces) || spaces::find(c, project.id, space)?.is_none() {
        return Ok(false);
    }
    let standing = spaces::standing(c, project.id, space, user)?;
    Ok(standing.is_some_and(|member| member.status == Membership::Active))
}

/// The event, if it exists for this perspective.
pub fn find(
    c: &Conn<'_>,
    project: &Project,
    id: EventId,
    perspective: Perspective,
) -> Result<Option<EventRow>> {
    let Some(row) = store::find(c, project.id, id)? else { return Ok(None) };
    Ok(sees(c, project, &row, perspective)?.then_some(row))
}

/// The same, locked until the transaction ends.
pub fn lock(
    tx: &Tx<'_>,
    project: &Project,
    id: EventId,
    perspective: Perspective,
) -> Result<Option<EventRow>> {
    let found = store::lock(tx, project.id, id)?.filter(|row| row.deleted_at.is_none());
    let Some(row) = found else { return Ok(None) };
    Ok(sees(tx, project, &row, perspective)?.then_some(row))
}

/// Whether they host the event. Keys may do everything that a host may.
pub fn hosts(
    c: &Conn<'_>,
    project: &Project,
    id: EventId,
    perspective: Perspective,
) -> Result<bool> {
    match perspective {
        Perspective::Key | Perspective::KeyAs(_) => Ok(true),
        Perspective::User(user) => people::is_host(c, project.id, id, user),
        Perspective::Anonymous => Ok(false),
    }
}

/// Refuses everybody but hosts.
pub fn require_host(
    c: &Conn<'_>,
    project: &Project,
    id: EventId,
    perspective: Perspective,
) -> Result<()> {
    if hosts(c, project, id, perspective)? { Ok(()) } else { Err(FORBIDDEN.into()) }
}

/// The event of one of its hosts.
pub fn find_hosted(
    c: &Conn<'_>,
    project: &Project,
    id: EventId,
    perspective: Perspective,
) -> Result<EventRow> {
    let row = find(c, project, id, perspective)?.ok_or(NOT_FOUND)?;
    require_host(c, project, id, perspective)?;
    Ok(row)
}

/// The same, locked until the transaction ends.
pub fn lock_hosted(
    tx: &Tx<'_>,
    project: &Project,
    id: EventId,
    perspective: Perspective,
) -> Result<EventRow> {
    let row = lock(tx, project, id, perspective)?.ok_or(NOT_FOUND)?;
    require_host(tx, project, id, perspective)?;
    Ok(row)
}
