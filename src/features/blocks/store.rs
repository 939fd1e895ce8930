//! The SQL about blocks; what they hide is in `visibility/store/blocks.rs`.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::http::page::Page;
use crate::values::ids::{BlockId, ProjectId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, Copy)]
    pub struct BlockRow {
        pub id: BlockId,
        pub blocker_id: UserId,
        pub blocked_id: UserId,
        pub created_at: Timestamp,
    }
}

db::statements! {
    query FIND -> BlockRow =
        "SELECT id, blocker_id, blocked_id, created_at FROM blocks
         WHERE project_id = $1 AND blocker_id = $2 AND blocked_id = $3";
    query LIST -> BlockRow =
        "SELECT id, blocker_id, blocked_id, created_at FROM blocks
         WHERE project_id = $1 AND blocker_id = $2
         ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4";
    query COUNT -> i64 = "SELECT count(*) FROM blocks WHERE project_id = $1 AND blocker_id = $2";
    command INSERT =
        "INSERT INTO blocks (project_id, blocker_id, blocked_id, id, created_at)
         VALUES ($1, $2, $3, $4, $5)";
    command DELETE =
        "DELETE FROM blocks WHERE project_id = $1 AND blocker_id = $2 AND blocked_id = $3";
}

pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    blocker: UserId,
    blocked: UserId,
) -> Result<Option<BlockRow>> {
    Ok(c.opt(&FIND, args![project, blocker, blocked])?)
}

/// Newest first.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    blocker: UserId,
    page: Page,
) -> Result<Vec<BlockRow>> {
    Ok(c.all(&LIST, args![project, blocker, page.limit, page.offset()])?)
}

pub fn count(c: &Conn<'_>, project: ProjectId, blocker: UserId) -> Result<i64> {
    Ok(c.one(&COUNT, args![project, blocker])?)
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, block: &BlockRow) -> Result<()> {
    let BlockRow { id, blocker_id, blocked_id, created_at } = *block;
    Ok(tx.pipeline(&INSERT, args![project, blocker_id, blocked_id, id, created_at])?)
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, blocker: UserId, blocked: UserId) -> Result<()> {
    tx.execute(&DELETE, args![project, blocker, blocked])?;
    Ok(())
}
