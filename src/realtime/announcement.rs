//! Announcements between nodes: written by features inside their transactions, received by every node after
//! the commit. Nodes of two consecutive versions understand each other, so names are only ever added.

use db::{Db, Tx};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::realtime::room_access::Room;
use crate::values::ids::{ConversationId, ProjectId, SessionId, UserId};

pub(crate) const TOPIC: &str = "realtime";

/// Members who joined or left a conversation; sockets of those who left are removed from its room.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Change {
    Came(UserId),
    Left(UserId),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Announcement {
    /// To every socket of these users, the same for all.
    Event {
        project: ProjectId,
        users: Vec<UserId>,
        name: String,
        payload: Box<RawValue>,
    },
    /// To every socket of each user, with a payload of their own.
    Events {
        project: ProjectId,
        name: String,
        payloads: Vec<(UserId, Box<RawValue>)>,
    },
    /// To every socket of the members, and of a user who just left.
    InConversation {
        project: ProjectId,
        conversation: ConversationId,
        name: String,
        payload: Box<RawValue>,
        change: Option<Change>,
    },
    /// To the sockets in the room, except the one it came from.
    Typing {
        project: ProjectId,
        conversation: ConversationId,
        user: UserId,
        socket: String,
        name: String,
    },
    /// To the sockets in the room of users who may see it. `by`: who caused it, hidden from users with a block
    /// between them.
    InRoom {
        project: ProjectId,
        room: Room,
        by: Option<UserId>,
        name: String,
        payload: Box<RawValue>,
    },
    /// The last event of a room whose subject is gone: to every socket in it, all of which are then removed.
    RoomGone {
        project: ProjectId,
        room: Room,
        name: String,
        payload: Box<RawValue>,
    },
    /// The conversation has no members any more: all sockets are removed from its room.
    RoomClosed {
        project: ProjectId,
        conversation: ConversationId,
    },
    SessionEnded {
        project: ProjectId,
        user: UserId,
        session: SessionId,
    },
    /// Every session of the user except one.
    SessionsEnded {
        project: ProjectId,
        user: UserId,
        spare: Option<SessionId>,
    },
    Suspended {
        project: ProjectId,
        user: UserId,
    },
}

/// Announces to every node after the commit.
pub fn announce(tx: &Tx<'_>, announcement: &Announcement) -> Result<()> {
    let text = serde_json::to_string(announcement).map_err(Error::internal)?;
    Ok(tx.announce(TOPIC, &text)?)
}

/// Announces to every node without a transaction, for events that are stored nowhere.
pub(crate) fn announce_now(db: &Db, announcement: &Announcement) -> Result<()> {
    let text = serde_json::to_string(announcement).map_err(Error::internal)?;
    Ok(db.announce(TOPIC, &text)?)
}

/// An event for every socket of the members after the commit.
pub fn in_conversation(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
    (name, payload): (&str, &impl Serialize),
    change: Option<Change>,
) -> Result<()> {
    let payload = serde_json::value::to_raw_value(payload).map_err(Error::internal)?;
    let name = name.to_owned();
    announce(tx, &Announcement::InConversation { project, conversation, name, payload, change })
}

/// An event for every socket of these users. Does nothing without users.
pub fn event(
    tx: &Tx<'_>,
    project: ProjectId,
    users: &[UserId],
    name: &str,
    payload: &impl Serialize,
) -> Result<()> {
    if users.is_empty() {
        return Ok(());
    }
    let payload = serde_json::value::to_raw_value(payload).map_err(Error::internal)?;
    let (users, name) = (users.to_vec(), name.to_owned());
    announce(tx, &Announcement::Event { project, users, name, payload })
}

/// An event for the sockets in a room, of users who may see it after the commit.
pub fn in_room(
    tx: &Tx<'_>,
    project: ProjectId,
    room: Room,
    by: Option<UserId>,
    (name, payload): (&str, &impl Serialize),
) -> Result<()> {
    let payload = serde_json::value::to_raw_value(payload).map_err(Error::internal)?;
    announce(tx, &Announcement::InRoom { project, room, by, name: name.to_owned(), payload })
}

/// The last event of a room whose subject is gone.
pub fn close_room_of(
    tx: &Tx<'_>,
    project: ProjectId,
    room: Room,
    (name, payload): (&str, &impl Serialize),
) -> Result<()> {
    let payload = serde_json::value::to_raw_value(payload).map_err(Error::internal)?;
    announce(tx, &Announcement::RoomGone { project, room, name: name.to_owned(), payload })
}

/// Removes everybody from the room.
pub fn close_room(tx: &Tx<'_>, project: ProjectId, conversation: ConversationId) -> Result<()> {
    announce(tx, &Announcement::RoomClosed { project, conversation })
}

/// Closes the sockets of one session.
pub fn end_session(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    session: SessionId,
) -> Result<()> {
    announce(tx, &Announcement::SessionEnded { project, user, session })
}

/// Closes the sockets of every session of the user except one.
pub fn end_other_sessions(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    spare: Option<SessionId>,
) -> Result<()> {
    announce(tx, &Announcement::SessionsEnded { project, user, spare })
}

/// Closes every socket of a deleted user.
pub fn end_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    end_other_sessions(tx, project, user, None)
}

/// Closes every socket of the user, who may reconnect.
pub fn suspend(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    announce(tx, &Announcement::Suspended { project, user })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_arrives_as_it_was_written() {
        let text = r#"{"Event":{"project":"00000000-0000-4000-8000-000000000001","users":[],"name":"n","payload":{"b": 1, "a": 2}}}"#;
        let announcement: Announcement = serde_json::from_str(text).unwrap();
        let Announcement::Event { payload, .. } = &announcement else { panic!("{announcement:?}") };
        assert_eq!(payload.get(), r#"{"b": 1, "a": 2}"#);
        assert_eq!(serde_json::to_string(&announcement).unwrap(), text);
    }
}
