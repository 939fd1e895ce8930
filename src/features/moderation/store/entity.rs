//! A moderator's decision about an entity. A removed entity is in no feed; only its author can still see it.

use db::{Tx, args};

use crate::error::Result;
use crate::features::entities::store::EntityRow;
use crate::features::entities::store::feed_totals;
use crate::features::moderation::store::set_moderation;
use crate::features::notifications;
use crate::features::visibility::moderation::{Decision, Verdict};
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{EntityId, ProjectId};

db::statements! {
    command MODERATE =
        concat!(
            "UPDATE entities SET ",
            set_moderation!(),
            ", is_listed = $8 WHERE project_id = $1 AND id = $2"
        );
    command SET_NSFW = "UPDATE entities SET nsfw = $3 WHERE project_id = $1 AND id = $2";
}

/// The entity's own flag only.
pub fn set_nsfw(tx: &Tx<'_>, project: ProjectId, id: EntityId, nsfw: bool) -> Result<()> {
    Ok(tx.pipeline(&SET_NSFW, args![project, id, nsfw])?)
}

/// The caller has locked the entity.
pub fn moderate(
    tx: &Tx<'_>,
    project: ProjectId,
    entity: &EntityRow,
    decision: &Decision<'_>,
) -> Result<()> {
    let Decision { verdict, by, reason, at } = *decision;
    let is_listed = verdict == Verdict::Approved && !entity.is_draft && !entity.is_emptied;
    let by_type = decision.by_type();
    tx.pipeline(
        &MODERATE,
        args![project, entity.id, verdict.name(), at, by, by_type, reason, is_listed],
    )?;
    search_queue::note(tx, project, Kind::Entity, entity.id.0)?;
    match (entity.is_listed, is_listed) {
        (true, false) => feed_totals::remove(tx, project, std::slice::from_ref(entity))?,
        (false, true) => feed_totals::add(tx, project, entity)?,
        _ => {}
    }
    notifications::store::hide::follow_entity(tx, project, entity.id)
}
