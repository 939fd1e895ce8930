//! A cache of project facts: state, bundles, origins, keys. Every request needs them and they change rarely.
//! Changes are announced, and every node drops its copy when it receives one. A copy is used as long as this node has received
//! its own heartbeat of the last half second, which is announced in order behind all earlier changes; without one, as
//! on SQLite, for half a second. So a key revoked on one node stops working on all of them, whatever is lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use db::{Conn, Db};
use text_index::Language;

use crate::error::{Error, Result};
use crate::tenancy::bundles::Bundle;
use crate::tenancy::keys::{KeyKind, StoredKey, parse_scopes};
use crate::tenancy::store::{Settings, StatementTexts, WorkspaceSettings};
use crate::tenancy::{TABLES_NOT_AVAILABLE, store};
use crate::values::ids::{KeyId, ProjectId, QueueId};
use crate::values::time::Timestamp;

const FRESH_FOR: Duration = Duration::from_millis(500);
/// A copy is read again after this time, should somebody have changed rows by hand.
const MAX_AGE: Duration = Duration::from_secs(30);
/// Beyond this many projects the cache is cleared.
const MAX_COPIES: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ProjectState {
    Active,
    /// Under maintenance: every call is answered 503.
    Migrating,
    /// Being deleted: every call is answered 423.
    PendingDeletion,
}

impl ProjectState {
    pub const fn name(self) -> &'static str {
        match self {
            ProjectState::Active => "active",
            ProjectState::Migrating => "migrating",
            ProjectState::PendingDeletion => "pending-deletion",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        use ProjectState::{Active, Migrating, PendingDeletion};
        [Active, Migrating, PendingDeletion].into_iter().find(|state| state.name() == name)
    }
}

/// How an entity or an event is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Deletion {
    /// Deleted with everything that depends on it.
    Hard,
    /// Hidden; its rows stay.
    Soft,
}

impl Deletion {
    pub const fn name(self) -> &'static str {
        match self {
            Deletion::Hard => "hard",
            Deletion::Soft => "soft",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Deletion::Hard, Deletion::Soft].into_iter().find(|deletion| deletion.name() == name)
    }
}

#[derive(Debug)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    pub state: ProjectState,
    pub allowed_origins: Vec<String>,
    pub public_key: Option<String>,
    pub previous_public_key: Option<String>,
    pub entity_deletion: Deletion,
    /// Whether the files of a hidden entity stay.
    pub keeps_files_of_deleted: bool,
    /// The time in which an entity's hot score decays to about a third.
    pub score_hours: f64,
    /// Whether users may delete the spaces they created.
    pub deletes_spaces: bool,
    /// Whether a web page may use a service or master key.
    pub keys_in_browsers: bool,
    /// Whether an entity may be created without a user.
    pub anonymous_posts: bool,
    /// Whether version 7 replies to a bad token with 403; without it the server's setting counts.
    pub v7_auth_forbids: Option<bool>,
    /// Whether sockets receive what changes in entities and spaces.
    pub live_feeds: bool,
    pub workspaces: WorkspaceSettings,
    /// Whether search is on.
    pub has_search: bool,
    pub search_language: Language,
    /// Whether users are matched by what they write.
    pub interest_matching: bool,
    /// Whether matches show samples of what was written.
    pub interest_samples: bool,
    pub event_deletion: Deletion,
    /// Whether the files of a hidden event stay.
    pub keeps_files_of_deleted_events: bool,
    /// Whether users may give reputation by themselves.
    pub user_grants: bool,
    /// Whether users get notifications by mail.
    pub notification_mails: bool,
    /// Whether authors get a statement of reasons about a decision against them.
    pub statements_of_reasons: bool,
    /// Also about what moderators of spaces and keys decide over the API.
    pub statements_over_api: bool,
    pub statement: StatementTexts,
    /// Grows with every change of the rules of moderation; 0 if there never were any.
    pub rules_version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub bundles: Vec<Bundle>,
    pub keys: Vec<StoredKey>,
    pub webhooks: Vec<Subscription>,
    /// Whether devices get push messages by themselves: a push service is configured.
    pub pushes: bool,
}

/// The events that are sent to one webhook endpoint.
#[derive(Debug)]
pub struct Subscription {
    pub endpoint: QueueId,
    pub events: Vec<String>,
}

impl Project {
    /// A key that is not revoked.
    pub fn key(&self, id: KeyId) -> Option<&StoredKey> {
        self.keys.iter().find(|key| key.id == id)
    }

    pub fn has(&self, bundle: Bundle) -> bool {
        self.bundles.contains(&bundle)
    }

    pub fn require(&self, bundle: Bundle) -> Result<()> {
        if self.has(bundle) {
            return Ok(());
        }
        Err(TABLES_NOT_AVAILABLE.with("missingTables", bundle.tables()))
    }

    /// The current settings, for changing one of them.
    pub fn settings(&self) -> Settings {
        Settings {
            entity_deletion: self.entity_deletion.name(),
            keeps_files_of_deleted: self.keeps_files_of_deleted,
            score_hours: self.score_hours,
            deletes_spaces: self.deletes_spaces,
            keys_in_browsers: self.keys_in_browsers,
            anonymous_posts: self.anonymous_posts,
            v7_auth_forbids: self.v7_auth_forbids,
            live_feeds: self.live_feeds,
            has_search: self.has_search,
            search_language: self.search_language.name(),
            interest_matching: self.interest_matching,
            interest_samples: self.interest_samples,
            event_deletion: self.event_deletion.name(),
            keeps_files_of_deleted_events: self.keeps_files_of_deleted_events,
            user_grants: self.user_grants,
            notification_mails: self.notification_mails,
            statements_of_reasons: self.statements_of_reasons,
            statements_over_api: self.statements_over_api,
        }
    }
}

/// Reads a project with everything that requests need.
pub fn load(c: &Conn<'_>, id: ProjectId) -> Result<Option<Project>> {
    let Some(row) = store::find(c, id)? else {
        return Ok(None);
    };
    let unreadable = |what: &str| Error::internal(format!("project {id} has an unreadable {what}"));
    let keys = store::live_keys(c, id)?.into_iter().map(|key| {
        let kind = KeyKind::from_name(&key.kind).ok_or_else(|| unreadable("key kind"))?;
        Ok(StoredKey {
            id: key.id,
            label: key.label,
            kind,
            hash: key.hash,
            scopes: parse_scopes(&key.scopes).map_err(|_| unreadable("scope of a key"))?,
            expires_at: key.expires_at,
            used_at: Arc::new(key.used_at.map_or(0, Timestamp::millis).into()),
        })
    });
    let webhooks = store::webhooks(c, id)?.into_iter().map(|(endpoint, events)| {
        let events = serde_json::from_str(&events.0).map_err(Error::internal)?;
        Ok(Subscription { endpoint, events })
    });
    Ok(Some(Project {
        id,
        name: row.name,
        state: ProjectState::from_name(&row.state).ok_or_else(|| unreadable("state"))?,
        allowed_origins: serde_json::from_str(&row.allowed_origins.0).map_err(Error::internal)?,
        public_key: row.public_key,
        previous_public_key: row.previous_public_key,
        entity_deletion: Deletion::from_name(&row.entity_deletion)
            .ok_or_else(|| unreadable("way of deleting entities"))?,
        keeps_files_of_deleted: row.keeps_files_of_deleted,
        score_hours: row.score_hours,
        deletes_spaces: row.deletes_spaces,
        keys_in_browsers: row.keys_in_browsers,
        anonymous_posts: row.anonymous_posts,
        v7_auth_forbids: row.v7_auth_forbids,
        live_feeds: row.live_feeds,
        workspaces: WorkspaceSettings {
            invite_accept_url: row.workspace_invite_accept_url,
            inherits_default: row.workspace_inherits_default,
            inherit_enforced: row.workspace_inherit_enforced,
        },
        has_search: row.has_search,
        search_language: Language::from_name(&row.search_language)
            .ok_or_else(|| unreadable("search language"))?,
        interest_matching: row.interest_matching,
        interest_samples: row.interest_samples,
        event_deletion: Deletion::from_name(&row.event_deletion)
            .ok_or_else(|| unreadable("way of deleting events"))?,
        keeps_files_of_deleted_events: row.keeps_files_of_deleted_events,
        user_grants: row.user_grants,
        notification_mails: row.notification_mails,
        statements_of_reasons: row.statements_of_reasons,
        statements_over_api: row.statements_over_api,
        statement: StatementTexts { ground: row.statement_ground, contact: row.statement_contact },
        rules_version: row.rules_version,
        created_at: row.created_at,
        updated_at: row.updated_at,
        bundles: store::bundles(c, id)?.iter().filter_map(|n| Bundle::from_name(n)).collect(),
        keys: keys.collect::<Result<_>>()?,
        webhooks: webhooks.collect::<Result<_>>()?,
        pushes: !store::push_providers(c, id)?.is_empty(),
    }))
}

#[derive(Debug, Default)]
pub struct Registry {
    copies: RwLock<HashMap<ProjectId, (Duration, Arc<Project>)>>,
    /// Changes heard of so far: what was read meanwhile may be outdated.
    changes: AtomicU64,
    /// When the last heartbeat that was heard had been sent, in milliseconds of uptime.
    confirmed: AtomicU64,
}

impl Registry {
    pub async fn get(&self, db: &Db, id: ProjectId, now: Duration) -> Result<Option<Arc<Project>>> {
        let copy = {
            let copies = self.copies.read().unwrap_or_else(PoisonError::into_inner);
            copies.get(&id).cloned()
        };
        if let Some((_, project)) = copy.filter(|(read_at, _)| self.is_fresh(*read_at, now)) {
            return Ok(Some(project));
        }
        let changes = self.changes.load(SeqCst);
        let project = db.read(move |c| load(c, id)).await?.map(Arc::new);
        let mut copies = self.copies();
        if self.changes.load(SeqCst) != changes {
            return Ok(project);
        }
        match &project {
            Some(project) => {
                if copies.len() >= MAX_COPIES {
                    copies.clear();
                }
                copies.insert(id, (now, project.clone()));
            }
            None => {
                copies.remove(&id);
            }
        }
        Ok(project)
    }

    fn is_fresh(&self, read_at: Duration, now: Duration) -> bool {
        let confirmed = Duration::from_millis(self.confirmed.load(SeqCst));
        now < read_at + FRESH_FOR
            || (now < read_at + MAX_AGE && confirmed <= now && now < confirmed + FRESH_FOR)
    }

    /// A heartbeat that was sent then was heard: every change announced before it was heard too.
    pub(crate) fn confirm(&self, sent: Duration, now: Duration) {
        // A test may have set the clock back meanwhile.
        if sent <= now {
            self.confirmed.store(u64::try_from(sent.as_millis()).unwrap_or(0), SeqCst);
        }
    }

    /// A project has changed.
    pub(crate) fn forget(&self, id: ProjectId) {
        let mut copies = self.copies();
        self.changes.fetch_add(1, SeqCst);
        copies.remove(&id);
    }

    /// Changes may have been missed.
    pub fn forget_all(&self) {
        let mut copies = self.copies();
        self.changes.fetch_add(1, SeqCst);
        self.confirmed.store(0, SeqCst);
        copies.clear();
    }

    fn copies(&self) -> RwLockWriteGuard<'_, HashMap<ProjectId, (Duration, Arc<Project>)>> {
        self.copies.write().unwrap_or_else(PoisonError::into_inner)
    }
}
