//! Deleting files: the rows in the caller's transaction, the bytes by a job of that same transaction. A
//! file's address stops working with its row.

use db::Tx;

use crate::error::Result;
use crate::features::files::store::{self, Deleted};
use crate::features::files::uploads::purge_payload;
use crate::jobs;
use crate::values::ids::{
    ChatMessageId, CommentId, EntityId, EventId, FileId, JobId, ProjectId, SpaceId, UserId,
};
use crate::values::time::Timestamp;

pub fn delete(tx: &Tx<'_>, project: ProjectId, ids: &[FileId], now: Timestamp) -> Result<()> {
    remove_bytes(tx, project, store::delete(tx, project, ids)?, now)
}

/// All files attached to an entity.
pub fn delete_of_entity(
    tx: &Tx<'_>,
    project: ProjectId,
    entity: EntityId,
    now: Timestamp,
) -> Result<()> {
    remove_bytes(tx, project, store::delete_of_entity(tx, project, entity)?, now)
}

/// All files attached to a space.
pub fn delete_of_space(
    tx: &Tx<'_>,
    project: ProjectId,
    space: SpaceId,
    now: Timestamp,
) -> Result<()> {
    remove_bytes(tx, project, store::delete_of_space(tx, project, space)?, now)
}

/// All files attached to an event.
pub fn delete_of_event(
    tx: &Tx<'_>,
    project: ProjectId,
    event: EventId,
    now: Timestamp,
) -> Result<()> {
    remove_bytes(tx, project, store::delete_of_event(tx, project, event)?, now)
}

/// All files attached to any of the comments.
pub fn delete_of_comments(
    tx: &Tx<'_>,
    project: ProjectId,
    comments: &[CommentId],
    now: Timestamp,
) -> Result<()> {
    remove_bytes(tx, project, store::delete_of_comments(tx, project, comments)?, now)
}

/// All files sent with any of the messages.
pub fn delete_of_messages(
    tx: &Tx<'_>,
    project: ProjectId,
    messages: &[ChatMessageId],
    now: Timestamp,
) -> Result<()> {
    remove_bytes(tx, project, store::delete_of_messages(tx, project, messages)?, now)
}

/// All files that a user has uploaded.
pub fn delete_of_user(tx: &Tx<'_>, project: ProjectId, user: UserId, now: Timestamp) -> Result<()> {
    remove_bytes(tx, project, store::delete_of_user(tx, project, user)?, now)
}

fn remove_bytes(tx: &Tx<'_>, project: ProjectId, deleted: Deleted, now: Timestamp) -> Result<()> {
    let Some((first, _)) = deleted.first() else {
        return Ok(());
    };
    let ids: Vec<FileId> = deleted.iter().map(|(id, _)| *id).collect();
    store::forget_pictures(tx, project, &ids)?;
    // A file is deleted once, so its id is unique as a job id; a transaction may run twice and must not
    // generate ids.
    let job = JobId(first.0);
    let payload = purge_payload(deleted.iter().map(|(_, path)| path.as_str()))?;
    jobs::store::insert(tx, project, job, &payload, now, now)
}
