//! One connection: its transport (polling, then perhaps a WebSocket), its user, and its send queue. Its place
//! in the registry and its `Stage` change together, under the registry's lock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::config::RealtimeLimits;
use crate::realtime::room_access::Room;
use crate::realtime::send_queue::Outbox;
use crate::values::ids::{ProjectId, SessionId, UserId};
use crate::values::time::Timestamp;

/// Minimum time between two relayed typing events of one kind.
const TYPING_PAUSE: Duration = Duration::from_secs(1);
/// Maximum tokens tried on one connection.
const TOKENS: u32 = 20;
/// Maximum rooms joined within a window.
const ENTRIES: (u32, Duration) = (100, Duration::from_secs(10));

#[derive(Debug)]
pub(crate) struct Session {
    /// The secret that identifies the connection in requests.
    pub(crate) sid: String,
    /// The project in its first request, if it was a valid id.
    pub(crate) project: Option<ProjectId>,
    /// The network whose share of unauthenticated connections it counts against.
    pub(crate) network: u128,
    pub(crate) outbox: Outbox,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) transport: Transport,
    pub(crate) stage: Stage,
    /// Since when it has been waiting for authentication.
    pub(crate) since: Duration,
    pub(crate) rooms: Vec<Room>,
    /// When the last ping was sent, and whether it was answered.
    pub(crate) pinged: Duration,
    pub(crate) answered: bool,
    /// When it began to close; the queue is kept for its last request.
    pub(crate) ended: Option<Duration>,
    getting: bool,
    posting: bool,
    started_typing: Option<Duration>,
    stopped_typing: Option<Duration>,
    entries: (Duration, u32),
    tokens: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Polling,
    /// An upgrade to WebSocket is under way.
    Probing,
    WebSocket,
}

/// Whether the connection is authenticated.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    Stranger,
    /// The token is valid, but the database has not confirmed the session yet. Gets no events, but is closed
    /// with its session.
    Arriving(Identity),
    Present(Identity),
}

#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) project: ProjectId,
    pub(crate) user: UserId,
    pub(crate) session: SessionId,
    /// The public id of the socket.
    pub(crate) socket: String,
    pub(crate) expires: Timestamp,
}

impl Stage {
    pub(crate) fn identity(&self) -> Option<&Identity> {
        match self {
            Stage::Stranger => None,
            Stage::Arriving(identity) | Stage::Present(identity) => Some(identity),
        }
    }

    pub(crate) fn present(&self) -> Option<&Identity> {
        match self {
            Stage::Present(identity) => Some(identity),
            _ => None,
        }
    }
}

impl Session {
    pub(crate) fn new(
        sid: String,
        project: Option<ProjectId>,
        network: u128,
        transport: Transport,
        limits: &RealtimeLimits,
        now: Duration,
    ) -> Self {
        let state = State {
            transport,
            stage: Stage::Stranger,
            since: now,
            rooms: Vec::new(),
            pinged: now,
            answered: true,
            ended: None,
            getting: false,
            posting: false,
            started_typing: None,
            stopped_typing: None,
            entries: (now, 0),
            tokens: 0,
        };
        let outbox = Outbox::new(limits.queue, limits.queue_bytes);
        Session { sid, project, network, outbox, state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn transport(&self) -> Transport {
        self.state().transport
    }

    /// Begins an upgrade to WebSocket, one at a time.
    pub(crate) fn begin_probe(&self) -> bool {
        let mut state = self.state();
        let polls = state.transport == Transport::Polling && state.ended.is_none();
        if polls {
            state.transport = Transport::Probing;
        }
        polls
    }

    /// Whether a poll is under way.
    pub(crate) fn waits(&self) -> bool {
        self.state().getting
    }

    /// Ends the upgrade: the WebSocket takes over, or polling continues.
    pub(crate) fn end_probe(&self, transport: Transport) {
        self.state().transport = transport;
        // Ends a poll that is still waiting.
        self.outbox.nudge();
    }

    pub(crate) fn pong(&self) {
        self.state().answered = true;
    }

    /// The identity of an authenticated socket.
    pub(crate) fn present(&self) -> Option<Identity> {
        self.state().stage.present().cloned()
    }

    /// Whether another token may be tried; each attempt counts.
    pub(crate) fn may_try_token(&self) -> bool {
        let mut state = self.state();
        state.tokens += 1;
        state.tokens <= TOKENS
    }

    /// Whether another room may be joined now; each attempt counts.
    pub(crate) fn may_try_room(&self, most: usize, now: Duration) -> bool {
        let mut state = self.state();
        if now >= state.entries.0 + ENTRIES.1 {
            state.entries = (now, 0);
        }
        state.entries.1 += 1;
        state.entries.1 <= ENTRIES.0 && state.rooms.len() < most
    }

    /// Whether typing in that room may be relayed now; counts if so.
    pub(crate) fn may_relay(&self, room: Room, starts: bool, now: Duration) -> bool {
        let mut state = self.state();
        let is_in = state.rooms.contains(&room);
        let last = if starts { &mut state.started_typing } else { &mut state.stopped_typing };
        let may = is_in && last.is_none_or(|last| now >= last + TYPING_PAUSE);
        if may {
            *last = Some(now);
        }
        may
    }

    pub(crate) fn begin(&self, request: Request) -> Option<UnderWay<'_>> {
        let mut state = self.state();
        let flag = request.flag(&mut state);
        if std::mem::replace(flag, true) {
            return None;
        }
        Some(UnderWay { session: self, request })
    }
}

/// The two kinds of requests of a polling client; at most one of each at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Request {
    Get,
    Post,
}

impl Request {
    fn flag(self, state: &mut State) -> &mut bool {
        match self {
            Request::Get => &mut state.getting,
            Request::Post => &mut state.posting,
        }
    }
}

/// A request of a polling client; over when dropped.
#[derive(Debug)]
pub(crate) struct UnderWay<'a> {
    session: &'a Session,
    request: Request,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        *self.request.flag(&mut self.session.state()) = false;
    }
}
