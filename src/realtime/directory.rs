//! The index of connections: by secret, by user, by room, and how many unauthenticated ones each network has.
//! A connection's `Stage` and rooms change only here, so that index and connection never disagree.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use crate::config::RealtimeLimits;
use crate::realtime::packet;
use crate::realtime::room_access::Room;
use crate::realtime::session::{Identity, Session, Stage};
use crate::values::ids::{ProjectId, UserId};

type Sockets = Vec<Arc<Session>>;

#[derive(Debug, Default)]
pub(crate) struct Directory {
    pub(crate) sessions: HashMap<String, Arc<Session>>,
    users: HashMap<(ProjectId, UserId), Sockets>,
    rooms: HashMap<(ProjectId, Room), Sockets>,
    strangers: HashMap<u128, usize>,
    /// How many times somebody was removed from a room.
    pub(crate) removals: u64,
    /// Accepts no more connections.
    pub(crate) closed: bool,
}

impl Directory {
    /// Adds a new connection, if the limits allow it.
    pub(crate) fn open(
        &mut self,
        session: Session,
        limits: &RealtimeLimits,
    ) -> Option<Arc<Session>> {
        let strangers = self.strangers.get(&session.network).copied().unwrap_or(0);
        let is_full =
            self.sessions.len() >= limits.connections || strangers >= limits.strangers_per_network;
        if self.closed || is_full {
            return None;
        }
        self.strangers.insert(session.network, strangers + 1);
        let session = Arc::new(session);
        self.sessions.insert(session.sid.clone(), session.clone());
        Some(session)
    }

    /// Assigns the connection to a user. False if the user has too many, or it is assigned already.
    pub(crate) fn arrive(&mut self, session: &Arc<Session>, who: Identity, most: usize) -> bool {
        let mut state = session.state();
        if state.ended.is_some() || state.stage.identity().is_some() {
            return false;
        }
        let sockets = self.users.entry((who.project, who.user)).or_default();
        if sockets.len() >= most {
            return false;
        }
        sockets.push(session.clone());
        state.stage = Stage::Arriving(who);
        self.no_stranger(session.network);
        true
    }

    /// From now on it gets events, unless it was closed meanwhile.
    pub(crate) fn admit(&self, session: &Arc<Session>) {
        let mut state = session.state();
        if let Stage::Arriving(identity) = &state.stage {
            let welcome = packet::connected(&identity.socket);
            state.stage = Stage::Present(identity.clone());
            // If the queue is full, the next event closes it.
            let _ = session.outbox.push(welcome);
        }
    }

    /// Makes the connection unauthenticated again.
    pub(crate) fn depart(&mut self, session: &Arc<Session>, now: Duration) {
        if self.take_out(session, now) {
            *self.strangers.entry(session.network).or_default() += 1;
        }
    }

    /// Begins to close the connection. Its secret stays valid for the last request.
    pub(crate) fn retire(&mut self, session: &Arc<Session>, now: Duration) {
        let is_known = self.take_out(session, now);
        let mut state = session.state();
        if !is_known && state.ended.is_none() {
            self.no_stranger(session.network);
        }
        state.ended.get_or_insert(now);
    }

    pub(crate) fn of_user(&self, project: ProjectId, user: UserId) -> Sockets {
        self.users.get(&(project, user)).cloned().unwrap_or_default()
    }

    /// Iterates over the smaller side: the given users or those connected here.
    pub(crate) fn among(&self, project: ProjectId, users: &HashSet<UserId>) -> Sockets {
        if users.len() < self.users.len() {
            return users.iter().flat_map(|user| self.of_user(project, *user)).collect();
        }
        let here =
            self.users.iter().filter(|((of, user), _)| *of == project && users.contains(user));
        here.flat_map(|(_, sockets)| sockets.iter().cloned()).collect()
    }

    pub(crate) fn in_room(&self, project: ProjectId, room: Room) -> &[Arc<Session>] {
        self.rooms.get(&(project, room)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn sockets(&self) -> usize {
        self.users.values().map(Vec::len).sum()
    }

    pub(crate) fn enter(&mut self, session: &Arc<Session>, room: Room) {
        let mut state = session.state();
        let Some(project) = state.stage.present().map(|identity| identity.project) else { return };
        if !state.rooms.contains(&room) {
            state.rooms.push(room);
            self.rooms.entry((project, room)).or_default().push(session.clone());
        }
    }

    pub(crate) fn leave(&mut self, session: &Arc<Session>, room: Room) {
        let mut state = session.state();
        state.rooms.retain(|other| *other != room);
        if let Some(identity) = state.stage.identity() {
            take_from(&mut self.rooms, (identity.project, room), session);
        }
    }

    /// Removes it from the user's list and every room. False if it had no user.
    fn take_out(&mut self, session: &Arc<Session>, now: Duration) -> bool {
        let mut state = session.state();
        let stage = std::mem::replace(&mut state.stage, Stage::Stranger);
        let Some(Identity { project, user, .. }) = stage.identity() else { return false };
        state.since = now;
        take_from(&mut self.users, (*project, *user), session);
        for room in std::mem::take(&mut state.rooms) {
            take_from(&mut self.rooms, (*project, room), session);
        }
        true
    }

    fn no_stranger(&mut self, network: u128) {
        if let Entry::Occupied(mut count) = self.strangers.entry(network) {
            *count.get_mut() = count.get().saturating_sub(1);
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

fn take_from<K: Eq + Hash>(map: &mut HashMap<K, Sockets>, key: K, session: &Arc<Session>) {
    if let Entry::Occupied(mut sockets) = map.entry(key) {
        sockets.get_mut().retain(|other| !Arc::ptr_eq(other, session));
        if sockets.get().is_empty() {
            sockets.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::realtime::session::Transport;
    use crate::values::ids::{ConversationId, SessionId};
    use crate::values::time::Timestamp;
    use uuid::Uuid;

    const NOW: Duration = Duration::from_secs(1);
    const PROJECT: ProjectId = ProjectId(Uuid::from_u128(1));
    const USER: UserId = UserId(Uuid::from_u128(2));
    const ROOM: Room = Room::Conversation(ConversationId(Uuid::from_u128(3)));

    fn session(directory: &mut Directory, sid: &str) -> Arc<Session> {
        let limits = RealtimeLimits::default();
        let (project, transport) = (Some(PROJECT), Transport::Polling);
        let session = Session::new(sid.to_owned(), project, 7, transport, &limits, NOW);
        directory.open(session, &limits).unwrap()
    }

    fn identity() -> Identity {
        Identity {
            project: PROJECT,
            user: USER,
            session: SessionId(Uuid::from_u128(4)),
            socket: "s".to_owned(),
            expires: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn whatever_becomes_of_connections_nothing_is_left_of_them() {
        let mut directory = Directory::default();
        for turn in 0..4 {
            let session = session(&mut directory, &turn.to_string());
            if turn > 0 {
                assert!(directory.arrive(&session, identity(), 50));
                assert!(!directory.arrive(&session, identity(), 50), "it is somebody's already");
                assert!(directory.strangers.is_empty());
            }
            if turn > 1 {
                directory.admit(&session);
                directory.enter(&session, ROOM);
                assert_eq!(directory.in_room(PROJECT, ROOM).len(), 1);
            }
            if turn > 2 {
                directory.depart(&session, NOW);
                assert_eq!(directory.strangers[&7], 1);
            }
            directory.retire(&session, NOW);
            directory.retire(&session, NOW);
            assert!(!directory.arrive(&session, identity(), 50), "it has ended");
            directory.sessions.clear();
            assert!(directory.strangers.is_empty() && directory.users.is_empty());
            assert!(directory.rooms.is_empty());
        }
    }

    #[test]
    fn a_connection_that_has_not_arrived_enters_no_room() {
        let mut directory = Directory::default();
        let session = session(&mut directory, "a");
        directory.enter(&session, ROOM);
        assert!(directory.arrive(&session, identity(), 50));
        directory.enter(&session, ROOM);
        assert!(directory.in_room(PROJECT, ROOM).is_empty());
    }
}
