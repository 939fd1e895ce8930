//! Remove From Subtree: takes a user out of a workspace and of all below it, as far as the actor's authority goes.

use db::Tx;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::auth::caller::UserOrKey;
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::workspaces::acting::{Acting, Purpose, acting_user};
use crate::features::workspaces::authority::Authority;
use crate::features::workspaces::capabilities::Capability;
use crate::features::workspaces::members::WorkspaceMemberPath;
use crate::features::workspaces::place::{self, Everywhere};
use crate::features::workspaces::shape::Write;
use crate::features::workspaces::store::members::MemberRow;
use crate::features::workspaces::store::{self, WorkspaceRow, members};
use crate::features::workspaces::{INSUFFICIENT_RANK, OWNS_DESCENDANTS, changes};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{UserId, WorkspaceId};

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkspaceSubtreeRemoval")]
pub(in crate::features::workspaces) struct Removal {
    removed_count: usize,
    removed: Vec<Removed>,
    skipped_count: usize,
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RemovedWorkspaceMember")]
struct Removed {
    workspace_id: WorkspaceId,
    user_id: UserId,
}

/// Without a name for those who may not see the workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SkippedWorkspace")]
struct Skipped {
    id: Option<WorkspaceId>,
    name: Option<String>,
    reason: SkipReason,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum SkipReason {
    OutOfReach,
}

pub(in crate::features::workspaces) async fn remove_from_subtree(
    call: Call<UserOrKey>,
    (Path(path), Write { named, .. }): (Path<WorkspaceMemberPath>, Write),
) -> Result<Json<Removal>> {
    let user = acting_user(&call, named, Purpose::Write).await?;
    let (app, of, now) = (call.app.clone(), call.project.clone(), call.now);
    let project = of.id;
    let removed = call.app.db.write(move |tx| {
        let place = place::lock(tx, project, path.workspace_id, Acting::User(user))?;
        place.require(Capability::RemoveMember)?;
        let subtree = store::subtree(tx, project, path.workspace_id)?;
        let everywhere =
            Everywhere::new(tx, project, Acting::User(user), place.line.iter().chain(&subtree))?;
        let context = Context { app: &app, project: &of, now };
        remove(tx, context, path.user_id, &subtree, &everywhere)
    });
    removed.await.map(Json)
}

fn remove(
    tx: &Tx<'_>,
    context: Context<'_>,
    target: UserId,
    subtree: &[WorkspaceRow],
    everywhere: &Everywhere,
) -> Result<Removal> {
    let ids: Vec<WorkspaceId> = subtree.iter().map(|row| row.id).collect();
    let held = members::of_user_in(tx, context.project.id, target, &ids)?;
    let mut taken: Vec<MemberRow> = Vec::new();
    let mut skipped = Vec::new();
    for workspace in subtree {
        let Some(row) = held.iter().find(|row| row.workspace_id == workspace.id) else { continue };
        let authority = everywhere.at(workspace.id);
        if !authority.can(Capability::RemoveMember) {
            let (id, name) = named(workspace, &authority);
            skipped.push(Skipped { id, name, reason: SkipReason::OutOfReach });
        } else if authority.is_senior_to(row.rank) {
            taken.push(row.clone());
        } else {
            return Err(INSUFFICIENT_RANK.into());
        }
    }
    let owned: Vec<_> = subtree
        .iter()
        .filter(|workspace| workspace.owner_id == target)
        .map(|workspace| {
            let (id, name) = named(workspace, &everywhere.at(workspace.id));
            json!({ "id": id, "name": name })
        })
        .collect();
    if !owned.is_empty() {
        return Err(OWNS_DESCENDANTS.with("ownedWorkspaces", owned));
    }
    changes::remove_member(tx, context, target, &taken)?;
    let removed: Vec<Removed> = taken
        .iter()
        .map(|row| Removed { workspace_id: row.workspace_id, user_id: target })
        .collect();
    Ok(Removal { removed_count: removed.len(), removed, skipped_count: skipped.len(), skipped })
}

/// What the actor may know of a workspace.
fn named(workspace: &WorkspaceRow, authority: &Authority) -> (Option<WorkspaceId>, Option<String>) {
    let is_seen = authority.is_related();
    (is_seen.then_some(workspace.id), is_seen.then(|| workspace.name.clone()))
}
