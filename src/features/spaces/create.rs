//! Create Space: any user creates a root, an admin of the parent creates a child. The child starts with the
//! admins and moderators of its parent.

use db::{Conn, JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::{Actor, Via};
use crate::domain_events;
use crate::error::{Error, Result};
use crate::features::spaces::authority::Authority;
use crate::features::spaces::events::CREATED;
use crate::features::spaces::members::store::{self as members, MemberRow};
use crate::features::spaces::model::Space;
use crate::features::spaces::rules::{
    DEEPEST, Description, Name, Posting, Reading, Role, Slug, Status, Visibility,
};
use crate::features::spaces::show::View;
use crate::features::spaces::store::{self, SpaceRow};
use crate::features::spaces::{
    MAX_DEPTH_EXCEEDED, PARENT_ADMIN_REQUIRED, PARENT_NOT_FOUND, PICTURES, SLUG_TAKEN,
};
use crate::features::users;
use crate::features::users::pictures::{Pictures, Portrayed};
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::state::App;
use crate::values::ids::{MemberId, ProjectId, SpaceId, UserId, new_id};
use crate::values::metadata::{Metadata, to_json};
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSpace {
    name: Name,
    slug: Option<Slug>,
    description: Option<Description>,
    reading_permission: Option<Reading>,
    posting_permission: Option<Posting>,
    visibility: Option<Visibility>,
    require_join_approval: Option<bool>,
    nsfw: Option<bool>,
    metadata: Option<Metadata>,
    parent_space_id: Option<SpaceId>,
}

impl NewSpace {
    fn into_row(self, id: SpaceId, creator: UserId, now: Timestamp) -> SpaceRow {
        let nsfw = self.nsfw == Some(true);
        SpaceRow {
            id,
            slug: self.slug.and_then(Slug::into_option),
            name: self.name.into_text(),
            description: self.description.and_then(Description::into_option),
            user_id: Some(creator),
            avatar_file_id: None,
            banner_file_id: None,
            reading_permission: self.reading_permission.unwrap_or(Reading::Anyone),
            posting_permission: self.posting_permission.unwrap_or(Posting::Members),
            visibility: self.visibility.unwrap_or(Visibility::Public),
            nsfw,
            nsfw_effective: nsfw,
            requires_approval: self.require_join_approval.unwrap_or(true),
            parent_id: self.parent_space_id,
            depth: 0,
            metadata: JsonText(to_json(&self.metadata.unwrap_or_default())),
            members_count: 0,
            children_count: 0,
            created_at: now,
            updated_at: now,
        }
    }
}

pub(super) async fn create_space(
    call: Call<Actor>,
    (Body(new), pictures): (Body<NewSpace>, Pictures),
) -> Result<Created<Space>> {
    let (app, project, actor, now) = (&call.app, call.project.clone(), call.caller.user, call.now);
    let is_key = matches!(call.caller.via, Via::Key(_));
    let id = SpaceId(new_id(now, &app.random));
    let mut row = new.into_row(id, actor, now);
    if !pictures.is_empty() {
        // Checked before any image is processed.
        let (project, row) = (project.id, row.clone());
        let fits = app.db.read(move |c| {
            let parent = match row.parent_id {
                Some(parent) => store::find(c, project, parent)?,
                None => None,
            };
            permit(c, project, &row, parent.as_ref(), actor, is_key)
        });
        fits.await?;
    }
    let view = View::new(&call, Some(actor)).with_files(!pictures.is_empty());
    let pictures = pictures.prepare(app, project.id, Portrayed::Space(id), &PICTURES, now).await?;
    (row.avatar_file_id, row.banner_file_id) = (pictures.avatar(), pictures.banner());
    let (stored, state) = (pictures.clone(), app.clone());
    let work = move |tx: &Tx<'_>| {
        let row = add(tx, &state, project.id, row.clone(), actor, is_key)?;
        stored.insert(tx, project.id)?;
        view.space(tx, row)
    };
    let event = |space: &Space| CREATED.event(space).map(Some);
    let created = domain_events::write(app, &call.project, &[CREATED.name()], work, event).await;
    pictures.settle(app, call.project.id, created, now).await.map(Created)
}

/// Checks whether such a space may be created. `parent`: the named parent, if any.
fn permit(
    c: &Conn<'_>,
    project: ProjectId,
    row: &SpaceRow,
    parent: Option<&SpaceRow>,
    creator: UserId,
    is_key: bool,
) -> Result<()> {
    if row.parent_id.is_some() {
        let parent = parent.ok_or(PARENT_NOT_FOUND)?;
        let standing = store::standing(c, project, parent.id, creator)?;
        if !is_key && Authority::of(parent, creator, standing) < Authority::Admin {
            return Err(PARENT_ADMIN_REQUIRED.into());
        }
        if parent.depth >= DEEPEST {
            return Err(MAX_DEPTH_EXCEEDED.into());
        }
    }
    match &row.slug {
        Some(slug) if store::find_by_slug(c, project, slug)?.is_some() => Err(SLUG_TAKEN.into()),
        _ => Ok(()),
    }
}

/// Stores a new space with its first members; returns its row.
fn add(
    tx: &Tx<'_>,
    app: &App,
    project: ProjectId,
    mut row: SpaceRow,
    creator: UserId,
    is_key: bool,
) -> Result<SpaceRow> {
    let parent = match row.parent_id {
        Some(parent) => store::lock_parent(tx, project, parent)?,
        None => None,
    };
    permit(tx, project, &row, parent.as_ref(), creator, is_key)?;
    if users::store::lock_shared(tx, project, creator)?.is_none() {
        return Err(users::NOT_FOUND.into());
    }
    let mut team = vec![(creator, Role::Admin)];
    if let Some(parent) = &parent {
        row.depth = parent.depth + 1;
        row.nsfw_effective = row.nsfw || parent.nsfw_effective;
        let others = members::team(tx, project, parent.id)?.into_iter();
        let others = others.filter(|member| member.user_id != creator);
        team.extend(others.map(|member| (member.user_id, member.role)));
    }
    store::insert(tx, project, &row).map_err(|error| error.on_unique("spaces_slug", SLUG_TAKEN))?;
    let (space_id, now, status) = (row.id, row.created_at, Status::Active);
    let team = team.into_iter().map(|(user_id, role)| {
        let id = MemberId(new_id(now, &app.random));
        MemberRow { id, space_id, user_id, role, status, joined_at: now, created_at: now }
    });
    let team: Vec<MemberRow> = team.collect();
    members::insert(tx, project, space_id, &team)?;
    row.members_count = i64::try_from(team.len()).map_err(Error::internal)?;
    Ok(row)
}
