//! Fetch Drafts: a user's own, most recently changed first.

use schemars::{SchemaGenerator, json_schema};

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::entities::list::filters::Filters;
use crate::features::entities::list::request::{Filed, Nsfw, Sort, Texts, source, space};
use crate::features::entities::list::search::{Search, Shows};
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::spaces::store::access::Reader;
use crate::features::visibility::store::blocks::Hidden;
use crate::http::include::Include;
use crate::http::input::{Input, InputDoc, Paging};
use crate::http::operation::{Call, CheckedRequest};
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::http::version::Version;
use crate::values::ids::SpaceId;

#[derive(Debug)]
pub(super) struct DraftsRequest {
    source: Filed<String>,
    /// None if the query names an invalid space: the list is empty.
    space: Option<Filed<SpaceId>>,
    include: Include,
}

impl Input for DraftsRequest {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let query = Texts { query: &request.query };
        Ok(DraftsRequest {
            // Without a source, drafts of all sources are listed, in every version.
            source: source(&query, Version::V8),
            space: space(&query),
            include: query.include(),
        })
    }

    fn describe(doc: &mut InputDoc, _: &mut SchemaGenerator) {
        let text = json_schema!({ "type": "string" });
        doc.query.push(json_schema!({
            "type": "object",
            "properties": { "sourceId": text, "spaceId": text, "include": text },
        }));
    }
}

pub(super) async fn fetch_drafts(
    call: Call<Actor>,
    (Paging(page), request): (Paging<10, 100>, DraftsRequest),
) -> Result<Json<Paged<Entity>>> {
    let user = call.caller.user;
    let view = View::asked(&call, Some(user), &request.include).without_saved();
    let Some(space) = request.space else {
        return Ok(Json(page.of(Vec::new(), 0)));
    };
    let search = Search {
        project: call.project.id,
        shows: Shows::Drafts,
        sort: Sort::LastChanged,
        since: None,
        source: request.source,
        space,
        author: Some(user),
        followed_by: None,
        hidden: Hidden::default(),
        reader: Reader::AUTHOR,
        nsfw: Nsfw::All,
        filters: Filters::default(),
        guesses: call.app.features.get(),
    };
    call.app.db.read_slow(move |c| search.show(c, page, &view)).await.map(Json)
}
