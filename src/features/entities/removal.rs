//! Entities that go with what they were in: for good, whatever the project says about deletions, and
//! without a change to anybody's reputation.

use db::{Tx, args};

use crate::error::Result;
use crate::features::entities::{counts, store};
use crate::features::storage::removal;
use crate::features::{collections, comments, reactions};
use crate::ids::{EntityId, ProjectId};
use crate::time::Timestamp;

db::statements! {
    /// Also what was out of sight already.
    command REMOVE = "DELETE FROM entities WHERE project_id = $1 AND id {any}($2)";
}

/// In the order of their ids, as all who hold several do.
pub fn remove(tx: &Tx<'_>, project: ProjectId, ids: &[EntityId], now: Timestamp) -> Result<()> {
    for id in ids {
        let listed = store::find_for_update(tx, project, *id)?.filter(|row| row.is_listed);
        collections::forget::forget_entity(tx, project, *id)?;
        reactions::store::delete_of_targets(tx, project, vec![id.0])?;
        comments::removal::enqueue(tx, project, *id, now)?;
        removal::delete_of_entity(tx, project, *id, now)?;
        if let Some(row) = listed {
            counts::remove(tx, project, &row)?;
        }
    }
    tx.execute(&REMOVE, args![project, EntityId::list(ids)])?;
    Ok(())
}
