//! Fetch Authority: what one may do oneself. Fetch Member Standing: what another is.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::auth::caller::UserOrKey;
use crate::error::{Error, Result};
use crate::features::users::model::{User, raw};
use crate::features::users::store as users;
use crate::features::workspaces::acting::{Acting, Purpose, acting, acting_user};
use crate::features::workspaces::capabilities::{Capabilities, Permissions};
use crate::features::workspaces::members::WorkspaceMemberPath;
use crate::features::workspaces::model::Reason;
use crate::features::workspaces::place::{self, Everywhere};
use crate::features::workspaces::shape::Read;
use crate::features::workspaces::store::members;
use crate::features::workspaces::{INVALID_TARGET, WorkspacePath};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceAuthority")]
pub(in crate::features::workspaces) struct OwnAuthority {
    reasons: Vec<Reason>,
    capabilities: Capabilities,
    permissions: Permissions,
    rank: Option<i64>,
}

pub(in crate::features::workspaces) async fn fetch_authority(
    call: Call<UserOrKey>,
    (Path(path), Read { named, .. }): (Path<WorkspacePath>, Read),
) -> Result<Json<OwnAuthority>> {
    let user = acting_user(&call, named, Purpose::Read).await?;
    let project = call.project.id;
    let found = call.app.db.read(move |c| {
        let authority = place::find(c, project, path.workspace_id, Acting::User(user))?.authority;
        Ok::<_, Error>(OwnAuthority {
            reasons: Reason::all(&authority, |_| true),
            capabilities: authority.capabilities(),
            permissions: authority.permissions(),
            rank: authority.rank(),
        })
    });
    found.await.map(Json)
}

/// Access is absent where the caller may not see it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkspaceStanding")]
pub(in crate::features::workspaces) struct Standing {
    user: User,
    reasons: Vec<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<Permissions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<Option<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relative_rank: Option<Option<i64>>,
    title: Option<String>,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    metadata: Box<RawValue>,
}

pub(in crate::features::workspaces) async fn fetch_member_standing(
    call: Call<UserOrKey>,
    (Path(path), Read { named, .. }): (Path<WorkspaceMemberPath>, Read),
) -> Result<Json<Standing>> {
    let acting = acting(&call, named, Purpose::Read).await?;
    let (project, links) = (call.project.id, call.links());
    let found = call.app.db.read(move |c| {
        let place = place::see(c, project, path.workspace_id, acting)?;
        let user = users::find(c, project, path.user_id)?.ok_or(INVALID_TARGET)?;
        let authority = place::of_user(c, project, &place.line, user.id)?;
        let row = members::find(c, project, path.workspace_id, user.id)?;
        let is_self = acting == Acting::User(user.id);
        let everywhere = Everywhere::new(c, project, acting, place.line.iter())?;
        let is_shown = is_self || place.authority.sees_access();
        let (rank, anchor) = (authority.rank(), place.authority.anchor());
        Ok::<_, Error>(Standing {
            user: User::public(&links, &user)?,
            reasons: Reason::all(&authority, |above| is_self || everywhere.at(above).sees_access()),
            capabilities: is_shown.then(|| authority.capabilities()),
            permissions: is_shown.then(|| authority.permissions()),
            rank: is_shown.then_some(rank),
            relative_rank: is_shown.then(|| rank.map(|rank| rank - anchor)),
            title: row.as_ref().and_then(|row| row.title.clone()),
            metadata: raw(row.map_or_else(|| "{}".to_owned(), |row| row.metadata.0))?,
        })
    });
    found.await.map(Json)
}
