//! Rooms, and the permission check before a user joins one or sends typing events.

use serde::{Deserialize, Serialize};

use crate::values::ids::{ConversationId, EntityId, ProjectId, SpaceId, UserId};

/// What sockets join to get its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Room {
    Conversation(ConversationId),
    Entity(EntityId),
    Space(SpaceId),
    /// The user's own notifications.
    User(UserId),
}

impl From<ConversationId> for Room {
    fn from(id: ConversationId) -> Self {
        Room::Conversation(id)
    }
}

/// What a user wants to do in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Join it: what happens there must be visible to the user.
    Enter,
    /// Send typing events: needs a conversation that is not frozen.
    Type,
}

#[derive(Debug, Clone, Copy)]
pub struct RoomAccess {
    pub project: ProjectId,
    pub user: UserId,
    pub room: Room,
    pub act: Act,
}
