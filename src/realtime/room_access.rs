//! The question a node asks before a user enters the room of a conversation or is seen typing in it.

use crate::values::ids::{ConversationId, ProjectId, UserId};

/// What a user wants to do in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Enter its room: needs an active membership.
    Enter,
    /// Be seen typing: needs a conversation that is not frozen, too.
    Type,
}

#[derive(Debug, Clone, Copy)]
pub struct RoomAccess {
    pub project: ProjectId,
    pub user: UserId,
    pub conversation: ConversationId,
    pub act: Act,
}
