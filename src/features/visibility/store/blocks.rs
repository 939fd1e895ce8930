//! What a block hides: the only place that decides it, for every list and every fetch. Users with a block
//! between them do not exist for each other.
//!
//! A single fetch asks [`is_blocked_between`], a profile [`has_blocked`], and notifications drop the users in
//! [`blocked_among`]. A list asks [`hidden`] first, which is empty for nearly everybody; otherwise it adds
//! [`Hidden::condition`] to its conditions and subtracts the entries of [`Hidden::users`] from its stored
//! total. Without a viewer, and without the bundle, nothing is hidden.

use std::fmt::Display;

use db::{Conn, args};

use crate::error::Result;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::UserId;

/// SQL: no block in either direction between `$3` and the user in a column; rows without a user pass.
macro_rules! not_blocked {
    ($column:literal) => {
        concat!(
            " AND (SELECT 1 FROM blocks h WHERE h.project_id = $1 AND h.blocker_id = $3
                AND h.blocked_id = ",
            $column,
            ") IS NULL
              AND (SELECT 1 FROM blocks h WHERE h.project_id = $1 AND h.blocked_id = $3
                AND h.blocker_id = ",
            $column,
            ") IS NULL "
        )
    };
}
pub(crate) use not_blocked;

db::statements! {
    query IS_BETWEEN -> bool =
        "SELECT EXISTS (SELECT 1 FROM blocks
                WHERE project_id = $1 AND blocker_id = $2 AND blocked_id = $3)
            OR EXISTS (SELECT 1 FROM blocks
                WHERE project_id = $1 AND blocker_id = $3 AND blocked_id = $2)";
    /// Those of these users with a block between them and the user, in either direction.
    query AMONG -> UserId =
        "SELECT blocked_id FROM blocks
         WHERE project_id = $1 AND blocker_id = $2 AND blocked_id {any}($3)
         UNION SELECT blocker_id FROM blocks
         WHERE project_id = $1 AND blocked_id = $2 AND blocker_id {any}($3)";
    /// Whether the user has blocked anybody, and whether anybody has blocked them.
    query TOUCHES -> (bool, bool) =
        "SELECT EXISTS (SELECT 1 FROM blocks WHERE project_id = $1 AND blocker_id = $2) AS blocks,
            EXISTS (SELECT 1 FROM blocks WHERE project_id = $1 AND blocked_id = $2) AS is_blocked";
    query HAS_BLOCKED -> bool =
        "SELECT EXISTS (SELECT 1 FROM blocks
                WHERE project_id = $1 AND blocker_id = $2 AND blocked_id = $3)";
}

/// The users hidden from a viewer in lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hidden {
    viewer: Option<UserId>,
    /// Users that the viewer has blocked.
    blocked: bool,
    /// Those who have blocked the viewer.
    blockers: bool,
}

/// Everybody with a block between them and the viewer, in either direction.
pub fn hidden(c: &Conn<'_>, project: &Project, viewer: Option<UserId>) -> Result<Hidden> {
    let Some(user) = counting(project, viewer) else { return Ok(Hidden::default()) };
    let (blocked, blockers) = c.one(&TOUCHES, args![project.id, user])?;
    let viewer = Some(user).filter(|_| blocked || blockers);
    Ok(Hidden { viewer, blocked, blockers })
}

impl Hidden {
    pub fn is_nobody(&self) -> bool {
        self.viewer.is_none()
    }

    /// Shows users that the viewer has blocked, but never those who have blocked the viewer.
    pub fn but_blocked(self) -> Self {
        let viewer = self.viewer.filter(|_| self.blockers);
        Hidden { viewer, blocked: false, ..self }
    }

    /// The viewer, if anything is hidden from them: an argument of the texts below.
    pub fn viewer(&self) -> Option<UserId> {
        self.viewer
    }

    /// Whether this user is hidden.
    pub fn holds(&self, c: &Conn<'_>, project: &Project, other: UserId) -> Result<bool> {
        match self.viewer {
            Some(viewer) if self.blocked => is_blocked_between(c, project, Some(viewer), other),
            Some(viewer) => has_blocked(c, project, Some(viewer), other),
            None => Ok(false),
        }
    }

    /// The condition that the user in a column is not hidden; rows without a user pass. `viewer` is the
    /// placeholder of the viewer's id, `$1` that of the project. A correlated subquery, since an engine might
    /// start from a join.
    pub fn condition(&self, column: &str, viewer: impl Display) -> String {
        let found = |by: &str, of: &str| {
            format!(
                "(SELECT 1 FROM blocks h WHERE h.project_id = $1 AND h.{by} = {viewer}
                    AND h.{of} = {column}) IS NULL"
            )
        };
        let blocked = self.blocked.then(|| found("blocker_id", "blocked_id"));
        let blockers = self.blockers.then(|| found("blocked_id", "blocker_id"));
        let both: Vec<String> = blocked.into_iter().chain(blockers).collect();
        if both.is_empty() { "1 = 1".to_owned() } else { both.join(" AND ") }
    }

    /// A query for the `user_id` of everybody hidden.
    pub fn users(&self, viewer: impl Display) -> String {
        let those = |by: &str, of: &str| {
            format!(
                "SELECT h.{of} AS user_id FROM blocks h
                 WHERE h.project_id = $1 AND h.{by} = {viewer}"
            )
        };
        let blocked = self.blocked.then(|| those("blocker_id", "blocked_id"));
        let blockers = self.blockers.then(|| those("blocked_id", "blocker_id"));
        let both: Vec<String> = blocked.into_iter().chain(blockers).collect();
        both.join(" UNION ")
    }
}

/// Whether there is a block between the two, in either direction.
pub fn is_blocked_between(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    other: UserId,
) -> Result<bool> {
    match counting(project, viewer) {
        Some(viewer) if viewer != other => {
            Ok(c.one(&IS_BETWEEN, args![project.id, viewer, other])?)
        }
        _ => Ok(false),
    }
}

/// Whether the owner of a profile has blocked the viewer. The viewer's own block does not hide a profile.
pub fn has_blocked(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    owner: UserId,
) -> Result<bool> {
    match counting(project, viewer) {
        Some(viewer) if viewer != owner => {
            Ok(c.one(&HAS_BLOCKED, args![project.id, owner, viewer])?)
        }
        _ => Ok(false),
    }
}

/// Those of the users who are hidden.
pub fn blocked_among(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    others: &[UserId],
) -> Result<Vec<UserId>> {
    match counting(project, viewer) {
        Some(viewer) if !others.is_empty() => {
            Ok(c.all(&AMONG, args![project.id, viewer, UserId::list(others)])?)
        }
        _ => Ok(Vec::new()),
    }
}

/// Blocks apply only to a viewer, in a project that has the bundle.
pub fn counting(project: &Project, viewer: Option<UserId>) -> Option<UserId> {
    viewer.filter(|_| project.has(Bundle::Moderation))
}
