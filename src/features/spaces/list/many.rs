//! Fetch Spaces. Public spaces are read off the index of the sort order; the few that only their members can
//! find are merged in.

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::error::{Error, Result};
use crate::features::spaces::list::store::many::{Filters, Search};
use crate::features::spaces::list::store::order::SortBy;
use crate::features::spaces::model::Space;
use crate::features::spaces::rules::Reading;
use crate::features::spaces::show::{IncludeQuery, View};
use crate::features::spaces::{AUTH_REQUIRED, INVALID_QUERY};
use crate::http::input::{LenientPaging, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::SpaceId;

/// Longer patterns only cost time.
const LONGEST_QUERY: usize = 256;
/// Pages beyond this offset run off the async workers.
const SLOW_OFFSET: i64 = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct SpacesQuery {
    #[serde(default)]
    sort_by: SortBy,
    search_slug: Option<String>,
    search_name: Option<String>,
    search_description: Option<String>,
    /// In the name, the slug or the description.
    search_any: Option<String>,
    reading_permission: Option<Reading>,
    /// Only spaces that the caller is an active member of.
    member_of: Option<OnlyTrue>,
    /// A space id, or `null` for roots.
    parent_space_id: Option<String>,
    #[serde(default)]
    nsfw_filter: NsfwFilter,
    #[serde(flatten)]
    include: IncludeQuery,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
enum OnlyTrue {
    #[serde(rename = "true")]
    True,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum NsfwFilter {
    #[default]
    IncludeAll,
    Exclude,
    Only,
}

pub(in crate::features::spaces) async fn fetch_spaces(
    call: Call<OptionalViewer>,
    (LenientPaging(page), Query(query)): (LenientPaging, Query<SpacesQuery>),
) -> Result<Json<Paged<Space>>> {
    let viewer = call.caller.user();
    if query.member_of.is_some() && viewer.is_none() {
        return Err(AUTH_REQUIRED.into());
    }
    let view = View::asked(&call, viewer, &query.include);
    let (sort, only_joined) = (query.sort_by, query.member_of.is_some());
    let search = Search::new(call.project.id, viewer, sort, only_joined, query.filters()?);
    let is_quick = !search.is_filtered && page.offset() < SLOW_OFFSET;
    let find = move |c: &Conn<'_>| {
        let total = search.count(c)?;
        let ids = if page.offset() < total { search.page(c, page)? } else { Vec::new() };
        Ok::<_, Error>(page.of(view.page(c, &ids)?, total))
    };
    let db = &call.app.db;
    let found = if is_quick { db.read(find).await } else { db.read_slow(find).await };
    found.map(Json)
}

impl SpacesQuery {
    fn filters(self) -> Result<Filters> {
        let filters = Filters {
            slug: searched(self.search_slug)?,
            name: searched(self.search_name)?,
            description: searched(self.search_description)?,
            any: searched(self.search_any)?,
            reading: self.reading_permission,
            parent: match self.parent_space_id.as_deref() {
                None => None,
                Some("null") => Some(None),
                Some(id) => {
                    let wrong = |_| INVALID_QUERY.because("parentSpaceId: must be a UUID or null");
                    Some(Some(id.parse::<SpaceId>().map_err(wrong)?))
                }
            },
            is_nsfw: match self.nsfw_filter {
                NsfwFilter::IncludeAll => None,
                NsfwFilter::Exclude => Some(false),
                NsfwFilter::Only => Some(true),
            },
        };
        Ok(filters)
    }
}

/// The text to search for, in lower case; an empty one is ignored.
fn searched(part: Option<String>) -> Result<Option<String>> {
    let Some(part) = part.filter(|part| !part.is_empty()) else { return Ok(None) };
    if part.len() > LONGEST_QUERY {
        return Err(INVALID_QUERY.because("a search must have at most 256 bytes"));
    }
    Ok(Some(part.to_lowercase()))
}
