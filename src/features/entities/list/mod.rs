//! Fetch Many Entities: the feeds. Drafts are listed by the same statements.

mod drafts;
pub mod filters;
mod guesses;
mod metadata_sort;
pub mod request;
pub mod search;
pub mod sql;
mod start;

use std::sync::Arc;

use db::Conn;
use http::Method;

use crate::auth::caller::OptionalViewer;
use crate::auth::perspective::Perspective;
use crate::error::{Error, Result};
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::entities::views::view_buffer::ViewBuffer;
use crate::features::entities::{ACTS_AS, INVALID, INVALID_QUERY, USER_REQUIRED};
use crate::features::spaces::store::access::Reader;
use crate::features::users::reputation::ReputationQuery;
use crate::features::visibility::store::blocks::{self, Hidden};
use crate::http::input::{Paging, Query};
use crate::http::operation::{ActsAs, Call, Operation};
use crate::http::page::{Page, Paged};
use crate::http::reply::{Json, MaybeDeprecated};
use crate::http::version::Version;
use crate::tenancy::Bundle;

use request::ListRequest;
use search::{Search, Shows};

pub(super) fn operations() -> Vec<Operation> {
    let get = Method::GET;
    vec![
        Operation::new(
            get.clone(),
            "/entities",
            "Fetch Many Entities",
            "entity",
            INVALID,
            fetch_many,
        )
        .tolerates_lag()
        .shared()
        .errors(&[USER_REQUIRED]),
        Operation::new(
            get,
            "/entities/drafts",
            "Fetch Drafts",
            "entity",
            INVALID,
            drafts::fetch_drafts,
        )
        .acts_as(ActsAs { other: None, ..ACTS_AS }),
    ]
}

async fn fetch_many(
    call: Call<OptionalViewer>,
    (Paging(page), request, Query(reputation)): (
        Paging<10, 100>,
        ListRequest,
        Query<ReputationQuery>,
    ),
) -> Result<MaybeDeprecated<Json<Paged<Entity>>>> {
    let bucket = reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let is_deprecated = request.is_deprecated;
    // With a key and `followedOnly`, the named user is the viewer, not the author to filter by.
    let (viewer, author) = match (call.caller, request.user) {
        (OptionalViewer::Key(_), named) if request.followed_only => (named, None),
        (caller, named) => (caller.user(), named),
    };
    let view = View::asked(&call, viewer, &request.include).with_points(bucket);
    if request.followed_only && viewer.is_none() && call.version != Version::V6 {
        return Err(USER_REQUIRED.into());
    }
    let followed_by = viewer.filter(|_| request.followed_only);
    // Without the bundle nobody follows anybody.
    let follows_nobody = followed_by.is_some() && !call.project.has(Bundle::Follows);
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
        followed_by,
        hidden: Hidden::default(),
        reader: if is_own { Reader::AUTHOR } else { Perspective::from(call.caller).into() },
        nsfw: request.nsfw,
        filters: request.filters,
        guesses: call.app.features.get(),
    };
    let page = find(&call, search, page, view, request.shows_blocked).await?;
    let buffer = call.app.features.get::<ViewBuffer>();
    for entity in &page.data {
        buffer.note_stale(entity, call.now);
    }
    Ok(MaybeDeprecated { reply: Json(page), is_deprecated })
}

/// The page as the viewer may see it. Fast lists are read at once, unless the viewer may read little of the
/// feed or users are hidden from them: then the hidden part has to be counted first.
async fn find<A>(
    call: &Call<A>,
    search: Search,
    page: Page,
    view: View,
    shows_blocked: bool,
) -> Result<Paged<Entity>> {
    let db = &call.app.db;
    let hidden = move |c: &Conn<'_>, view: &View| {
        let hidden = blocks::hidden(c, &view.project, view.viewer)?;
        Ok::<_, Error>(if shows_blocked { hidden.but_blocked() } else { hidden })
    };
    let asked = Arc::new((search, view));
    if asked.0.is_quick(page) {
        let asked = asked.clone();
        let quick = db.read(move |c| match hidden(c, &asked.1)?.is_nobody() {
            true => asked.0.show_quickly(c, page, &asked.1),
            false => Ok(None),
        });
        if let Some(page) = quick.await? {
            return Ok(page);
        }
    }
    let found = db.read_slow(move |c| {
        let (search, view) = &*asked;
        match hidden(c, view)? {
            hidden if hidden.is_nobody() => search.show(c, page, view),
            hidden => Search { hidden, ..search.clone() }.show(c, page, view),
        }
    });
    found.await
}
