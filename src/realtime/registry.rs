//! Every connection of this node: found by its secret, by its user, and by the rooms it is in. Whatever ends
//! a connection ends it here, so that nobody is left in one of the three.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::ids::{ConversationId, ProjectId, UserId};
use crate::realtime::limits::Limits;
use crate::realtime::session::{Identity, Session, Stage};
use crate::realtime::socket::{self, Text};

/// The sockets of this node.
#[derive(Debug, Default)]
pub struct Realtime {
    directory: Mutex<Directory>,
    /// Whether announcements are heard; without them nobody is let in.
    hearing: watch::Sender<bool>,
    /// WebSockets that are open.
    wires: watch::Sender<usize>,
    delivered: AtomicU64,
    slow: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct Directory {
    pub(super) sessions: HashMap<String, Arc<Session>>,
    users: HashMap<(ProjectId, UserId), Vec<Arc<Session>>>,
    rooms: HashMap<(ProjectId, ConversationId), Vec<Arc<Session>>>,
    /// Connections of each network that have not said whose they are.
    strangers: HashMap<u128, usize>,
    /// How often somebody was put out of a room.
    removals: u64,
    closed: bool,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// At once, and what waits for it is dropped.
    Cut,
    /// After what waits for it; the client may come back by itself.
    Closed,
    /// The same, and the client is told not to.
    Dismissed,
}

/// For the metrics page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    pub connections: usize,
    pub sockets: usize,
    pub delivered: u64,
    pub slow: u64,
}

impl Realtime {
    pub(super) fn directory(&self) -> MutexGuard<'_, Directory> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a new connection, if there is a place for it.
    pub(super) fn open(&self, session: Session, limits: &Limits) -> Option<Arc<Session>> {
        let mut directory = self.directory();
        let strangers = directory.strangers.get(&session.network).copied().unwrap_or(0);
        let is_full = directory.sessions.len() >= limits.connections
            || strangers >= limits.strangers_per_network;
        if directory.closed || is_full {
            return None;
        }
        *directory.strangers.entry(session.network).or_default() += 1;
        let session = Arc::new(session);
        directory.sessions.insert(session.sid.clone(), session.clone());
        Some(session)
    }

    pub(super) fn find(&self, sid: &str) -> Option<Arc<Session>> {
        self.directory().sessions.get(sid).cloned()
    }

    /// Notes whose connection it is. False if the user has too many, or it is somebody's already.
    pub(super) fn arrive(&self, session: &Arc<Session>, who: Identity, limits: &Limits) -> bool {
        let mut directory = self.directory();
        let mut state = session.state();
        if state.ended.is_some() || state.stage.identity().is_some() {
            return false;
        }
        let sockets = directory.users.entry((who.project, who.user)).or_default();
        if sockets.len() >= limits.sockets_per_user {
            return false;
        }
        sockets.push(session.clone());
        state.stage = Stage::Arriving(who);
        directory.no_stranger(session);
        true
    }

    /// From now on it gets events. Not if it was ended meanwhile.
    pub(super) fn admit(&self, session: &Arc<Session>) {
        let _directory = self.directory();
        let mut state = session.state();
        if let Stage::Arriving(identity) = &state.stage {
            let welcome = socket::connected(&identity.socket);
            state.stage = Stage::Present(identity.clone());
            // Too slow already? Then the next event finds out.
            let _ = session.outbox.push(welcome);
        }
    }

    /// The connection is nobody's again.
    pub(super) fn depart(&self, session: &Arc<Session>, now: Duration) {
        let mut directory = self.directory();
        if directory.depart(session, now) {
            *directory.strangers.entry(session.network).or_default() += 1;
        }
    }

    pub(super) fn end(&self, session: &Arc<Session>, ending: Ending, now: Duration) {
        let mut directory = self.directory();
        if !directory.depart(session, now) && session.state().ended.is_none() {
            directory.no_stranger(session);
        }
        match ending {
            Ending::Cut => {
                directory.sessions.remove(&session.sid);
                session.outbox.cut();
            }
            Ending::Closed => session.outbox.finish(None),
            Ending::Dismissed => session.outbox.finish(Some(socket::disconnected())),
        }
        session.state().ended.get_or_insert(now);
    }

    /// How often somebody was put out of a room, for whoever is about to let somebody in.
    pub(super) fn removals(&self) -> u64 {
        self.directory().removals
    }

    /// Lets a socket into a room, unless somebody was put out of one since.
    pub(super) fn enter(
        &self,
        session: &Arc<Session>,
        room: ConversationId,
        removals: u64,
    ) -> bool {
        let mut directory = self.directory();
        if directory.removals != removals {
            return false;
        }
        let mut state = session.state();
        let Some(project) = state.stage.present().map(|identity| identity.project) else {
            return true;
        };
        if !state.rooms.contains(&room) {
            state.rooms.push(room);
            directory.rooms.entry((project, room)).or_default().push(session.clone());
        }
        true
    }

    pub(super) fn leave(&self, session: &Arc<Session>, room: ConversationId) {
        let mut directory = self.directory();
        let mut state = session.state();
        state.rooms.retain(|other| *other != room);
        if let Some(identity) = state.stage.identity() {
            take_out(&mut directory.rooms, (identity.project, room), session);
        }
    }

    pub(super) fn put_out(&self, project: ProjectId, room: ConversationId, user: UserId) {
        let mut directory = self.directory();
        directory.removals += 1;
        for session in directory.of_user(project, user) {
            session.state().rooms.retain(|other| *other != room);
            take_out(&mut directory.rooms, (project, room), &session);
        }
    }

    /// To every socket of these users, once each.
    pub(super) fn deliver(
        &self,
        project: ProjectId,
        users: &[UserId],
        packet: &Text,
        now: Duration,
    ) {
        let sockets: Vec<Arc<Session>> = {
            let directory = self.directory();
            users.iter().flat_map(|user| directory.of_user(project, *user)).collect()
        };
        self.send(sockets, packet, now);
    }

    /// To every socket in the room but one.
    pub(super) fn relay(
        &self,
        (project, room): (ProjectId, ConversationId),
        except: &str,
        packet: &Text,
        now: Duration,
    ) {
        let mut sockets = self.directory().rooms.get(&(project, room)).cloned().unwrap_or_default();
        sockets.retain(|session| {
            session.state().stage.present().is_some_and(|identity| identity.socket != except)
        });
        self.send(sockets, packet, now);
    }

    fn send(&self, sockets: Vec<Arc<Session>>, packet: &Text, now: Duration) {
        let mut delivered = 0;
        for session in sockets {
            if session.state().stage.present().is_none() {
                continue;
            }
            match session.outbox.push(packet.clone()) {
                Ok(()) => delivered += 1,
                Err(_) => self.drop_slow(&session, now),
            }
        }
        self.delivered.fetch_add(delivered, Relaxed);
    }

    pub(super) fn drop_slow(&self, session: &Arc<Session>, now: Duration) {
        self.slow.fetch_add(1, Relaxed);
        self.end(session, Ending::Cut, now);
    }

    /// Ends those sockets of a user that the condition holds for.
    pub(super) fn end_user(
        &self,
        (project, user): (ProjectId, UserId),
        ending: Ending,
        now: Duration,
        condition: impl Fn(&Identity) -> bool,
    ) {
        let sockets = self.directory().of_user(project, user);
        for session in sockets {
            let ends = session.state().stage.identity().is_some_and(&condition);
            if ends {
                self.end(&session, ending, now);
            }
        }
    }

    /// Something may have been missed: whoever is connected comes back and fetches it.
    pub(super) fn start_over(&self, now: Duration) {
        let sessions: Vec<_> = {
            let mut directory = self.directory();
            directory.removals += 1;
            directory.sessions.values().cloned().collect()
        };
        for session in sessions {
            if session.state().stage.identity().is_some() {
                self.end(&session, Ending::Closed, now);
            }
        }
        self.hearing.send_replace(true);
    }

    /// Completes when announcements are heard.
    pub(super) async fn hearing(&self) {
        let _ = self.hearing.subscribe().wait_for(|hearing| *hearing).await;
    }

    /// No more connections; those that are there end.
    pub(super) fn shut(&self, now: Duration) {
        let sessions: Vec<_> = {
            let mut directory = self.directory();
            directory.closed = true;
            directory.sessions.values().cloned().collect()
        };
        for session in sessions {
            self.end(&session, Ending::Closed, now);
        }
    }

    /// Counts a WebSocket until it is dropped.
    pub(super) fn wire(&self) -> Wire<'_> {
        self.wires.send_modify(|wires| *wires += 1);
        Wire(&self.wires)
    }

    /// Completes when no WebSocket is open.
    pub async fn unwired(&self) {
        let _ = self.wires.subscribe().wait_for(|wires| *wires == 0).await;
    }

    /// How many sockets of this node are in the room.
    pub fn sockets_in(&self, project: ProjectId, room: ConversationId) -> usize {
        self.directory().rooms.get(&(project, room)).map_or(0, Vec::len)
    }

    pub fn figures(&self) -> Figures {
        let directory = self.directory();
        Figures {
            connections: directory.sessions.len(),
            sockets: directory.users.values().map(Vec::len).sum(),
            delivered: self.delivered.load(Relaxed),
            slow: self.slow.load(Relaxed),
        }
    }
}

impl Directory {
    fn of_user(&self, project: ProjectId, user: UserId) -> Vec<Arc<Session>> {
        self.users.get(&(project, user)).cloned().unwrap_or_default()
    }

    /// False if it was nobody's.
    fn depart(&mut self, session: &Arc<Session>, now: Duration) -> bool {
        let mut state = session.state();
        let stage = std::mem::replace(&mut state.stage, Stage::Stranger);
        let Some(Identity { project, user, .. }) = stage.identity() else { return false };
        state.since = now;
        take_out(&mut self.users, (*project, *user), session);
        for room in std::mem::take(&mut state.rooms) {
            take_out(&mut self.rooms, (*project, room), session);
        }
        true
    }

    fn no_stranger(&mut self, session: &Session) {
        if let Entry::Occupied(mut count) = self.strangers.entry(session.network) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

fn take_out<K: Eq + Hash>(map: &mut HashMap<K, Vec<Arc<Session>>>, key: K, session: &Arc<Session>) {
    if let Entry::Occupied(mut sockets) = map.entry(key) {
        sockets.get_mut().retain(|other| !Arc::ptr_eq(other, session));
        if sockets.get().is_empty() {
            sockets.remove();
        }
    }
}

/// An open WebSocket.
#[derive(Debug)]
pub(super) struct Wire<'a>(&'a watch::Sender<usize>);

impl Drop for Wire<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|wires| *wires -= 1);
    }
}
