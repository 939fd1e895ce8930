//! Block User, Unblock User, Get Block Status.

use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::blocks::store::{self, BlockRow};
use crate::features::blocks::{SELF_BLOCK, SELF_CHECK, USER_NOT_FOUND};
use crate::features::users::UserPath;
use crate::features::users::store::lock_pair;
use crate::features::{connections, follows};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::{FoundOrCreated, Json, NoContent};
use crate::values::ids::{BlockId, UserId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Block {
    id: BlockId,
    blocker_id: UserId,
    blocked_id: UserId,
    created_at: Timestamp,
}

impl From<BlockRow> for Block {
    fn from(row: BlockRow) -> Self {
        let BlockRow { id, blocker_id, blocked_id, created_at } = row;
        Block { id, blocker_id, blocked_id, created_at }
    }
}

/// A user may block somebody who has blocked them.
pub(super) async fn block_user(
    call: Call<Actor>,
    Path(path): Path<UserPath>,
) -> Result<FoundOrCreated<Block>> {
    let (project, blocker, blocked) = (call.project.id, call.caller.user, path.user_id);
    if blocker == blocked {
        return Err(SELF_BLOCK.into());
    }
    let id = BlockId(new_id(call.now, &call.app.random));
    let block = BlockRow { id, blocker_id: blocker, blocked_id: blocked, created_at: call.now };
    let written = call.app.db.write(move |tx| {
        if !lock_pair::lock(tx, project, blocker, blocked)? {
            return Err(USER_NOT_FOUND.into());
        }
        if let Some(block) = store::find(tx, project, blocker, blocked)? {
            return Ok(FoundOrCreated::Found(block.into()));
        }
        store::insert(tx, project, &block)?;
        follows::sever(tx, project, blocker, blocked)?;
        connections::sever(tx, project, blocker, blocked)?;
        Ok(FoundOrCreated::Created(block.into()))
    });
    written.await
}

/// Lifts the block, which restores nothing. The reply does not say whether there was one.
pub(super) async fn unblock_user(
    call: Call<Actor>,
    Path(path): Path<UserPath>,
) -> Result<NoContent> {
    let (project, blocker) = (call.project.id, call.caller.user);
    call.app.db.write(move |tx| store::delete(tx, project, blocker, path.user_id)).await?;
    Ok(NoContent)
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockStatus {
    blocked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_id: Option<BlockId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
}

/// Shows only the caller's own blocks: nobody learns who has blocked them.
pub(super) async fn block_status(
    call: Call<Actor>,
    Path(path): Path<UserPath>,
) -> Result<Json<BlockStatus>> {
    let (project, blocker) = (call.project.id, call.caller.user);
    if blocker == path.user_id {
        return Err(SELF_CHECK.into());
    }
    let found = call.app.db.read(move |c| store::find(c, project, blocker, path.user_id)).await?;
    Ok(Json(BlockStatus {
        blocked: found.is_some(),
        block_id: found.map(|block| block.id),
        created_at: found.map(|block| block.created_at),
    }))
}
