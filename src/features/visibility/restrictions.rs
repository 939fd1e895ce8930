//! What a moderator of a space, an admin of a group or a key takes from a user, outside of the queue: the features that
//! take it say so in the same transaction. Decisions, statements of reasons and appeals are above, in
//! `features/moderation`.

use db::Tx;

use crate::auth::caller::ActorOrKey;
use crate::domain_events::Context;
use crate::error::Result;
use crate::values::ids::{ChatMessageId, SpaceBanId, SpaceId, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restriction {
    /// From the space.
    Ban { ban: SpaceBanId, space: SpaceId },
    /// By an admin of its group, or by a moderator of the space that its conversation belongs to: it is hidden from everybody.
    MessageRemoved { message: ChatMessageId, moderated: Option<SpaceId> },
}

#[derive(Debug, Clone, Copy)]
pub struct Restricted<'a> {
    pub what: Restriction,
    /// None if the author was deleted.
    pub user: Option<UserId>,
    pub by: ActorOrKey,
    pub reason: Option<&'a str>,
}

pub trait RestrictionObserver: Send + Sync {
    fn restricted(
        &self,
        tx: &Tx<'_>,
        context: Context<'_>,
        restricted: &Restricted<'_>,
    ) -> Result<()>;
}

/// The last write of its transaction: the user may be notified.
pub fn restricted(tx: &Tx<'_>, context: Context<'_>, restricted: &Restricted<'_>) -> Result<()> {
    for observer in context.app.lists.of::<&'static dyn RestrictionObserver>() {
        observer.restricted(tx, context, restricted)?;
    }
    Ok(())
}
