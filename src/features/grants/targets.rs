//! What a grant may be for. The features that hold entities, comments and messages say whether one exists for the
//! sender, and what a notification says about it.

use db::Conn;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::grants::TARGET_NOT_FOUND;
use crate::features::grants::rules::TargetKind;
use crate::features::notifications::Subject;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{ConversationId, SpaceId};

/// An entity, comment or message that exists for the sender.
#[derive(Debug)]
pub struct Target {
    pub subject: Subject,
    /// Users who may not read this space do not get the notification.
    pub space: Option<SpaceId>,
    /// Its members receive an event about the grant.
    pub conversation: Option<ConversationId>,
    /// What the client does when the notification is opened.
    pub action: &'static str,
    /// What the notification says about the target.
    pub keys: Map<String, Value>,
}

/// A feature whose content is a target. The targets are asked in turn until one knows the kind.
pub trait GrantTarget: Sync {
    /// `None` if the kind belongs to another feature. A key that names no sender is asked about as itself.
    fn find(
        &self,
        c: &Conn<'_>,
        project: &Project,
        kind: TargetKind,
        id: Uuid,
        sender: Perspective,
    ) -> Option<Result<Option<Target>>>;
}

impl TargetKind {
    pub fn bundle(self) -> Bundle {
        match self {
            TargetKind::Entity => Bundle::Entities,
            TargetKind::Comment => Bundle::Comments,
            TargetKind::Message => Bundle::Chat,
        }
    }
}

pub(super) fn find(
    app: &App,
    c: &Conn<'_>,
    project: &Project,
    (kind, id): (TargetKind, Uuid),
    sender: Perspective,
) -> Result<Target> {
    let all: &[&'static dyn GrantTarget] = app.lists.of();
    let found = all.iter().find_map(|one| one.find(c, project, kind, id, sender));
    found.unwrap_or(Ok(None))?.ok_or_else(|| TARGET_NOT_FOUND.into())
}
