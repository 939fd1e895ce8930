//! Update Workspace, Flip Inherit Flag, Delete Workspace.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::UserOrKey;
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::workspaces::acting::{Purpose, acting};
use crate::features::workspaces::capabilities::Capability;
use crate::features::workspaces::model::Workspace;
use crate::features::workspaces::place::{self, Place};
use crate::features::workspaces::rules::Name;
use crate::features::workspaces::shape::{Declared, Write};
use crate::features::workspaces::{INHERIT_ENFORCED, WorkspacePath, changes, store};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::metadata::{Metadata, to_json};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WorkspaceUpdate")]
pub(super) struct Update {
    name: Option<Name>,
    metadata: Option<Metadata>,
}

impl Declared for Update {
    fn check(&self) -> Result<(), &'static str> {
        if self.name.is_none() && self.metadata.is_none() {
            return Err("name or metadata is required");
        }
        Ok(())
    }
}

pub(super) async fn update_workspace(
    call: Call<UserOrKey>,
    (Path(path), Write { named, body }): (Path<WorkspacePath>, Write<Update>),
) -> Result<Json<Workspace>> {
    let acting = acting(&call, named, Purpose::Write).await?;
    let (project, now) = (call.project.id, call.now);
    let updated = call.app.db.write(move |tx| {
        let place = place::lock(tx, project, path.workspace_id, acting)?;
        place.require(Capability::EditWorkspace)?;
        let mut row = place.workspace;
        if let Some(name) = &body.name {
            row.name = name.as_str().to_owned();
        }
        if let Some(metadata) = &body.metadata {
            row.metadata = JsonText(to_json(metadata));
        }
        row.updated_at = now;
        store::update(tx, project, &row)?;
        Workspace::new(row)
    });
    updated.await.map(Json)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "WorkspaceInheritFlag")]
pub(super) struct InheritFlag {
    inherits_from_parent: bool,
}

impl Declared for InheritFlag {}

pub(super) async fn flip_inherit_flag(
    call: Call<UserOrKey>,
    (Path(path), Write { named, body }): (Path<WorkspacePath>, Write<InheritFlag>),
) -> Result<Json<Workspace>> {
    let acting = acting(&call, named, Purpose::Write).await?;
    let (project, now) = (call.project.clone(), call.now);
    let flipped = call.app.db.write(move |tx| {
        let place = place::lock(tx, project.id, path.workspace_id, acting)?;
        place.require_owner()?;
        if project.workspaces.inherit_enforced {
            return Err(INHERIT_ENFORCED.into());
        }
        let mut row = place.workspace;
        row.inherits_from_parent = body.inherits_from_parent;
        row.updated_at = now;
        store::update(tx, project.id, &row)?;
        Workspace::new(row)
    });
    flipped.await.map(Json)
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceDeletion")]
pub(super) struct Deleted {
    message: &'static str,
}

/// Deletes everything below it, too.
pub(super) async fn delete_workspace(
    call: Call<UserOrKey>,
    (Path(path), Write { named, .. }): (Path<WorkspacePath>, Write),
) -> Result<Json<Deleted>> {
    let acting = acting(&call, named, Purpose::Write).await?;
    let (app, of, now) = (call.app.clone(), call.project.clone(), call.now);
    let deleted = call.app.db.write(move |tx: &Tx<'_>| {
        let place: Place = place::lock(tx, of.id, path.workspace_id, acting)?;
        place.require_owner()?;
        let subtree = store::subtree(tx, of.id, path.workspace_id)?;
        changes::delete_subtree(tx, Context { app: &app, project: &of, now }, &subtree)
    });
    deleted.await?;
    Ok(Json(Deleted { message: "Workspace deleted." }))
}
