//! Fetch Blocked Users: the users that the caller has blocked.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::blocks::store;
use crate::features::users::model::User;
use crate::features::users::store as users;
use crate::http::input::LenientPaging;
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::{BlockId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockedUser {
    id: BlockId,
    blocked_user: Option<User>,
    created_at: Timestamp,
}

pub(super) async fn fetch_blocked(
    call: Call<Actor>,
    LenientPaging(page): LenientPaging,
) -> Result<Json<Paged<BlockedUser>>> {
    let (project, blocker, links) = (call.project.id, call.caller.user, call.links());
    let listed = call.app.db.read_slow(move |c| {
        let total = store::count(c, project, blocker)?;
        let rows = store::list(c, project, blocker, page)?;
        let ids: Vec<UserId> = rows.iter().map(|row| row.blocked_id).collect();
        let found = users::find_all(c, project, &ids)?;
        let found: HashMap<UserId, _> = found.iter().map(|row| (row.id, row)).collect();
        let shown = rows.into_iter().map(|row| {
            let user = found.get(&row.blocked_id).map(|user| User::public(&links, user));
            let blocked_user = user.transpose()?;
            Ok(BlockedUser { id: row.id, blocked_user, created_at: row.created_at })
        });
        Ok(page.of(shown.collect::<Result<Vec<_>>>()?, total))
    });
    listed.await.map(Json)
}
