//! Who may do what in a workspace, as pure functions. Authority comes from three places: a membership there (direct),
//! a membership further up, as long as every workspace on the way down inherits (reach), and ownership of the
//! workspace or of any above it (which needs no flag). Any of them lets a user see the workspace.

use crate::features::workspaces::capabilities::{APEX, Capabilities, Capability, Permissions};
use crate::values::ids::{UserId, WorkspaceId};

/// A workspace as the rules see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    pub id: WorkspaceId,
    pub owner: UserId,
    pub inherits: bool,
}

/// What a membership gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grant {
    pub capabilities: Capabilities,
    pub permissions: Permissions,
    pub rank: i64,
}

/// What somebody is in one workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authority {
    /// A key that names no user: bound by nothing.
    is_project: bool,
    is_owner: bool,
    member: Option<Grant>,
    /// Workspaces above that the user owns, the nearest first.
    owned_above: Vec<WorkspaceId>,
    /// Memberships above that reach down to here, the nearest first.
    reach: Vec<(WorkspaceId, Capabilities)>,
}

/// How many workspaces right above the last one of a line pass their memberships on to it: the line begins at the root,
/// and each workspace passes on what it has or gets to those below that inherit.
pub fn reach(line: &[Node]) -> usize {
    let inheriting = line.iter().rev().take_while(|node| node.inherits).count();
    inheriting.min(line.len().saturating_sub(1))
}

/// The authority of a user in the last workspace of a line, which begins at the root. `grant` finds the user's
/// membership in a workspace of the line.
pub fn resolve(
    user: UserId,
    line: &[Node],
    grant: impl Fn(WorkspaceId) -> Option<Grant>,
) -> Authority {
    let Some((here, above)) = line.split_last() else { return Authority::default() };
    let mut authority =
        Authority { is_owner: here.owner == user, member: grant(here.id), ..Authority::default() };
    let owned = above.iter().rev().filter(|node| node.owner == user);
    authority.owned_above.extend(owned.map(|node| node.id));
    for node in above.iter().rev().take(reach(line)) {
        authority.reach.extend(grant(node.id).map(|grant| (node.id, grant.capabilities)));
    }
    authority
}

impl Authority {
    pub fn project() -> Self {
        Authority { is_project: true, ..Authority::default() }
    }

    pub fn is_owner(&self) -> bool {
        self.is_owner
    }

    pub fn member(&self) -> Option<&Grant> {
        self.member.as_ref()
    }

    pub fn owned_above(&self) -> &[WorkspaceId] {
        &self.owned_above
    }

    pub fn reach(&self) -> &[(WorkspaceId, Capabilities)] {
        &self.reach
    }

    /// Whether there is any relation to the workspace.
    pub fn is_related(&self) -> bool {
        self.owns() || self.member.is_some() || !self.reach.is_empty()
    }

    /// The owner of the workspace or of one above it, and the project itself.
    pub fn owns(&self) -> bool {
        self.is_project || self.is_owner || !self.owned_above.is_empty()
    }

    pub fn can(&self, capability: Capability) -> bool {
        self.owns()
            || (capability == Capability::View && self.is_related())
            || self.member.as_ref().is_some_and(|grant| grant.capabilities.has(capability))
            || self.reach.iter().any(|(_, held)| held.has(capability))
    }

    /// From all sources together.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities::only(|one| self.can(one))
    }

    /// Those of the membership: permissions are not inherited.
    pub fn permissions(&self) -> Permissions {
        self.member.as_ref().map(|grant| grant.permissions.clone()).unwrap_or_default()
    }

    pub fn rank(&self) -> Option<i64> {
        self.member.as_ref().map(|grant| grant.rank)
    }

    /// The rank from which relative ranks count: that of the own membership here, or the apex.
    pub fn anchor(&self) -> i64 {
        self.rank().unwrap_or(APEX)
    }

    /// Whether a rank is junior to the own one: only such members are acted on, and only such ranks assigned. Without
    /// a membership here every rank is.
    pub fn is_senior_to(&self, rank: i64) -> bool {
        rank > self.anchor()
    }

    /// Whether all of these are the user's to give: nobody gives what they do not hold.
    pub fn may_grant<'a>(
        &self,
        mut capabilities: impl Iterator<Item = Capability>,
        mut permissions: impl Iterator<Item = &'a str>,
    ) -> bool {
        if self.owns() {
            return true;
        }
        let held = self.member.as_ref().map(|grant| &grant.permissions);
        capabilities.all(|one| self.can(one))
            && permissions.all(|one| held.is_some_and(|held| held.has(one)))
    }

    /// Whether they see ranks, capabilities and permissions of others here.
    pub fn sees_access(&self) -> bool {
        self.owns() || Capability::OVER_MEMBERS.into_iter().any(|one| self.can(one))
    }
}

#[cfg(test)]
mod tests;
