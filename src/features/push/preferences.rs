//! Get and Update Notification Preferences: the types that a user does not want to get as push messages and
//! mails. In the app they are shown all the same.

use db::Conn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::push::{EventType, store};
use crate::features::users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{ProjectId, UserId};
use crate::values::metadata::to_json;

/// Each type once, in the order it was named first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NotificationPreferences {
    disabled_types: Vec<EventType>,
}

pub(super) async fn get_preferences(
    call: Call<Actor>,
    (): (),
) -> Result<Json<NotificationPreferences>> {
    let (project, user) = (call.project.id, call.caller.user);
    let found = call.app.db.read(move |c| disabled(c, project, &[user]));
    let disabled_types = found.await?.pop().map(|(_, types)| types).unwrap_or_default();
    Ok(Json(NotificationPreferences { disabled_types }))
}

pub(super) async fn update_preferences(
    call: Call<Actor>,
    Body(mut new): Body<NotificationPreferences>,
) -> Result<Json<NotificationPreferences>> {
    let (project, user, now) = (call.project.id, call.caller.user, call.now);
    let mut named = Vec::new();
    new.disabled_types.retain(|kind| {
        let is_new = !named.contains(kind);
        named.push(*kind);
        is_new
    });
    let text = to_json(&new.disabled_types);
    let written =
        call.app.db.write(move |tx| store::set_preferences(tx, project, user, &text, now));
    // A user may be deleted meanwhile.
    written.await.map_err(|error: Error| error.on_foreign_key(users::NOT_FOUND))?;
    Ok(Json(new))
}

/// The disabled types of those users who have set preferences.
pub fn disabled(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
) -> Result<Vec<(UserId, Vec<EventType>)>> {
    let rows = store::preferences(c, project, users)?.into_iter();
    let read = rows.map(|(user, types)| {
        let types = serde_json::from_str(&types.0).map_err(Error::internal)?;
        Ok((user, types))
    });
    read.collect()
}
