//! The comments of an entity that is gone for good: out of sight with it, they are removed in small
//! transactions by a job.

use db::{Tx, args};

use crate::app::App;
use crate::error::{Error, Result};
use crate::features::comments::store as comments;
use crate::features::reactions;
use crate::features::storage::removal;
use crate::ids::{CommentId, EntityId, JobId, ProjectId};
use crate::jobs::{self, Job};
use crate::time::Timestamp;

/// As many are removed in one transaction.
const AT_ONCE: i64 = 200;

db::statements! {
    query SOME -> CommentId =
        "SELECT id FROM comments WHERE project_id = $1 AND entity_id = $2 AND deleted_at IS NULL
         UNION ALL
         SELECT id FROM comments WHERE project_id = $1 AND entity_id = $2 AND deleted_at IS NOT NULL
         LIMIT $3";
    command DELETE = "DELETE FROM comments WHERE project_id = $1 AND id {any}($2)";
}

/// In the transaction that deletes the entity. An entity is deleted once, so its id is a fresh one
/// for the job.
pub fn enqueue(tx: &Tx<'_>, project: ProjectId, entity: EntityId, now: Timestamp) -> Result<()> {
    if tx.opt(&SOME, args![project, entity, 1])?.is_none() {
        return Ok(());
    }
    let payload =
        serde_json::to_string(&Job::RemoveComments { entity }).map_err(Error::internal)?;
    jobs::store::insert(tx, project, JobId(entity.0), &payload, now, now)
}

pub async fn run(app: &App, project: ProjectId, entity: EntityId) -> Result<()> {
    let now = app.clock.now();
    loop {
        let removed = app.db.write(move |tx| {
            let some = tx.all(&SOME, args![project, entity, AT_ONCE])?;
            // Whoever reacts holds the comment: none of them leaves a reaction behind.
            comments::hold(tx, project, &some)?;
            removal::delete_of_comments(tx, project, &some, now)?;
            let targets = some.iter().map(|id| id.0).collect();
            reactions::store::delete_of_targets(tx, project, targets)?;
            tx.execute(&DELETE, args![project, CommentId::list(&some)])?;
            Ok::<_, Error>(some.len())
        });
        if removed.await? == 0 {
            return Ok(());
        }
    }
}
