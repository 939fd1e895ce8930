//! What notifications say about an entity and about the user who caused them: a snapshot that later edits do
//! not change.

use db::{Conn, JsonText, Tx};
use serde_json::{Map, Value, json};

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::entities::store::EntityRow;
use crate::features::entities::write::mentions;
use crate::features::notifications::initiator;
use crate::features::notifications::{self, About, Notification, Subject};
use crate::features::spaces::store::access;
use crate::features::spaces::store::{self as spaces, SpaceRow};
use crate::features::users::store as users;
use crate::features::visibility::store::blocks;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{NotificationId, ProjectId, UserId, new_id, short_id};
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

pub const OPEN_ENTITY: &str = "open-entity";
/// Characters of a quoted text.
const QUOTED: usize = 200;
/// Larger metadata is not copied into notifications.
const MAX_METADATA: usize = 16 * 1024;

/// The entity a notification is about, and its space.
pub fn subject(c: &Conn<'_>, project: ProjectId, entity: &EntityRow) -> Result<Map<String, Value>> {
    let space = entity.space_id.map(|space| spaces::find(c, project, space)).transpose()?;
    Ok(subject_in(entity, space.flatten().as_ref()))
}

/// The same with its space, if that exists.
pub fn subject_in(entity: &EntityRow, space: Option<&SpaceRow>) -> Map<String, Value> {
    let mut keys = Map::new();
    if let Some(id) = entity.space_id {
        let slug = space.and_then(|space| space.slug.clone());
        keys.insert("spaceId".to_owned(), json!(id));
        keys.insert("spaceShortId".to_owned(), short_id(id.0).into());
        keys.insert("spaceSlug".to_owned(), slug.into());
    }
    keys.insert("entityId".to_owned(), json!(entity.id));
    keys.insert("entityShortId".to_owned(), short_id(entity.id.0).into());
    keys.insert("entityForeignId".to_owned(), entity.foreign_id.clone().into());
    keys.insert("entityTitle".to_owned(), entity.title.clone().into());
    keys.insert("entityContent".to_owned(), quoted(entity.content.as_deref()));
    keys.insert("entityMetadata".to_owned(), small_metadata(&entity.metadata));
    keys
}

/// The beginning of a text; empty if there is none.
pub fn quoted(text: Option<&str>) -> Value {
    text.unwrap_or_default().chars().take(QUOTED).collect::<String>().into()
}

/// Null if it is too large to copy.
pub fn small_metadata(metadata: &JsonText) -> Value {
    let small = Some(&metadata.0).filter(|text| text.len() <= MAX_METADATA);
    small.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
}

/// A notification that links to the entity.
pub fn about_entity(
    app: &App,
    now: Timestamp,
    user: UserId,
    kind: &'static str,
    metadata: &Map<String, Value>,
    about: About,
) -> Notification<'static> {
    Notification {
        id: NotificationId(new_id(now, &app.random)),
        user,
        kind,
        action: OPEN_ENTITY,
        metadata: to_json(metadata).into(),
        about,
    }
}

/// Notifies each user mentioned in a published entity once, but not its author.
pub fn mentioned(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    entity: &EntityRow,
    now: Timestamp,
) -> Result<()> {
    let Some(author) = entity.user_id.filter(|_| project.has(Bundle::Notifications)) else {
        return Ok(());
    };
    let mut recipients = mentions::users(entity)?;
    let hidden = blocks::blocked_among(tx, project, Some(author), &recipients)?;
    let shut_out = access::shut_out(tx, project.id, entity.space_id, &recipients)?;
    recipients.retain(|user| *user != author && !hidden.contains(user) && !shut_out.contains(user));
    if recipients.is_empty() {
        return Ok(());
    }
    let Some(author) = users::find(tx, project.id, author)? else { return Ok(()) };
    let mut metadata = subject(tx, project.id, entity)?;
    initiator(&mut metadata, &author);
    let about = About {
        subject: Subject::Entity(entity.id),
        space: entity.space_id,
        actor: Some(author.id),
    };
    let notices = recipients
        .into_iter()
        .map(|user| about_entity(app, now, user, "entity-mention", &metadata, about));
    notifications::add(tx, Context { app, project, now }, &notices.collect::<Vec<_>>())
}
