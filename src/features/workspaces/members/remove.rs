//! Remove Workspace Member and Leave Workspace. An owner has no membership and can only hand the workspace over.

use crate::auth::caller::UserOrKey;
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::workspaces::acting::{Acting, Purpose, acting_user};
use crate::features::workspaces::capabilities::Capability;
use crate::features::workspaces::members::WorkspaceMemberPath;
use crate::features::workspaces::place;
use crate::features::workspaces::shape::Write;
use crate::features::workspaces::store::members;
use crate::features::workspaces::{
    INSUFFICIENT_RANK, NOT_FOUND, SOLE_OWNER, WorkspacePath, changes,
};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::NoContent;

pub(in crate::features::workspaces) async fn remove_member(
    call: Call<UserOrKey>,
    (Path(path), Write { named, .. }): (Path<WorkspaceMemberPath>, Write),
) -> Result<NoContent> {
    let user = acting_user(&call, named, Purpose::Write).await?;
    let (app, of, now) = (call.app.clone(), call.project.clone(), call.now);
    let project = of.id;
    let removed = call.app.db.write(move |tx| {
        let place = place::lock(tx, project, path.workspace_id, Acting::User(user))?;
        place.require(Capability::RemoveMember)?;
        if place.workspace.owner_id == path.user_id {
            return Err(SOLE_OWNER.into());
        }
        let row = members::find(tx, project, path.workspace_id, path.user_id)?.ok_or(NOT_FOUND)?;
        if !place.authority.is_senior_to(row.rank) {
            return Err(INSUFFICIENT_RANK.into());
        }
        let context = Context { app: &app, project: &of, now };
        changes::remove_member(tx, context, path.user_id, &[row])
    });
    removed.await.map(|()| NoContent)
}

pub(in crate::features::workspaces) async fn leave_workspace(
    call: Call<UserOrKey>,
    (Path(path), Write { named, .. }): (Path<WorkspacePath>, Write),
) -> Result<NoContent> {
    let user = acting_user(&call, named, Purpose::Write).await?;
    let (app, of, now) = (call.app.clone(), call.project.clone(), call.now);
    let project = of.id;
    let left = call.app.db.write(move |tx| {
        let place = place::lock(tx, project, path.workspace_id, Acting::User(user))?;
        if place.authority.is_owner() {
            return Err(SOLE_OWNER.into());
        }
        let row = members::find(tx, project, path.workspace_id, user)?.ok_or(NOT_FOUND)?;
        let context = Context { app: &app, project: &of, now };
        changes::remove_member(tx, context, user, &[row])
    });
    left.await.map(|()| NoContent)
}
