//! The SQL of the audit log.

use db::{Builder, Conn, Query, Tx, args};
use uuid::Uuid;

use crate::audit::Entry;
use crate::error::Result;
use crate::values::ids::{AuditEntryId, ProjectId, first_id};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct Seal {
        pub position: i64,
        pub last_id: AuditEntryId,
        pub entries: i64,
        pub hash: Vec<u8>,
        pub sealed_at: Timestamp,
        /// Everything up to it was dropped, because it was older than this.
        pub cut_before: Option<Timestamp>,
    }
}

db::statements! {
    command INSERT =
        "INSERT INTO audit_log (project_id, id, at, actor_kind, actor_id, actor_name, client, action, target,
            old_state, new_state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    query PROJECTS_BETWEEN -> ProjectId, unscoped "every project is sealed" =
        "SELECT DISTINCT project_id FROM audit_log WHERE at > $1 AND at <= $2";
    query PROJECTS -> ProjectId, unscoped "the operator checks every project" =
        "SELECT project_id FROM audit_log UNION SELECT project_id FROM audit_seals";
    query AFTER -> Entry =
        "SELECT project_id, id, at, actor_kind, actor_id, actor_name, client, action, target, old_state, new_state
         FROM audit_log WHERE project_id = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT $4";
    query LAST_SEAL -> Seal =
        "SELECT position, last_id, entries, hash, sealed_at, cut_before FROM audit_seals
         WHERE project_id = $1 ORDER BY position DESC LIMIT 1";
    query SEAL_FROM -> Seal =
        "SELECT position, last_id, entries, hash, sealed_at, cut_before FROM audit_seals
         WHERE project_id = $1 AND position >= $2 ORDER BY position LIMIT 1";
    command INSERT_SEAL =
        "INSERT INTO audit_seals (project_id, position, last_id, entries, hash, sealed_at)
         VALUES ($1, $2, $3, $4, $5, $6)";
    /// Of the oldest seals: PostgreSQL reads them off the index because of their order.
    query SEALED_BEFORE -> ProjectId, unscoped "the logs of all projects are bounded" =
        "SELECT DISTINCT bounded.project_id FROM
            (SELECT project_id FROM audit_seals WHERE last_id < $1 AND cut_before IS NULL
             ORDER BY last_id, project_id LIMIT 10000) bounded";
    query COUNT_UNTIL -> i64 =
        "SELECT count(*) FROM audit_log WHERE project_id = $1 AND id <= $2";
    query IS_LOGGED -> AuditEntryId =
        "SELECT id FROM audit_log WHERE project_id = $1 AND action = $2 AND target = $3 LIMIT 1";
    command DROP_ENTRIES = "DELETE FROM audit_log WHERE project_id = $1 AND id <= $2";
    command DROP_SEALS = "DELETE FROM audit_seals WHERE project_id = $1 AND position < $2";
    command MARK_CUT =
        "UPDATE audit_seals SET cut_before = $3 WHERE project_id = $1 AND position = $2";
}

pub fn insert(tx: &Tx<'_>, entry: &Entry) -> Result<(), db::Error> {
    let arguments = args![
        entry.project_id,
        entry.id,
        entry.at,
        entry.actor_kind.as_str(),
        entry.actor_id,
        entry.actor_name.as_str(),
        entry.client.as_deref(),
        entry.action.as_str(),
        entry.target.as_str(),
        entry.old_state.as_deref(),
        entry.new_state.as_deref(),
    ];
    tx.execute(&INSERT, arguments).map(drop)
}

/// The projects that have entries from a time until another.
pub fn projects_between(c: &Conn<'_>, from: Timestamp, to: Timestamp) -> Result<Vec<ProjectId>> {
    Ok(c.all(&PROJECTS_BETWEEN, args![from, to])?)
}

/// The projects that have entries, or had some.
pub fn projects(c: &Conn<'_>) -> Result<Vec<ProjectId>> {
    Ok(c.all(&PROJECTS, args![])?)
}

/// Entries in their order, up to the end of `until`.
pub fn entries_after(
    c: &Conn<'_>,
    project: ProjectId,
    after: Option<AuditEntryId>,
    until: Option<Timestamp>,
    most: i64,
) -> Result<Vec<Entry>> {
    let after = after.map_or(Uuid::nil(), |id| id.0);
    let before =
        until.map_or(Uuid::max(), |until| first_id(Timestamp::from_millis(until.millis() + 1)));
    Ok(c.all(&AFTER, args![project, after, before, most])?)
}

pub fn last_seal(c: &Conn<'_>, project: ProjectId) -> Result<Option<Seal>> {
    Ok(c.opt(&LAST_SEAL, args![project])?)
}

/// The first seal from a position on.
pub fn seal_from(c: &Conn<'_>, project: ProjectId, position: i64) -> Result<Option<Seal>> {
    Ok(c.opt(&SEAL_FROM, args![project, position])?)
}

pub fn insert_seal(tx: &Tx<'_>, project: ProjectId, seal: &Seal) -> Result<()> {
    let Seal { position, last_id, entries, hash, sealed_at, .. } = seal;
    tx.execute(
        &INSERT_SEAL,
        args![project, *position, *last_id, *entries, hash.as_slice(), *sealed_at],
    )?;
    Ok(())
}

/// The projects with seals whose entries are all older than that.
pub fn sealed_before(c: &Conn<'_>, before: Timestamp) -> Result<Vec<ProjectId>> {
    Ok(c.all(&SEALED_BEFORE, args![first_id(before)])?)
}

/// How many entries there are up to that one.
pub fn count_until(c: &Conn<'_>, project: ProjectId, last: AuditEntryId) -> Result<i64> {
    Ok(c.one(&COUNT_UNTIL, args![project, last])?)
}

pub fn is_logged(c: &Conn<'_>, project: ProjectId, action: &str, target: &str) -> Result<bool> {
    Ok(c.opt(&IS_LOGGED, args![project, action, target])?.is_some())
}

/// Drops the entries of a seal and all before it. The seal stays, as the beginning of the chain.
pub fn cut(tx: &Tx<'_>, project: ProjectId, seal: &Seal, before: Timestamp) -> Result<()> {
    tx.execute(&DROP_ENTRIES, args![project, seal.last_id])?;
    tx.execute(&DROP_SEALS, args![project, seal.position])?;
    tx.execute(&MARK_CUT, args![project, seal.position, before])?;
    Ok(())
}

/// Which entries are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub actor: Option<String>,
    pub action: Option<String>,
    /// Entries older than this one.
    pub before: Option<AuditEntryId>,
}

/// Newest first.
pub fn list(c: &Conn<'_>, project: ProjectId, filter: &Filter, most: i64) -> Result<Vec<Entry>> {
    let mut conditions = Builder::all([project.into()]);
    conditions.add("project_id = $1");
    if let Some(actor) = &filter.actor {
        conditions.equal("actor_name", actor.as_str());
    }
    if let Some(action) = &filter.action {
        conditions.equal("action", action.as_str());
    }
    if let Some(before) = filter.before {
        let before = conditions.bind(before);
        conditions.add(format_args!("id < {before}"));
    }
    let most = conditions.bind(most);
    let text = format!(
        "SELECT project_id, id, at, actor_kind, actor_id, actor_name, client, action, target, old_state, new_state
         FROM audit_log WHERE {conditions} ORDER BY id DESC LIMIT {most}"
    );
    let query = Query::<Entry>::built("audit::list", text);
    Ok(c.all(&query, conditions.args())?)
}
