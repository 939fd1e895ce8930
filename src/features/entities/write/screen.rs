//! The rules of the project look at an entity that is published or edited, and its way into the open once a moderator
//! has approved what they held.

use std::sync::Arc;

use db::Tx;

use crate::domain_events::{self, Context};
use crate::error::Result;
use crate::features::entities::events::CREATED;
use crate::features::entities::show::View;
use crate::features::entities::store::{self, EntityRow};
use crate::features::entities::write::notify;
use crate::features::visibility::screening::{self, ContentKind, Written};
use crate::tenancy::Project;

/// Hides a stored entity if a rule says so; whether it did.
pub(super) fn screen(
    tx: &Tx<'_>,
    context: Context<'_>,
    row: &mut EntityRow,
    is_edit: bool,
) -> Result<bool> {
    let written = Written {
        kind: ContentKind::Entity,
        id: row.id.0,
        author: row.user_id,
        space: row.space_id,
        title: row.title.as_deref(),
        content: row.content.as_deref(),
        is_edit,
    };
    let Some(moderation) = screening::screen(tx, context, &written)? else { return Ok(false) };
    store::hide(tx, context.project.id, row.id, &moderation)?;
    row.moderation = moderation;
    row.is_listed = false;
    Ok(true)
}

/// What creating an entity causes, for one that a rule held until now. It is visible and in the feeds already.
pub fn approved(
    tx: &Tx<'_>,
    context: Context<'_>,
    project: &Arc<Project>,
    row: EntityRow,
) -> Result<()> {
    let Context { app, now, .. } = context;
    notify::mentioned(tx, app, project, &row, now)?;
    if !domain_events::is_observed(app, project, &CREATED) {
        return Ok(());
    }
    let author = row.user_id;
    let view = View::for_key(project.clone(), app.signer.links(project.id, now));
    let shown = view.entity(tx, row)?;
    domain_events::happened(tx, context, &CREATED, || Ok(CREATED.event(&shown)?.by(author)))
}
