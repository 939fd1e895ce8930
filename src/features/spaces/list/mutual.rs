//! Fetch Mutual Spaces: spaces where both users are active members.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::spaces::list::store::mutual;
use crate::features::spaces::model::Space;
use crate::features::spaces::show::{IncludeQuery, View};
use crate::features::users;
use crate::features::visibility::store::blocks;
use crate::http::input::{LenientPaging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::UserId;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct OtherPath {
    user_id: UserId,
}

pub(in crate::features::spaces) async fn mutual_spaces(
    call: Call<Actor>,
    (Path(path), LenientPaging(page), Query(include)): (
        Path<OtherPath>,
        LenientPaging,
        Query<IncludeQuery>,
    ),
) -> Result<Json<Paged<Space>>> {
    let (project, user, other) = (call.project.clone(), call.caller.user, path.user_id);
    let view = View::asked(&call, Some(user), &include);
    let found = call.app.db.read(move |c| {
        // A blocked user is treated as unknown.
        if users::store::find(c, project.id, other)?.is_none()
            || blocks::is_blocked_between(c, &project, Some(user), other)?
        {
            return Err(users::NOT_FOUND.into());
        }
        let (ids, total) = mutual::shared(c, project.id, user, other, page)?;
        Ok::<_, Error>(page.of(view.page(c, &ids)?, total))
    });
    found.await.map(Json)
}
