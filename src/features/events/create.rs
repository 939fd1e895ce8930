//! Create Event: a user hosts it, alone or with others.

use db::{Conn, JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::entities::rules::Place;
use crate::features::events::images::{EventImages, StoredImages};
use crate::features::events::model::Event;
use crate::features::events::rules::{
    self, Address, Capacity, Description, HostIds, Kind, RsvpCounts, Status, Timezone, Title, Url,
    VenueName, Visibility,
};
use crate::features::events::show::View;
use crate::features::events::store::{self, EventRow, people, totals};
use crate::features::events::{
    INVALID_BODY, NOT_SPACE_MEMBER, SPACE_NOT_FOUND, SPACES_BUNDLE_REQUIRED,
};
use crate::features::files::uploads;
use crate::features::spaces::rules::Status as Membership;
use crate::features::spaces::store as spaces;
use crate::features::users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::tenancy::Bundle;
use crate::values::ids::{EventId, ProjectId, SpaceId, UserId, new_id};
use crate::values::metadata::{Metadata, to_json};
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewEvent {
    title: Title,
    start_time: Timestamp,
    r#type: Kind,
    description: Option<Description>,
    end_time: Option<Timestamp>,
    timezone: Option<Timezone>,
    url: Option<Url>,
    venue_name: Option<VenueName>,
    address: Option<Address>,
    location: Option<Place>,
    space_id: Option<SpaceId>,
    visibility: Option<Visibility>,
    capacity: Option<Capacity>,
    allow_maybe: Option<bool>,
    guest_list_visible: Option<bool>,
    host_ids: Option<HostIds>,
    metadata: Option<Metadata>,
}

impl NewEvent {
    fn into_row(self, id: EventId, creator: UserId, now: Timestamp) -> Result<EventRow> {
        let row = EventRow {
            id,
            user_id: Some(creator),
            title: self.title.into_text(),
            description: self.description.and_then(Description::unless_blank),
            start_time: self.start_time,
            end_time: self.end_time,
            timezone: self.timezone.and_then(Timezone::unless_blank),
            kind: self.r#type,
            url: self.url.and_then(Url::unless_blank),
            venue_name: self.venue_name.and_then(VenueName::unless_blank),
            address: self.address.and_then(Address::unless_blank),
            latitude: self.location.map(|Place(place)| place.latitude),
            longitude: self.location.map(|Place(place)| place.longitude),
            space_id: self.space_id,
            visibility: self.visibility.unwrap_or(Visibility::Public),
            status: Status::Active,
            allow_maybe: self.allow_maybe.unwrap_or(true),
            guest_list_visible: self.guest_list_visible.unwrap_or(true),
            capacity: self.capacity.map(Capacity::places),
            cover_image_id: None,
            counts: RsvpCounts::default(),
            invite_count: 0,
            revision: 0,
            metadata: JsonText(to_json(&self.metadata.unwrap_or_default())),
            created_at: now,
            updated_at: now,
            deleted_at: None,
        };
        rules::check_place(&row)?;
        rules::check_frame(&row)?;
        Ok(row)
    }
}

pub(super) async fn create_event(
    call: Call<Actor>,
    (Body(mut new), images): (Body<NewEvent>, EventImages),
) -> Result<Created<Event>> {
    let (app, project, actor, now) = (&call.app, call.project.id, call.caller.user, call.now);
    let id = EventId(new_id(now, &app.random));
    let hosts = new.host_ids.take().unwrap_or_default().with_creator(actor);
    let mut row = new.into_row(id, actor, now)?;
    if row.space_id.is_some() && !call.project.has(Bundle::Spaces) {
        return Err(SPACES_BUNDLE_REQUIRED.into());
    }
    let view = View::new(&call, Some(actor)).with_files(!images.is_empty());
    let mut stored = StoredImages::default();
    if !images.is_empty() {
        // Checked before any image is processed.
        let (space, others) = (row.space_id, hosts.clone());
        app.db.read(move |c| permit(c, project, space, actor, &others)).await?;
        stored = images.prepare(app, project, id, 1, now).await?;
    }
    row.cover_image_id = stored.cover();
    let files = stored.prepared.clone();
    let created = app.db.write(move |tx| {
        if let Some(space) = row.space_id {
            spaces::lock_shared(tx, project, space)?;
        }
        permit(tx, project, row.space_id, actor, &hosts)?;
        add(tx, project, &row, &hosts)?;
        uploads::insert(tx, project, &files)?;
        let shown = view.event(tx, row.clone())?;
        totals::add(tx, project, &row)?;
        Ok(shown)
    });
    uploads::settle(app, project, &stored.prepared, created.await, now).await.map(Created)
}

/// The creator must be an active member of the space, and all hosts must exist.
fn permit(
    c: &Conn<'_>,
    project: ProjectId,
    space: Option<SpaceId>,
    creator: UserId,
    hosts: &[UserId],
) -> Result<()> {
    if let Some(space) = space {
        let space = spaces::find(c, project, space)?.ok_or(SPACE_NOT_FOUND)?;
        let standing = spaces::standing(c, project, space.id, creator)?;
        if standing.is_none_or(|member| member.status != Membership::Active) {
            return Err(NOT_SPACE_MEMBER.into());
        }
    }
    let found = users::store::find_all(c, project, hosts)?;
    let exists = |id: UserId| found.iter().any(|user| user.id == id);
    match hosts.iter().find(|host| !exists(**host)) {
        Some(host) if *host == creator => Err(users::NOT_FOUND.into()),
        Some(host) => Err(INVALID_BODY.because(format!("hostIds: there is no user {host}"))),
        None => Ok(()),
    }
}

fn add(tx: &Tx<'_>, project: ProjectId, row: &EventRow, hosts: &[UserId]) -> Result<()> {
    // Lock order: users before what refers to them.
    users::store::lock_all_shared(tx, project, hosts)?;
    store::insert(tx, project, row).map_err(|error| error.on_foreign_key(users::NOT_FOUND))?;
    for host in hosts {
        people::add_host(tx, project, row.id, *host)?;
    }
    Ok(())
}
