//! Who may see a comment. One rule, asked by every door that leads to one: it is there unless it is
//! about a draft of somebody else, or in a space that is closed to whoever looks, or there is a block
//! between its author, or the entity's, and them. For its own author it is always there. Lists ask
//! for more: see [`is_open`].

use db::{Conn, Tx};

use crate::error::Result;
use crate::features::blocks::filter;
use crate::features::comments::store::{self, CommentRow};
use crate::features::entities::visibility::Eyes;
use crate::features::projects::Project;
use crate::features::spaces::access;
use crate::ids::{CommentId, UserId};

/// Whether the comments of an entity are listed for these eyes: of a published one for everybody, of a
/// draft or a removed one for whom it belongs to.
pub fn is_open(eyes: Eyes, is_published: bool, author: Option<UserId>) -> bool {
    match eyes {
        Eyes::Key | Eyes::KeyAs(_) => true,
        Eyes::User(user) => is_published || author == Some(user),
        Eyes::Nobody => is_published,
    }
}

/// Whether it may be met at all, blocks aside: not below a draft of somebody else.
pub fn is_reachable(row: &CommentRow, eyes: Eyes) -> bool {
    row.is_by(eyes) || is_open(eyes, !row.entity_is_draft, row.entity_user_id)
}

/// The comment, if it is there for these eyes.
pub fn find(
    c: &Conn<'_>,
    project: &Project,
    id: CommentId,
    eyes: Eyes,
) -> Result<Option<CommentRow>> {
    seen(c, project, store::find(c, project.id, id)?, eyes)
}

/// What was found, if it is there for these eyes.
pub fn seen(
    c: &Conn<'_>,
    project: &Project,
    found: Option<CommentRow>,
    eyes: Eyes,
) -> Result<Option<CommentRow>> {
    let Some(row) = found.filter(|row| is_reachable(row, eyes)) else { return Ok(None) };
    if !access::may_read(c, project.id, row.space_id, row.user_id, eyes)? {
        return Ok(None);
    }
    if row.is_by(eyes) {
        return Ok(Some(row));
    }
    let authors: Vec<UserId> = [row.user_id, row.entity_user_id].into_iter().flatten().collect();
    let is_hidden = !filter::among(c, project, eyes.viewer(), &authors)?.is_empty();
    Ok((!is_hidden).then_some(row))
}

/// The same, held until the transaction ends. For a user, blocks are looked at in the same statement.
pub fn hold(
    tx: &Tx<'_>,
    project: &Project,
    id: CommentId,
    eyes: Eyes,
) -> Result<Option<CommentRow>> {
    match (eyes, filter::counting(project, eyes.viewer())) {
        (Eyes::User(_), Some(viewer)) => {
            let met = store::find_met_for_update(tx, project.id, id, viewer)?;
            match met.filter(|row| is_reachable(row, eyes)) {
                Some(row) if access::may_read(tx, project.id, row.space_id, row.user_id, eyes)? => {
                    Ok(Some(row))
                }
                _ => Ok(None),
            }
        }
        _ => seen(tx, project, store::find_for_update(tx, project.id, id)?, eyes),
    }
}
