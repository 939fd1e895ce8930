//! Request Connection: one user asks another. Each pair has one connection, no matter who asked: of two
//! requests that cross, the second waits for the lock on the pair and finds the first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::connections::rules::{Message, Status};
use crate::features::connections::store::{self, ConnectionRow};
use crate::features::connections::{
    ALREADY_CONNECTED, REQUEST_DECLINED, REQUEST_PENDING, SELF_REQUEST, USER_NOT_FOUND, notify,
};
use crate::features::users::UserPath;
use crate::features::users::store::lock_pair;
use crate::features::visibility::store::blocks;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::values::ids::{ConnectionId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "ConnectionRequest")]
pub(super) struct RequestBody {
    message: Option<Message>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RequestedConnection")]
pub(super) struct Requested {
    id: ConnectionId,
    status: Status,
    created_at: Timestamp,
}

pub(super) async fn request_connection(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<UserPath>, Body<RequestBody>),
) -> Result<Created<Requested>> {
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let (actor, receiver) = (call.caller.user, path.user_id);
    if actor == receiver {
        return Err(SELF_REQUEST.into());
    }
    let row = ConnectionRow {
        id: ConnectionId(new_id(now, &app.random)),
        low_id: actor.min(receiver),
        high_id: actor.max(receiver),
        requester_id: actor,
        status: Status::Pending,
        message: body.message.and_then(Message::into_option),
        responded_at: None,
        created_at: now,
    };
    let requested = Requested { id: row.id, status: row.status, created_at: now };
    let written = call.app.db.write(move |tx| {
        // The same error for a block and an unknown user.
        if !lock_pair::lock(tx, project.id, actor, receiver)?
            || blocks::is_blocked_between(tx, &project, Some(actor), receiver)?
        {
            return Err(USER_NOT_FOUND.into());
        }
        if let Some(old) = store::find_pair(tx, project.id, actor, receiver)? {
            match old.status {
                Status::Pending => return Err(REQUEST_PENDING.into()),
                Status::Accepted => return Err(ALREADY_CONNECTED.into()),
                Status::Declined if old.requester_id == actor => {
                    return Err(REQUEST_DECLINED.into());
                }
                // The user who declined may send a request of their own.
                Status::Declined => store::delete(tx, project.id, &old)?,
            }
        }
        store::insert(tx, project.id, &row)?;
        notify(tx, &app, &project, receiver, "connection-request", actor, row.id, now)
    });
    written.await?;
    Ok(Created(requested))
}
