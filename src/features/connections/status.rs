//! Get Connection Status: the connection between two users, from the caller's side.

use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::connections::rules::Status;
use crate::features::connections::store::ConnectionRow;
use crate::features::connections::{SELF_CHECK, store};
use crate::features::users::UserPath;
use crate::features::visibility::store::blocks;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{ConnectionId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ConnectionState")]
pub(super) enum ConnectionStatus {
    None,
    Pending,
    Connected,
    Declined,
}

/// Which of the two sent the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ConnectionDirection")]
pub(super) enum Way {
    Sent,
    Received,
}

/// Which fields are present depends on the status.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConnectionStatus")]
pub(super) struct ConnectionStatusReply {
    status: ConnectionStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<Way>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_id: Option<ConnectionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connected_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    responded_at: Option<Timestamp>,
}

impl ConnectionStatusReply {
    fn new(found: Option<ConnectionRow>, actor: UserId) -> Self {
        let mut shown = ConnectionStatusReply {
            status: ConnectionStatus::None,
            r#type: None,
            connection_id: None,
            created_at: None,
            connected_at: None,
            requested_at: None,
            responded_at: None,
        };
        let Some(row) = found else { return shown };
        shown.connection_id = Some(row.id);
        let way = if row.requester_id == actor { Way::Sent } else { Way::Received };
        match row.status {
            Status::Pending => {
                shown.status = ConnectionStatus::Pending;
                shown.r#type = Some(way);
                shown.created_at = Some(row.created_at);
            }
            Status::Accepted => {
                shown.status = ConnectionStatus::Connected;
                shown.connected_at = row.responded_at;
                shown.requested_at = Some(row.created_at);
            }
            Status::Declined => {
                shown.status = ConnectionStatus::Declined;
                shown.r#type = Some(way);
                shown.responded_at = row.responded_at;
            }
        }
        shown
    }
}

pub(super) async fn connection_status(
    call: Call<Actor>,
    Path(path): Path<UserPath>,
) -> Result<Json<ConnectionStatusReply>> {
    let (project, actor, other) = (call.project.clone(), call.caller.user, path.user_id);
    if actor == other {
        return Err(SELF_CHECK.into());
    }
    let found = call.app.db.read(move |c| {
        let found = store::find_pair(c, project.id, actor, other)?;
        // Created while the project had no blocks.
        let is_hidden =
            found.is_some() && blocks::is_blocked_between(c, &project, Some(actor), other)?;
        Ok::<_, Error>(found.filter(|_| !is_hidden))
    });
    Ok(Json(ConnectionStatusReply::new(found.await?, actor)))
}
