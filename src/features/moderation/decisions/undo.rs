//! Undoing decisions before they are applied.

use std::sync::Arc;

use crate::error::Result;
use crate::features::moderation::TOO_MANY_ITEMS;
use crate::features::moderation::decisions::{MAX_ITEMS, store};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::DecisionId;

/// Undoes those of the decisions that are not applied yet, and puts their reports back into the queue. Returns which.
pub async fn undo(
    app: &App,
    project: &Arc<Project>,
    ids: &[DecisionId],
) -> Result<Vec<DecisionId>> {
    if ids.len() > MAX_ITEMS {
        return Err(TOO_MANY_ITEMS.into());
    }
    let (project, ids, now) = (project.id, ids.to_vec(), app.clock.now());
    let undone = app.db.write(move |tx| {
        // Lock order: decisions before reports, several in the order of their ids.
        let mut undone = store::lock_pending(tx, project, &ids, now)?;
        let mut lost = Vec::new();
        for id in &undone {
            if !store::undo(tx, project, *id, now)? {
                lost.push(*id);
            }
        }
        undone.retain(|id| !lost.contains(id));
        store::release(tx, project, &undone)?;
        Ok(undone)
    });
    undone.await
}
