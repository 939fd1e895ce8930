//! Add and Remove Invite, Fetch Invitees.

use crate::auth::caller::ActorOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::events::hosts::Named;
use crate::features::events::model::{Event, EventInvite};
use crate::features::events::show::View;
use crate::features::events::store::people;
use crate::features::events::{EventPath, USER_NOT_FOUND, notify, rsvp, visibility};
use crate::features::notifications::store::hide;
use crate::features::users;
use crate::features::users::model::shown;
use crate::http::input::{Body, Paging, Path};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::{InviteId, new_id};

pub(super) async fn add_invite(
    call: Call<ActorOrKey>,
    (Path(path), Body(Named { user_id })): (Path<EventPath>, Body<Named>),
) -> Result<Json<Event>> {
    let (app, project, now, id) = (call.app.clone(), call.project.clone(), call.now, path.event_id);
    let (perspective, actor) = (Perspective::from(call.caller), call.caller.user());
    let view = View::new(&call, actor);
    let invite = InviteId(new_id(now, &app.random));
    let added = call.app.db.write(move |tx| {
        let mut row = visibility::lock_hosted(tx, &project, id, perspective)?;
        users::store::lock_shared(tx, project.id, user_id)?.ok_or(USER_NOT_FOUND)?;
        let is_new = people::add_invite(tx, project.id, id, user_id, invite, now)?;
        row.invite_count += i64::from(is_new);
        let shown = view.event(tx, row.clone())?;
        if is_new {
            notify::invited(tx, &app, &project, &row, (user_id, actor), now)?;
        }
        Ok(shown)
    });
    added.await.map(Json)
}

pub(super) async fn remove_invite(
    call: Call<ActorOrKey>,
    (Path(path), Body(Named { user_id })): (Path<EventPath>, Body<Named>),
) -> Result<Json<Event>> {
    let (project, id, view) =
        (call.project.clone(), path.event_id, View::new(&call, call.caller.user()));
    let perspective = Perspective::from(call.caller);
    let removed = call.app.db.write(move |tx| {
        let mut row = visibility::lock_hosted(tx, &project, id, perspective)?;
        if !people::remove_invite(tx, project.id, id, user_id)? {
            return view.event(tx, row);
        }
        rsvp::withdraw(tx, project.id, &mut row, user_id)?;
        let is_hidden = !visibility::sees(tx, &project, &row, Perspective::User(user_id))?;
        let shown = view.event(tx, row)?;
        if is_hidden {
            hide::delete_of_subject_for(tx, project.id, id.0, user_id)?;
        }
        Ok(shown)
    });
    removed.await.map(Json)
}

pub(super) async fn fetch_invitees(
    call: Call<ActorOrKey>,
    (Path(path), Paging(page)): (Path<EventPath>, Paging<10, 100>),
) -> Result<Json<Paged<EventInvite>>> {
    let (project, links, id) = (call.project.clone(), call.links(), path.event_id);
    let perspective = Perspective::from(call.caller);
    let listed = call.app.db.read_slow(move |c| {
        let event = visibility::find_hosted(c, &project, id, perspective)?;
        let rows = people::invites(c, project.id, id, page)?;
        let people = shown(c, &links, rows.iter().map(|row| row.user_id).collect())?;
        let data = rows.into_iter().map(|row| {
            let user = people.get(&row.user_id).cloned();
            EventInvite::new(id, row, user)
        });
        Ok::<_, crate::error::Error>(page.of(data.collect(), event.invite_count))
    });
    listed.await.map(Json)
}
