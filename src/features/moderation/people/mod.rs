//! What moderators know of a user: notes, strikes, and a timeline of everything that happened.

mod notes;
pub mod store;
mod timeline;

pub use notes::{LONGEST_NOTE, Note, add_note, remove_note};
pub use timeline::{Cursor, Entry, Event, Timeline, timeline};

use db::Conn;

use crate::error::Result;
use crate::features::moderation::queue::authors_of;
use crate::features::moderation::queue::model::Author;
use crate::values::ids::{ProjectId, UserId};
use crate::values::time::Timestamp;

/// A user with strikes, last decisions and suspension, as the queue shows authors; none if there is no such user.
pub fn record(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    now: Timestamp,
) -> Result<Option<Author>> {
    Ok(authors_of(c, project, &[user], now)?.remove(&user))
}
