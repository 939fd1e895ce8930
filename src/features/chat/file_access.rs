//! Files of messages, and the avatars of conversations.

use db::Conn;

use crate::error::Result;
use crate::features::chat::conversations::store as conversations;
use crate::features::chat::membership;
use crate::features::files::holders::{FileHolder, Holder};
use crate::features::files::store::FileRow;
use crate::tenancy::Project;
use crate::values::ids::UserId;

#[derive(Debug)]
pub struct ChatFiles;

/// Nothing is attached here: files are sent together with their message.
impl FileHolder for ChatFiles {
    fn may_see(
        &self,
        c: &Conn<'_>,
        project: &Project,
        viewer: UserId,
        file: &FileRow,
    ) -> Option<Result<bool>> {
        match Holder::of(file) {
            Holder::Message(id) => Some(membership::sees_files(c, project.id, id, viewer)),
            Holder::None if file.user_id != Some(viewer) => {
                avatar_is_visible(c, project, viewer, file).transpose()
            }
            _ => None,
        }
    }
}

/// `None` if the file is no conversation's avatar.
fn avatar_is_visible(
    c: &Conn<'_>,
    project: &Project,
    viewer: UserId,
    file: &FileRow,
) -> Result<Option<bool>> {
    match conversations::by_avatar(c, project.id, file.id)? {
        Some(of) => membership::knows(c, project.id, &of, viewer).map(Some),
        None => Ok(None),
    }
}
