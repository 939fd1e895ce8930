//! Events, RSVPs and invites as the API shows them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::features::events::rules::{Kind, Rsvp, RsvpCounts, Status, Visibility};
use crate::features::events::store::EventRow;
use crate::features::events::store::people::{InviteRow, RsvpRow};
use crate::features::files::model::File;
use crate::features::spaces::model::Space;
use crate::features::users::model::{Point, User, raw};
use crate::values::ids::{EventId, FileId, InviteId, ProjectId, RsvpId, SpaceId, UserId, short_id};
use crate::values::time::Timestamp;

/// Fields documented so are present only on request: the outer `Option` is the key, an inner one its null.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub id: EventId,
    pub short_id: String,
    pub project_id: ProjectId,
    pub user_id: Option<UserId>,
    /// With `include=user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Option<User>>,
    pub title: String,
    pub description: Option<String>,
    pub start_time: Timestamp,
    pub end_time: Option<Timestamp>,
    pub timezone: Option<String>,
    pub r#type: Kind,
    pub url: Option<String>,
    pub venue_name: Option<String>,
    pub address: Option<String>,
    pub location: Option<Point>,
    pub space_id: Option<SpaceId>,
    /// With `include=space`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<Option<Box<Space>>>,
    pub visibility: Visibility,
    pub status: Status,
    pub allow_maybe: bool,
    pub guest_list_visible: bool,
    pub capacity: Option<i64>,
    pub host_ids: Vec<UserId>,
    pub cover_image_id: Option<FileId>,
    /// With `include=files`, and in replies to uploads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<File>>,
    pub rsvp_counts: RsvpCounts,
    /// With `include=userRsvp`, and in replies to answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_rsvp: Option<Option<Rsvp>>,
    #[schemars(with = "Map<String, Value>")]
    pub metadata: Box<RawValue>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

impl Event {
    /// Without the parts that need further statements.
    pub fn new(project_id: ProjectId, row: EventRow) -> Result<Self> {
        Ok(Event {
            id: row.id,
            short_id: short_id(row.id.0),
            project_id,
            user_id: row.user_id,
            user: None,
            title: row.title,
            description: row.description,
            start_time: row.start_time,
            end_time: row.end_time,
            timezone: row.timezone,
            r#type: row.kind,
            url: row.url,
            venue_name: row.venue_name,
            address: row.address,
            location: row.longitude.zip(row.latitude).map(|(lon, lat)| Point::new(lon, lat)),
            space_id: row.space_id,
            space: None,
            visibility: row.visibility,
            status: row.status,
            allow_maybe: row.allow_maybe,
            guest_list_visible: row.guest_list_visible,
            capacity: row.capacity,
            host_ids: Vec::new(),
            cover_image_id: row.cover_image_id,
            files: None,
            rsvp_counts: row.counts,
            user_rsvp: None,
            metadata: raw(row.metadata.0)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
            deleted_at: row.deleted_at,
        })
    }
}

/// A user's answer to an event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventRsvp {
    id: RsvpId,
    event_id: EventId,
    user_id: UserId,
    user: Option<User>,
    status: Rsvp,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl EventRsvp {
    pub fn new(event_id: EventId, row: RsvpRow, user: Option<User>) -> Self {
        let RsvpRow { id, user_id, status, created_at, updated_at } = row;
        EventRsvp { id, event_id, user_id, user, status, created_at, updated_at }
    }
}

/// A user's invite to an event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventInvite {
    id: InviteId,
    event_id: EventId,
    user_id: UserId,
    user: Option<User>,
    invited_at: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl EventInvite {
    /// It never changes.
    pub fn new(event_id: EventId, row: InviteRow, user: Option<User>) -> Self {
        let InviteRow { id, user_id, invited_at: at } = row;
        EventInvite { id, event_id, user_id, user, invited_at: at, created_at: at, updated_at: at }
    }
}
