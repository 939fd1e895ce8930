//! Add and Remove Host. An event always has one.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::ActorOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::events::model::Event;
use crate::features::events::show::View;
use crate::features::events::store::people;
use crate::features::events::{EventPath, LAST_HOST, USER_NOT_FOUND, visibility};
use crate::features::users;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::UserId;

/// The user that a host or a key names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EventUser")]
pub(super) struct Named {
    pub(super) user_id: UserId,
}

pub(super) async fn add_host(
    call: Call<ActorOrKey>,
    (Path(path), Body(Named { user_id })): (Path<EventPath>, Body<Named>),
) -> Result<Json<Event>> {
    let (project, id, view) =
        (call.project.clone(), path.event_id, View::new(&call, call.caller.user()));
    let perspective = Perspective::from(call.caller);
    let added = call.app.db.write(move |tx| {
        let row = visibility::lock_hosted(tx, &project, id, perspective)?;
        users::store::lock_shared(tx, project.id, user_id)?.ok_or(USER_NOT_FOUND)?;
        people::add_host(tx, project.id, id, user_id)?;
        view.event(tx, row)
    });
    added.await.map(Json)
}

pub(super) async fn remove_host(
    call: Call<ActorOrKey>,
    (Path(path), Body(Named { user_id })): (Path<EventPath>, Body<Named>),
) -> Result<Json<Event>> {
    let (project, id, view) =
        (call.project.clone(), path.event_id, View::new(&call, call.caller.user()));
    let perspective = Perspective::from(call.caller);
    let removed = call.app.db.write(move |tx| {
        let row = visibility::lock_hosted(tx, &project, id, perspective)?;
        let hosts = people::hosts(tx, project.id, &[id])?;
        if hosts.iter().any(|(_, host)| *host == user_id) {
            if hosts.len() == 1 {
                return Err(LAST_HOST.into());
            }
            people::remove_host(tx, project.id, id, user_id)?;
        }
        view.event(tx, row)
    });
    removed.await.map(Json)
}
