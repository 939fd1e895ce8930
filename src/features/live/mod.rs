//! Live feeds: sockets join the room of an entity, of a space or of their own user, and receive events of what changes there. An
//! extension of the API, for projects that switch it on (`--live-feeds on`), because every write is announced then.
//!
//! Events name what has changed, not what it says: clients fetch it, as far as they may. Who receives an event is
//! decided when it is delivered, by the rules that guard every other way to the same content.

mod access;
mod observer;

pub use access::{check, visible};
pub use observer::LiveFeeds;
