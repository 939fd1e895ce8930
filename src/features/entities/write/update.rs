//! Update Entity: its author or a key changes only the fields that are sent.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::UserOrKey;
use crate::auth::perspective::Perspective;
use crate::domain_events::{self, Context};
use crate::error::{Error, Result};
use crate::features::entities::events::{self, UPDATED};
use crate::features::entities::model::Entity;
use crate::features::entities::rules::{Attachments, Content, Keywords, Mentions, Place, Title};
use crate::features::entities::show::View;
use crate::features::entities::store::EntityRow;
use crate::features::entities::store::feed_totals;
use crate::features::entities::terms;
use crate::features::entities::visibility;
use crate::features::entities::write::mentions;
use crate::features::entities::write::screen::screen;
use crate::features::entities::{EntityPath, NOT_AUTHORIZED, NOT_FOUND, store};
use crate::features::notifications::store::hide;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::values::metadata::{Metadata, to_json};

#[derive(Debug, Default, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EntityUpdate {
    title: Patch<Title>,
    content: Patch<Content>,
    attachments: Option<Attachments>,
    keywords: Option<Keywords>,
    mentions: Option<Mentions>,
    location: Patch<Place>,
    /// Replaces the whole object.
    metadata: Option<Metadata>,
    nsfw: Option<bool>,
}

impl EntityUpdate {
    fn apply(self, row: &mut EntityRow) {
        self.title.and_then(Title::unless_blank).put(&mut row.title);
        self.content.and_then(Content::unless_blank).put(&mut row.content);
        self.location.clone().map(|Place(place)| place.latitude).put(&mut row.latitude);
        self.location.map(|Place(place)| place.longitude).put(&mut row.longitude);
        if let Some(attachments) = self.attachments {
            row.attachments = JsonText(to_json(&attachments));
        }
        if let Some(keywords) = self.keywords {
            row.keywords = JsonText(to_json(&keywords));
        }
        if let Some(mentions) = self.mentions {
            row.mentions = JsonText(to_json(&mentions));
        }
        if let Some(metadata) = self.metadata {
            row.metadata = JsonText(to_json(&metadata));
        }
        row.nsfw = self.nsfw.unwrap_or(row.nsfw);
    }
}

pub(super) async fn update_entity(
    call: Call<UserOrKey>,
    (Path(path), Body(update)): (Path<EntityPath>, Body<EntityUpdate>),
) -> Result<Json<Entity>> {
    let perspective = Perspective::from(&call.caller);
    let view = View::written(&call, call.caller.user());
    let (of, project, now) = (call.project.clone(), call.project.id, call.now);
    let app = call.app.clone();
    let initiator = call.caller.user();
    let work = move |tx: &Tx<'_>| {
        let found = store::find_for_update(tx, project, path.entity_id)?;
        let found = visibility::seen(tx, &of, found, perspective)?.ok_or(NOT_FOUND)?;
        if !perspective.owns(found.user_id) {
            return Err(NOT_AUTHORIZED.because("Not authorized to update this entity."));
        }
        let mut row = found.clone();
        update.clone().apply(&mut row);
        mentions::drop_blocked(tx, &of, &mut row, Some(&found))?;
        if update != EntityUpdate::default() {
            row.updated_at = now;
            let terms = terms::of_stored(&row).map_err(Error::internal)?;
            store::update(tx, project, &row, &terms)?;
            if row.is_listed {
                feed_totals::replace(tx, project, &found, &row)?;
            }
            let says_more = (&found.title, &found.content) != (&row.title, &row.content);
            if says_more && !row.is_draft && !row.is_removed() {
                rescreen(tx, Context { app: &app, project: &of, now }, &mut row)?;
            }
        }
        let changed = events::changed(&found, &row);
        Ok((view.entity(tx, row)?, changed))
    };
    let names = [UPDATED.name()];
    let updated =
        domain_events::write(&call.app, &call.project, &names, work, move |(entity, changed)| {
            match &**changed {
                [] => Ok(None),
                // No event for what a rule holds.
                _ if entity.moderation_status.as_deref() == Some("held") => Ok(None),
                changed => Ok(Some(UPDATED.event(entity)?.by(initiator).changing(changed))),
            }
        });
    updated.await.map(|(entity, _)| Json(entity))
}

/// The rules look at the new text; what they hide leaves the feeds.
fn rescreen(tx: &Tx<'_>, context: Context<'_>, row: &mut EntityRow) -> Result<()> {
    let (before, project) = (row.clone(), context.project.id);
    if !screen(tx, context, row, true)? {
        return Ok(());
    }
    if before.is_listed {
        feed_totals::remove(tx, project, std::slice::from_ref(&before))?;
    }
    hide::follow_entity(tx, project, row.id)
}
