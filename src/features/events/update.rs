//! Update Event, by its hosts. Only the fields that are sent change. Guests are notified when time or place really
//! change.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::ActorOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::entities::rules::Place;
use crate::features::events::images::{EventImages, RemovedImages, StoredImages};
use crate::features::events::model::Event;
use crate::features::events::notify::Guests;
use crate::features::events::rules::{
    self, Address, Capacity, Description, Kind, Timezone, Title, Url, VenueName, Visibility,
};
use crate::features::events::show::View;
use crate::features::events::store::{self, EventRow, totals};
use crate::features::events::{EventPath, INVALID_REMOVE_IMAGE_IDS, visibility};
use crate::features::files::store as storage;
use crate::features::files::{purge, uploads};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::values::ids::{FileId, ProjectId};
use crate::values::metadata::{Metadata, to_json};
use crate::values::time::Timestamp;

#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EventUpdate {
    title: Option<Title>,
    start_time: Option<Timestamp>,
    r#type: Option<Kind>,
    description: Patch<Description>,
    end_time: Patch<Timestamp>,
    timezone: Patch<Timezone>,
    url: Patch<Url>,
    venue_name: Patch<VenueName>,
    address: Patch<Address>,
    location: Patch<Place>,
    visibility: Option<Visibility>,
    capacity: Patch<Capacity>,
    allow_maybe: Option<bool>,
    guest_list_visible: Option<bool>,
    metadata: Option<Metadata>,
}

impl EventUpdate {
    /// Refuses a result that does not fit together, if what was sent is a part of it.
    fn apply(self, row: &mut EventRow) -> Result<()> {
        let changes_place = self.r#type.is_some();
        let changes_frame = self.start_time.is_some()
            || self.end_time != Patch::Absent
            || self.visibility.is_some();
        if let Some(title) = self.title {
            row.title = title.into_text();
        }
        row.start_time = self.start_time.unwrap_or(row.start_time);
        row.kind = self.r#type.unwrap_or(row.kind);
        self.description.and_then(Description::unless_blank).put(&mut row.description);
        self.end_time.put(&mut row.end_time);
        self.timezone.and_then(Timezone::unless_blank).put(&mut row.timezone);
        self.url.and_then(Url::unless_blank).put(&mut row.url);
        self.venue_name.and_then(VenueName::unless_blank).put(&mut row.venue_name);
        self.address.and_then(Address::unless_blank).put(&mut row.address);
        self.location.clone().map(|Place(place)| place.latitude).put(&mut row.latitude);
        self.location.map(|Place(place)| place.longitude).put(&mut row.longitude);
        row.visibility = self.visibility.unwrap_or(row.visibility);
        self.capacity.map(Capacity::places).put(&mut row.capacity);
        row.allow_maybe = self.allow_maybe.unwrap_or(row.allow_maybe);
        row.guest_list_visible = self.guest_list_visible.unwrap_or(row.guest_list_visible);
        if let Some(metadata) = self.metadata {
            row.metadata = JsonText(to_json(&metadata));
        }
        if changes_place {
            rules::check_place(row)?;
        }
        if changes_frame { rules::check_frame(row) } else { Ok(()) }
    }
}

/// What a guest plans by.
fn plan(row: &EventRow) -> impl PartialEq + use<> {
    (
        (row.start_time, row.end_time, row.timezone.clone()),
        (row.latitude, row.longitude, row.url.clone()),
        (row.venue_name.clone(), row.address.clone()),
    )
}

pub(super) async fn update_event(
    call: Call<ActorOrKey>,
    (Path(path), Body(update), Changed { images, removed }): (
        Path<EventPath>,
        Body<EventUpdate>,
        Changed,
    ),
) -> Result<Json<Event>> {
    let (app, project, now, id) = (&call.app, call.project.clone(), call.now, path.event_id);
    let perspective = Perspective::from(call.caller);
    let view = View::new(&call, call.caller.user()).with_files(!images.is_empty());
    let mut stored = StoredImages::default();
    if !images.is_empty() {
        // Checked before any image is processed.
        let (project, update, removed) = (project.clone(), update.clone(), removed.clone());
        let position = app.db.read(move |c| {
            let mut row = visibility::find_hosted(c, &project, id, perspective)?;
            update.clone().apply(&mut row)?;
            let files = storage::of_events(c, project.id, &[id])?;
            check_removed(&files, &removed)?;
            Ok::<_, crate::error::Error>(files.last().map_or(0, |file| file.position) + 1)
        });
        let position = position.await?;
        stored = images.prepare(app, call.project.id, id, position, now).await?;
    }
    let guests = Guests::new(&call, "event-updated", call.caller.user());
    let (rows, cover) = (stored.prepared.clone(), stored.cover());
    let updated = app.db.write(move |tx| {
        let found = visibility::lock_hosted(tx, &project, id, perspective)?;
        let mut row = found.clone();
        update.clone().apply(&mut row)?;
        uploads::insert(tx, project.id, &rows)?;
        row.cover_image_id = cover.or(row.cover_image_id);
        remove_images(tx, project.id, (&found, &mut row), &removed, now)?;
        let is_moved = plan(&row) != plan(&found);
        row.revision += i64::from(is_moved);
        if row != found || !rows.rows().is_empty() || !removed.0.is_empty() {
            row.updated_at = now;
            store::update(tx, project.id, &row)?;
        }
        let shown = view.event(tx, row.clone())?;
        totals::update(tx, project.id, &found, &row)?;
        if is_moved {
            guests.notify(tx, &row)?;
        }
        Ok(shown)
    });
    let prepared = &stored.prepared;
    uploads::settle(app, call.project.id, prepared, updated.await, now).await.map(Json)
}

/// The images that a request adds and removes.
#[derive(Debug)]
pub(super) struct Changed {
    images: EventImages,
    removed: RemovedImages,
}

impl crate::http::input::Input for Changed {
    fn extract(request: &crate::http::operation::CheckedRequest) -> Result<Self> {
        Ok(Changed {
            removed: RemovedImages::extract(request)?,
            images: EventImages::extract(request)?,
        })
    }

    fn describe(doc: &mut crate::http::input::InputDoc, generator: &mut schemars::SchemaGenerator) {
        EventImages::describe(doc, generator);
        RemovedImages::describe(doc, generator);
    }
}

fn check_removed(files: &[storage::FileRow], removed: &RemovedImages) -> Result<()> {
    let is_own = |id: &FileId| files.iter().any(|file| file.id == *id);
    if removed.0.iter().all(is_own) { Ok(()) } else { Err(INVALID_REMOVE_IMAGE_IDS.into()) }
}

/// Deletes the named images and a replaced cover.
fn remove_images(
    tx: &Tx<'_>,
    project: ProjectId,
    (found, row): (&EventRow, &mut EventRow),
    removed: &RemovedImages,
    now: Timestamp,
) -> Result<()> {
    let mut gone = removed.0.clone();
    if !gone.is_empty() {
        check_removed(&storage::of_events(tx, project, &[row.id])?, removed)?;
    }
    if row.cover_image_id.is_some_and(|cover| gone.contains(&cover)) {
        row.cover_image_id = None;
    }
    gone.extend(found.cover_image_id.filter(|cover| row.cover_image_id != Some(*cover)));
    gone.sort_unstable();
    gone.dedup();
    purge::delete(tx, project, &gone, now)
}
