//! A workspace as somebody finds it: the line of workspaces down to it, and their authority there. Every operation
//! asks here, so no two of them decide differently.

use std::collections::HashMap;

use db::{Conn, Tx};

use crate::error::Result;
use crate::features::workspaces::acting::Acting;
use crate::features::workspaces::authority::{self, Authority, Grant, Node};
use crate::features::workspaces::capabilities::Capability;
use crate::features::workspaces::store::members::MemberRow;
use crate::features::workspaces::store::{self, WorkspaceRow, members};
use crate::features::workspaces::{NOT_FOUND, UNAUTHORIZED};
use crate::values::ids::{ProjectId, UserId, WorkspaceId};

#[derive(Debug)]
pub(super) struct Place {
    pub(super) workspace: WorkspaceRow,
    /// From the root to the workspace itself.
    pub(super) line: Vec<WorkspaceRow>,
    pub(super) authority: Authority,
}

/// The workspace, if it exists.
pub(super) fn find(
    c: &Conn<'_>,
    project: ProjectId,
    id: WorkspaceId,
    acting: Acting,
) -> Result<Place> {
    let line = store::line(c, project, id)?;
    let workspace = line.last().cloned().ok_or(NOT_FOUND)?;
    let authority = match acting {
        Acting::Project => Authority::project(),
        Acting::User(user) => of_user(c, project, &line, user)?,
    };
    Ok(Place { workspace, line, authority })
}

/// The workspace for somebody with a relation to it; for others there is none.
pub(super) fn see(
    c: &Conn<'_>,
    project: ProjectId,
    id: WorkspaceId,
    acting: Acting,
) -> Result<Place> {
    let place = find(c, project, id, acting)?;
    if place.authority.is_related() { Ok(place) } else { Err(NOT_FOUND.into()) }
}

/// The workspace for a change: its tree is locked.
pub(super) fn lock(
    tx: &Tx<'_>,
    project: ProjectId,
    id: WorkspaceId,
    acting: Acting,
) -> Result<Place> {
    store::lock_tree(tx, project, id)?;
    find(tx, project, id, acting)
}

impl Place {
    pub(super) fn require(&self, capability: Capability) -> Result<()> {
        if self.authority.can(capability) { Ok(()) } else { Err(UNAUTHORIZED.into()) }
    }

    pub(super) fn require_owner(&self) -> Result<()> {
        if self.authority.owns() { Ok(()) } else { Err(UNAUTHORIZED.into()) }
    }
}

/// The authority of a user at the end of a line.
pub(super) fn of_user(
    c: &Conn<'_>,
    project: ProjectId,
    line: &[WorkspaceRow],
    user: UserId,
) -> Result<Authority> {
    let ids: Vec<WorkspaceId> = line.iter().map(|row| row.id).collect();
    let grants = Grants::new(&members::of_user_in(c, project, user, &ids)?);
    Ok(grants.authority(user, line))
}

/// One user's memberships, by workspace.
#[derive(Debug)]
pub(super) struct Grants(HashMap<WorkspaceId, Grant>);

impl Grants {
    pub(super) fn new(rows: &[MemberRow]) -> Self {
        Grants(rows.iter().map(|row| (row.workspace_id, row.grant())).collect())
    }

    pub(super) fn authority(&self, user: UserId, line: &[WorkspaceRow]) -> Authority {
        let nodes: Vec<Node> = line.iter().map(WorkspaceRow::node).collect();
        authority::resolve(user, &nodes, |id| self.0.get(&id).cloned())
    }
}

/// The caller's authority in every workspace of a line and of the subtree below it.
#[derive(Debug)]
pub(super) struct Everywhere {
    acting: Acting,
    grants: Grants,
    rows: HashMap<WorkspaceId, WorkspaceRow>,
}

impl Everywhere {
    /// `rows` hold every workspace from the root on that is asked about.
    pub(super) fn new<'a>(
        c: &Conn<'_>,
        project: ProjectId,
        acting: Acting,
        rows: impl Iterator<Item = &'a WorkspaceRow>,
    ) -> Result<Self> {
        let rows: HashMap<WorkspaceId, WorkspaceRow> =
            rows.map(|row| (row.id, row.clone())).collect();
        let ids: Vec<WorkspaceId> = rows.keys().copied().collect();
        let held = match acting {
            Acting::User(user) => members::of_user_in(c, project, user, &ids)?,
            Acting::Project => Vec::new(),
        };
        Ok(Everywhere { acting, grants: Grants::new(&held), rows })
    }

    pub(super) fn at(&self, id: WorkspaceId) -> Authority {
        let Acting::User(user) = self.acting else { return Authority::project() };
        let mut line = Vec::new();
        let mut next = self.rows.get(&id);
        while let Some(row) = next {
            line.insert(0, row.clone());
            next = row.parent_id.and_then(|parent| self.rows.get(&parent));
        }
        self.grants.authority(user, &line)
    }
}
