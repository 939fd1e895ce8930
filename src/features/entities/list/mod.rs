//! Fetch Many Entities: the feeds.

pub mod filters;
mod metadata_sort;
pub mod request;
pub mod search;
mod sql;
mod start;

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::{INVALID_QUERY, USER_REQUIRED};
use crate::features::users::reputation::ReputationQuery;
use crate::http::input::{Paging, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::{Json, MaybeDeprecated};
use crate::http::version::Version;

use request::ListRequest;
use search::{Search, Shows};

pub(super) async fn fetch_many(
    call: Call<OptionalViewer>,
    (Paging(page), request, Query(reputation)): (
        Paging<10, 100>,
        ListRequest,
        Query<ReputationQuery>,
    ),
) -> Result<MaybeDeprecated<Json<Paged<Entity>>>> {
    let bucket = reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let is_deprecated = request.is_deprecated;
    // With a key and `followedOnly` the named user is who looks, not whom to look for.
    let (viewer, author) = match (call.caller, request.user) {
        (OptionalViewer::Key(_), named) if request.followed_only => (named, None),
        (caller, named) => (caller.user(), named),
    };
    let view = View::asked(&call, viewer, &request.include).with_points(bucket);
    if request.followed_only && viewer.is_none() && call.version != Version::V6 {
        return Err(USER_REQUIRED.into());
    }
    let follows_nobody = request.followed_only && viewer.is_some();
    let Some(space) = request.space.filter(|_| !follows_nobody) else {
        return Ok(MaybeDeprecated { reply: Json(page.of(Vec::new(), 0)), is_deprecated });
    };
    let is_own = author.is_some() && author == viewer;
    let search = Search {
        project: call.project.id,
        shows: if is_own { Shows::Published } else { Shows::Listed },
        sort: request.sort,
        since: request.hours.map(|hours| call.now.minus(std::time::Duration::from_hours(hours))),
        source: request.source,
        space,
        author,
        nsfw: request.nsfw,
        filters: request.filters,
    };
    let is_quick = search.is_quick(page);
    let list = move |c: &db::Conn<'_>| search.show(c, page, &view);
    let db = &call.app.db;
    let page = if is_quick { db.read(list).await? } else { db.read_slow(list).await? };
    for entity in &page.data {
        call.app.pulse.look(entity, call.now);
    }
    Ok(MaybeDeprecated { reply: Json(page), is_deprecated })
}
