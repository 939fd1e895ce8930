//! Cancel Event: it stays, and its guests are notified.

use crate::auth::caller::ActorOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::events::model::Event;
use crate::features::events::notify::Guests;
use crate::features::events::rules::Status;
use crate::features::events::show::View;
use crate::features::events::store::{self, totals};
use crate::features::events::{EventPath, visibility};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;

pub(super) async fn cancel_event(
    call: Call<ActorOrKey>,
    Path(path): Path<EventPath>,
) -> Result<Json<Event>> {
    let (project, now, id) = (call.project.clone(), call.now, path.event_id);
    let perspective = Perspective::from(call.caller);
    let view = View::new(&call, call.caller.user());
    let guests = Guests::new(&call, "event-cancelled", call.caller.user());
    let cancelled = call.app.db.write(move |tx| {
        let found = visibility::lock_hosted(tx, &project, id, perspective)?;
        if found.status == Status::Cancelled {
            return view.event(tx, found);
        }
        let mut row = found.clone();
        row.status = Status::Cancelled;
        row.revision += 1;
        row.updated_at = now;
        store::update(tx, project.id, &row)?;
        let shown = view.event(tx, row.clone())?;
        totals::update(tx, project.id, &found, &row)?;
        guests.notify(tx, &row)?;
        Ok(shown)
    });
    cancelled.await.map(Json)
}
