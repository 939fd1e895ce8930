//! Delete Event: a host or a key deletes it, or hides it for good if the project is set to soft deletion.

use crate::auth::caller::ActorOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::events::store::{self, people, totals};
use crate::features::events::{DELETE_FAILED, EventPath, NOT_FOUND, visibility};
use crate::features::files::purge;
use crate::features::notifications;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::NoContent;
use crate::tenancy::Deletion;

pub(super) async fn delete_event(
    call: Call<ActorOrKey>,
    Path(path): Path<EventPath>,
) -> Result<NoContent> {
    let (project, now, id) = (call.project.clone(), call.now, path.event_id);
    let perspective = Perspective::from(call.caller);
    let deleted = call.app.db.write(move |tx| {
        let row = store::lock(tx, project.id, id)?.ok_or(NOT_FOUND)?;
        if !visibility::sees(tx, &project, &row, perspective)? {
            return Err(NOT_FOUND.into());
        }
        visibility::require_host(tx, &project, id, perspective)?;
        if row.deleted_at.is_some() {
            return Err(DELETE_FAILED.into());
        }
        let is_soft = project.event_deletion == Deletion::Soft;
        if is_soft {
            people::remove_guests(tx, project.id, id)?;
            store::hide(tx, project.id, id, now)?;
        } else {
            store::delete(tx, project.id, id)?;
        }
        if !(is_soft && project.keeps_files_of_deleted_events) {
            purge::delete_of_event(tx, project.id, id, now)?;
        }
        totals::remove(tx, project.id, &row)?;
        notifications::store::hide::delete_of_subjects(tx, project.id, vec![id.0])
    });
    deleted.await.map(|()| NoContent)
}
