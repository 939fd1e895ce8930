//! The members of a workspace: who belongs to it and why, and how memberships change and end.

pub(super) mod remove;
pub(super) mod roster;
pub(super) mod standing;
pub(super) mod subtree;
pub(super) mod update;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::ids::{UserId, WorkspaceId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkspaceMemberPath {
    pub(super) workspace_id: WorkspaceId,
    pub(super) user_id: UserId,
}
