//! Files that are attached to comments.

use db::Conn;

use crate::auth::caller::ActorOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::comments::visibility;
use crate::features::files::holders::{FileHolder, Holder};
use crate::features::files::store::FileRow;
use crate::features::files::{TARGET_NOT_FOUND, UNAUTHORIZED};
use crate::tenancy::Project;
use crate::values::ids::UserId;

#[derive(Debug)]
pub struct CommentFiles;

impl FileHolder for CommentFiles {
    fn may_attach(
        &self,
        c: &Conn<'_>,
        project: &Project,
        caller: ActorOrKey,
        holder: Holder,
    ) -> Option<Result<()>> {
        let Holder::Comment(id) = holder else { return None };
        let perspective = Perspective::from(caller);
        Some(visibility::find(c, project, id, perspective).and_then(|found| {
            let existing = found.filter(|row| row.user_deleted_at.is_none());
            let comment = existing.ok_or(TARGET_NOT_FOUND)?;
            let is_theirs = perspective.is_key() || comment.is_by(perspective);
            if is_theirs { Ok(()) } else { Err(UNAUTHORIZED.into()) }
        }))
    }

    fn may_see(
        &self,
        c: &Conn<'_>,
        project: &Project,
        viewer: UserId,
        file: &FileRow,
    ) -> Option<Result<bool>> {
        let Holder::Comment(id) = Holder::of(file) else { return None };
        let perspective = Perspective::User(viewer);
        let found = visibility::find(c, project, id, perspective);
        Some(found.map(|found| found.is_some_and(|row| row.is_live() || row.is_by(perspective))))
    }
}
