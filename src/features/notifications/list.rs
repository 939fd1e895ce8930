//! List Notifications, Count Unread: both use stored counts, however many there are.

use db::Conn;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::notifications::model::AppNotification;
use crate::features::notifications::store;
use crate::http::input::Paging;
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;

/// Beyond this offset, skipping rows takes too long for an async worker.
const SLOW_OFFSET: i64 = 1000;

pub(super) async fn list_notifications(
    call: Call<Actor>,
    Paging(page): Paging<5, 50>,
) -> Result<Json<Paged<AppNotification>>> {
    let (project, user) = (call.project.id, call.caller.user);
    let list = move |c: &Conn<'_>| {
        let total = store::counts(c, project, user)?.total;
        let rows =
            if page.offset() < total { store::list(c, project, user, page)? } else { Vec::new() };
        let shown = rows.into_iter().map(|row| AppNotification::new(project, user, row));
        Ok(page.of(shown.collect::<Result<_>>()?, total))
    };
    let db = &call.app.db;
    let listed =
        if page.offset() < SLOW_OFFSET { db.read(list).await } else { db.read_slow(list).await };
    listed.map(Json)
}

pub(super) async fn count_unread(call: Call<Actor>, (): ()) -> Result<Json<i64>> {
    let (project, user) = (call.project.id, call.caller.user);
    let counts = call.app.db.read(move |c| store::counts(c, project, user)).await?;
    Ok(Json(counts.unread))
}
