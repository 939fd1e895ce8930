//! What a file is attached to, who may attach one there, and who may see it. Features with attached files
//! implement [`FileHolder`].

use db::Conn;

use crate::auth::caller::ActorOrKey;
use crate::error::Result;
use crate::features::files::store::FileRow;
use crate::features::files::{INVALID_BODY, TARGET_NOT_FOUND};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{ChatMessageId, CommentId, EntityId, EventId, SpaceId, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The file is attached to nothing, or is an avatar or banner.
    None,
    Entity(EntityId),
    Comment(CommentId),
    Space(SpaceId),
    Event(EventId),
    /// Only with the message itself.
    Message(ChatMessageId),
}

impl Holder {
    /// At most one may be named.
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

    pub(super) fn lock(self, row: FileRow) -> FileRow {
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

/// A feature whose content holds files. The holders are asked in turn until one knows the content.
pub trait FileHolder: Sync {
    /// `None` if the holder belongs to another feature; an error if it does not exist for the caller, or they
    /// may not attach to it.
    fn may_attach(
        &self,
        _c: &Conn<'_>,
        _project: &Project,
        _caller: ActorOrKey,
        _holder: Holder,
    ) -> Option<Result<()>> {
        None
    }

    /// `None` if another feature holds the file; otherwise whether a user may see its content.
    fn may_see(
        &self,
        c: &Conn<'_>,
        project: &Project,
        viewer: UserId,
        file: &FileRow,
    ) -> Option<Result<bool>>;
}

fn holders(app: &App) -> &[&'static dyn FileHolder] {
    app.lists.of()
}

/// Refuses a holder that does not exist for the caller, or that they may not attach to.
pub fn may_attach(
    app: &App,
    c: &Conn<'_>,
    project: &Project,
    caller: ActorOrKey,
    holder: Holder,
) -> Result<()> {
    if holder == Holder::None {
        return Ok(());
    }
    let asked = holders(app).iter().find_map(|one| one.may_attach(c, project, caller, holder));
    // Files of a message are sent with it.
    asked.unwrap_or(Err(TARGET_NOT_FOUND.into()))
}

/// Whether a user may see a file: if they may see the content it is attached to. Unattached files are visible
/// to everybody. Keys see every file.
pub fn may_see(
    app: &App,
    c: &Conn<'_>,
    project: &Project,
    viewer: UserId,
    row: &FileRow,
) -> Result<bool> {
    let asked = holders(app).iter().find_map(|one| one.may_see(c, project, viewer, row));
    asked.unwrap_or_else(|| match Holder::of(row) {
        Holder::None => Ok(true),
        _ => Ok(row.user_id == Some(viewer)),
    })
}
