//! Transfer Ownership: the new owner's membership ends; the previous owner leaves or becomes a member.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::UserOrKey;
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::users::store as users;
use crate::features::visibility::store::blocks;
use crate::features::workspaces::acting::{Acting, Purpose, acting};
use crate::features::workspaces::capabilities::{Capabilities, Permissions, Rank};
use crate::features::workspaces::model::Workspace;
use crate::features::workspaces::place::{self, Place};
use crate::features::workspaces::rules::{given_rank, next_rank};
use crate::features::workspaces::shape::{Declared, Write};
use crate::features::workspaces::store::members::{self, MemberRow};
use crate::features::workspaces::store::{self, WorkspaceRow};
use crate::features::workspaces::{
    EMAIL_NOT_VERIFIED, INVALID_TARGET, WorkspacePath, changes, has_verified_email,
};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{UserId, WorkspaceMemberId, new_id};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "WorkspaceTransfer")]
pub(super) struct Transfer {
    new_owner_id: UserId,
    #[serde(default)]
    previous_owner_disposition: Disposition,
    previous_owner_rank: Option<Rank>,
    previous_owner_capabilities: Option<Capabilities>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum Disposition {
    #[default]
    Remove,
    Demote,
}

impl Declared for Transfer {}

pub(super) async fn transfer_ownership(
    call: Call<UserOrKey>,
    (Path(path), Write { named, body }): (Path<WorkspacePath>, Write<Transfer>),
) -> Result<Json<Workspace>> {
    let acting = acting(&call, named, Purpose::Write).await?;
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let id = WorkspaceMemberId(new_id(now, &call.app.random));
    let transferred = call.app.db.write(move |tx| {
        let place = place::lock(tx, project.id, path.workspace_id, acting)?;
        place.require_owner()?;
        let context = Context { app: &app, project: &project, now };
        let row = transfer(tx, context, acting, &place, &body, id)?;
        Workspace::new(row)
    });
    transferred.await.map(Json)
}

fn transfer(
    tx: &Tx<'_>,
    context: Context<'_>,
    acting: Acting,
    Place { workspace, authority, .. }: &Place,
    body: &Transfer,
    id: WorkspaceMemberId,
) -> Result<WorkspaceRow> {
    let Context { project, now, .. } = context;
    let (new, previous) = (body.new_owner_id, workspace.owner_id);
    let there = users::lock_all_shared(tx, project.id, &[new, previous])?;
    let target = users::find(tx, project.id, new)?.ok_or(INVALID_TARGET)?;
    // The same error for a block and an unknown user.
    if blocks::is_blocked_between(tx, project, acting.user(), new)? {
        return Err(INVALID_TARGET.into());
    }
    if !has_verified_email(&target) {
        return Err(EMAIL_NOT_VERIFIED.into());
    }
    if new == previous {
        return Ok(workspace.clone());
    }
    // A deleted owner cannot become a member.
    let demotes =
        body.previous_owner_disposition == Disposition::Demote && there.contains(&previous);
    let rank = match body.previous_owner_rank {
        _ if !demotes => None,
        None => Some(next_rank(authority)?),
        given => given_rank(authority, given, None)?,
    };
    if let Some(row) = members::find(tx, project.id, workspace.id, new)? {
        changes::remove_member(tx, context, new, &[row])?;
    }
    let row = WorkspaceRow { owner_id: new, updated_at: now, ..workspace.clone() };
    store::update(tx, project.id, &row)?;
    if let Some(rank) = rank {
        let member = MemberRow {
            id,
            workspace_id: workspace.id,
            user_id: previous,
            capabilities: body.previous_owner_capabilities.clone().unwrap_or_default(),
            permissions: Permissions::default(),
            rank,
            title: None,
            metadata: JsonText("{}".to_owned()),
            joined_at: now,
            created_at: now,
        };
        changes::add_member(tx, context, &member)?;
    }
    Ok(row)
}
