//! Entities when a user is deleted: their own stay as anonymized, empty placeholders outside of all feeds;
//! others lose their mentions of the user.

use db::{JsonText, Tx, args};

use crate::error::{Error, Result};
use crate::features::entities::rules::Mentions;
use crate::features::entities::store::feed_totals::Listed;
use crate::features::entities::terms;
use crate::values::ids::{EntityId, ProjectId, UserId};
use crate::values::metadata::to_json;

db::statements! {
    query LOCK -> EntityId =
        "SELECT id FROM entities WHERE project_id = $1 AND id IN
            (SELECT e.id FROM entities e WHERE e.project_id = $1 AND e.user_id = $2
             UNION SELECT r.target_id FROM reactions r WHERE r.project_id = $1 AND r.user_id = $2
             UNION SELECT t.entity_id FROM entity_terms t WHERE t.project_id = $1 AND t.term = $3)
         ORDER BY id {for_update}";
    command EMPTY =
        "UPDATE entity_bodies SET title = NULL, content = NULL, mentions = '[]', attachments = '[]'
         WHERE project_id = $1 AND id IN
            (SELECT e.id FROM entities e WHERE e.project_id = $1 AND e.user_id = $2)";
    command DISOWN =
        "UPDATE entities SET user_id = NULL, has_attachments = FALSE, is_listed = FALSE,
            is_emptied = TRUE
         WHERE project_id = $1 AND user_id = $2";
    query LISTED -> Listed =
        "SELECT e.id, e.space_id, e.source_id, e.user_id, b.keywords
         FROM entities e JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id
         WHERE e.project_id = $1 AND e.user_id = $2 AND e.is_listed";
    query MENTIONING -> (EntityId, JsonText) =
        "SELECT b.id, b.mentions FROM entity_terms t
            JOIN entity_bodies b ON b.project_id = t.project_id AND b.id = t.entity_id
         WHERE t.project_id = $1 AND t.term = $2";
    command SET_MENTIONS =
        "UPDATE entity_bodies SET mentions = $3 WHERE project_id = $1 AND id = $2";
    command FORGET_TERM = "DELETE FROM entity_terms WHERE project_id = $1 AND term = $2";
}

/// Locks every entity that is about to change. Lock order: entities before the user, since a reaction locks
/// the entity and then its author, whose reputation changes.
pub fn lock(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK, args![project, user, terms::mention(user)])?;
    Ok(())
}

/// Removes the author from all their entities. Returns those that were listed: the caller subtracts them from
/// the feed totals, which come last in lock order.
pub fn forget_author(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<Vec<Listed>> {
    let listed = tx.all(&LISTED, args![project, user])?;
    tx.pipeline(&EMPTY, args![project, user])?;
    tx.pipeline(&DISOWN, args![project, user])?;
    forget_mentions(tx, project, user)?;
    Ok(listed)
}

fn forget_mentions(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    let term = terms::mention(user);
    for (id, mentions) in tx.all(&MENTIONING, args![project, term])? {
        let mentions: Mentions = serde_json::from_str(&mentions.0).map_err(Error::internal)?;
        let rest = JsonText(to_json(&mentions.without(user)));
        tx.pipeline(&SET_MENTIONS, args![project, id, &rest])?;
    }
    tx.pipeline(&FORGET_TERM, args![project, term])?;
    Ok(())
}
