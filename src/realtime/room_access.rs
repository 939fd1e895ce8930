//! The permission check before a user joins the room of a conversation or sends typing events.

use crate::values::ids::{ConversationId, ProjectId, UserId};

/// What a user wants to do in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Join its room: needs an active membership.
    Enter,
    /// Send typing events: also needs a conversation that is not frozen.
    Type,
}

#[derive(Debug, Clone, Copy)]
pub struct RoomAccess {
    pub project: ProjectId,
    pub user: UserId,
    pub conversation: ConversationId,
    pub act: Act,
}
