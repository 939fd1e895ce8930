//! What becomes of collections when an entity or a user is deleted: the entity is in none of them
//! any more, and they count it no longer; the user's own are gone.

use db::{Tx, args};

use crate::error::Result;
use crate::ids::{CollectionId, EntityId, ProjectId, UserId};

db::statements! {
    query HOLD_HOLDERS -> CollectionId =
        "SELECT c.id FROM collections c WHERE c.project_id = $1 AND c.id IN
            (SELECT l.collection_id FROM collection_entities l
             WHERE l.project_id = $1 AND l.entity_id = $2)
         ORDER BY c.depth, c.id {for_update}";
    command UNCOUNT =
        "UPDATE collections SET entity_count = entity_count - 1
         WHERE project_id = $1 AND id IN
            (SELECT l.collection_id FROM collection_entities l
             WHERE l.project_id = $1 AND l.entity_id = $2)";
    command UNLINK = "DELETE FROM collection_entities WHERE project_id = $1 AND entity_id = $2";
    query HOLD_OF_USER -> CollectionId =
        "SELECT id FROM collections WHERE project_id = $1 AND user_id = $2
         ORDER BY depth, id {for_update}";
    command DELETE_OF_USER = "DELETE FROM collections WHERE project_id = $1 AND user_id = $2";
}

/// Takes the entity, which the caller holds so that nobody saves it meanwhile, out of every
/// collection.
pub fn forget_entity(tx: &Tx<'_>, project: ProjectId, entity: EntityId) -> Result<()> {
    if !tx.all(&HOLD_HOLDERS, args![project, entity])?.is_empty() {
        tx.later(&UNCOUNT, args![project, entity])?;
        tx.later(&UNLINK, args![project, entity])?;
    }
    Ok(())
}

/// Deletes all collections of the user, whom the caller holds so that none is added meanwhile.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    if !tx.all(&HOLD_OF_USER, args![project, user])?.is_empty() {
        tx.later(&DELETE_OF_USER, args![project, user])?;
    }
    Ok(())
}
