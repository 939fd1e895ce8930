//! The SQL about the published rules of a space. The caller has locked the space.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, SpaceId, SpaceRuleId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct RuleRow {
        pub id: SpaceRuleId,
        pub space_id: SpaceId,
        pub title: String,
        pub description: Option<String>,
        pub position: i64,
        pub approved_by_id: Option<UserId>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

db::statements! {
    query LIST -> RuleRow =
        "SELECT id, space_id, title, description, position, approved_by_id, created_at, updated_at
         FROM space_rules WHERE project_id = $1 AND space_id = $2 ORDER BY position, id";
    query FIND -> RuleRow =
        "SELECT id, space_id, title, description, position, approved_by_id, created_at, updated_at
         FROM space_rules WHERE project_id = $1 AND id = $2";
    query LAST -> (Option<i64>, i64) =
        "SELECT max(position), count(*) FROM space_rules WHERE project_id = $1 AND space_id = $2";
    command INSERT =
        "INSERT INTO space_rules (project_id, id, space_id, title, description, position,
            approved_by_id, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    command UPDATE =
        "UPDATE space_rules SET title = $3, description = $4, approved_by_id = $5, updated_at = $6
         WHERE project_id = $1 AND id = $2";
    command PLACE = "UPDATE space_rules SET position = $3 WHERE project_id = $1 AND id = $2";
    command DELETE = "DELETE FROM space_rules WHERE project_id = $1 AND id = $2";
}

/// The rules of a space, in their order.
pub fn list(c: &Conn<'_>, project: ProjectId, space: SpaceId) -> Result<Vec<RuleRow>> {
    Ok(c.all(&LIST, args![project, space])?)
}

pub fn find(c: &Conn<'_>, project: ProjectId, rule: SpaceRuleId) -> Result<Option<RuleRow>> {
    Ok(c.opt(&FIND, args![project, rule])?)
}

/// The last position in a space, and how many rules it has.
pub fn last(c: &Conn<'_>, project: ProjectId, space: SpaceId) -> Result<(Option<i64>, i64)> {
    Ok(c.one(&LAST, args![project, space])?)
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &RuleRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        row.space_id,
        &row.title,
        &row.description,
        row.position,
        row.approved_by_id,
        row.created_at,
        row.updated_at
    ];
    tx.execute(&INSERT, args)?;
    Ok(())
}

/// Stores the texts with their author and time.
pub fn update(tx: &Tx<'_>, project: ProjectId, row: &RuleRow) -> Result<()> {
    let texts = (&row.title, &row.description);
    let args = args![project, row.id, texts.0, texts.1, row.approved_by_id, row.updated_at];
    tx.execute(&UPDATE, args)?;
    Ok(())
}

pub fn set_position(
    tx: &Tx<'_>,
    project: ProjectId,
    rule: SpaceRuleId,
    position: i64,
) -> Result<()> {
    Ok(tx.pipeline(&PLACE, args![project, rule, position])?)
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, rule: SpaceRuleId) -> Result<()> {
    tx.execute(&DELETE, args![project, rule])?;
    Ok(())
}
