//! A cache of the members of recent conversations. Read once from the database and then updated by
//! announcements: every join and leave is announced in commit order.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::state::App;
use crate::values::ids::{ConversationId, ProjectId, UserId};

/// Maximum cached users, counted once for each conversation; beyond that the cache is cleared.
const MAX_USERS: usize = 1_000_000;

type Key = (ProjectId, ConversationId);

#[derive(Debug, Default)]
pub(crate) struct Audiences {
    known: HashMap<Key, HashSet<UserId>>,
    users: usize,
}

impl Audiences {
    /// The current members, including one who has just joined. What is read now may be newer than the
    /// announcement being applied, by changes that will be announced next.
    pub async fn of(
        &mut self,
        app: &App,
        key: Key,
        came: Option<UserId>,
    ) -> Result<&HashSet<UserId>> {
        if !self.known.contains_key(&key) {
            let (project, conversation) = key;
            let members = app.rooms.members;
            let read = app.db.read_slow(move |c| members(c, project, conversation));
            let users: HashSet<UserId> = read.await?.into_iter().collect();
            if self.users + users.len() > MAX_USERS {
                self.clear();
            }
            self.users += users.len();
            self.known.insert(key, users);
        }
        let users = self.known.entry(key).or_default();
        self.users += came.map_or(0, |user| usize::from(users.insert(user)));
        Ok(users)
    }

    pub fn left(&mut self, key: Key, user: UserId) {
        if let Some(users) = self.known.get_mut(&key) {
            self.users -= usize::from(users.remove(&user));
        }
    }

    pub fn gone(&mut self, key: Key) {
        self.users -= self.known.remove(&key).map_or(0, |users| users.len());
    }

    /// Announcements may have been missed: clears the cache.
    pub fn clear(&mut self) {
        *self = Audiences::default();
    }
}
