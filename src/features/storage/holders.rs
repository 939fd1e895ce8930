//! What a file is attached to, who may attach one there, and who may see it. The one place where
//! the features that hold files are asked.

use db::Conn;

use crate::auth::caller::ActorOrKey;
use crate::error::Result;
use crate::features::chat;
use crate::features::comments;
use crate::features::entities::visibility::{self, Eyes};
use crate::features::projects::Project;
use crate::features::spaces;
use crate::features::spaces::authority::{self, Authority};
use crate::features::storage::store::FileRow;
use crate::features::storage::{INVALID_BODY, TARGET_NOT_FOUND, UNAUTHORIZED};
use crate::ids::{ChatMessageId, CommentId, EntityId, EventId, SpaceId, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The file stands for itself, or is somebody's avatar or banner.
    None,
    Entity(EntityId),
    Comment(CommentId),
    Space(SpaceId),
    Event(EventId),
    /// Only with the message itself.
    Message(ChatMessageId),
}

impl Holder {
    /// At most one of them may be named.
    pub fn named(
        entity: Option<EntityId>,
        comment: Option<CommentId>,
        space: Option<SpaceId>,
        event: Option<EventId>,
    ) -> Result<Self> {
        let named = [
            entity.map(Holder::Entity),
            comment.map(Holder::Comment),
            space.map(Holder::Space),
            event.map(Holder::Event),
        ];
        let mut named = named.into_iter().flatten();
        match (named.next(), named.next()) {
            (None, _) => Ok(Holder::None),
            (Some(holder), None) => Ok(holder),
            (Some(_), Some(_)) => {
                Err(INVALID_BODY.because("a file is attached to one thing at most"))
            }
        }
    }

    pub(super) fn hold(self, row: FileRow) -> FileRow {
        match self {
            Holder::None => row,
            Holder::Entity(id) => FileRow { entity_id: Some(id), ..row },
            Holder::Comment(id) => FileRow { comment_id: Some(id), ..row },
            Holder::Space(id) => FileRow { space_id: Some(id), ..row },
            Holder::Event(id) => FileRow { event_id: Some(id), ..row },
            Holder::Message(id) => FileRow { chat_message_id: Some(id), ..row },
        }
    }

    pub fn of(row: &FileRow) -> Self {
        let holder = row.entity_id.map(Holder::Entity);
        let holder = holder.or_else(|| row.comment_id.map(Holder::Comment));
        let holder = holder.or_else(|| row.space_id.map(Holder::Space));
        let holder = holder.or_else(|| row.event_id.map(Holder::Event));
        let holder = holder.or_else(|| row.chat_message_id.map(Holder::Message));
        holder.unwrap_or(Holder::None)
    }
}

/// Refuses a holder that is not there for the caller, or not theirs to attach to.
pub fn may_attach(
    c: &Conn<'_>,
    project: &Project,
    caller: &ActorOrKey,
    holder: Holder,
) -> Result<()> {
    let eyes = Eyes::from(*caller);
    match holder {
        Holder::None => Ok(()),
        Holder::Entity(id) => {
            let entity = visibility::find(c, project, id, eyes)?.ok_or(TARGET_NOT_FOUND)?;
            if eyes.own(&entity) { Ok(()) } else { Err(UNAUTHORIZED.into()) }
        }
        Holder::Comment(id) => {
            let found = comments::visibility::find(c, project, id, eyes)?;
            let there = found.filter(|row| row.user_deleted_at.is_none());
            let comment = there.ok_or(TARGET_NOT_FOUND)?;
            if eyes.is_key() || comment.is_by(eyes) { Ok(()) } else { Err(UNAUTHORIZED.into()) }
        }
        Holder::Space(id) => {
            let space = spaces::store::find(c, project.id, id)?.ok_or(TARGET_NOT_FOUND)?;
            let authority = authority::authority(c, project.id, &space, *caller)?;
            if authority >= Authority::Moderator { Ok(()) } else { Err(UNAUTHORIZED.into()) }
        }
        // There are no events yet, and files come with their message.
        Holder::Event(_) | Holder::Message(_) => Err(TARGET_NOT_FOUND.into()),
    }
}

/// Whether a user may see a file: as they may see what it is attached to. Keys see every file.
pub fn may_see(c: &Conn<'_>, project: &Project, viewer: UserId, row: &FileRow) -> Result<bool> {
    Ok(match Holder::of(row) {
        Holder::None => is_shown_to(c, project, viewer, row)?,
        Holder::Entity(id) => visibility::find(c, project, id, Eyes::User(viewer))?.is_some(),
        Holder::Comment(id) => {
            let eyes = Eyes::User(viewer);
            let found = comments::visibility::find(c, project, id, eyes)?;
            found.is_some_and(|row| row.is_live() || row.is_by(eyes))
        }
        // A space is there for everybody.
        Holder::Space(id) => spaces::store::find(c, project.id, id)?.is_some(),
        Holder::Message(id) => chat::standing::sees_files(c, project.id, id, viewer)?,
        Holder::Event(_) => row.user_id == Some(viewer),
    })
}

/// A file that is attached to nothing is for everybody, but the picture of a conversation for those who know it.
fn is_shown_to(c: &Conn<'_>, project: &Project, viewer: UserId, row: &FileRow) -> Result<bool> {
    match chat::conversations::store::by_avatar(c, project.id, row.id)? {
        Some(of) if row.user_id != Some(viewer) => {
            chat::standing::knows(c, project.id, &of, viewer)
        }
        _ => Ok(true),
    }
}
