//! Handles the packets that a client sends.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::auth::store::suspensions;
use crate::error::Result;
use crate::realtime::packet;
use crate::realtime::session::{Identity, Session};
use crate::realtime::{Act, RoomAccess};
use crate::realtime::{Announcement, announce_now};
use crate::sockets::connect;
use crate::sockets::engine::{self, Packet};
use crate::state::App;
use crate::tenancy::Bundle;
use crate::values::ids::{ConversationId, ProjectId, UserId};

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

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Room {
    conversation_id: ConversationId,
}

/// Unknown events and malformed payloads are ignored.
async fn event(
    app: &App,
    session: &Arc<Session>,
    identity: Identity,
    name: &str,
    payload: Value,
) -> Result<()> {
    let Ok(Room { conversation_id: room }) = serde_json::from_value(payload) else {
        return Ok(());
    };
    match name {
        "join:conversation" => enter(app, session, &identity, room).await,
        "leave:conversation" => {
            app.realtime.directory().leave(session, room);
            Ok(())
        }
        "typing:start" | "typing:stop" => relay(app, session, identity, name, room).await,
        _ => Ok(()),
    }
}

async fn enter(
    app: &App,
    session: &Arc<Session>,
    identity: &Identity,
    conversation: ConversationId,
) -> Result<()> {
    if !session.may_try_room(app.config.realtime.rooms_per_socket, app.clock.uptime()) {
        return Ok(());
    }
    let Identity { project, user, .. } = *identity;
    let question = RoomAccess { project, user, conversation, act: Act::Enter };
    for _ in 0..TRIES {
        // If a member is removed after this count was read, joining fails and is checked again.
        let removals = app.realtime.removals();
        if !(app.rooms.check)(app, question).await?
            || app.realtime.enter(session, conversation, removals)
        {
            break;
        }
    }
    Ok(())
}

async fn relay(
    app: &App,
    session: &Session,
    identity: Identity,
    name: &str,
    conversation: ConversationId,
) -> Result<()> {
    if !session.may_relay(conversation, name == "typing:start", app.clock.uptime()) {
        return Ok(());
    }
    let Identity { project, user, .. } = identity;
    let question = RoomAccess { project, user, conversation, act: Act::Type };
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
