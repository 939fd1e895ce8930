//! List Appeals: the user's own, newest first.

use std::collections::HashMap;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::moderation::appeals::model::Appeal;
use crate::features::moderation::appeals::store;
use crate::features::moderation::decisions::{Decision, store as decisions};
use crate::http::input::Paging;
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::values::ids::DecisionId;

pub(super) async fn list_appeals(
    call: Call<Actor>,
    Paging(page): Paging<20, 100>,
) -> Result<Json<Paged<Appeal>>> {
    let (project, user) = (call.project.id, call.caller.user);
    let listed = call.app.db.read(move |c| {
        let (rows, total) = store::list(c, project, user, page)?;
        let about: Vec<DecisionId> = rows.iter().map(|row| row.decision_id).collect();
        let decisions = decisions::find_all(c, project, &about)?.into_iter();
        let decisions: HashMap<DecisionId, Decision> =
            decisions.map(|decision| (decision.id, decision)).collect();
        let show = |row: store::AppealRow| {
            decisions.get(&row.decision_id).map(|decision| Appeal::new(row, decision))
        };
        Ok(page.of(rows.into_iter().filter_map(show).collect(), total))
    });
    listed.await.map(Json)
}
