//! Create Workspace: a root of one's own, or a workspace below another.

use db::JsonText;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::UserOrKey;
use crate::error::{Error, Result};
use crate::features::users::store as users;
use crate::features::workspaces::acting::{Acting, Purpose, acting_user};
use crate::features::workspaces::capabilities::Capability;
use crate::features::workspaces::model::Workspace;
use crate::features::workspaces::rules::{DEEPEST, Name};
use crate::features::workspaces::shape::{Declared, Write};
use crate::features::workspaces::store::{self, WorkspaceRow};
use crate::features::workspaces::{
    EMAIL_NOT_VERIFIED, INVALID_TARGET, MAX_DEPTH_EXCEEDED, has_verified_email, place,
};
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::values::ids::{WorkspaceId, new_id};
use crate::values::metadata::{Metadata, to_json};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewWorkspace {
    name: Name,
    metadata: Option<Metadata>,
    parent_workspace_id: Option<WorkspaceId>,
}

impl Declared for NewWorkspace {}

pub(super) async fn create_workspace(
    call: Call<UserOrKey>,
    Write { named, body }: Write<NewWorkspace>,
) -> Result<Created<Workspace>> {
    let user = acting_user(&call, named, Purpose::Write).await?;
    let (project, now) = (call.project.clone(), call.now);
    let id = WorkspaceId(new_id(now, &call.app.random));
    let new = WorkspaceRow {
        id,
        name: body.name.into_text(),
        metadata: JsonText(to_json(&body.metadata.unwrap_or_default())),
        owner_id: user,
        parent_id: body.parent_workspace_id,
        root_id: id,
        depth: 0,
        inherits_from_parent: project.workspaces.inherits_default,
        created_at: now,
        updated_at: now,
    };
    let created = call.app.db.write(move |tx| {
        let mut row = new.clone();
        if let Some(parent) = row.parent_id {
            let above = place::lock(tx, project.id, parent, Acting::User(user))?;
            above.require(Capability::CreateSubWorkspace)?;
            if above.workspace.depth >= DEEPEST {
                return Err(MAX_DEPTH_EXCEEDED.into());
            }
            row.root_id = above.workspace.root_id;
            row.depth = above.workspace.depth + 1;
        }
        let owner = users::lock_shared(tx, project.id, user)?.ok_or(INVALID_TARGET)?;
        if row.parent_id.is_none() && !has_verified_email(&owner) {
            return Err(EMAIL_NOT_VERIFIED.into());
        }
        store::insert(tx, project.id, &row)?;
        Ok::<_, Error>(row)
    });
    created.await.and_then(Workspace::new).map(Created)
}
