//! Events for connected clients. A feature announces an event in its transaction; after the commit every node
//! receives it, in commit order, and queues it for its sockets. Nothing is stored for disconnected clients:
//! they fetch what they missed.
//!
//! This module knows sessions, rooms and queues; `sockets` speaks Socket.IO with the clients.

mod announcement;
mod directory;
pub(crate) mod nodes;
pub(crate) mod packet;
pub(crate) mod registry;
mod room_access;
pub(crate) mod send_queue;
pub(crate) mod session;

pub use announcement::{
    Announcement, Change, announce, close_room, close_room_of, end_other_sessions, end_session,
    end_user, event, in_conversation, in_room, suspend,
};
pub(crate) use announcement::{TOPIC, announce_now};
pub use nodes::Nodes;
pub use registry::{Figures, Realtime};
pub use room_access::{Act, Room, RoomAccess};
