//! What a block hides. The one place: every list and every single fetch that shows something of a
//! user asks here, and so treats a user behind a block as one who is not there.
//!
//! A single fetch asks [`hides`], a profile [`is_shut_out`], whoever is about to tell some users of
//! something [`among`]. A list asks [`hidden`] first, which for nearly everybody is nothing; else it
//! adds [`Hidden::leaves`] to its conditions, and takes off its kept total what [`Hidden::users`]
//! have in it. Without a viewer, and without the bundle, nothing is hidden.

use db::Conn;

use crate::error::Result;
use crate::features::blocks::store;
use crate::features::projects::{Bundle, Project};
use crate::ids::UserId;

/// The condition that nothing is between `$3` and the user in a column; a row of nobody is always met.
macro_rules! met {
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
pub(crate) use met;

/// Whom a viewer does not meet in lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hidden {
    viewer: Option<UserId>,
    /// Those whom the viewer has blocked.
    blocked: bool,
    /// Those who have blocked the viewer.
    blockers: bool,
}

/// Everybody with a block between them and the viewer, in either direction.
pub fn hidden(c: &Conn<'_>, project: &Project, viewer: Option<UserId>) -> Result<Hidden> {
    let Some(user) = counting(project, viewer) else { return Ok(Hidden::default()) };
    let (blocked, blockers) = store::touches(c, project.id, user)?;
    let viewer = Some(user).filter(|_| blocked || blockers);
    Ok(Hidden { viewer, blocked, blockers })
}

impl Hidden {
    pub fn is_nobody(&self) -> bool {
        self.viewer.is_none()
    }

    /// Shows again whom the viewer has blocked, but never those who have blocked the viewer.
    pub fn but_blocked(self) -> Self {
        let viewer = self.viewer.filter(|_| self.blockers);
        Hidden { viewer, blocked: false, ..self }
    }

    /// Who looks, where anything is hidden from them: an argument of the texts below.
    pub fn viewer(&self) -> Option<UserId> {
        self.viewer
    }

    /// Whether this user is one of them.
    pub fn holds(&self, c: &Conn<'_>, project: &Project, other: UserId) -> Result<bool> {
        match self.viewer {
            Some(viewer) if self.blocked => hides(c, project, Some(viewer), other),
            Some(viewer) => is_shut_out(c, project, Some(viewer), other),
            None => Ok(false),
        }
    }

    /// The condition that the user in a column is not hidden; a row of nobody never is. `viewer` is
    /// the place of the argument, `$1` that of the project. Asked row by row: as a join an engine
    /// might begin with it.
    pub fn leaves(&self, column: &str, viewer: &str) -> String {
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
    pub fn users(&self, viewer: &str) -> String {
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
pub fn hides(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    other: UserId,
) -> Result<bool> {
    match counting(project, viewer) {
        Some(viewer) if viewer != other => store::is_between(c, project.id, viewer, other),
        _ => Ok(false),
    }
}

/// Whether the owner of a profile has blocked the viewer. The other way round it stays visible.
pub fn is_shut_out(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    owner: UserId,
) -> Result<bool> {
    match counting(project, viewer) {
        Some(viewer) if viewer != owner => Ok(store::find(c, project.id, owner, viewer)?.is_some()),
        _ => Ok(false),
    }
}

/// Those of the users who are hidden.
pub fn among(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    others: &[UserId],
) -> Result<Vec<UserId>> {
    match counting(project, viewer) {
        Some(viewer) if !others.is_empty() => store::among(c, project.id, viewer, others),
        _ => Ok(Vec::new()),
    }
}

/// Blocks count for somebody who looks, in a project that has them.
pub fn counting(project: &Project, viewer: Option<UserId>) -> Option<UserId> {
    viewer.filter(|_| project.has(Bundle::Moderation))
}
