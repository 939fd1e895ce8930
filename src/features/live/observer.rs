//! From domain events to events of rooms.

use db::Tx;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain_events::{Context, Event, EventObserver};
use crate::error::{Error, Result};
use crate::realtime::{self, Room};
use crate::tenancy::Project;
use crate::values::ids::{CommentId, EntityId, ProjectId, SpaceId, UserId};

#[derive(Debug)]
pub struct LiveFeeds;

/// The ids in what an event is about; those of a comment and of an entity have different names for the entity.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subject {
    id: uuid::Uuid,
    entity_id: Option<EntityId>,
    space_id: Option<SpaceId>,
    parent_id: Option<CommentId>,
    user_id: Option<UserId>,
    #[serde(default)]
    is_draft: bool,
    reaction_counts: Option<Value>,
}

impl EventObserver for LiveFeeds {
    fn observes(&self, project: &Project, name: &str) -> bool {
        project.live_feeds
            && ["entity.", "comment.", "notification."].iter().any(|of| name.starts_with(of))
    }

    fn happened(&self, tx: &Tx<'_>, context: Context<'_>, event: &Event) -> Result<()> {
        let project = context.project.id;
        let subject: Subject = serde_json::from_str(event.data.get()).map_err(Error::internal)?;
        match event.name.split_once('.') {
            Some(("notification", _)) => {
                let Some(user) = subject.user_id else { return Ok(()) };
                let event = ("notification:created", &event.data);
                realtime::in_room(tx, project, Room::User(user), None, event)
            }
            Some(("comment", what)) => {
                let by = event.initiator.flatten().or(subject.user_id);
                comment(tx, project, what, &subject, by)
            }
            Some(("entity", what)) => {
                let by = event.initiator.flatten().or(subject.user_id);
                entity(tx, project, what, &subject, by)
            }
            _ => Ok(()),
        }
    }
}

fn comment(
    tx: &Tx<'_>,
    project: ProjectId,
    what: &str,
    subject: &Subject,
    by: Option<UserId>,
) -> Result<()> {
    let Some(entity) = subject.entity_id else { return Ok(()) };
    let mut payload = json!({
        "entityId": entity,
        "commentId": subject.id,
        "parentId": subject.parent_id,
    });
    if what == "reacted" {
        payload["reactionCounts"] = subject.reaction_counts.clone().unwrap_or_default();
    }
    let name = format!("comment:{what}");
    realtime::in_room(tx, project, Room::Entity(entity), by, (&name, &payload))
}

/// In the rooms of the entity and of its space. Nobody but the author can see a draft.
fn entity(
    tx: &Tx<'_>,
    project: ProjectId,
    what: &str,
    subject: &Subject,
    by: Option<UserId>,
) -> Result<()> {
    if subject.is_draft {
        return Ok(());
    }
    let id = EntityId(subject.id);
    let mut payload = json!({ "entityId": id, "spaceId": subject.space_id });
    if what == "reacted" {
        payload["reactionCounts"] = subject.reaction_counts.clone().unwrap_or_default();
    }
    let name = format!("entity:{what}");
    if what == "deleted" {
        realtime::close_room_of(tx, project, Room::Entity(id), (&name, &payload))?;
    } else if what != "created" {
        realtime::in_room(tx, project, Room::Entity(id), by, (&name, &payload))?;
    }
    match subject.space_id {
        // A feed is not drawn anew for each reaction.
        Some(space) if what != "reacted" => {
            realtime::in_room(tx, project, Room::Space(space), by, (&name, &payload))
        }
        _ => Ok(()),
    }
}
