//! Remove Connection, by its id or by the other user: withdraws or declines a pending request, ends an
//! accepted connection. Nobody is notified.

use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::connections::answer::{Answered, ConnectionPath, lock_connection};
use crate::features::connections::rules::Status;
use crate::features::connections::{NOT_FOUND, SELF_DISCONNECT, UNAUTHORIZED, store};
use crate::features::users::UserPath;
use crate::features::users::store::lock_pair;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;

const WITHDRAWN: &str = "Connection request withdrawn successfully.";
const REMOVED: &str = "Connection removed successfully.";

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RemovedConnection")]
pub(super) struct Removed {
    message: &'static str,
}

/// The receiver of a pending request declines it; only its requester withdraws it.
pub(super) async fn remove(
    call: Call<Actor>,
    Path(path): Path<ConnectionPath>,
) -> Result<Json<Removed>> {
    let (project, actor) = (call.project.id, call.caller.user);
    let removed = call.app.db.write(move |tx| {
        let row = lock_connection(tx, project, path.connection_id)?;
        let row = row.filter(|row| row.status != Status::Declined);
        let row =
            row.ok_or_else(|| NOT_FOUND.because("Connection not found or cannot be withdrawn."))?;
        let message = match row.status {
            Status::Pending if row.requester_id != actor => {
                return Err(UNAUTHORIZED
                    .because("Only the requester can withdraw a pending connection request."));
            }
            Status::Pending => WITHDRAWN,
            _ if !row.has(actor) => {
                return Err(UNAUTHORIZED.because("Only connected users can disconnect."));
            }
            _ => REMOVED,
        };
        store::delete(tx, project, &row)?;
        Ok(Removed { message })
    });
    removed.await.map(Json)
}

/// The result for the connection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "EndedConnection")]
pub(super) enum Ended {
    Removed { message: &'static str, action: Action },
    Declined(Answered),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ConnectionRemoval")]
pub(super) enum Action {
    Withdraw,
    Disconnect,
}

pub(super) async fn remove_by_user(
    call: Call<Actor>,
    Path(path): Path<UserPath>,
) -> Result<Json<Ended>> {
    let (project, now) = (call.project.id, call.now);
    let (actor, other) = (call.caller.user, path.user_id);
    if actor == other {
        return Err(SELF_DISCONNECT.into());
    }
    let ended = call.app.db.write(move |tx| {
        let found = match lock_pair::lock(tx, project, actor, other)? {
            true => store::find_pair(tx, project, actor, other)?,
            false => None,
        };
        let found = found.filter(|row| row.status != Status::Declined);
        let row = found.ok_or_else(|| {
            NOT_FOUND.because("No connection found between these users that can be removed.")
        })?;
        if row.status == Status::Pending && row.requester_id != actor {
            let status = Status::Declined;
            store::answer(tx, project, &row, status, now)?;
            return Ok(Ended::Declined(Answered { id: row.id, status, responded_at: now }));
        }
        store::delete(tx, project, &row)?;
        Ok(match row.status {
            Status::Pending => Ended::Removed { message: WITHDRAWN, action: Action::Withdraw },
            _ => Ended::Removed { message: REMOVED, action: Action::Disconnect },
        })
    });
    ended.await.map(Json)
}
