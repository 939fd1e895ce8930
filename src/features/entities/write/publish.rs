//! Publish Entity: makes a draft visible, once and for good. Its creation time becomes now.

use db::Tx;

use crate::auth::caller::UserOrKey;
use crate::auth::perspective::Perspective;
use crate::domain_events;
use crate::error::{Error, Result};
use crate::features::entities::events::{self, UPDATED};
use crate::features::entities::model::Entity;
use crate::features::entities::score::formula::FIRST_SCORE;
use crate::features::entities::show::View;
use crate::features::entities::store::EntityRow;
use crate::features::entities::terms;
use crate::features::entities::write::create;
use crate::features::entities::{EntityPath, NOT_FOUND, store};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;

pub(super) async fn publish_entity(
    call: Call<UserOrKey>,
    Path(path): Path<EntityPath>,
) -> Result<Json<Entity>> {
    let perspective = Perspective::from(&call.caller);
    let view = View::written(&call, call.caller.user());
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let initiator = call.caller.user();
    let work = move |tx: &Tx<'_>| {
        let no_draft = || NOT_FOUND.because("Draft entity not found");
        let found = store::find_for_update(tx, project.id, path.entity_id)?;
        let draft = found
            .filter(|row| row.is_draft && perspective.owns(row.user_id))
            .ok_or_else(no_draft)?;
        create::admit(tx, &project, perspective, &draft)?;
        let before = draft.clone();
        let mut row = EntityRow {
            is_draft: false,
            is_listed: !draft.is_emptied,
            created_at: now,
            updated_at: now,
            score: FIRST_SCORE,
            score_updated_at: now,
            ..draft
        };
        let terms = terms::of_stored(&row).map_err(Error::internal)?;
        store::publish(tx, project.id, &row, &terms)?;
        create::reward(tx, &project, &row)?;
        create::appear(tx, &app, &project, &mut row, now)?;
        let changed = events::changed(&before, &row);
        Ok((view.entity(tx, row)?, changed))
    };
    let names = [UPDATED.name()];
    let published =
        domain_events::write(&call.app, &call.project, &names, work, move |(entity, changed)| {
            // No event for what a rule hides.
            if entity.moderation_status.is_some() {
                return Ok(None);
            }
            Ok(Some(UPDATED.event(entity)?.by(initiator).changing(changed)))
        });
    published.await.map(|(entity, _)| Json(entity))
}
