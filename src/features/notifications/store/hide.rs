//! Notifications about content that is deleted or removed: deleted with it, or hidden as long as a
//! moderator's removal lasts. Lock order: after everything else, counts before rows, as when marking as read.

use db::{Command, Query, Tx, Value, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::notifications::store::Changes;
use crate::values::ids::{
    ChatMessageId, CommentId, ConversationId, EntityId, NotificationId, ProjectId, SpaceId, UserId,
};
use crate::values::time::Timestamp;

db::row! {
    /// A notification that was hidden, shown or deleted.
    #[derive(Debug)]
    struct Changed {
        user_id: UserId,
        space_id: Option<SpaceId>,
        is_read: bool,
        is_hidden: bool,
    }
}

/// SQL: the targets of notifications about the comment $3: itself, and the replies to it.
macro_rules! targets {
    () => {
        "n.target_id IN (SELECT CAST($3 AS {uuid}) UNION ALL SELECT r.id FROM comments r
            WHERE r.project_id = $1 AND r.thread_id = $3 AND r.deleted_at IS NULL)
            AND (n.target_id = $3 OR n.type = 'comment-reply')"
    };
}

/// SQL: a moderator has removed what the notification `n` is about: the entity, the comment, or what
/// the comment replies to.
macro_rules! is_removed {
    () => {
        "(EXISTS (SELECT 1 FROM entities e WHERE e.project_id = $1 AND e.id = n.subject_id
                AND e.moderation_status = 'removed')
          OR EXISTS (SELECT 1 FROM comments c
                LEFT JOIN comments p ON p.project_id = c.project_id AND p.id = c.parent_id
             WHERE c.project_id = $1 AND c.id = n.target_id
                AND (c.moderation_status = 'removed'
                    OR (n.type = 'comment-reply' AND p.moderation_status = 'removed'))))"
    };
}

/// SQL: locks the counts of everybody who has notifications that a condition finds.
macro_rules! lock {
    ($condition:expr) => {
        concat!(
            "SELECT k.user_id FROM notification_counts k WHERE k.project_id = $1 AND k.user_id IN
                (SELECT n.user_id FROM notifications n WHERE n.project_id = $1 AND ",
            $condition,
            ") ORDER BY k.user_id, k.space_id {for_no_key_update}"
        )
    };
}

macro_rules! delete {
    ($condition:expr) => {
        concat!(
            "DELETE FROM notifications AS n WHERE n.project_id = $1 AND ",
            $condition,
            " RETURNING user_id, space_id, is_read, is_hidden"
        )
    };
}

macro_rules! update {
    ($condition:expr) => {
        concat!(
            "UPDATE notifications AS n SET is_hidden = NOT n.is_hidden WHERE n.project_id = $1 AND ",
            $condition,
            " AND n.is_hidden <> ",
            is_removed!(),
            " RETURNING user_id, space_id, is_read, is_hidden"
        )
    };
}

db::statements! {
    query LOCK_OF_SUBJECTS -> UserId = lock!("n.subject_id {any}($2)");
    query LOCK_OF_COMMENT -> UserId = lock!(concat!("n.subject_id = $2 AND ", targets!()));
    query LOCK_OF_USERS -> UserId =
        "SELECT user_id FROM notification_counts WHERE project_id = $1 AND user_id {any}($2)
         ORDER BY user_id, space_id {for_no_key_update}";
    command DELETE_OF_SUBJECTS -> Changed = delete!("n.subject_id {any}($2)");
    command DELETE_OF_SUBJECT_FOR -> Changed = delete!("n.subject_id = $2 AND n.user_id = $3");
    query LOCK_OF_TARGET -> UserId = lock!("n.subject_id = $2 AND n.target_id = $3");
    command DELETE_OF_TARGET -> Changed = delete!("n.subject_id = $2 AND n.target_id = $3");
    command DELETE_OF_COMMENT -> Changed =
        delete!(concat!("n.subject_id = $2 AND ", targets!()));
    command DELETE_OF_USER -> Changed = delete!("n.user_id = $2 AND n.id {any}($3)");
    command UPDATE_OF_SUBJECTS -> Changed = update!("n.subject_id {any}($2)");
    command UPDATE_OF_COMMENT -> Changed =
        update!(concat!("n.subject_id = $2 AND ", targets!()));
    query CAUSED_BY -> (UserId, NotificationId) =
        "SELECT n.user_id, n.id FROM comments c JOIN notifications n
            ON n.project_id = c.project_id AND n.subject_id = c.entity_id AND n.target_id = c.id
         WHERE c.project_id = $1 AND c.user_id = $2 AND n.user_id <> $2
         UNION ALL
         SELECT n.user_id, n.id FROM entities e JOIN notifications n
            ON n.project_id = e.project_id AND n.subject_id = e.id AND n.target_id = e.id
         WHERE e.project_id = $1 AND e.user_id = $2 AND n.user_id <> $2";
}

/// For deleted entities or a deleted space: all notifications about them and their content.
pub fn delete_of_subjects(tx: &Tx<'_>, project: ProjectId, subjects: Vec<Uuid>) -> Result<()> {
    let of = args![project, subjects];
    uncount(tx, project, locked(tx, &LOCK_OF_SUBJECTS, &DELETE_OF_SUBJECTS, of)?)
}

/// For a user who may no longer see something: their notifications about it.
pub fn delete_of_subject_for(
    tx: &Tx<'_>,
    project: ProjectId,
    subject: Uuid,
    user: UserId,
) -> Result<()> {
    tx.all(&LOCK_OF_USERS, args![project, UserId::list(&[user])])?;
    let deleted = tx.all(&DELETE_OF_SUBJECT_FOR, args![project, subject, user])?;
    uncount(tx, project, deleted)
}

/// For a deleted message of a conversation: notifications about it.
pub fn delete_of_message(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
    message: ChatMessageId,
) -> Result<()> {
    let of = args![project, conversation, message];
    uncount(tx, project, locked(tx, &LOCK_OF_TARGET, &DELETE_OF_TARGET, of)?)
}

/// For a deleted comment: notifications about it or a reply to it.
pub fn delete_of_comment(
    tx: &Tx<'_>,
    project: ProjectId,
    entity: EntityId,
    comment: CommentId,
) -> Result<()> {
    let of = args![project, entity, comment];
    uncount(tx, project, locked(tx, &LOCK_OF_COMMENT, &DELETE_OF_COMMENT, of)?)
}

/// After a moderator's decision about the entity.
pub fn follow_entity(tx: &Tx<'_>, project: ProjectId, entity: EntityId) -> Result<()> {
    let of = args![project, vec![entity.0]];
    recount(tx, project, locked(tx, &LOCK_OF_SUBJECTS, &UPDATE_OF_SUBJECTS, of)?)
}

/// After a moderator's decision about the comment.
pub fn follow_comment(
    tx: &Tx<'_>,
    project: ProjectId,
    entity: EntityId,
    comment: CommentId,
) -> Result<()> {
    let of = args![project, entity, comment];
    recount(tx, project, locked(tx, &LOCK_OF_COMMENT, &UPDATE_OF_COMMENT, of)?)
}

/// Locks the counts, then runs a command and returns the rows it changed; nothing if nobody has such
/// notifications.
fn locked(
    tx: &Tx<'_>,
    lock: &Query<UserId>,
    command: &Command<Changed>,
    of: &[Value<'_>],
) -> Result<Vec<Changed>> {
    Ok(if tx.all(lock, of)?.is_empty() { Vec::new() } else { tx.all(command, of)? })
}

/// Other users' notifications about content by a user.
pub fn about_what_they_wrote(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
) -> Result<Vec<(UserId, NotificationId)>> {
    let mut found = tx.all(&CAUSED_BY, args![project, user])?;
    found.sort_unstable();
    Ok(found)
}

/// Deletes other users' notifications about content by a deleted user. Locks the user's own counts in the
/// same order, before their rows are deleted.
pub fn delete_with_author(
    tx: &Tx<'_>,
    project: ProjectId,
    author: UserId,
    found: &[(UserId, NotificationId)],
) -> Result<()> {
    let mut users: Vec<UserId> = found.iter().map(|(user, _)| *user).collect();
    users.push(author);
    users.sort_unstable();
    users.dedup();
    tx.all(&LOCK_OF_USERS, args![project, UserId::list(&users)])?;
    let mut deleted = Vec::new();
    for of_user in found.chunk_by(|(one, _), (other, _)| one == other) {
        let ids: Vec<NotificationId> = of_user.iter().map(|(_, id)| *id).collect();
        let key = args![project, of_user[0].0, NotificationId::list(&ids)];
        deleted.extend(tx.all(&DELETE_OF_USER, key)?);
    }
    uncount(tx, project, deleted)
}

fn uncount(tx: &Tx<'_>, project: ProjectId, deleted: Vec<Changed>) -> Result<()> {
    let mut changes = Changes::default();
    for one in deleted.into_iter().filter(|one| !one.is_hidden) {
        changes.note(one.user_id, one.space_id, one.is_read, -1);
    }
    changes.write(tx, project, Timestamp::from_millis(i64::MAX))
}

/// Notifications that are shown again may be of any age.
fn recount(tx: &Tx<'_>, project: ProjectId, changed: Vec<Changed>) -> Result<()> {
    let mut changes = Changes::default();
    for one in changed {
        changes.note(one.user_id, one.space_id, one.is_read, if one.is_hidden { -1 } else { 1 });
    }
    changes.write(tx, project, Timestamp::from_millis(0))
}
