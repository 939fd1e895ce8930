//! Entities that go with what they were in: for good, whatever the project says about deletions, and
//! without a change to anybody's reputation.

use db::{Tx, args};

use crate::error::Result;
use crate::features::entities::store::{self, feed_totals};
use crate::features::files::purge;
use crate::features::{collections, comments, notifications, reactions};
use crate::values::ids::{EntityId, ProjectId};
use crate::values::time::Timestamp;

db::statements! {
    query LOCK -> EntityId =
        "SELECT id FROM entities WHERE project_id = $1 AND id {any}($2) ORDER BY id {for_update}";
    /// Also what was out of sight already.
    command REMOVE = "DELETE FROM entities WHERE project_id = $1 AND id {any}($2)";
}

/// All of them are held first, then what hangs on them changes, and the counts of feeds at last: the
/// order of everybody who changes entities. Those that have gone meanwhile are left alone.
pub fn purge(tx: &Tx<'_>, project: ProjectId, ids: &[EntityId], now: Timestamp) -> Result<()> {
    let held = tx.all(&LOCK, args![project, EntityId::list(ids)])?;
    let mut listed = store::find_all(tx, project, &held)?;
    listed.retain(|row| row.is_listed);
    collections::store::anonymize::forget_entities(tx, project, &held)?;
    reactions::store::delete_of_targets(tx, project, held.iter().map(|id| id.0).collect())?;
    for id in &held {
        comments::delete::purge::enqueue(tx, project, *id, now)?;
        purge::delete_of_entity(tx, project, *id, now)?;
    }
    tx.execute(&REMOVE, args![project, EntityId::list(&held)])?;
    feed_totals::remove(tx, project, &listed)?;
    notifications::store::hide::delete_of_subjects(
        tx,
        project,
        held.iter().map(|id| id.0).collect(),
    )
}
