//! Events to whoever is connected: Socket.IO over WebSocket and long polling, at `/socket.io/`.
//!
//! A feature announces an event in its transaction (`announce`); after the commit every node hears of it,
//! in the order of the commits, and hands it to the sockets it holds. Nothing is kept for those who are not
//! there: clients fetch what they missed.

mod announcement;
mod audience;
mod client;
mod connect;
mod directory;
mod engine;
mod gate;
mod hear;
mod limits;
pub mod membership;
mod outbox;
mod polling;
mod registry;
mod session;
mod socket;
mod sweep;
mod websocket;

pub use announcement::{
    Announcement, Change, announce, close_room, end_other_sessions, end_session, end_user, event,
    in_conversation, suspend,
};
pub(crate) use gate::{handle, is_ours};
pub(crate) use hear::hear;
pub use limits::Limits;
pub use registry::{Figures, Realtime};
