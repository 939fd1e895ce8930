//! Fetch Mutual Spaces: where both users are active members.

use db::{Conn, args};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::spaces::model::Space;
use crate::features::spaces::show::{IncludeQuery, View};
use crate::features::users;
use crate::features::visibility::blocks;
use crate::http::input::{LenientPaging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::{Page, Paged};
use crate::http::reply::Json;
use crate::values::ids::{ProjectId, SpaceId, UserId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct OtherPath {
    user_id: UserId,
}

macro_rules! shared {
    ($columns:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM space_members a CROSS JOIN space_members b CROSS JOIN spaces s
             WHERE a.project_id = $1 AND a.user_id = $2 AND a.status = 'active'
                AND b.project_id = $1 AND b.space_id = a.space_id AND b.user_id = $3
                AND b.status = 'active'
                AND s.project_id = $1 AND s.id = a.space_id AND s.deleted_at IS NULL",
            $rest
        )
    };
}

db::statements! {
    query SHARED -> SpaceId =
        shared!("s.id", " ORDER BY s.name_key, s.created_at DESC, s.id LIMIT $4 OFFSET $5");
    query COUNT_SHARED -> i64 = shared!("count(*)", "");
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
        // Whoever is behind a block is not there.
        if users::store::find(c, project.id, other)?.is_none()
            || blocks::is_blocked_between(c, &project, Some(user), other)?
        {
            return Err(users::NOT_FOUND.into());
        }
        let (ids, total) = shared(c, project.id, user, other, page)?;
        Ok::<_, Error>(page.of(view.page(c, &ids)?, total))
    });
    found.await.map(Json)
}

fn shared(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    other: UserId,
    page: Page,
) -> Result<(Vec<SpaceId>, i64)> {
    let total = c.one(&COUNT_SHARED, args![project, user, other])?;
    if page.offset() >= total {
        return Ok((Vec::new(), total));
    }
    Ok((c.all(&SHARED, args![project, user, other, page.limit, page.offset()])?, total))
}
