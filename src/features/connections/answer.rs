//! Accept Connection, Decline Connection: only for the receiver of a pending request.

use db::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::connections::rules::Status;
use crate::features::connections::store::{self, ConnectionRow};
use crate::features::connections::{NOT_FOUND, UNAUTHORIZED, notify};
use crate::features::users::store::lock_pair;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{ConnectionId, ProjectId};
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConnectionPath {
    pub(super) connection_id: ConnectionId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AnsweredConnection")]
pub(super) struct Answered {
    pub(super) id: ConnectionId,
    pub(super) status: Status,
    pub(super) responded_at: Timestamp,
}

pub(super) async fn accept(
    call: Call<Actor>,
    Path(path): Path<ConnectionPath>,
) -> Result<Json<Answered>> {
    answer(call, path.connection_id, Status::Accepted).await
}

pub(super) async fn decline(
    call: Call<Actor>,
    Path(path): Path<ConnectionPath>,
) -> Result<Json<Answered>> {
    answer(call, path.connection_id, Status::Declined).await
}

async fn answer(call: Call<Actor>, id: ConnectionId, status: Status) -> Result<Json<Answered>> {
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let actor = call.caller.user;
    let written = call.app.db.write(move |tx| {
        let pending =
            lock_connection(tx, project.id, id)?.filter(|row| row.status == Status::Pending);
        let row =
            pending.ok_or_else(|| NOT_FOUND.because("Pending connection request not found."))?;
        if row.receiver_id() != actor {
            let verb = if status == Status::Accepted { "accept" } else { "decline" };
            let why = format!("Only the receiver can {verb} a connection request.");
            return Err(UNAUTHORIZED.because(why));
        }
        store::answer(tx, project.id, &row, status, now)?;
        if status == Status::Accepted {
            let to = row.requester_id;
            notify(tx, &app, &project, to, "connection-accepted", actor, id, now)?;
        }
        Ok::<_, Error>(())
    });
    written.await?;
    Ok(Json(Answered { id, status, responded_at: now }))
}

/// Reloads the connection after both users are locked.
pub(super) fn lock_connection(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ConnectionId,
) -> Result<Option<ConnectionRow>> {
    let Some(found) = store::find(tx, project, id)? else { return Ok(None) };
    lock_pair::lock(tx, project, found.low_id, found.high_id)?;
    store::find(tx, project, id)
}
