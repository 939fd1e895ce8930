//! Notifications about a user's own membership.

use db::Tx;
use serde_json::{Map, Value, json};

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::notifications::{self, About, Notification, Subject};
use crate::features::spaces::store::SpaceRow;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{NotificationId, UserId, new_id, short_id};
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

pub(super) fn approved(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    space: &SpaceRow,
    user: UserId,
    actor: Option<UserId>,
    now: Timestamp,
) -> Result<()> {
    if !project.has(Bundle::Notifications) {
        return Ok(());
    }
    let keys = Map::from_iter([
        ("spaceId".to_owned(), json!(space.id)),
        ("spaceName".to_owned(), Value::from(space.name.clone())),
        ("spaceShortId".to_owned(), short_id(space.id.0).into()),
        ("spaceSlug".to_owned(), space.slug.clone().into()),
        ("spaceAvatar".to_owned(), json!(space.avatar_file_id)),
    ]);
    let told = Notification {
        id: NotificationId(new_id(now, &app.random)),
        user,
        kind: "space-membership-approved",
        action: "open-space",
        metadata: to_json(&keys).into(),
        about: About { subject: Subject::Space(space.id), space: Some(space.id), actor },
    };
    notifications::add(tx, Context { app, project, now }, &[told])
}
