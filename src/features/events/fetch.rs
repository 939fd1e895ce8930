//! Fetch Event.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::events::model::Event;
use crate::features::events::show::View;
use crate::features::events::{EventPath, NOT_FOUND, ReaderQuery, visibility};
use crate::http::include::Include;
use crate::http::input::{Path, Query};
use crate::http::operation::Call;
use crate::http::reply::Json;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FetchQuery {
    /// `user`, `space`, `files`, `userRsvp`.
    #[serde(default)]
    include: Include,
    #[serde(flatten)]
    by: ReaderQuery,
}

pub(super) async fn fetch_event(
    call: Call<OptionalViewer>,
    (Path(path), Query(query)): (Path<EventPath>, Query<FetchQuery>),
) -> Result<Json<Event>> {
    let (project, caller) = (call.project.clone(), call.caller);
    let view = View::asked(&call, None, query.include);
    let found = call.app.db.read(move |c| {
        let reader = query.by.reader(c, &project, caller)?;
        let row = visibility::find(c, &project, path.event_id, caller.into())?.ok_or(NOT_FOUND)?;
        view.clone().of(reader).event(c, row)
    });
    found.await.map(Json)
}
