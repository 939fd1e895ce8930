//! Collections when an entity or a user is deleted: the entity leaves all collections and their counts; the
//! user's own collections are deleted.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{CollectionId, EntityId, ProjectId, UserId};

db::statements! {
    query LOCK_HOLDERS -> CollectionId =
        "SELECT c.id FROM collections c WHERE c.project_id = $1 AND c.id IN
            (SELECT l.collection_id FROM collection_entities l
             WHERE l.project_id = $1 AND l.entity_id {any}($2))
         ORDER BY c.depth, c.id {for_update}";
    command UNCOUNT =
        "UPDATE collections SET entity_count = entity_count -
            (SELECT count(*) FROM collection_entities l WHERE l.project_id = $1
                AND l.collection_id = collections.id AND l.entity_id {any}($2))
         WHERE project_id = $1 AND id {any}($3)";
    command UNLINK =
        "DELETE FROM collection_entities WHERE project_id = $1 AND entity_id {any}($2)";
    query LOCK_OF_USER -> CollectionId =
        "SELECT id FROM collections WHERE project_id = $1 AND user_id = $2
         ORDER BY depth, id {for_update}";
    command DELETE_OF_USER = "DELETE FROM collections WHERE project_id = $1 AND user_id = $2";
}

/// Removes the entities from every collection. The caller has locked them, so that nobody saves them
/// meanwhile.
pub fn forget_entities(tx: &Tx<'_>, project: ProjectId, entities: &[EntityId]) -> Result<()> {
    let holders = tx.all(&LOCK_HOLDERS, args![project, EntityId::list(entities)])?;
    if holders.is_empty() {
        return Ok(());
    }
    let args = args![project, EntityId::list(entities), CollectionId::list(&holders)];
    tx.pipeline(&UNCOUNT, args)?;
    Ok(tx.pipeline(&UNLINK, args![project, EntityId::list(entities)])?)
}

/// Deletes all collections of the user. The caller has locked the user, so none is added meanwhile.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    if !tx.all(&LOCK_OF_USER, args![project, user])?.is_empty() {
        tx.pipeline(&DELETE_OF_USER, args![project, user])?;
    }
    Ok(())
}
