//! The SQL about operators, their sessions and invitations.

pub mod figures;
pub mod passkeys;

use db::{Conn, Tx, args};
use serde::Serialize;
use uuid::Uuid;

use crate::auth::operators::{Role, Roles};
use crate::error::Result;
use crate::values::ids::{OperatorId, OperatorInvitationId, OperatorSessionId, ProjectId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct OperatorRow {
        pub id: OperatorId,
        pub email: String,
        pub name: String,
        pub password_hash: String,
        pub totp_secret: Option<Vec<u8>>,
        pub totp_step: i64,
        pub created_at: Timestamp,
        pub disabled_at: Option<Timestamp>,
    }
}

db::row! {
    #[derive(Debug, Clone)]
    pub struct SessionRow {
        pub id: OperatorSessionId,
        pub operator_id: OperatorId,
        pub client: String,
        pub agent: String,
        pub created_at: Timestamp,
        pub used_at: Timestamp,
        pub expires_at: Timestamp,
    }
}

db::row! {
    #[derive(Debug, Clone, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct InvitationRow {
        pub id: OperatorInvitationId,
        pub scope: Uuid,
        pub role: Role,
        pub operator_id: Option<OperatorId>,
        pub invited_by: String,
        pub created_at: Timestamp,
        pub expires_at: Timestamp,
    }
}

/// `SELECT` of whole operators; conditions follow.
macro_rules! select_operator {
    ($rest:literal) => {
        concat!(
            "SELECT id, email, name, password_hash, totp_secret, totp_step, created_at, disabled_at
             FROM operators ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> OperatorRow, unscoped "operators belong to no project" =
        select_operator!("WHERE id = $1");
    query FIND_BY_EMAIL -> OperatorRow, unscoped "operators belong to no project" =
        select_operator!("WHERE email = $1");
    query LIST -> OperatorRow, unscoped "operators belong to no project" =
        select_operator!("ORDER BY created_at, id");
    query LOCK_ALL -> OperatorId, unscoped "operators belong to no project" =
        "SELECT id FROM operators ORDER BY id {for_update}";
    query ROLES -> (OperatorId, Uuid, Role), unscoped "operators belong to no project" =
        "SELECT operator_id, scope, role FROM operator_roles ORDER BY operator_id, scope";
    query ROLES_OF -> (Uuid, Role), unscoped "operators belong to no project" =
        "SELECT scope, role FROM operator_roles WHERE operator_id = $1";
    command INSERT, unscoped "operators belong to no project" =
        "INSERT INTO operators (id, email, name, password_hash, totp_secret, totp_step, created_at)
         VALUES ($1, $2, $3, $4, NULL, 0, $5)";
    command SET_ROLE, unscoped "operators belong to no project" =
        "INSERT INTO operator_roles (operator_id, scope, role) VALUES ($1, $2, $3)
         ON CONFLICT (operator_id, scope) DO UPDATE SET role = excluded.role";
    command DELETE_ROLE, unscoped "operators belong to no project" =
        "DELETE FROM operator_roles WHERE operator_id = $1 AND scope = $2";
    command SET_PASSWORD, unscoped "operators belong to no project" =
        "UPDATE operators SET password_hash = $2 WHERE id = $1";
    command SET_DISABLED, unscoped "operators belong to no project" =
        "UPDATE operators SET disabled_at = $2 WHERE id = $1";
    command SET_TOTP, unscoped "operators belong to no project" =
        "UPDATE operators SET totp_secret = $2, totp_step = $3 WHERE id = $1";
    command USE_TOTP, unscoped "operators belong to no project" =
        "UPDATE operators SET totp_step = $2 WHERE id = $1 AND totp_step < $2";
    command RESEAL_TOTP, unscoped "operators belong to no project" =
        "UPDATE operators SET totp_secret = $3 WHERE id = $1 AND totp_secret = $2";

    query SESSION -> SessionRow, unscoped "operators belong to no project" =
        "SELECT id, operator_id, client, agent, created_at, used_at, expires_at FROM operator_sessions
         WHERE token_hash = $1 AND expires_at > $2";
    query SESSIONS -> SessionRow, unscoped "operators belong to no project" =
        "SELECT id, operator_id, client, agent, created_at, used_at, expires_at FROM operator_sessions
         WHERE operator_id = $1 AND expires_at > $2 ORDER BY used_at DESC LIMIT 100";
    command INSERT_SESSION, unscoped "operators belong to no project" =
        "INSERT INTO operator_sessions (id, token_hash, operator_id, client, agent, created_at, used_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7)";
    command TOUCH_SESSION, unscoped "operators belong to no project" =
        "UPDATE operator_sessions SET used_at = $2, expires_at = $3, client = $4 WHERE id = $1";
    command END_SESSION, unscoped "operators belong to no project" =
        "DELETE FROM operator_sessions WHERE operator_id = $1 AND id = $2";
    command END_SESSIONS, unscoped "operators belong to no project" =
        "DELETE FROM operator_sessions WHERE operator_id = $1 AND id <> $2";

    query INVITATION -> InvitationRow, unscoped "operators belong to no project" =
        "SELECT id, scope, role, operator_id, invited_by, created_at, expires_at FROM operator_invitations
         WHERE token_hash = $1 AND expires_at > $2";
    query INVITATIONS -> InvitationRow, unscoped "operators belong to no project" =
        "SELECT id, scope, role, operator_id, invited_by, created_at, expires_at FROM operator_invitations
         WHERE expires_at > $1 ORDER BY expires_at, id";
    command INSERT_INVITATION, unscoped "operators belong to no project" =
        "INSERT INTO operator_invitations (id, token_hash, scope, role, operator_id, invited_by, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    command DELETE_INVITATION, unscoped "operators belong to no project" =
        "DELETE FROM operator_invitations WHERE id = $1";

    command SWEEP_SESSIONS, unscoped "operators belong to no project" =
        "DELETE FROM operator_sessions WHERE expires_at < $1 AND id IN
            (SELECT id FROM operator_sessions WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
    command SWEEP_INVITATIONS, unscoped "operators belong to no project" =
        "DELETE FROM operator_invitations WHERE expires_at < $1 AND id IN
            (SELECT id FROM operator_invitations WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
}

/// The unique index on addresses.
pub const EMAIL: &str = "operators_email";

pub fn find(c: &Conn<'_>, id: OperatorId) -> Result<Option<OperatorRow>> {
    Ok(c.opt(&FIND, args![id])?)
}

/// By the address in lower case.
pub fn find_by_email(c: &Conn<'_>, email: &str) -> Result<Option<OperatorRow>> {
    Ok(c.opt(&FIND_BY_EMAIL, args![email])?)
}

/// All operators with their roles.
pub fn list(c: &Conn<'_>) -> Result<Vec<(OperatorRow, Roles)>> {
    let roles = c.all(&ROLES, args![])?;
    let of = |id: OperatorId| {
        let own = roles.iter().filter(|(operator, _, _)| *operator == id);
        Roles(own.map(|(_, scope, role)| (project(*scope), *role)).collect())
    };
    let operators = c.all(&LIST, args![])?;
    Ok(operators.into_iter().map(|row| (row.clone(), of(row.id))).collect())
}

/// Changes of operators take turns, so that two owners cannot remove each other.
pub fn lock_all(tx: &Tx<'_>) -> Result<()> {
    tx.all(&LOCK_ALL, args![])?;
    Ok(())
}

pub fn roles(c: &Conn<'_>, id: OperatorId) -> Result<Roles> {
    let roles = c.all(&ROLES_OF, args![id])?;
    Ok(Roles(roles.into_iter().map(|(scope, role)| (project(scope), role)).collect()))
}

/// None for all projects.
pub fn project(scope: Uuid) -> Option<ProjectId> {
    (!scope.is_nil()).then_some(ProjectId(scope))
}

fn scope(project: Option<ProjectId>) -> Uuid {
    project.map_or(Uuid::nil(), |project| project.0)
}

pub fn insert(
    tx: &Tx<'_>,
    id: OperatorId,
    (email, name): (&str, &str),
    password_hash: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&INSERT, args![id, email, name, password_hash, now])?;
    Ok(())
}

pub fn set_role(
    tx: &Tx<'_>,
    id: OperatorId,
    project: Option<ProjectId>,
    role: Option<Role>,
) -> Result<()> {
    match role {
        Some(role) => tx.execute(&SET_ROLE, args![id, scope(project), role])?,
        None => tx.execute(&DELETE_ROLE, args![id, scope(project)])?,
    };
    Ok(())
}

pub fn set_password(tx: &Tx<'_>, id: OperatorId, hash: &str) -> Result<()> {
    tx.execute(&SET_PASSWORD, args![id, hash])?;
    Ok(())
}

pub fn set_disabled(tx: &Tx<'_>, id: OperatorId, at: Option<Timestamp>) -> Result<()> {
    tx.execute(&SET_DISABLED, args![id, at])?;
    Ok(())
}

/// The step of the code that confirmed the secret is used.
pub fn set_totp(tx: &Tx<'_>, id: OperatorId, sealed: Option<&[u8]>, step: i64) -> Result<()> {
    tx.execute(&SET_TOTP, args![id, sealed, step])?;
    Ok(())
}

/// Whether no code of this step or a later one was used before.
pub fn use_totp(tx: &Tx<'_>, id: OperatorId, step: i64) -> Result<bool> {
    Ok(tx.execute(&USE_TOTP, args![id, step])? > 0)
}

pub fn reseal_totp(tx: &Tx<'_>, id: OperatorId, (old, new): (&[u8], &[u8])) -> Result<()> {
    tx.execute(&RESEAL_TOTP, args![id, old, new])?;
    Ok(())
}

pub fn session(c: &Conn<'_>, token_hash: &[u8], now: Timestamp) -> Result<Option<SessionRow>> {
    Ok(c.opt(&SESSION, args![token_hash, now])?)
}

/// The latest used first.
pub fn sessions(c: &Conn<'_>, id: OperatorId, now: Timestamp) -> Result<Vec<SessionRow>> {
    Ok(c.all(&SESSIONS, args![id, now])?)
}

pub fn insert_session(tx: &Tx<'_>, token_hash: &[u8], row: &SessionRow) -> Result<()> {
    let SessionRow { id, operator_id, client, agent, created_at, expires_at, .. } = row;
    let (client, agent) = (client.as_str(), agent.as_str());
    tx.execute(
        &INSERT_SESSION,
        args![*id, token_hash, *operator_id, client, agent, *created_at, *expires_at],
    )?;
    Ok(())
}

pub fn touch_session(tx: &Tx<'_>, row: &SessionRow) -> Result<()> {
    let client = row.client.as_str();
    tx.execute(&TOUCH_SESSION, args![row.id, row.used_at, row.expires_at, client])?;
    Ok(())
}

pub fn end_session(tx: &Tx<'_>, operator: OperatorId, id: OperatorSessionId) -> Result<bool> {
    Ok(tx.execute(&END_SESSION, args![operator, id])? > 0)
}

/// Ends all sessions of an operator but one.
pub fn end_sessions(
    tx: &Tx<'_>,
    operator: OperatorId,
    spared: Option<OperatorSessionId>,
) -> Result<()> {
    let spared = spared.map_or(Uuid::nil(), |id| id.0);
    tx.execute(&END_SESSIONS, args![operator, spared])?;
    Ok(())
}

pub fn invitation(
    c: &Conn<'_>,
    token_hash: &[u8],
    now: Timestamp,
) -> Result<Option<InvitationRow>> {
    Ok(c.opt(&INVITATION, args![token_hash, now])?)
}

pub fn invitations(c: &Conn<'_>, now: Timestamp) -> Result<Vec<InvitationRow>> {
    Ok(c.all(&INVITATIONS, args![now])?)
}

pub fn insert_invitation(tx: &Tx<'_>, token_hash: &[u8], row: &InvitationRow) -> Result<()> {
    let InvitationRow { id, scope, role, operator_id, invited_by, created_at, expires_at } = row;
    let by = invited_by.as_str();
    tx.execute(
        &INSERT_INVITATION,
        args![*id, token_hash, *scope, *role, *operator_id, by, *created_at, *expires_at],
    )?;
    Ok(())
}

/// Whether it was there: of two who accept it, one finds it.
pub fn delete_invitation(tx: &Tx<'_>, id: OperatorInvitationId) -> Result<bool> {
    Ok(tx.execute(&DELETE_INVITATION, args![id])? > 0)
}

/// Deletes expired sessions, invitations and challenges, at most this many of each.
pub fn sweep(tx: &Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    let sessions = tx.execute(&SWEEP_SESSIONS, args![now, most])?;
    let invitations = tx.execute(&SWEEP_INVITATIONS, args![now, most])?;
    Ok(sessions.max(invitations).max(passkeys::sweep(tx, now, most)?))
}
