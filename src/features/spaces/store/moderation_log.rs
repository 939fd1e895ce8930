//! The SQL about the moderation log of a space.

use db::{Conn, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::spaces::moderation_log::{LogAction, LogTarget, LoggedBy};
use crate::http::page::Page;
use crate::values::ids::{ProjectId, SpaceId, SpaceLogId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct LogRow {
        pub id: SpaceLogId,
        pub action: LogAction,
        pub target_type: LogTarget,
        pub target_id: Uuid,
        pub decided_by: LoggedBy,
        pub reason: Option<String>,
        pub created_at: Timestamp,
    }
}

db::statements! {
    command INSERT =
        "INSERT INTO space_log (project_id, id, space_id, action, target_type, target_id, decided_by,
            reason, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    query LIST -> LogRow =
        "SELECT id, action, target_type, target_id, decided_by, reason, created_at FROM space_log
         WHERE project_id = $1 AND space_id = $2 ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4";
    query COUNT -> i64 = "SELECT count(*) FROM space_log WHERE project_id = $1 AND space_id = $2";
    query IS_PUBLIC -> bool = "SELECT is_log_public FROM spaces WHERE project_id = $1 AND id = $2";
    command SET_PUBLIC =
        "UPDATE spaces SET is_log_public = $3, updated_at = $4 WHERE project_id = $1 AND id = $2";
    command REMOVE_OF_SPACE =
        "DELETE FROM space_log WHERE project_id = $1 AND id IN
            (SELECT l.id FROM space_log l WHERE l.project_id = $1 AND l.space_id = $2 LIMIT $3)";
    command FORGET_USER =
        "DELETE FROM space_log WHERE project_id = $1 AND target_id = $2 AND target_type = 'user'";
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, space: SpaceId, row: &LogRow) -> Result<()> {
    let LogRow { id, action, target_type, target_id, decided_by, reason, created_at } = row;
    let args = args![
        project,
        *id,
        space,
        *action,
        *target_type,
        *target_id,
        *decided_by,
        reason,
        *created_at
    ];
    Ok(tx.pipeline(&INSERT, args)?)
}

/// Newest first, and how many there are.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    page: Page,
) -> Result<(Vec<LogRow>, i64)> {
    let rows = c.all(&LIST, args![project, space, page.limit, page.offset()])?;
    Ok((rows, c.one(&COUNT, args![project, space])?))
}

pub fn is_public(c: &Conn<'_>, project: ProjectId, space: SpaceId) -> Result<bool> {
    Ok(c.opt(&IS_PUBLIC, args![project, space])?.unwrap_or(false))
}

/// The caller has locked the space.
pub fn set_public(
    tx: &Tx<'_>,
    project: ProjectId,
    space: SpaceId,
    is_public: bool,
    now: Timestamp,
) -> Result<()> {
    Ok(tx.pipeline(&SET_PUBLIC, args![project, space, is_public, now])?)
}

/// Deletes some of the entries of a space; returns how many.
pub fn remove_of_space(tx: &Tx<'_>, project: ProjectId, space: SpaceId, most: i64) -> Result<u64> {
    Ok(tx.execute(&REMOVE_OF_SPACE, args![project, space, most])?)
}

/// When a user is deleted: entries about them go.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    Ok(tx.pipeline(&FORGET_USER, args![project, user])?)
}
