//! Workspaces, their members and invitations as the API shows them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::features::users::model::{User, raw};
use crate::features::users::store::UserRow;
use crate::features::workspaces::authority::Authority;
use crate::features::workspaces::capabilities::{Capabilities, Permissions};
use crate::features::workspaces::store::WorkspaceRow;
use crate::features::workspaces::store::invites::InviteRow;
use crate::features::workspaces::store::members::MemberRow;
use crate::storage::signed::Links;
use crate::values::ids::{UserId, WorkspaceId, WorkspaceInviteId, WorkspaceMemberId};
use crate::values::names::names;
use crate::values::time::Timestamp;

names! {
    #[schemars(rename = "WorkspaceInvitationStatus")]
    InviteStatus {
        Pending "pending",
        Accepted "accepted",
        Declined "declined",
        Revoked "revoked",
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Workspace {
    id: WorkspaceId,
    name: String,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    metadata: Box<RawValue>,
    owner_id: UserId,
    parent_workspace_id: Option<WorkspaceId>,
    depth: i64,
    inherits_from_parent: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Direct members; only when included.
    #[serde(skip_serializing_if = "Option::is_none")]
    member_count: Option<i64>,
}

impl Workspace {
    pub(super) fn new(row: WorkspaceRow) -> Result<Self> {
        Ok(Workspace {
            id: row.id,
            name: row.name,
            metadata: raw(row.metadata.0)?,
            owner_id: row.owner_id,
            parent_workspace_id: row.parent_id,
            depth: row.depth,
            inherits_from_parent: row.inherits_from_parent,
            created_at: row.created_at,
            updated_at: row.updated_at,
            member_count: None,
        })
    }

    pub(super) fn with_member_count(self, count: i64) -> Self {
        Workspace { member_count: Some(count), ..self }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkspaceMember {
    id: WorkspaceMemberId,
    workspace_id: WorkspaceId,
    user_id: UserId,
    capabilities: Capabilities,
    permissions: Permissions,
    rank: i64,
    title: Option<String>,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    metadata: Box<RawValue>,
    joined_at: Timestamp,
    created_at: Timestamp,
}

impl WorkspaceMember {
    pub(super) fn new(row: MemberRow) -> Result<Self> {
        Ok(WorkspaceMember {
            id: row.id,
            workspace_id: row.workspace_id,
            user_id: row.user_id,
            capabilities: row.capabilities,
            permissions: row.permissions,
            rank: row.rank,
            title: row.title,
            metadata: raw(row.metadata.0)?,
            joined_at: row.joined_at,
            created_at: row.created_at,
        })
    }
}

/// Who the inviter is differs between the two lists of invitations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkspaceInvitation")]
pub(super) struct Invitation {
    id: WorkspaceInviteId,
    workspace_id: WorkspaceId,
    invited_by: UserId,
    #[serde(flatten)]
    rest: InvitationFields,
}

/// An invitation as its target finds it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReceivedWorkspaceInvitation")]
pub(super) struct ReceivedInvitation {
    id: WorkspaceInviteId,
    workspace_id: WorkspaceId,
    workspace: WorkspaceName,
    /// Null when the account was deleted.
    invited_by: Option<Inviter>,
    #[serde(flatten)]
    rest: InvitationFields,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InvitationFields {
    user_id: Option<UserId>,
    email: Option<String>,
    capabilities: Capabilities,
    permissions: Permissions,
    rank: i64,
    title: Option<String>,
    status: InviteStatus,
    expires_at: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorkspaceName {
    id: WorkspaceId,
    name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceInviter")]
struct Inviter {
    id: UserId,
    name: Option<String>,
    username: Option<String>,
    avatar: Option<String>,
    reputation: i64,
}

impl InvitationFields {
    fn new(row: InviteRow) -> Self {
        InvitationFields {
            user_id: row.user_id,
            email: row.email,
            capabilities: row.capabilities,
            permissions: row.permissions,
            rank: row.rank,
            title: row.title,
            status: row.status,
            expires_at: row.expires_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

impl Invitation {
    pub(super) fn new(row: InviteRow) -> Self {
        Invitation {
            id: row.id,
            workspace_id: row.workspace_id,
            invited_by: row.invited_by,
            rest: InvitationFields::new(row),
        }
    }
}

impl ReceivedInvitation {
    pub(super) fn new(
        links: &Links,
        row: InviteRow,
        workspace: &WorkspaceRow,
        inviter: Option<&UserRow>,
    ) -> Self {
        let inviter = inviter.map(|user| Inviter {
            id: user.id,
            name: user.name.clone(),
            username: user.username.clone(),
            avatar: links.avatar(user.avatar_path.as_deref(), user.avatar.as_deref()),
            reputation: user.reputation,
        });
        ReceivedInvitation {
            id: row.id,
            workspace_id: row.workspace_id,
            workspace: WorkspaceName { id: workspace.id, name: workspace.name.clone() },
            invited_by: inviter,
            rest: InvitationFields::new(row),
        }
    }
}

/// A list without pages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub(super) struct Whole<T> {
    pub(super) data: Vec<T>,
}

/// Why somebody belongs to a workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(rename = "WorkspaceReason")]
pub(super) enum Reason {
    Owner,
    /// With details in the list of members alone.
    Member {
        #[serde(skip_serializing_if = "Option::is_none")]
        rank: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        relative_rank: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        capabilities: Option<Capabilities>,
        #[serde(skip_serializing_if = "Option::is_none")]
        permissions: Option<Permissions>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<Option<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
        metadata: Option<Box<RawValue>>,
    },
    AncestorOwner {
        via_workspace_id: WorkspaceId,
    },
    ReachHolder {
        via_workspace_id: WorkspaceId,
        #[serde(skip_serializing_if = "Option::is_none")]
        capabilities: Option<Capabilities>,
    },
    DescendantMember {
        workspace_id: WorkspaceId,
        #[serde(skip_serializing_if = "Option::is_none")]
        rank: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        capabilities: Option<Capabilities>,
    },
}

impl Reason {
    fn bare_member() -> Self {
        Reason::Member {
            rank: None,
            relative_rank: None,
            capabilities: None,
            permissions: None,
            title: None,
            metadata: None,
        }
    }

    /// All reasons in one workspace. `shows` tells whether access that comes from a workspace above is shown.
    pub(super) fn all(authority: &Authority, shows: impl Fn(WorkspaceId) -> bool) -> Vec<Reason> {
        let owner = authority.is_owner().then_some(Reason::Owner);
        let member = authority.member().map(|_| Reason::bare_member());
        let owned = authority.owned_above().iter();
        let owned = owned.map(|above| Reason::AncestorOwner { via_workspace_id: *above });
        let reach = authority.reach().iter().map(|(above, held)| Reason::ReachHolder {
            via_workspace_id: *above,
            capabilities: shows(*above).then(|| held.clone()),
        });
        owner.into_iter().chain(member).chain(owned).chain(reach).collect()
    }
}

/// A user in the list of members; null when the owner's account was deleted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceRosterEntry")]
pub(super) struct RosterEntry {
    pub(super) user: Option<User>,
    pub(super) reasons: Vec<Reason>,
}
