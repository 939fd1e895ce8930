//! What a user is told that another did to them, and not to something they made.

use serde_json::{Map, Value};

use crate::app::App;
use crate::features::entities::notices::initiator;
use crate::features::entities::rules::to_json;
use crate::features::notifications::{About, Notification, Subject};
use crate::features::users::store::UserRow;
use crate::ids::{NotificationId, UserId, new_id};
use crate::time::Timestamp;

const OPEN_PROFILE: &str = "open-profile";

/// What notifications say of whoever caused them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initiator {
    pub id: UserId,
    pub foreign_id: Option<String>,
    pub name: Option<String>,
    pub username: Option<String>,
    pub avatar: Option<String>,
}

impl From<&UserRow> for Initiator {
    fn from(user: &UserRow) -> Self {
        Initiator {
            id: user.id,
            foreign_id: user.foreign_id.clone(),
            name: user.name.clone(),
            username: user.username.clone(),
            avatar: user.avatar.clone(),
        }
    }
}

/// A notification that leads to the profile of whoever caused it.
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
