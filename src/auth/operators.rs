//! The roles of operators. A role holds for one project or for all of them; each includes those before it, except that
//! an analyst only looks.

use crate::values::ids::ProjectId;
use crate::values::names::names;

names! {
    #[derive(PartialOrd, Ord)]
    #[schemars(rename = "OperatorRole")]
    Role {
        Analyst "analyst",
        Moderator "moderator",
        Admin "admin",
        Owner "owner",
    }
}

/// The operators that a page of the admin is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Nobody has to be signed in.
    Anyone,
    /// Any operator.
    Operator,
    /// An operator with at least this role in the project of the address.
    InProject(Role),
    /// An operator with at least this role in all projects.
    Everywhere(Role),
}

impl Audience {
    pub fn name(self) -> String {
        match self {
            Audience::Anyone => "none".to_owned(),
            Audience::Operator => "operator".to_owned(),
            Audience::InProject(role) => format!("{} of the project", role.name()),
            Audience::Everywhere(role) => format!("{} of all projects", role.name()),
        }
    }
}

/// What an operator may do, and where: the project, or none for all.
#[derive(Debug, Clone, Default)]
pub struct Roles(pub Vec<(Option<ProjectId>, Role)>);

impl Roles {
    /// The highest role in a project.
    pub fn in_project(&self, project: ProjectId) -> Option<Role> {
        let roles = self.0.iter();
        roles.filter(|(of, _)| of.is_none_or(|of| of == project)).map(|(_, role)| *role).max()
    }

    /// The role in all projects, also in those that are not there yet.
    pub fn everywhere(&self) -> Option<Role> {
        self.0.iter().filter(|(of, _)| of.is_none()).map(|(_, role)| *role).max()
    }

    pub fn admits(&self, audience: Audience, project: Option<ProjectId>) -> bool {
        match audience {
            Audience::Anyone | Audience::Operator => true,
            Audience::InProject(least) => {
                project.and_then(|project| self.in_project(project)).is_some_and(|r| r >= least)
            }
            Audience::Everywhere(least) => self.everywhere().is_some_and(|role| role >= least),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_role_holds_where_it_was_given_and_includes_the_lower_ones() {
        let (here, there) = (ProjectId(Uuid::from_u128(1)), ProjectId(Uuid::from_u128(2)));
        let roles = Roles(vec![(None, Role::Analyst), (Some(here), Role::Moderator)]);
        let moderates = Audience::InProject(Role::Moderator);
        assert!(roles.admits(moderates, Some(here)));
        assert!(!roles.admits(moderates, Some(there)));
        assert!(!roles.admits(moderates, None));
        assert!(roles.admits(Audience::InProject(Role::Analyst), Some(there)));
        assert!(!roles.admits(Audience::InProject(Role::Admin), Some(here)));
        assert!(!roles.admits(Audience::Everywhere(Role::Moderator), Some(here)));
        assert!(roles.admits(Audience::Operator, None));
    }
}
