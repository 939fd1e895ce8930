//! All SQL about projects, their bundles and keys. Every change is announced, because nodes keep copies.

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::tenancy::bundles::Bundle;
use crate::values::ids::{KeyId, ProjectId, QueueId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct ProjectRow {
        pub id: ProjectId,
        pub name: String,
        pub state: String,
        pub allowed_origins: JsonText,
        pub public_key: Option<String>,
        pub previous_public_key: Option<String>,
        pub entity_deletion: String,
        pub keeps_files_of_deleted: bool,
        pub score_hours: f64,
        pub deletes_spaces: bool,
        pub keys_in_browsers: bool,
        pub anonymous_posts: bool,
        pub v7_auth_forbids: Option<bool>,
        pub live_feeds: bool,
        pub workspace_invite_accept_url: Option<String>,
        pub workspace_inherits_default: bool,
        pub workspace_inherit_enforced: bool,
        pub has_search: bool,
        pub search_language: String,
        pub interest_matching: bool,
        pub interest_samples: bool,
        pub event_deletion: String,
        pub keeps_files_of_deleted_events: bool,
        pub user_grants: bool,
        pub notification_mails: bool,
        pub rules_version: i64,
        pub statements_of_reasons: bool,
        pub statements_over_api: bool,
        pub statement_ground: Option<String>,
        pub statement_contact: Option<String>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

/// `SELECT` of whole projects; conditions follow.
macro_rules! select_project {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, state, allowed_origins, public_key, previous_public_key, entity_deletion,
                keeps_files_of_deleted, score_hours, deletes_spaces, keys_in_browsers, anonymous_posts,
                v7_auth_forbids, live_feeds, workspace_invite_accept_url, workspace_inherits_default,
                workspace_inherit_enforced, has_search, search_language, interest_matching,
                interest_samples, event_deletion, keeps_files_of_deleted_events, user_grants,
                notification_mails, rules_version, statements_of_reasons, statements_over_api,
                statement_ground, statement_contact, created_at, updated_at
             FROM projects ",
            $rest
        )
    };
}

db::row! {
    #[derive(Debug)]
    pub struct KeyRow {
        pub id: KeyId,
        pub kind: String,
        pub label: Option<String>,
        pub hash: Vec<u8>,
        pub created_at: Timestamp,
        pub revoked_at: Option<Timestamp>,
        /// Separated by spaces; empty for everything.
        pub scopes: String,
        pub expires_at: Option<Timestamp>,
        pub used_at: Option<Timestamp>,
    }
}

db::statements! {
    query FIND -> ProjectRow, unscoped "the project itself is what is asked for" =
        select_project!("WHERE id = $1");
    query LOCK -> ProjectId, unscoped "the project itself is locked" =
        "SELECT id FROM projects WHERE id = $1 {for_no_key_update}";
    query LIST -> ProjectRow, unscoped "the operator lists every project" =
        select_project!("ORDER BY created_at, id");
    query NEWEST -> Option<Timestamp>, unscoped "the operator examines every project" =
        "SELECT max(created_at) FROM projects";
    query BUNDLES -> String =
        "SELECT bundle FROM project_bundles WHERE project_id = $1 ORDER BY bundle";
    query WEBHOOKS -> (QueueId, JsonText) =
        "SELECT id, events FROM webhook_endpoints
         WHERE project_id = $1 AND url IS NOT NULL ORDER BY is_first DESC, created_at, id";
    query LIVE_KEYS -> KeyRow =
        "SELECT id, kind, label, hash, created_at, revoked_at, scopes, expires_at, used_at
         FROM project_keys
         WHERE project_id = $1 AND revoked_at IS NULL ORDER BY created_at, id";
    query KEYS -> KeyRow =
        "SELECT id, kind, label, hash, created_at, revoked_at, scopes, expires_at, used_at
         FROM project_keys
         WHERE project_id = $1 ORDER BY created_at, id";
    query PUSH_PROVIDERS -> String = "SELECT provider FROM push_providers WHERE project_id = $1";
    command INSERT, unscoped "the project itself is made" =
        "INSERT INTO projects (id, name, state, allowed_origins, public_key, key_updated_at, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $6)";
    command INSERT_BUNDLE =
        "INSERT INTO project_bundles (project_id, bundle) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    command DELETE_BUNDLE =
        "DELETE FROM project_bundles WHERE project_id = $1 AND bundle = $2";
    command INSERT_KEY =
        "INSERT INTO project_keys (project_id, id, kind, label, hash, created_at, scopes, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    command USE_KEY =
        "UPDATE project_keys SET used_at = $3
         WHERE project_id = $1 AND id = $2 AND (used_at IS NULL OR used_at < $3)";
    command REVOKE_KEY -> ProjectId, unscoped "the operator names a key by its id alone" =
        "UPDATE project_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING project_id";
    command SET_STATE, unscoped "the project itself is changed" =
        "UPDATE projects SET state = $2, updated_at = $3 WHERE id = $1";
    command SET_ORIGINS, unscoped "the project itself is changed" =
        "UPDATE projects SET allowed_origins = $2, updated_at = $3 WHERE id = $1";
    command SET_SETTINGS, unscoped "the project itself is changed" =
        "UPDATE projects SET entity_deletion = $2, keeps_files_of_deleted = $3, score_hours = $4,
            deletes_spaces = $5, keys_in_browsers = $6, anonymous_posts = $7, v7_auth_forbids = $8,
            live_feeds = $9, has_search = $10, search_language = $11, interest_matching = $12,
            interest_samples = $13, event_deletion = $14, keeps_files_of_deleted_events = $15,
            user_grants = $16, notification_mails = $17, statements_of_reasons = $18,
            statements_over_api = $19, updated_at = $20
         WHERE id = $1";
    command SET_WORKSPACES, unscoped "the project itself is changed" =
        "UPDATE projects SET workspace_invite_accept_url = $2, workspace_inherits_default = $3,
            workspace_inherit_enforced = $4, updated_at = $5
         WHERE id = $1";
    command SET_STATEMENTS, unscoped "the project itself is changed" =
        "UPDATE projects SET statement_ground = $2, statement_contact = $3, updated_at = $4 WHERE id = $1";
    command CHANGE_RULES, unscoped "the project itself is changed" =
        "UPDATE projects SET rules_version = rules_version + 1 WHERE id = $1";
    /// Projects with this row are indexed; see `features/search`.
    command START_INDEX =
        "INSERT INTO search_state (project_id, language, next_number, is_filled)
         SELECT b.project_id, $2, 1, FALSE FROM project_bundles b
         WHERE b.project_id = $1 AND b.bundle = 'ai-search'
         ON CONFLICT DO NOTHING";
    /// An index of another language is built again.
    command RENEW_INDEX =
        "UPDATE search_state SET is_filled = FALSE WHERE project_id = $1 AND language <> $2";
    command FORGET_STATE = "DELETE FROM search_state WHERE project_id = $1";
    command FORGET_TODO = "DELETE FROM search_todo WHERE project_id = $1";
    command FORGET_DOCS = "DELETE FROM search_docs WHERE project_id = $1";
    command FORGET_BLOCKS = "DELETE FROM search_blocks WHERE project_id = $1";
    command FORGET_WORDS = "DELETE FROM search_words WHERE project_id = $1";
    command FORGET_SECTIONS = "DELETE FROM search_sections WHERE project_id = $1";
    command FORGET_VECTORS = "DELETE FROM search_vectors WHERE project_id = $1";
    command FORGET_SIGNS = "DELETE FROM search_vector_blocks WHERE project_id = $1";
    command DELETE, unscoped "the project itself is deleted" =
        "DELETE FROM projects WHERE id = $1";
    command ROTATE_PUBLIC_KEY, unscoped "the project itself is changed" =
        "UPDATE projects SET previous_public_key = public_key, public_key = $2,
            key_updated_at = $3, updated_at = $3 WHERE id = $1";
}

/// The topic of announcements whose text is the id of a project that has changed.
pub const TOPIC: &str = "projects";

/// Lets every node read the project again.
pub fn changed(tx: &Tx<'_>, id: ProjectId) -> Result<()> {
    Ok(tx.announce(TOPIC, &id.to_string())?)
}

pub fn find(c: &Conn<'_>, id: ProjectId) -> Result<Option<ProjectRow>> {
    Ok(c.opt(&FIND, args![id])?)
}

/// Lets one after another change what a project has only one of.
pub fn lock(tx: &Tx<'_>, id: ProjectId) -> Result<()> {
    tx.opt(&LOCK, args![id])?;
    Ok(())
}

pub fn list(c: &Conn<'_>) -> Result<Vec<ProjectRow>> {
    Ok(c.all(&LIST, args![])?)
}

/// When the newest one was made.
pub fn newest(c: &Conn<'_>) -> Result<Option<Timestamp>> {
    Ok(c.one(&NEWEST, args![])?)
}

pub fn bundles(c: &Conn<'_>, id: ProjectId) -> Result<Vec<String>> {
    Ok(c.all(&BUNDLES, args![id])?)
}

/// The push services that are configured.
pub fn push_providers(c: &Conn<'_>, id: ProjectId) -> Result<Vec<String>> {
    Ok(c.all(&PUSH_PROVIDERS, args![id])?)
}

/// The endpoints that events are sent to, and which ones.
pub fn webhooks(c: &Conn<'_>, id: ProjectId) -> Result<Vec<(QueueId, JsonText)>> {
    Ok(c.all(&WEBHOOKS, args![id])?)
}

pub fn live_keys(c: &Conn<'_>, id: ProjectId) -> Result<Vec<KeyRow>> {
    Ok(c.all(&LIVE_KEYS, args![id])?)
}

pub fn keys(c: &Conn<'_>, id: ProjectId) -> Result<Vec<KeyRow>> {
    Ok(c.all(&KEYS, args![id])?)
}

pub fn insert(
    tx: &Tx<'_>,
    id: ProjectId,
    name: &str,
    state: &str,
    public_key: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&INSERT, args![id, name, state, "[]", public_key, now])?;
    Ok(())
}

pub fn add_bundle(tx: &Tx<'_>, id: ProjectId, bundle: &str) -> Result<()> {
    tx.execute(&INSERT_BUNDLE, args![id, bundle])?;
    let project = find(tx, id)?;
    if let Some(row) = project.filter(|row| row.has_search && bundle == Bundle::AiSearch.name()) {
        tx.execute(&START_INDEX, args![id, &row.search_language])?;
    }
    changed(tx, id)
}

/// Deletes the search index. With `state` its row of `search_state` goes too, and the project is no longer indexed. That row is
/// deleted first: an indexer holds a lock on it while it writes.
pub fn forget_index(tx: &Tx<'_>, id: ProjectId, state: bool) -> Result<()> {
    let words = [&FORGET_TODO, &FORGET_DOCS, &FORGET_BLOCKS, &FORGET_WORDS, &FORGET_SECTIONS];
    let all = words.into_iter().chain([&FORGET_VECTORS, &FORGET_SIGNS]);
    for statement in state.then_some(&FORGET_STATE).into_iter().chain(all) {
        tx.execute(statement, args![id])?;
    }
    Ok(())
}

pub fn remove_bundle(tx: &Tx<'_>, id: ProjectId, bundle: &str) -> Result<()> {
    tx.execute(&DELETE_BUNDLE, args![id, bundle])?;
    if bundle == Bundle::AiSearch.name() {
        forget_index(tx, id, true)?;
    }
    changed(tx, id)
}

pub fn insert_key(tx: &Tx<'_>, id: ProjectId, key: &KeyRow) -> Result<()> {
    let KeyRow { id: key_id, kind, label, hash, created_at, scopes, expires_at, .. } = key;
    let (kind, label, hash) = (kind.as_str(), label.as_deref(), hash.as_slice());
    let arguments =
        args![id, *key_id, kind, label, hash, *created_at, scopes.as_str(), *expires_at];
    tx.execute(&INSERT_KEY, arguments)?;
    changed(tx, id)
}

/// Notes that a key was used. This is not announced.
pub fn use_key(tx: &Tx<'_>, id: ProjectId, key: KeyId, now: Timestamp) -> Result<()> {
    tx.execute(&USE_KEY, args![id, key, now])?;
    Ok(())
}

/// Whether a live key was revoked.
pub fn revoke_key(tx: &Tx<'_>, key: KeyId, now: Timestamp) -> Result<bool> {
    let Some(project) = tx.opt(&REVOKE_KEY, args![key, now])? else { return Ok(false) };
    changed(tx, project).map(|()| true)
}

pub fn set_state(tx: &Tx<'_>, id: ProjectId, state: &str, now: Timestamp) -> Result<bool> {
    changed(tx, id)?;
    Ok(tx.execute(&SET_STATE, args![id, state, now])? > 0)
}

/// Its rows in other tables are gone by then.
pub fn delete(tx: &Tx<'_>, id: ProjectId) -> Result<()> {
    changed(tx, id)?;
    forget_index(tx, id, true)?;
    tx.execute(&DELETE, args![id])?;
    Ok(())
}

pub fn set_origins(tx: &Tx<'_>, id: ProjectId, origins: &str, now: Timestamp) -> Result<bool> {
    changed(tx, id)?;
    Ok(tx.execute(&SET_ORIGINS, args![id, origins, now])? > 0)
}

/// What `townhall project settings` sets.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub entity_deletion: &'static str,
    pub keeps_files_of_deleted: bool,
    pub score_hours: f64,
    pub deletes_spaces: bool,
    pub keys_in_browsers: bool,
    pub anonymous_posts: bool,
    pub v7_auth_forbids: Option<bool>,
    pub live_feeds: bool,
    pub has_search: bool,
    pub search_language: &'static str,
    pub interest_matching: bool,
    pub interest_samples: bool,
    pub event_deletion: &'static str,
    pub keeps_files_of_deleted_events: bool,
    pub user_grants: bool,
    pub notification_mails: bool,
    pub statements_of_reasons: bool,
    pub statements_over_api: bool,
}

/// The rules of moderation change. Locks the project until the transaction ends, so changes come one after another.
pub fn rules_changed(tx: &Tx<'_>, id: ProjectId) -> Result<()> {
    changed(tx, id)?;
    tx.execute(&CHANGE_RULES, args![id])?;
    Ok(())
}

pub fn set_settings(tx: &Tx<'_>, id: ProjectId, new: Settings, now: Timestamp) -> Result<bool> {
    let args = args![
        id,
        new.entity_deletion,
        new.keeps_files_of_deleted,
        new.score_hours,
        new.deletes_spaces,
        new.keys_in_browsers,
        new.anonymous_posts,
        new.v7_auth_forbids,
        new.live_feeds,
        new.has_search,
        new.search_language,
        new.interest_matching,
        new.interest_samples,
        new.event_deletion,
        new.keeps_files_of_deleted_events,
        new.user_grants,
        new.notification_mails,
        new.statements_of_reasons,
        new.statements_over_api,
        now
    ];
    changed(tx, id)?;
    let is_there = tx.execute(&SET_SETTINGS, args)? > 0;
    if !new.has_search {
        forget_index(tx, id, true)?;
    } else if is_there {
        tx.execute(&START_INDEX, args![id, new.search_language])?;
        tx.execute(&RENEW_INDEX, args![id, new.search_language])?;
    }
    Ok(is_there)
}

/// How a project's workspaces behave; also set by `townhall project settings`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceSettings {
    /// The page that mails of invitations lead to; without it nobody can be invited.
    pub invite_accept_url: Option<String>,
    /// Whether a new workspace inherits from its parent.
    pub inherits_default: bool,
    /// Whether nobody may change that afterwards.
    pub inherit_enforced: bool,
}

pub fn set_workspaces(
    tx: &Tx<'_>,
    id: ProjectId,
    new: &WorkspaceSettings,
    now: Timestamp,
) -> Result<bool> {
    changed(tx, id)?;
    let WorkspaceSettings { invite_accept_url, inherits_default, inherit_enforced } = new;
    let args = args![id, invite_accept_url, *inherits_default, *inherit_enforced, now];
    Ok(tx.execute(&SET_WORKSPACES, args)? > 0)
}

/// What statements of reasons say for every decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatementTexts {
    /// The law or the terms that decisions are based on.
    pub ground: Option<String>,
    /// The contact for authors.
    pub contact: Option<String>,
}

pub fn set_statements(
    tx: &Tx<'_>,
    id: ProjectId,
    new: &StatementTexts,
    now: Timestamp,
) -> Result<bool> {
    changed(tx, id)?;
    Ok(tx.execute(&SET_STATEMENTS, args![id, &new.ground, &new.contact, now])? > 0)
}

pub fn rotate_public_key(tx: &Tx<'_>, id: ProjectId, key: &str, now: Timestamp) -> Result<bool> {
    changed(tx, id)?;
    Ok(tx.execute(&ROTATE_PUBLIC_KEY, args![id, key, now])? > 0)
}
