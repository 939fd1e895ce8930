//! One connection: how it is reached (polling, then perhaps a WebSocket), whose it is, and what waits for it.
//! Its place in the registry and its `Stage` change together, under the registry's lock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::config::RealtimeLimits;
use crate::realtime::send_queue::Outbox;
use crate::values::ids::{ConversationId, ProjectId, SessionId, UserId};
use crate::values::time::Timestamp;

/// The least time between two relayed events of one kind of typing.
const TYPING_PAUSE: Duration = Duration::from_secs(1);
/// Tokens that may be tried on one connection.
const TOKENS: u32 = 20;
/// Rooms that may be entered within a window.
const ENTRIES: (u32, Duration) = (100, Duration::from_secs(10));

#[derive(Debug)]
pub(crate) struct Session {
    /// The secret that requests of this connection name it by.
    pub(crate) sid: String,
    /// The project that its first request named, if it was an id at all.
    pub(crate) project: Option<ProjectId>,
    /// What its stranger's share is counted by.
    pub(crate) network: u128,
    pub(crate) outbox: Outbox,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) transport: Transport,
    pub(crate) stage: Stage,
    /// Since when it has not been admitted.
    pub(crate) since: Duration,
    pub(crate) rooms: Vec<ConversationId>,
    /// When it was last asked whether it is there, and whether it has answered.
    pub(crate) pinged: Duration,
    pub(crate) answered: bool,
    /// When it began to end; what is left is kept for its last request.
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
    /// A WebSocket is being tried beside it.
    Probing,
    WebSocket,
}

/// Whose connection it is.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    Stranger,
    /// The token is good; the database has still to agree. Gets no events yet, but hears of its end.
    Arriving(Identity),
    Present(Identity),
}

#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) project: ProjectId,
    pub(crate) user: UserId,
    pub(crate) session: SessionId,
    /// The public name of the socket.
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

    /// A WebSocket is tried for a connection that polls, one at a time.
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

    /// From now on the WebSocket is the way, or polling goes on.
    pub(crate) fn end_probe(&self, transport: Transport) {
        self.state().transport = transport;
        // Whoever polls all the same is sent away.
        self.outbox.nudge();
    }

    pub(crate) fn pong(&self) {
        self.state().answered = true;
    }

    /// The identity of a socket that is admitted.
    pub(crate) fn present(&self) -> Option<Identity> {
        self.state().stage.present().cloned()
    }

    /// Whether one more token may be tried; each try counts.
    pub(crate) fn may_try_token(&self) -> bool {
        let mut state = self.state();
        state.tokens += 1;
        state.tokens <= TOKENS
    }

    /// Whether one more room may be entered now; each try counts.
    pub(crate) fn may_try_room(&self, most: usize, now: Duration) -> bool {
        let mut state = self.state();
        if now >= state.entries.0 + ENTRIES.1 {
            state.entries = (now, 0);
        }
        state.entries.1 += 1;
        state.entries.1 <= ENTRIES.0 && state.rooms.len() < most
    }

    /// Whether typing in that room may be relayed now; what may, counts.
    pub(crate) fn may_relay(&self, room: ConversationId, starts: bool, now: Duration) -> bool {
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

/// The two requests of which a polling client has one of each under way at most.
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
