//! Who may see a comment. Every endpoint asks this one rule: a comment is hidden if it is about another
//! user's draft, if it is in a space that the viewer may not read, or if there is a block between the viewer
//! and its author or the entity's author. Authors always see their own. Lists ask for more: see [`is_open`].

use db::{Conn, Later, Tx};

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::store::{self, CommentRow};
use crate::features::spaces::store::access::{self, KnownSpace};
use crate::features::visibility::store::blocks;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, UserId};

/// Whether the comments of an entity are listed for this perspective: a published entity's for everybody,
/// those of a draft or a removed entity for its author only.
pub fn is_open(perspective: Perspective, is_published: bool, author: Option<UserId>) -> bool {
    match perspective {
        Perspective::Key | Perspective::KeyAs(_) => true,
        Perspective::User(user) => is_published || author == Some(user),
        Perspective::Anonymous => is_published,
    }
}

/// Whether the viewer may see it, blocks aside: not if it is below another user's draft, or held by a rule.
pub fn is_reachable(row: &CommentRow, perspective: Perspective) -> bool {
    let is_held = row.moderation.is_held_new() && !perspective.is_key();
    let is_open = is_open(perspective, !row.entity_is_draft, row.entity_user_id);
    row.is_by(perspective) || (is_open && !is_held)
}

/// The comment, if this perspective may see it.
pub fn find(
    c: &Conn<'_>,
    project: &Project,
    id: CommentId,
    perspective: Perspective,
) -> Result<Option<CommentRow>> {
    seen(c, project, store::find(c, project.id, id)?, perspective)
}

/// The row, if this perspective may see it.
pub fn seen(
    c: &Conn<'_>,
    project: &Project,
    found: Option<CommentRow>,
    perspective: Perspective,
) -> Result<Option<CommentRow>> {
    let Some(row) = found.filter(|row| is_reachable(row, perspective)) else { return Ok(None) };
    if !access::may_read(c, project.id, row.space_id, row.user_id, perspective)? {
        return Ok(None);
    }
    if row.is_by(perspective) {
        return Ok(Some(row));
    }
    let authors: Vec<UserId> = [row.user_id, row.entity_user_id].into_iter().flatten().collect();
    let is_hidden = !blocks::blocked_among(c, project, perspective.viewer(), &authors)?.is_empty();
    Ok((!is_hidden).then_some(row))
}

/// Those of the rows that this perspective may see.
pub fn among(
    c: &Conn<'_>,
    project: &Project,
    mut rows: Vec<CommentRow>,
    perspective: Perspective,
) -> Result<Vec<CommentRow>> {
    rows.retain(|row| is_reachable(row, perspective));
    let written = rows.iter().map(|row| (row.space_id, row.user_id)).collect();
    let readable = access::among(c, project.id, written, perspective)?;
    let authors = rows.iter().flat_map(|row| [row.user_id, row.entity_user_id]).flatten();
    let authors: Vec<UserId> = authors.collect();
    let hidden = blocks::blocked_among(c, project, perspective.viewer(), &authors)?;
    let is_met = |author: Option<UserId>| author.is_none_or(|author| !hidden.contains(&author));
    rows.retain(|row| {
        readable.contains(&(row.space_id, row.user_id))
            && (row.is_by(perspective) || (is_met(row.user_id) && is_met(row.entity_user_id)))
    });
    Ok(rows)
}

/// Locks the comment until the transaction ends; [`locked`] tells whether this perspective may see it. For a user,
/// the same statement checks blocks.
pub fn lock(
    tx: &Tx<'_>,
    project: &Project,
    id: CommentId,
    perspective: Perspective,
) -> Result<Later<CommentRow>> {
    store::find_for_update_later(tx, project.id, id, checked_for(project, perspective))
}

/// What [`lock`] has found, if this perspective may see it.
pub fn locked(
    tx: &Tx<'_>,
    project: &Project,
    found: Option<CommentRow>,
    perspective: Perspective,
) -> Result<Option<CommentRow>> {
    found.map_or(Ok(None), |row| locked_in(tx, project, row, perspective, None))
}

/// The same in a space that is known already.
pub fn locked_in(
    tx: &Tx<'_>,
    project: &Project,
    row: CommentRow,
    perspective: Perspective,
    space: Option<&KnownSpace>,
) -> Result<Option<CommentRow>> {
    if checked_for(project, perspective).is_none() {
        return seen(tx, project, Some(row), perspective);
    }
    if !is_reachable(&row, perspective) {
        return Ok(None);
    }
    let may_read = match space {
        Some(space) => space.may_read(row.user_id, perspective),
        None => access::may_read(tx, project.id, row.space_id, row.user_id, perspective)?,
    };
    Ok(may_read.then_some(row))
}

/// The user whose blocks the locking statement checks.
fn checked_for(project: &Project, perspective: Perspective) -> Option<UserId> {
    let is_user = matches!(perspective, Perspective::User(_));
    blocks::counting(project, perspective.viewer()).filter(|_| is_user)
}
