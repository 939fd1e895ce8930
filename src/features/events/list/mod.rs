//! Fetch Many Events: those that the caller may see, by time or by how many go.

pub mod search;
pub mod sql;

use db::Conn;
use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::error::{Error, Result};
use crate::features::entities::list::filters;
use crate::features::events::list::search::{Search, Sort, Window};
use crate::features::events::model::Event;
use crate::features::events::rsvp::Rsvps;
use crate::features::events::rules::{Kind, Status};
use crate::features::events::show::View;
use crate::features::events::{INVALID_QUERY, MY_RSVP_REQUIRES_AUTH, ReaderQuery};
use crate::http::include::Include;
use crate::http::input::{Direction, Input, InputDoc, Paging, Query};
use crate::http::operation::{Call, CheckedRequest};
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::{SpaceId, UserId};
use crate::values::time::Timestamp;

/// Pages beyond this offset run off the async workers.
const SLOW_OFFSET: i64 = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventsQuery {
    sort_by: Option<Sort>,
    sort_dir: Option<Direction>,
    time_window: Option<Window>,
    starts_after: Option<Timestamp>,
    starts_before: Option<Timestamp>,
    space_id: Option<SpaceId>,
    host_id: Option<UserId>,
    r#type: Option<Kind>,
    status: Option<Status>,
    my_rsvp: Option<Rsvps>,
    #[serde(default)]
    include: Include,
    #[serde(flatten)]
    by: ReaderQuery,
}

/// The filters by text and place.
#[derive(Debug, Clone, Default)]
pub(super) struct EventFilters(search::Filters);

impl Input for EventFilters {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let query = &request.query_text;
        let read = || {
            Ok::<_, String>(search::Filters {
                title: filters::texts(query, "titleFilters", "hasTitle")?,
                description: filters::texts(query, "descriptionFilters", "hasDescription")?,
                near: filters::near_place(query)?,
            })
        };
        read().map(EventFilters).map_err(|why| INVALID_QUERY.because(why))
    }

    fn describe(doc: &mut InputDoc, _: &mut SchemaGenerator) {
        let object = json_schema!({
            "type": "object",
            "description": "In brackets (`name[key]=value`) or as JSON text.",
        });
        doc.query.push(json_schema!({
            "type": "object",
            "properties": {
                "titleFilters": object,
                "descriptionFilters": object,
                "locationFilters": object,
            },
        }));
    }
}

pub(super) async fn fetch_many(
    call: Call<OptionalViewer>,
    (Paging(page), Query(query), EventFilters(filters)): (
        Paging<10, 100>,
        Query<EventsQuery>,
        EventFilters,
    ),
) -> Result<Json<Paged<Event>>> {
    let (project, caller, now) = (call.project.clone(), call.caller, call.now);
    let is_slow = page.offset() >= SLOW_OFFSET || !filters.is_empty();
    let view = View::asked(&call, None, query.include);
    let work = move |c: &Conn<'_>| {
        let reader = query.by.reader(c, &project, caller)?;
        let my_rsvp = match &query.my_rsvp {
            Some(Rsvps(statuses)) => Some((reader.ok_or(MY_RSVP_REQUIRES_AUTH)?, statuses.clone())),
            None => None,
        };
        let search = Search {
            project: project.clone(),
            perspective: caller.into(),
            sort: query.sort_by.unwrap_or(Sort::StartTime),
            direction: query.sort_dir.unwrap_or(Direction::Asc),
            window: query.time_window,
            after: query.starts_after,
            before: query.starts_before,
            space: query.space_id,
            host: query.host_id,
            kind: query.r#type,
            status: query.status.unwrap_or(Status::Active),
            my_rsvp,
            filters: filters.clone(),
            now,
        };
        let (ids, total) = search.run(c, page)?;
        Ok::<_, Error>(page.of(view.clone().of(reader).page(c, &ids)?, total))
    };
    let db = &call.app.db;
    if is_slow { db.read_slow(work).await } else { db.read(work).await }.map(Json)
}
