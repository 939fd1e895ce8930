//! The comments of a deleted entity: hidden with it, then removed by a job in small transactions.

use db::Tx;

use crate::error::{Error, Result};
use crate::features::comments::store::{self as comments, purge as store};
use crate::features::files::purge;
use crate::features::reactions;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::values::ids::{EntityId, JobId, ProjectId};
use crate::values::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Comments removed in one transaction.
const BATCH_SIZE: i64 = 200;

/// The comments of a deleted entity.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveComments {
    entity: EntityId,
}

/// Runs in the transaction that deletes the entity. An entity is deleted once, so its id is unique as a job
/// id.
pub fn enqueue(tx: &Tx<'_>, project: ProjectId, entity: EntityId, now: Timestamp) -> Result<()> {
    if store::some(tx, project, entity, 1)?.is_empty() {
        return Ok(());
    }
    jobs::insert(tx, project, JobId(entity.0), &RemoveComments { entity }, now)
}

impl Job for RemoveComments {
    const KIND: &'static str = "remove-comments";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        run(app, project, self.entity).await
    }
}

async fn run(app: &App, project: ProjectId, entity: EntityId) -> Result<()> {
    let now = app.clock.now();
    loop {
        let removed = app.db.write(move |tx| {
            let some = store::some(tx, project, entity, BATCH_SIZE)?;
            // Reacting locks the comment, so no reaction is left behind.
            comments::lock(tx, project, &some)?;
            purge::delete_of_comments(tx, project, &some, now)?;
            let targets = some.iter().map(|id| id.0).collect();
            reactions::store::delete_of_targets(tx, project, targets)?;
            store::delete(tx, project, &some)?;
            Ok::<_, Error>(some.len())
        });
        if removed.await? == 0 {
            return Ok(());
        }
    }
}
