//! Update Space, by its admins. Only the fields that are sent change.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::ActorOrKey;
use crate::domain_events;
use crate::error::Result;
use crate::features::spaces::authority::{self, Authority, Held};
use crate::features::spaces::events::{self, UPDATED};
use crate::features::spaces::model::SpaceDetailed;
use crate::features::spaces::observer::observers;
use crate::features::spaces::rules::{Description, Name, Posting, Reading, Slug, Visibility};
use crate::features::spaces::show::View;
use crate::features::spaces::store::{self, SpaceRow};
use crate::features::spaces::{NOT_FOUND, PICTURES, SLUG_TAKEN, SpacePath};
use crate::features::users::pictures::{Pictures, Portrayed, remove_replaced};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::values::metadata::{Metadata, to_json};

#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SpaceUpdate {
    name: Option<Name>,
    slug: Patch<Slug>,
    description: Patch<Description>,
    reading_permission: Option<Reading>,
    posting_permission: Option<Posting>,
    visibility: Option<Visibility>,
    require_join_approval: Option<bool>,
    nsfw: Option<bool>,
    metadata: Option<Metadata>,
}

impl SpaceUpdate {
    fn apply(self, row: &mut SpaceRow) {
        if let Some(name) = self.name {
            row.name = name.into_text();
        }
        self.slug.and_then(Slug::into_option).put(&mut row.slug);
        self.description.and_then(Description::into_option).put(&mut row.description);
        row.reading_permission = self.reading_permission.unwrap_or(row.reading_permission);
        row.posting_permission = self.posting_permission.unwrap_or(row.posting_permission);
        row.visibility = self.visibility.unwrap_or(row.visibility);
        row.requires_approval = self.require_join_approval.unwrap_or(row.requires_approval);
        row.nsfw = self.nsfw.unwrap_or(row.nsfw);
        if let Some(metadata) = self.metadata {
            row.metadata = JsonText(to_json(&metadata));
        }
    }
}

pub(super) async fn update_space(
    call: Call<ActorOrKey>,
    (Path(path), Body(update), pictures): (Path<SpacePath>, Body<SpaceUpdate>, Pictures),
) -> Result<Json<SpaceDetailed>> {
    let (app, project, caller, now) = (&call.app, call.project.id, call.caller, call.now);
    let id = path.space_id;
    if !pictures.is_empty() {
        // Checked before any image is processed.
        let permitted = app.db.read(move |c| {
            let space = store::find(c, project, id)?.ok_or(NOT_FOUND)?;
            authority::authority(c, project, &space, caller)?.require(Authority::Admin)
        });
        permitted.await?;
    }
    let view = View::new(&call, caller.user()).with_files(!pictures.is_empty());
    let pictures = pictures.prepare(app, project, Portrayed::Space(id), &PICTURES, now).await?;
    let (state, stored) = (app.clone(), pictures.clone());
    let work = move |tx: &Tx<'_>| {
        let Held { space: found, .. } = authority::lock(tx, project, id, caller, Authority::Admin)?;
        let mut row = found.clone();
        update.clone().apply(&mut row);
        row.avatar_file_id = stored.avatar().or(row.avatar_file_id);
        row.banner_file_id = stored.banner().or(row.banner_file_id);
        stored.insert(tx, project)?;
        if row != found {
            row.updated_at = now;
            let taken = match &row.slug {
                Some(slug) => store::find_by_slug(tx, project, slug)?,
                None => None,
            };
            if taken.is_some_and(|other| other.id != row.id) {
                return Err(SLUG_TAKEN.into());
            }
            let written = store::update(tx, project, &row);
            written.map_err(|error| error.on_unique("spaces_slug", SLUG_TAKEN))?;
            remove_replaced(tx, project, found.picture_ids(), row.picture_ids(), now)?;
        }
        if row.reading_permission != found.reading_permission
            && row.reading_permission == Reading::Members
        {
            for observer in observers(&state) {
                observer.closed_to_strangers(tx, project, row.id, now)?;
            }
        }
        if row.nsfw != found.nsfw {
            store::spread_nsfw(tx, project, row.id)?;
            row = store::find(tx, project, row.id)?.ok_or(NOT_FOUND)?;
        }
        let changed = events::changed(&found, &row);
        Ok((view.detailed(tx, row)?, changed))
    };
    let event = |(space, changed): &(SpaceDetailed, Vec<String>)| match &**changed {
        [] => Ok(None),
        changed => Ok(Some(UPDATED.event(space)?.changing(changed))),
    };
    let updated = domain_events::write(app, &call.project, &[UPDATED.name()], work, event).await;
    let updated = updated.map(|(space, _)| space);
    pictures.settle(app, project, updated, now).await.map(Json)
}
