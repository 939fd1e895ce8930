//! The sockets of this node: admission, delivery of events, and closing.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::realtime::directory::Directory;
use crate::realtime::packet::{self, Text};
use crate::realtime::room_access::Room;
use crate::realtime::session::{Identity, Session};
use crate::values::ids::{ProjectId, UserId};

#[derive(Debug, Default)]
pub struct Realtime {
    directory: Mutex<Directory>,
    /// Whether announcements are received; until then no socket is admitted.
    hearing: watch::Sender<bool>,
    /// Open WebSockets.
    wires: watch::Sender<usize>,
    delivered: AtomicU64,
    slow: AtomicU64,
}

/// How a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// At once; its queue is dropped.
    Cut,
    /// After its queue is sent; the client may reconnect by itself.
    Closed,
    /// The same, and tells the client not to reconnect.
    Dismissed,
}

/// For the metrics page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    pub connections: usize,
    pub polls: usize,
    pub sockets: usize,
    pub delivered: u64,
    pub slow: u64,
}

impl Realtime {
    /// Nothing can panic halfway through a change, so a poisoned lock is still consistent.
    pub(crate) fn directory(&self) -> MutexGuard<'_, Directory> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn end(&self, session: &Arc<Session>, ending: Ending, now: Duration) {
        let mut directory = self.directory();
        directory.retire(session, now);
        match ending {
            Ending::Cut => {
                directory.sessions.remove(&session.sid);
                session.outbox.cut();
            }
            Ending::Closed => session.outbox.finish(None),
            Ending::Dismissed => session.outbox.finish(Some(packet::disconnected())),
        }
    }

    /// How many times somebody was removed from a room; read before a join.
    pub(crate) fn removals(&self) -> u64 {
        self.directory().removals
    }

    /// Adds a socket to a room. False if anybody was removed from a room since the count was read: it may
    /// have been this user.
    pub(crate) fn enter(&self, session: &Arc<Session>, room: Room, removals: u64) -> bool {
        let mut directory = self.directory();
        let is_current = directory.removals == removals;
        if is_current {
            directory.enter(session, room);
        }
        is_current
    }

    /// No users named: all of the room.
    pub(crate) fn put_out(&self, project: ProjectId, room: Room, user: Option<UserId>) {
        let mut directory = self.directory();
        directory.removals += 1;
        let sockets = match user {
            Some(user) => directory.of_user(project, user),
            None => directory.in_room(project, room).to_vec(),
        };
        for session in sockets {
            directory.leave(&session, room);
        }
    }

    /// To every socket of these users, once each.
    pub(crate) fn deliver(
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
        self.send(&sockets, packet, now, |_| true);
    }

    /// The same for many users, of which few may be connected to this node.
    pub(crate) fn deliver_among(
        &self,
        project: ProjectId,
        users: &HashSet<UserId>,
        packet: &Text,
        now: Duration,
    ) {
        let sockets = self.directory().among(project, users);
        self.send(&sockets, packet, now, |_| true);
    }

    /// To every socket in the room but one.
    pub(crate) fn relay(
        &self,
        (project, room): (ProjectId, Room),
        except: &str,
        packet: &Text,
        now: Duration,
    ) {
        let sockets = self.directory().in_room(project, room).to_vec();
        self.send(&sockets, packet, now, |identity| identity.socket != except);
    }

    /// The users of this node's sockets in the room.
    pub(crate) fn users_in(&self, project: ProjectId, room: Room) -> HashSet<UserId> {
        let sockets = self.directory().in_room(project, room).to_vec();
        let user = |session: &Arc<Session>| session.present().map(|identity| identity.user);
        sockets.iter().filter_map(user).collect()
    }

    /// To the sockets of these users in the room.
    pub(crate) fn deliver_in(
        &self,
        (project, room): (ProjectId, Room),
        users: &HashSet<UserId>,
        packet: &Text,
        now: Duration,
    ) {
        let sockets = self.directory().in_room(project, room).to_vec();
        self.send(&sockets, packet, now, |identity| users.contains(&identity.user));
    }

    fn send(
        &self,
        sockets: &[Arc<Session>],
        packet: &Text,
        now: Duration,
        goes_to: impl Fn(&Identity) -> bool,
    ) {
        let mut delivered = 0;
        for session in sockets {
            if !session.state().stage.present().is_some_and(&goes_to) {
                continue;
            }
            match session.outbox.push(packet.clone()) {
                Ok(()) => delivered += 1,
                Err(_) => self.drop_slow(session, now),
            }
        }
        self.delivered.fetch_add(delivered, Relaxed);
    }

    pub(crate) fn drop_slow(&self, session: &Arc<Session>, now: Duration) {
        self.slow.fetch_add(1, Relaxed);
        self.end(session, Ending::Cut, now);
    }

    /// Closes those sockets of a user that match the condition.
    pub(crate) fn end_user(
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

    /// Announcements may have been missed: closes all sockets, so that clients reconnect and fetch.
    pub(crate) fn start_over(&self, now: Duration) {
        let sessions: Vec<_> = {
            let mut directory = self.directory();
            directory.removals += 1;
            directory.sessions.values().cloned().collect()
        };
        for session in sessions {
            let is_known = session.state().stage.identity().is_some();
            if is_known {
                self.end(&session, Ending::Closed, now);
            }
        }
        self.hearing.send_replace(true);
    }

    /// Completes when announcements are received.
    pub(crate) async fn hearing(&self) {
        let _ = self.hearing.subscribe().wait_for(|hearing| *hearing).await;
    }

    /// Accepts no more connections; closes those that exist.
    pub(crate) fn shut(&self, now: Duration) {
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
    pub(crate) fn wire(&self) -> Wire<'_> {
        self.wires.send_modify(|wires| *wires += 1);
        Wire(&self.wires)
    }

    /// Completes when no WebSocket is open.
    pub async fn unwired(&self) {
        let _ = self.wires.subscribe().wait_for(|wires| *wires == 0).await;
    }

    /// How many sockets of this node are in the room.
    pub fn sockets_in(&self, project: ProjectId, room: impl Into<Room>) -> usize {
        self.directory().in_room(project, room.into()).len()
    }

    pub fn figures(&self) -> Figures {
        let directory = self.directory();
        Figures {
            connections: directory.sessions.len(),
            polls: directory.sessions.values().filter(|session| session.waits()).count(),
            sockets: directory.sockets(),
            delivered: self.delivered.load(Relaxed),
            slow: self.slow.load(Relaxed),
        }
    }
}

/// An open WebSocket.
#[derive(Debug)]
pub(crate) struct Wire<'a>(&'a watch::Sender<usize>);

impl Drop for Wire<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|wires| *wires -= 1);
    }
}
