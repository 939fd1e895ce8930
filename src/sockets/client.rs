//! Handles the packets that a client sends.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::auth::store::suspensions;
use crate::error::Result;
use crate::realtime::packet;
use crate::realtime::session::{Identity, Session};
use crate::realtime::{Act, Room, RoomAccess};
use crate::realtime::{Announcement, announce_now};
use crate::sockets::connect;
use crate::sockets::engine::{self, Packet};
use crate::state::App;
use crate::tenancy::Bundle;
use crate::values::ids::{ConversationId, EntityId, ProjectId, SpaceId, UserId};

/// Attempts to join a room while others are removed from theirs.
const TRIES: usize = 5;

/// Whether the connection stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    On,
    Close,
}

/// One packet, from either transport.
pub(crate) async fn receive(app: &App, session: &Arc<Session>, packet: &str) -> Flow {
    match engine::read(packet) {
        Some(Packet::Message(message)) => receive_message(app, session, message).await,
        Some(Packet::Pong) => {
            session.pong();
            Flow::On
        }
        Some(Packet::Other) => Flow::On,
        Some(Packet::Close) | None => Flow::Close,
    }
}

async fn receive_message(app: &App, session: &Arc<Session>, message: &str) -> Flow {
    match packet::read(message) {
        Some(packet::Packet::Connect { token }) => connect::connect(app, session, token).await,
        Some(packet::Packet::Stray { namespace }) => {
            connect::refuse(session, namespace, "Invalid namespace")
        }
        Some(packet::Packet::Disconnect) => {
            app.realtime.directory().depart(session, app.clock.uptime());
            Flow::On
        }
        Some(packet::Packet::Event { name, payload }) => {
            let Some(identity) = session.present() else { return Flow::Close };
            if let Err(error) = event(app, session, identity, &name, payload).await {
                // Not acknowledged; the client tries again when its view opens again.
                tracing::warn!(%error, event = name, "an event of a client was dropped");
            }
            Flow::On
        }
        Some(packet::Packet::Ignored) => Flow::On,
        None => Flow::Close,
    }
}

/// What an event of a client names.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    conversation_id: Option<ConversationId>,
    entity_id: Option<EntityId>,
    space_id: Option<SpaceId>,
}

/// Unknown events and malformed payloads are ignored.
async fn event(
    app: &App,
    session: &Arc<Session>,
    identity: Identity,
    name: &str,
    payload: Value,
) -> Result<()> {
    // Clients send no payload where there is nothing to name.
    let payload = if payload.is_null() { json!({}) } else { payload };
    let Ok(named) = serde_json::from_value::<Named>(payload) else { return Ok(()) };
    let Some((act, room)) = room(name, &named, identity.user) else { return Ok(()) };
    match (act, room) {
        ("join", Room::Conversation(_)) => enter(app, session, &identity, room).await.map(drop),
        ("join", _) => {
            let has_joined = enter(app, session, &identity, room).await?;
            tell(session, if has_joined { "room:joined" } else { "room:refused" }, room);
            Ok(())
        }
        ("leave", _) => {
            app.realtime.directory().leave(session, room);
            Ok(())
        }
        ("typing", Room::Conversation(conversation)) => {
            relay(app, session, identity, name, conversation).await
        }
        _ => Ok(()),
    }
}

/// What the client wants, and in which room.
fn room(name: &str, named: &Named, user: UserId) -> Option<(&'static str, Room)> {
    let conversation = || named.conversation_id.map(Room::Conversation);
    Some(match name {
        "join:conversation" => ("join", conversation()?),
        "leave:conversation" => ("leave", conversation()?),
        "typing:start" | "typing:stop" => ("typing", conversation()?),
        "join:entity" => ("join", Room::Entity(named.entity_id?)),
        "leave:entity" => ("leave", Room::Entity(named.entity_id?)),
        "join:space" => ("join", Room::Space(named.space_id?)),
        "leave:space" => ("leave", Room::Space(named.space_id?)),
        "join:user" => ("join", Room::User(user)),
        "leave:user" => ("leave", Room::User(user)),
        _ => return None,
    })
}

/// Tells this client alone.
fn tell(session: &Session, name: &str, room: Room) {
    let name_of = match room {
        Room::Conversation(id) => format!("conversation:{id}"),
        Room::Entity(id) => format!("entity:{id}"),
        Room::Space(id) => format!("space:{id}"),
        Room::User(_) => "user".to_owned(),
    };
    if let Some(packet) = packet::event_packet(name, &json!({ "room": name_of })) {
        // If the queue is full, the next event closes the connection.
        let _ = session.outbox.push(packet);
    }
}

/// Whether the socket is in the room now.
async fn enter(app: &App, session: &Arc<Session>, identity: &Identity, room: Room) -> Result<bool> {
    if !session.may_try_room(app.config.realtime.rooms_per_socket, app.clock.uptime()) {
        return Ok(false);
    }
    let Identity { project, user, .. } = *identity;
    let question = RoomAccess { project, user, room, act: Act::Enter };
    for _ in 0..TRIES {
        // If a member is removed after this count was read, joining fails and is checked again.
        let removals = app.realtime.removals();
        if !(app.rooms.check)(app, question).await? {
            return Ok(false);
        }
        if app.realtime.enter(session, room, removals) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn relay(
    app: &App,
    session: &Session,
    identity: Identity,
    name: &str,
    conversation: ConversationId,
) -> Result<()> {
    let room = Room::Conversation(conversation);
    if !session.may_relay(room, name == "typing:start", app.clock.uptime()) {
        return Ok(());
    }
    let Identity { project, user, .. } = identity;
    let question = RoomAccess { project, user, room, act: Act::Type };
    if is_suspended(app, project, user).await? || !(app.rooms.check)(app, question).await? {
        return Ok(());
    }
    let (socket, name) = (identity.socket, name.to_owned());
    let typing = Announcement::Typing { project, conversation, user, socket, name };
    announce_now(&app.db, &typing)
}

async fn is_suspended(app: &App, project: ProjectId, user: UserId) -> Result<bool> {
    let found = app.projects.get(&app.db, project, app.clock.uptime()).await?;
    if !found.is_some_and(|project| project.has(Bundle::Moderation)) {
        return Ok(false);
    }
    let now = app.clock.now();
    let status = app.db.read(move |c| suspensions::status(c, project, user, now)).await?;
    Ok(status.is_none_or(|status| status.suspension.is_some()))
}
