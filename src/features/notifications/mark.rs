//! Mark Notification as Read, Mark All Notifications as Read. Neither can be undone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::notifications::{NOT_FOUND, store};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::{Empty, Json};
use crate::values::ids::NotificationId;

/// Notifications marked in one transaction; other writers run in between.
const BATCH_SIZE: i64 = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NotificationPath {
    notification_id: NotificationId,
}

pub(super) async fn mark_as_read(
    call: Call<Actor>,
    Path(path): Path<NotificationPath>,
) -> Result<Empty> {
    let (project, user, now) = (call.project.id, call.caller.user, call.now);
    let marked = call
        .app
        .db
        .write(move |tx| store::mark(tx, project, user, path.notification_id, now))
        .await?;
    if marked { Ok(Empty) } else { Err(NOT_FOUND.into()) }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MarkedNotifications")]
pub(super) struct Marked {
    marked_as_read: i64,
}

/// At most as many as were unread at the start: new ones do not keep this going.
pub(super) async fn mark_all_as_read(call: Call<Actor>, (): ()) -> Result<Json<Marked>> {
    let (project, user, now) = (call.project.id, call.caller.user, call.now);
    let unread = call.app.db.read(move |c| store::counts(c, project, user)).await?.unread;
    let mut marked_as_read = 0;
    while marked_as_read < unread {
        let limit = BATCH_SIZE.min(unread - marked_as_read);
        let some = move |tx: &db::Tx<'_>| store::mark_some(tx, project, user, now, limit);
        match call.app.db.write(some).await? {
            0 => break,
            marked => marked_as_read += marked,
        }
    }
    Ok(Json(Marked { marked_as_read }))
}
