//! Update Workspace Member: their access (rank, capabilities, permissions) or their profile (title, metadata).

use db::JsonText;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::UserOrKey;
use crate::error::Result;
use crate::features::workspaces::acting::{Acting, Purpose, acting_user};
use crate::features::workspaces::capabilities::{
    Capabilities, Capability, Permissions, Rank, RelativeRank,
};
use crate::features::workspaces::members::WorkspaceMemberPath;
use crate::features::workspaces::model::WorkspaceMember;
use crate::features::workspaces::place::{self, Place};
use crate::features::workspaces::rules::{Given, TWO_RANKS, Title, given_rank};
use crate::features::workspaces::shape::{Declared, Write};
use crate::features::workspaces::store::members::{self, MemberRow};
use crate::features::workspaces::{INSUFFICIENT_RANK, NO_ESCALATION, NOT_FOUND};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::values::metadata::{Metadata, to_json};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "WorkspaceMemberUpdate")]
pub(in crate::features::workspaces) struct MemberUpdate {
    capabilities: Option<Capabilities>,
    permissions: Option<Permissions>,
    rank: Option<Rank>,
    relative_rank: Option<RelativeRank>,
    #[serde(default)]
    title: Patch<Title>,
    metadata: Option<Metadata>,
}

impl MemberUpdate {
    fn changes_access(&self) -> bool {
        self.capabilities.is_some()
            || self.permissions.is_some()
            || self.rank.is_some()
            || self.relative_rank.is_some()
    }
}

impl Declared for MemberUpdate {
    fn check(&self) -> Result<(), &'static str> {
        if self.rank.is_some() && self.relative_rank.is_some() {
            return Err(TWO_RANKS);
        }
        let has_profile = self.title != Patch::Absent || self.metadata.is_some();
        if self.changes_access() || has_profile {
            Ok(())
        } else {
            Err("There is nothing to change")
        }
    }
}

pub(in crate::features::workspaces) async fn update_member(
    call: Call<UserOrKey>,
    (Path(path), Write { named, body }): (Path<WorkspaceMemberPath>, Write<MemberUpdate>),
) -> Result<Json<WorkspaceMember>> {
    let user = acting_user(&call, named, Purpose::Write).await?;
    let project = call.project.id;
    let updated = call.app.db.write(move |tx| {
        let place = place::lock(tx, project, path.workspace_id, Acting::User(user))?;
        let is_self = user == path.user_id;
        permit(&place, &body, is_self)?;
        let found = members::find(tx, project, path.workspace_id, path.user_id)?;
        let found = found.ok_or(NOT_FOUND)?;
        let row = changed(&place, &body, found, is_self)?;
        members::update(tx, project, &row)?;
        WorkspaceMember::new(row)
    });
    updated.await.map(Json)
}

fn permit(place: &Place, body: &MemberUpdate, is_self: bool) -> Result<()> {
    if body.changes_access() {
        place.require(Capability::EditMemberAccess)?;
    }
    let changes_title = body.title != Patch::Absent;
    if body.metadata.is_some() || (changes_title && !is_self) {
        place.require(Capability::EditMemberProfile)?;
    }
    Ok(())
}

/// The row as it is to be. Only juniors are changed, except for one's own title.
fn changed(
    place: &Place,
    body: &MemberUpdate,
    found: MemberRow,
    is_self: bool,
) -> Result<MemberRow> {
    let is_own_title = is_self && !body.changes_access() && body.metadata.is_none();
    if !is_own_title && !place.authority.is_senior_to(found.rank) {
        return Err(INSUFFICIENT_RANK.into());
    }
    let rank = given_rank(&place.authority, body.rank, body.relative_rank)?;
    let given =
        Given { capabilities: body.capabilities.clone(), permissions: body.permissions.clone() };
    // Taking away needs nothing but the rank.
    if !given.is_within(&place.authority, (&found.capabilities, &found.permissions)) {
        return Err(NO_ESCALATION.into());
    }
    let mut row = found;
    row.rank = rank.unwrap_or(row.rank);
    row.capabilities = given.capabilities.unwrap_or(row.capabilities);
    row.permissions = given.permissions.unwrap_or(row.permissions);
    body.title.clone().and_then(Title::unless_blank).put(&mut row.title);
    if let Some(metadata) = &body.metadata {
        row.metadata = JsonText(to_json(metadata));
    }
    Ok(row)
}
