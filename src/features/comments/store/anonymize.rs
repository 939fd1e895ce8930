//! Comments when a user is deleted: their own stay as anonymized, empty placeholders; others lose their
//! mentions of the user.

use db::{JsonText, Tx, args};

use crate::error::{Error, Result};
use crate::features::entities::rules::Mentions;
use crate::values::ids::{CommentId, ProjectId, UserId};
use crate::values::metadata::to_json;

db::statements! {
    query LOCK -> CommentId =
        "SELECT id FROM comments WHERE project_id = $1 AND id IN
            (SELECT c.id FROM comments c WHERE c.project_id = $1 AND c.user_id = $2
             UNION SELECT r.target_id FROM reactions r WHERE r.project_id = $1 AND r.user_id = $2
             UNION SELECT m.comment_id FROM comment_mentions m
                WHERE m.project_id = $1 AND m.user_id = $2)
         ORDER BY id {for_update}";
    command EMPTY =
        "UPDATE comment_bodies SET content = NULL, gif = NULL, mentions = '[]', attachments = '[]'
         WHERE project_id = $1 AND id IN
            (SELECT c.id FROM comments c WHERE c.project_id = $1 AND c.user_id = $2)";
    command DISOWN = "UPDATE comments SET user_id = NULL WHERE project_id = $1 AND user_id = $2";
    query MENTIONING -> (CommentId, JsonText) =
        "SELECT b.id, b.mentions FROM comment_mentions m
            JOIN comment_bodies b ON b.project_id = m.project_id AND b.id = m.comment_id
         WHERE m.project_id = $1 AND m.user_id = $2";
    command SET_MENTIONS =
        "UPDATE comment_bodies SET mentions = $3 WHERE project_id = $1 AND id = $2";
    command FORGET_MENTIONS =
        "DELETE FROM comment_mentions WHERE project_id = $1 AND user_id = $2";
}

/// Locks every comment that is about to change. Lock order: after entities, before the user.
pub fn lock(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK, args![project, user])?;
    Ok(())
}

/// Removes the author from all their comments. The counts stay.
pub fn forget_author(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.pipeline(&EMPTY, args![project, user])?;
    tx.pipeline(&DISOWN, args![project, user])?;
    for (id, mentions) in tx.all(&MENTIONING, args![project, user])? {
        let mentions: Mentions = serde_json::from_str(&mentions.0).map_err(Error::internal)?;
        let rest = JsonText(to_json(&mentions.without(user)));
        tx.pipeline(&SET_MENTIONS, args![project, id, &rest])?;
    }
    Ok(tx.pipeline(&FORGET_MENTIONS, args![project, user])?)
}
