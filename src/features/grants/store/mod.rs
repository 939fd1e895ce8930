//! The SQL about grants. What was given for each target is added up as grants are made; only what was taken from
//! nobody's content counts nowhere.

pub mod anonymize;
pub mod list;
pub mod recount;

use std::collections::HashMap;

use db::{Conn, JsonText, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::grants::model::Grants;
use crate::features::grants::rules::{Source, TargetKind};
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{ConversationId, GrantId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct GrantRow {
        pub id: GrantId,
        pub source_type: Source,
        pub sender_id: Option<UserId>,
        pub recipient_id: UserId,
        pub amount: i64,
        pub space_id: Option<SpaceId>,
        pub target_type: Option<TargetKind>,
        pub target_id: Option<Uuid>,
        /// Of a message that it is for.
        pub conversation_id: Option<ConversationId>,
        pub note: Option<String>,
        pub metadata: Option<JsonText>,
        pub created_at: Timestamp,
    }
}

db::statements! {
    command INSERT =
        "INSERT INTO reputation_grants (project_id, id, source_type, sender_id, recipient_id, amount,
            space_id, target_type, target_id, conversation_id, note, metadata, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    command COUNT -> (i64, i64) =
        "INSERT INTO grant_totals (project_id, target_id, total, grants) VALUES ($1, $2, $3, 1)
         ON CONFLICT (project_id, target_id) DO UPDATE SET
            total = grant_totals.total + excluded.total, grants = grant_totals.grants + 1
         RETURNING total, grants";
    query TOTALS -> (Uuid, i64, i64) =
        "SELECT target_id, total, grants FROM grant_totals WHERE project_id = $1 AND target_id {any}($2)";
    query GIVEN_BY -> (Uuid, i64) =
        "SELECT target_id, CAST(sum(amount) AS {int}) FROM reputation_grants
         WHERE project_id = $1 AND target_id {any}($2) AND sender_id = $3 GROUP BY target_id";
}

/// What was given for the target by now, by everybody; nothing if the grant has none or takes points.
pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &GrantRow) -> Result<Option<Grants>> {
    let args = args![
        project,
        row.id,
        row.source_type,
        row.sender_id,
        row.recipient_id,
        row.amount,
        row.space_id,
        row.target_type,
        row.target_id,
        row.conversation_id,
        &row.note,
        row.metadata.as_ref(),
        row.created_at,
    ];
    tx.execute(&INSERT, args)?;
    let Some(target) = row.target_id.filter(|_| row.amount > 0) else { return Ok(None) };
    let (total, count) = tx.one(&COUNT, args![project, target, row.amount])?;
    Ok(Some(Grants { total, count, viewer_total: 0 }))
}

/// What was given for each of the targets; zeros where nothing was, and without the bundle.
pub fn summaries(
    c: &Conn<'_>,
    project: &Project,
    targets: Vec<Uuid>,
    viewer: Option<UserId>,
) -> Result<HashMap<Uuid, Grants>> {
    let mut found: HashMap<Uuid, Grants> = HashMap::new();
    if targets.is_empty() || !project.has(Bundle::Reputation) {
        return Ok(found);
    }
    for (target, total, count) in c.all(&TOTALS, args![project.id, targets.clone()])? {
        found.insert(target, Grants { total, count, viewer_total: 0 });
    }
    if let Some(viewer) = viewer.filter(|_| !found.is_empty()) {
        for (target, given) in c.all(&GIVEN_BY, args![project.id, targets, viewer])? {
            found.entry(target).or_default().viewer_total = given;
        }
    }
    Ok(found)
}
