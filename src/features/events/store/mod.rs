//! The SQL about events themselves. Deleted events are invisible to all statements but those that say so. Every write
//! locks the event first, and counts the totals of time spans last.

pub mod anonymize;

pub mod people;
pub mod recount;
pub mod totals;

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::events::rules::{Kind, RsvpCounts, Status, Visibility, length_class};
use crate::values::ids::{EventId, FileId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    /// The columns of a whole event.
    #[derive(Debug)]
    pub struct StoredEvent {
        id: EventId,
        user_id: Option<UserId>,
        title: String,
        description: Option<String>,
        start_time: Timestamp,
        end_time: Option<Timestamp>,
        timezone: Option<String>,
        r#type: Kind,
        url: Option<String>,
        venue_name: Option<String>,
        address: Option<String>,
        latitude: Option<f64>,
        longitude: Option<f64>,
        space_id: Option<SpaceId>,
        visibility: Visibility,
        status: Status,
        allow_maybe: bool,
        guest_list_visible: bool,
        capacity: Option<i64>,
        cover_image_id: Option<FileId>,
        going_count: i64,
        maybe_count: i64,
        not_going_count: i64,
        invite_count: i64,
        revision: i64,
        metadata: JsonText,
        created_at: Timestamp,
        updated_at: Timestamp,
        deleted_at: Option<Timestamp>,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    pub id: EventId,
    pub user_id: Option<UserId>,
    pub title: String,
    pub description: Option<String>,
    pub start_time: Timestamp,
    pub end_time: Option<Timestamp>,
    pub timezone: Option<String>,
    pub kind: Kind,
    pub url: Option<String>,
    pub venue_name: Option<String>,
    pub address: Option<String>,
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
    pub space_id: Option<SpaceId>,
    pub visibility: Visibility,
    pub status: Status,
    pub allow_maybe: bool,
    pub guest_list_visible: bool,
    pub capacity: Option<i64>,
    pub cover_image_id: Option<FileId>,
    pub counts: RsvpCounts,
    pub invite_count: i64,
    /// How often its time or place has changed.
    pub revision: i64,
    pub metadata: JsonText,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

impl From<StoredEvent> for EventRow {
    fn from(row: StoredEvent) -> Self {
        EventRow {
            id: row.id,
            user_id: row.user_id,
            title: row.title,
            description: row.description,
            start_time: row.start_time,
            end_time: row.end_time,
            timezone: row.timezone,
            kind: row.r#type,
            url: row.url,
            venue_name: row.venue_name,
            address: row.address,
            latitude: row.latitude,
            longitude: row.longitude,
            space_id: row.space_id,
            visibility: row.visibility,
            status: row.status,
            allow_maybe: row.allow_maybe,
            guest_list_visible: row.guest_list_visible,
            capacity: row.capacity,
            cover_image_id: row.cover_image_id,
            counts: RsvpCounts {
                going: row.going_count,
                maybe: row.maybe_count,
                not_going: row.not_going_count,
            },
            invite_count: row.invite_count,
            revision: row.revision,
            metadata: row.metadata,
            created_at: row.created_at,
            updated_at: row.updated_at,
            deleted_at: row.deleted_at,
        }
    }
}

macro_rules! select_event {
    ($rest:literal) => {
        concat!(
            "SELECT e.id, e.user_id, e.title, b.description, e.start_time, e.end_time, e.timezone, e.type,
                e.url, e.venue_name, e.address, e.latitude, e.longitude, e.space_id, e.visibility,
                e.status, e.allow_maybe, e.guest_list_visible, e.capacity, e.cover_image_id,
                e.going_count, e.maybe_count, e.not_going_count, e.invite_count, e.revision, b.metadata,
                e.created_at, e.updated_at, e.deleted_at
             FROM events e JOIN event_bodies b ON b.project_id = e.project_id AND b.id = e.id
             WHERE e.project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> StoredEvent = select_event!("AND e.id = $2 AND e.deleted_at IS NULL");
    query FIND_ALL -> StoredEvent = select_event!("AND e.id {any}($2) AND e.deleted_at IS NULL");
    /// Includes deleted ones.
    query LOCK -> StoredEvent = select_event!("AND e.id = $2 {for_no_key_update_of_e}");
    command INSERT =
        "INSERT INTO events (project_id, id, user_id, title, start_time, end_time, length_class, timezone,
            type, url, venue_name, address, latitude, longitude, space_id, visibility, status,
            allow_maybe, guest_list_visible, capacity, cover_image_id, going_count, maybe_count,
            not_going_count, invite_count, revision, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
            $20, $21, 0, 0, 0, 0, 0, $22, $22)";
    command INSERT_BODY =
        "INSERT INTO event_bodies (project_id, id, description, metadata) VALUES ($1, $2, $3, $4)";
    command UPDATE =
        "UPDATE events SET title = $3, start_time = $4, end_time = $5, length_class = $6, timezone = $7,
            type = $8, url = $9, venue_name = $10, address = $11, latitude = $12, longitude = $13,
            visibility = $14, status = $15, allow_maybe = $16, guest_list_visible = $17,
            capacity = $18, cover_image_id = $19, revision = $20, updated_at = $21
         WHERE project_id = $1 AND id = $2";
    command UPDATE_BODY =
        "UPDATE event_bodies SET description = $3, metadata = $4 WHERE project_id = $1 AND id = $2";
    command HIDE =
        "UPDATE events SET deleted_at = $3, going_count = 0, maybe_count = 0, not_going_count = 0,
            invite_count = 0
         WHERE project_id = $1 AND id = $2";
    command DELETE = "DELETE FROM events WHERE project_id = $1 AND id = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: EventId) -> Result<Option<EventRow>> {
    Ok(c.opt(&FIND, args![project, id])?.map(EventRow::from))
}

/// Those of the ids that exist, in no particular order.
pub fn find_all(c: &Conn<'_>, project: ProjectId, ids: &[EventId]) -> Result<Vec<EventRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = c.all(&FIND_ALL, args![project, EventId::list(ids)])?;
    Ok(rows.into_iter().map(EventRow::from).collect())
}

/// Locked until the transaction ends; a deleted event, too.
pub fn lock(tx: &Tx<'_>, project: ProjectId, id: EventId) -> Result<Option<EventRow>> {
    Ok(tx.opt(&LOCK, args![project, id])?.map(EventRow::from))
}

/// A new event without guests.
pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &EventRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        row.user_id,
        &row.title,
        row.start_time,
        row.end_time,
        length_class(row.start_time, row.end_time),
        &row.timezone,
        row.kind,
        &row.url,
        &row.venue_name,
        &row.address,
        row.latitude,
        row.longitude,
        row.space_id,
        row.visibility,
        row.status,
        row.allow_maybe,
        row.guest_list_visible,
        row.capacity,
        row.cover_image_id,
        row.created_at,
    ];
    tx.execute(&INSERT, args)?;
    Ok(tx.pipeline(&INSERT_BODY, args![project, row.id, &row.description, &row.metadata])?)
}

/// All that a host may change. The caller has locked the event.
pub fn update(tx: &Tx<'_>, project: ProjectId, row: &EventRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        &row.title,
        row.start_time,
        row.end_time,
        length_class(row.start_time, row.end_time),
        &row.timezone,
        row.kind,
        &row.url,
        &row.venue_name,
        &row.address,
        row.latitude,
        row.longitude,
        row.visibility,
        row.status,
        row.allow_maybe,
        row.guest_list_visible,
        row.capacity,
        row.cover_image_id,
        row.revision,
        row.updated_at,
    ];
    tx.execute(&UPDATE, args)?;
    Ok(tx.pipeline(&UPDATE_BODY, args![project, row.id, &row.description, &row.metadata])?)
}

/// Hides the event; its guests are gone by then.
pub fn hide(tx: &Tx<'_>, project: ProjectId, id: EventId, now: Timestamp) -> Result<()> {
    tx.execute(&HIDE, args![project, id, now])?;
    Ok(())
}

/// With everything that belongs to it, except files.
pub fn delete(tx: &Tx<'_>, project: ProjectId, id: EventId) -> Result<()> {
    tx.execute(&DELETE, args![project, id])?;
    Ok(())
}
