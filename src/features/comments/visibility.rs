//! Who may see a comment. One rule, asked by every door that leads to one: it is there as its entity
//! is, unless there is a block between its author, or the entity's, and whoever looks.

use db::Conn;

use crate::error::Result;
use crate::features::blocks::filter;
use crate::features::comments::store::{self, CommentRow};
use crate::features::entities::visibility::Eyes;
use crate::features::projects::Project;
use crate::ids::{CommentId, UserId};

/// Whether the comments of an entity are there for these eyes: of one that is listed for everybody,
/// of a draft or a removed one for whom it belongs to.
pub fn is_open(eyes: Eyes, is_listed: bool, author: Option<UserId>) -> bool {
    match eyes {
        Eyes::Key | Eyes::KeyAs(_) => true,
        Eyes::User(user) => is_listed || author == Some(user),
        Eyes::Nobody => is_listed,
    }
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
    let found = found.filter(|row| is_open(eyes, row.entity_is_listed, row.entity_user_id));
    let Some(row) = found else { return Ok(None) };
    let authors: Vec<UserId> = [row.user_id, row.entity_user_id].into_iter().flatten().collect();
    let is_hidden = !filter::among(c, project, eyes.viewer(), &authors)?.is_empty();
    Ok((!is_hidden).then_some(row))
}
