//! Entities deleted together with their space: always for good, whatever the project's settings, and without
//! a change to anybody's reputation.

use db::{Tx, args};

use crate::error::Result;
use crate::features::entities::store::{self, feed_totals};
use crate::features::files::purge;
use crate::features::{collections, comments, notifications, reactions};
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{EntityId, ProjectId};
use crate::values::time::Timestamp;

db::statements! {
    query LOCK -> EntityId =
        "SELECT id FROM entities WHERE project_id = $1 AND id {any}($2) ORDER BY id {for_update}";
    /// Includes entities that were hidden already.
    command REMOVE = "DELETE FROM entities WHERE project_id = $1 AND id {any}($2)";
}

/// Lock order: first all entities, then what depends on them, feed totals last. Entities deleted meanwhile
/// are skipped.
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
    search_queue::note_deleted(tx, project, Kind::Entity, held.iter().map(|id| id.0))?;
    feed_totals::remove(tx, project, &listed)?;
    notifications::store::hide::delete_of_subjects(
        tx,
        project,
        held.iter().map(|id| id.0).collect(),
    )
}
