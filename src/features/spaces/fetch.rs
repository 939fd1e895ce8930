//! Fetch Space by id, short id or slug; its children; its ancestors; and whether a slug is available.

use db::Conn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{Anyone, OptionalViewer};
use crate::error::{Error, Result};
use crate::features::spaces::model::{Crumb, Space, SpaceDetailed};
use crate::features::spaces::rules::Slug;
use crate::features::spaces::show::{IncludeQuery, View};
use crate::features::spaces::store::{self, SpaceRow};
use crate::features::spaces::{INVALID_QUERY, NOT_FOUND, SpacePath};
use crate::http::input::{LenientPaging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::{ProjectId, SpaceId, from_short_id};

pub(super) async fn by_id(
    call: Call<OptionalViewer>,
    (Path(path), Query(include)): (Path<SpacePath>, Query<IncludeQuery>),
) -> Result<Json<SpaceDetailed>> {
    found(&call, &include, move |c, project| store::find(c, project, path.space_id)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShortIdQuery {
    short_id: String,
    #[serde(flatten)]
    include: IncludeQuery,
}

pub(super) async fn by_short_id(
    call: Call<OptionalViewer>,
    Query(query): Query<ShortIdQuery>,
) -> Result<Json<SpaceDetailed>> {
    if query.short_id.is_empty() {
        return Err(INVALID_QUERY.because("shortId: must not be empty"));
    }
    let id = from_short_id(&query.short_id).ok_or(NOT_FOUND)?;
    found(&call, &query.include, move |c, project| store::find(c, project, SpaceId(id))).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SlugQuery {
    slug: String,
    #[serde(flatten)]
    include: IncludeQuery,
}

pub(super) async fn by_slug(
    call: Call<OptionalViewer>,
    Query(query): Query<SlugQuery>,
) -> Result<Json<SpaceDetailed>> {
    let SlugQuery { slug, include } = query;
    if slug.is_empty() {
        return Err(INVALID_QUERY.because("slug: must not be empty"));
    }
    found(&call, &include, move |c, project| store::find_by_slug(c, project, &slug)).await
}

async fn found(
    call: &Call<OptionalViewer>,
    include: &IncludeQuery,
    find: impl Fn(&Conn<'_>, ProjectId) -> Result<Option<SpaceRow>> + Send + Sync + 'static,
) -> Result<Json<SpaceDetailed>> {
    let view = View::asked(call, call.caller.user(), include);
    let found = call.app.db.read(move |c| {
        let row = find(c, view.project.id)?.ok_or(NOT_FOUND)?;
        view.detailed(c, row)
    });
    found.await.map(Json)
}

pub(super) async fn children(
    call: Call<OptionalViewer>,
    (Path(path), LenientPaging(page), Query(include)): (
        Path<SpacePath>,
        LenientPaging,
        Query<IncludeQuery>,
    ),
) -> Result<Json<Paged<Space>>> {
    let (project, parent) = (call.project.id, path.space_id);
    let view = View::asked(&call, call.caller.user(), &include);
    let found = call.app.db.read(move |c| {
        store::find(c, project, parent)?.ok_or(NOT_FOUND)?;
        let total = store::count_public_children(c, project, parent)?;
        let rows = match page.offset() < total {
            true => store::public_children(c, project, parent, page.limit.into(), page.offset())?,
            false => Vec::new(),
        };
        Ok::<_, Error>(page.of(view.spaces(c, rows)?, total))
    });
    found.await.map(Json)
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Breadcrumb {
    /// From the root down to the space itself.
    breadcrumb: Vec<Crumb>,
    depth: i64,
}

pub(super) async fn breadcrumb(
    call: Call<Anyone>,
    Path(path): Path<SpacePath>,
) -> Result<Json<Breadcrumb>> {
    let project = call.project.id;
    let line = call.app.db.read(move |c| store::line(c, project, path.space_id)).await?;
    // A deleted space has only its ancestors left.
    let last = line.last().filter(|last| last.id == path.space_id);
    let depth = last.ok_or(NOT_FOUND)?.depth;
    Ok(Json(Breadcrumb { breadcrumb: line.into_iter().map(Crumb::from).collect(), depth }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FreeSlugQuery {
    slug: Slug,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SlugAvailability")]
pub(super) struct Available {
    available: bool,
}

pub(super) async fn check_slug(
    call: Call<Anyone>,
    Query(query): Query<FreeSlugQuery>,
) -> Result<Json<Available>> {
    let project = call.project.id;
    let empty = || INVALID_QUERY.because("slug: must not be empty");
    let slug = query.slug.into_option().ok_or_else(empty)?;
    let taken = call.app.db.read(move |c| store::find_by_slug(c, project, &slug)).await?;
    Ok(Json(Available { available: taken.is_none() }))
}
