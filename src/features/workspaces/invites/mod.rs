//! Invitations: sent by those who may, to a user or to an address, and answered by the invitee.

pub(super) mod answer;
pub(super) mod create;
pub(super) mod inbox;
pub mod mail;
pub(super) mod outbox;

use std::time::Duration;

use db::Tx;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Result;
use crate::features::users::store::UserRow;
use crate::features::workspaces::store::invites as store;
use crate::values::ids::{ProjectId, WorkspaceId, WorkspaceInviteId};

/// How long an invitation can be answered.
const LIFETIME: Duration = Duration::from_secs(14 * 24 * 60 * 60);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkspaceInvitePath {
    pub(super) workspace_id: WorkspaceId,
    pub(super) invite_id: WorkspaceInviteId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InvitePath {
    pub(super) invite_id: WorkspaceInviteId,
}

/// A new user gets the invitations that were sent to their address.
pub fn bind_to_new_user(tx: &Tx<'_>, project: ProjectId, user: &UserRow) -> Result<()> {
    match &user.email {
        Some(email) => store::bind(tx, project, email, user.id),
        None => Ok(()),
    }
}
