//! Notifications that name the user who caused them, and those that link to a profile.

use serde_json::{Map, Value, json};

use crate::auth::caller::Initiator;
use crate::features::notifications::{About, Notification, Subject};
use crate::features::users::store::UserRow;
use crate::state::App;
use crate::values::ids::{NotificationId, UserId, new_id};
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

const OPEN_PROFILE: &str = "open-profile";

/// Adds the user who caused a notification to its keys.
pub fn initiator(keys: &mut Map<String, Value>, user: impl Into<Initiator>) {
    let user: Initiator = user.into();
    keys.insert("initiatorId".to_owned(), json!(user.id));
    keys.insert("initiatorForeignId".to_owned(), user.foreign_id.into());
    keys.insert("initiatorName".to_owned(), user.name.into());
    keys.insert("initiatorUsername".to_owned(), user.username.into());
    keys.insert("initiatorAvatar".to_owned(), user.avatar.into());
}

/// A notification that links to the profile of the user who caused it.
pub fn about_user(
    app: &App,
    now: Timestamp,
    user: UserId,
    kind: &'static str,
    by: &UserRow,
    mut metadata: Map<String, Value>,
) -> Notification<'static> {
    initiator(&mut metadata, by);
    Notification {
        id: NotificationId(new_id(now, &app.random)),
        user,
        kind,
        action: OPEN_PROFILE,
        metadata: to_json(&metadata).into(),
        about: About { subject: Subject::Recipient, space: None, actor: Some(by.id) },
    }
}
