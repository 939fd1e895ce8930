//! Set and Withdraw RSVP, Fetch Event RSVPs. An answer locks the event, so that never more go than it has room for.

use std::borrow::Cow;

use db::Tx;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::auth::caller::{Actor, OptionalViewer};
use crate::auth::perspective::Perspective;
use crate::error::{Error, Result};
use crate::features::events::model::{Event, EventRsvp};
use crate::features::events::rules::{self, Rsvp, RsvpCounts};
use crate::features::events::show::View;
use crate::features::events::store::{EventRow, people};
use crate::features::events::{EventPath, GUEST_LIST_HIDDEN, NOT_FOUND, visibility};
use crate::features::users;
use crate::features::users::model::shown;
use crate::http::input::{Body, Paging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::{ProjectId, RsvpId, UserId, new_id};

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NewRsvp")]
pub(super) struct Answer {
    status: Rsvp,
}

pub(super) async fn set_rsvp(
    call: Call<Actor>,
    (Path(path), Body(Answer { status })): (Path<EventPath>, Body<Answer>),
) -> Result<Json<Event>> {
    let (project, user, now, id) =
        (call.project.clone(), call.caller.user, call.now, path.event_id);
    let perspective = Perspective::from(&call.caller);
    let view = View::new(&call, Some(user)).with_own(Some(status));
    let rsvp = RsvpId(new_id(now, &call.app.random));
    let answered = call.app.db.write_contended(id.0, move |tx| {
        let mut row = visibility::lock(tx, &project, id, perspective)?.ok_or(NOT_FOUND)?;
        rules::may_answer(&row, status, now)?;
        let before = people::rsvp(tx, project.id, id, user)?;
        if before != Some(status) {
            rules::has_room(&row, status)?;
            people::put_rsvp(tx, project.id, id, user, (rsvp, status), now)
                .map_err(|error| error.on_foreign_key(users::NOT_FOUND))?;
            let mut by = RsvpCounts::default();
            for (status, one) in [(before, -1), (Some(status), 1)] {
                by.add(status, one);
                row.counts.add(status, one);
            }
            people::count_rsvps(tx, project.id, id, by)?;
        }
        view.event(tx, row)
    });
    answered.await.map(Json)
}

pub(super) async fn withdraw_rsvp(
    call: Call<Actor>,
    Path(path): Path<EventPath>,
) -> Result<Json<Event>> {
    let (project, user, id) = (call.project.clone(), call.caller.user, path.event_id);
    let perspective = Perspective::from(&call.caller);
    let view = View::new(&call, Some(user)).with_own(None);
    let withdrawn = call.app.db.write_contended(id.0, move |tx| {
        let mut row = visibility::lock(tx, &project, id, perspective)?.ok_or(NOT_FOUND)?;
        withdraw(tx, project.id, &mut row, user)?;
        view.event(tx, row)
    });
    withdrawn.await.map(Json)
}

/// Takes a user's answer back, if there is one. The caller has locked the event.
pub(super) fn withdraw(
    tx: &Tx<'_>,
    project: ProjectId,
    row: &mut EventRow,
    user: UserId,
) -> Result<()> {
    let before = people::rsvp(tx, project, row.id, user)?;
    if before.is_some() {
        people::remove_rsvp(tx, project, row.id, user)?;
        let mut by = RsvpCounts::default();
        by.add(before, -1);
        row.counts.add(before, -1);
        people::count_rsvps(tx, project, row.id, by)?;
    }
    Ok(())
}

/// States separated by commas, each once.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Rsvps(pub(super) Vec<Rsvp>);

impl TryFrom<String> for Rsvps {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let named: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_known = |name: &&str| Rsvp::ALL.iter().any(|status| status.name() == *name);
        if !named.iter().all(is_known) {
            return Err("must be states separated by commas: going, maybe, not_going");
        }
        let all = Rsvp::ALL.into_iter().filter(|status| named.contains(&status.name()));
        Ok(Rsvps(all.collect()))
    }
}

impl JsonSchema for Rsvps {
    fn schema_name() -> Cow<'static, str> {
        "Rsvps".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RsvpsQuery {
    status: Option<Rsvps>,
}

pub(super) async fn fetch_rsvps(
    call: Call<OptionalViewer>,
    (Path(path), Paging(page), Query(query)): (Path<EventPath>, Paging<10, 100>, Query<RsvpsQuery>),
) -> Result<Json<Paged<EventRsvp>>> {
    let (project, links) = (call.project.clone(), call.links());
    let (perspective, id) = (Perspective::from(call.caller), path.event_id);
    let statuses = query.status.map_or(Rsvp::ALL.to_vec(), |named| named.0);
    let listed = call.app.db.read_slow(move |c| {
        let event = visibility::find(c, &project, id, perspective)?.ok_or(NOT_FOUND)?;
        if !event.guest_list_visible && !visibility::hosts(c, &project, id, perspective)? {
            return Err(Error::from(GUEST_LIST_HIDDEN));
        }
        let total = statuses.iter().map(|status| event.counts.of(*status)).sum();
        let rows = people::rsvps(c, project.id, id, &statuses, page)?;
        let people = shown(c, &links, rows.iter().map(|row| row.user_id).collect())?;
        let data = rows.into_iter().map(|row| {
            let user = people.get(&row.user_id).cloned();
            EventRsvp::new(id, row, user)
        });
        Ok(page.of(data.collect(), total))
    });
    listed.await.map(Json)
}
