//! A user's permissions in a space. Pure: from the space's settings and the membership.

use schemars::JsonSchema;
use serde::Serialize;

use crate::features::spaces::rules::{Posting, Reading, Role, Status};

/// The part of a membership that decides permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceMembership {
    pub role: Role,
    pub status: Status,
}

/// As shown with a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    pub is_admin: bool,
    pub is_moderator: bool,
    pub is_member: bool,
    pub can_post: bool,
    pub can_moderate: bool,
    pub can_read: bool,
}

impl Permissions {
    /// A key may do everything.
    pub const KEY: Permissions = Permissions {
        is_admin: true,
        is_moderator: true,
        is_member: true,
        can_post: true,
        can_moderate: true,
        can_read: true,
    };

    pub fn new(reading: Reading, posting: Posting, standing: Option<SpaceMembership>) -> Self {
        let status = standing.map(|standing| standing.status);
        let role =
            standing.filter(|_| status == Some(Status::Active)).map(|standing| standing.role);
        let is_banned = status == Some(Status::Banned);
        let is_moderator = matches!(role, Some(Role::Admin | Role::Moderator));
        let can_post = match posting {
            Posting::Anyone => true,
            Posting::Members => role.is_some(),
            Posting::Admins => is_moderator,
        };
        Permissions {
            is_admin: role == Some(Role::Admin),
            is_moderator,
            is_member: role.is_some(),
            can_post: can_post && !is_banned,
            can_moderate: is_moderator,
            can_read: (reading == Reading::Anyone || role.is_some()) && !is_banned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the contract: caller; isMember, isAdmin, isModerator; canRead by reading
    /// permission (anyone, members); canPost by posting permission (anyone, members, admins).
    #[test]
    fn the_table_of_permissions() {
        let row = |role, status| Some(SpaceMembership { role, status });
        let table = [
            (None, "---", "y-", "y--"),
            (row(Role::Member, Status::Rejected), "---", "y-", "y--"),
            (row(Role::Admin, Status::Pending), "---", "y-", "y--"),
            (row(Role::Member, Status::Active), "y--", "yy", "yy-"),
            (row(Role::Moderator, Status::Active), "y-y", "yy", "yyy"),
            (row(Role::Admin, Status::Active), "yyy", "yy", "yyy"),
            (row(Role::Admin, Status::Banned), "---", "--", "---"),
            (row(Role::Member, Status::Banned), "---", "--", "---"),
        ];
        let text = |flags: &[bool]| -> String {
            flags.iter().map(|flag| if *flag { 'y' } else { '-' }).collect()
        };
        for (standing, is, reads, posts) in table {
            let of = |reading, posting| Permissions::new(reading, posting, standing);
            let plain = of(Reading::Anyone, Posting::Anyone);
            let roles = [plain.is_member, plain.is_admin, plain.is_moderator];
            assert_eq!(text(&roles), is, "{standing:?}");
            assert_eq!(plain.can_moderate, plain.is_moderator);
            let read = [Reading::Anyone, Reading::Members]
                .map(|reading| of(reading, Posting::Anyone).can_read);
            assert_eq!(text(&read), reads, "{standing:?}");
            let post = [Posting::Anyone, Posting::Members, Posting::Admins]
                .map(|posting| of(Reading::Anyone, posting).can_post);
            assert_eq!(text(&post), posts, "{standing:?}");
        }
    }
}
