//! The audit log: who changed what, by an operator, a key or a command. An entry is written in the transaction of the
//! change, and never changed. Once a minute the entries of each project are sealed: a seal holds a hash of its entries
//! and of the seal before it, so that an entry that is missing, added or altered later is found (`verify_all`). Whole
//! seals are dropped with their entries once they are old enough (`retention.rs`).

mod chain;
mod retention;
pub mod store;

pub use chain::{Finding, seal, verify, verify_all};
pub use retention::cut;

use std::net::IpAddr;

use db::Tx;
use serde::Serialize;
use uuid::Uuid;

use crate::values::ids::{AuditEntryId, KeyId, OperatorId, ProjectId, new_id};
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// The project of entries that concern the whole installation.
pub const INSTALLATION: ProjectId = ProjectId(Uuid::nil());

db::row! {
    #[derive(Debug, Clone, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Entry {
        pub project_id: ProjectId,
        pub id: AuditEntryId,
        pub at: Timestamp,
        /// `operator`, `key`, `command` or `server`.
        pub actor_kind: String,
        pub actor_id: Option<Uuid>,
        pub actor_name: String,
        /// The network address that it came from.
        pub client: Option<String>,
        pub action: String,
        pub target: String,
        /// What was there before, and what is now, as JSON.
        pub old_state: Option<String>,
        pub new_state: Option<String>,
    }
}

/// Who causes a change.
#[derive(Debug, Clone)]
pub enum Actor {
    Operator {
        id: OperatorId,
        email: String,
        client: IpAddr,
    },
    Key {
        id: KeyId,
        name: String,
        client: IpAddr,
    },
    /// Somebody who runs commands on the machine.
    Command,
    /// By itself, as its settings say.
    Server,
}

impl Entry {
    pub fn new(
        project: ProjectId,
        actor: &Actor,
        action: &str,
        target: String,
        (now, random): (Timestamp, &Random),
    ) -> Self {
        let (kind, id, name, client) = match actor {
            Actor::Operator { id, email, client } => {
                ("operator", Some(id.0), &**email, Some(client))
            }
            Actor::Key { id, name, client } => ("key", Some(id.0), &**name, Some(client)),
            Actor::Command => ("command", None, "command line", None),
            Actor::Server => ("server", None, "server", None),
        };
        Entry {
            project_id: project,
            id: AuditEntryId(new_id(now, random)),
            at: now,
            actor_kind: kind.to_owned(),
            actor_id: id,
            actor_name: name.to_owned(),
            client: client.map(IpAddr::to_string),
            action: action.to_owned(),
            target,
            old_state: None,
            new_state: None,
        }
    }

    /// The same entry with what was there before and what is now.
    #[must_use]
    pub fn change(mut self, old: Option<&impl Serialize>, new: Option<&impl Serialize>) -> Self {
        let text = |value: &_| serde_json::to_string(value).ok();
        self.old_state = old.and_then(text);
        let text = |value: &_| serde_json::to_string(value).ok();
        self.new_state = new.and_then(text);
        self
    }

    /// Adds the entry to the log, in the transaction of the change.
    pub fn write(&self, tx: &Tx<'_>) -> Result<(), db::Error> {
        store::insert(tx, self)
    }
}
