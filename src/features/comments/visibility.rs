//! Who may see a comment. One rule, asked by every door that leads to one: it is there unless it is
//! about a draft of somebody else, or in a space that the viewer may not read, or there is a block
//! between its author, or the entity's, and them. For its own author it is always there. Lists ask
//! for more: see [`is_open`].

use db::{Conn, Tx};

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::store::{self, CommentRow};
use crate::features::spaces::store::access;
use crate::features::visibility::store::blocks;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, UserId};

/// Whether the comments of an entity are listed for these perspective: of a published one for everybody, of a
/// draft or a removed one for whom it belongs to.
pub fn is_open(perspective: Perspective, is_published: bool, author: Option<UserId>) -> bool {
    match perspective {
        Perspective::Key | Perspective::KeyAs(_) => true,
        Perspective::User(user) => is_published || author == Some(user),
        Perspective::Anonymous => is_published,
    }
}

/// Whether it may be met at all, blocks aside: not below a draft of somebody else.
pub fn is_reachable(row: &CommentRow, perspective: Perspective) -> bool {
    row.is_by(perspective) || is_open(perspective, !row.entity_is_draft, row.entity_user_id)
}

/// The comment, if it is there for these perspective.
pub fn find(
    c: &Conn<'_>,
    project: &Project,
    id: CommentId,
    perspective: Perspective,
) -> Result<Option<CommentRow>> {
    seen(c, project, store::find(c, project.id, id)?, perspective)
}

/// What was found, if it is there for these perspective.
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

/// The same, held until the transaction ends. For a user, blocks are looked at in the same statement.
pub fn lock(
    tx: &Tx<'_>,
    project: &Project,
    id: CommentId,
    perspective: Perspective,
) -> Result<Option<CommentRow>> {
    match (perspective, blocks::counting(project, perspective.viewer())) {
        (Perspective::User(_), Some(viewer)) => {
            let met = store::find_met_for_update(tx, project.id, id, viewer)?;
            match met.filter(|row| is_reachable(row, perspective)) {
                Some(row)
                    if access::may_read(
                        tx,
                        project.id,
                        row.space_id,
                        row.user_id,
                        perspective,
                    )? =>
                {
                    Ok(Some(row))
                }
                _ => Ok(None),
            }
        }
        _ => seen(tx, project, store::find_for_update(tx, project.id, id)?, perspective),
    }
}
