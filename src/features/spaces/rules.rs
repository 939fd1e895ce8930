//! Validation of space fields. Each rule is a type that can only be built from a valid value, so that
//! creation and updates, from JSON and from forms, all apply the same one.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::names::names;
use crate::values::texts::texts;

/// Roots have depth 0.
pub const DEEPEST: i64 = 10;

names! {
    /// Who may read the content of a space.
    #[schemars(rename = "SpaceReadingPermission")]
    Reading {
        Anyone "anyone",
        Members "members",
    }
    /// Who may publish entities in it.
    #[schemars(rename = "SpacePostingPermission")]
    Posting {
        Anyone "anyone",
        Members "members",
        Admins "admins",
    }
    /// Who can find it; `private` means `unlisted`.
    #[schemars(rename = "SpaceVisibility")]
    Visibility {
        Public "public",
        Unlisted "unlisted",
        Private "private",
    }
    #[schemars(rename = "SpaceRole")]
    Role {
        Admin "admin",
        Moderator "moderator",
        Member "member",
    }
    #[schemars(rename = "MembershipStatus")]
    Status {
        Pending "pending",
        Active "active",
        Banned "banned",
        Rejected "rejected",
    }
}

impl Role {
    /// Where members with this role are listed.
    pub const fn rank(self) -> i64 {
        match self {
            Role::Admin => 0,
            Role::Moderator => 1,
            Role::Member => 2,
        }
    }
}

texts! {
    Name 3..=100;
    Description 0..=1000;
    /// A moderator's reason.
    Reason 0..=1000;
    /// Of a rule.
    Title 1..=200;
    /// Of a rule.
    Explanation 0..=2000;
}

impl Description {
    /// An empty one counts as none.
    pub fn into_option(self) -> Option<String> {
        Some(self.0).filter(|text| !text.is_empty())
    }
}

/// Letters and digits of any script, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("maxLength" = 100))]
pub struct Slug(String);

impl Slug {
    /// An empty one counts as none.
    pub fn into_option(self) -> Option<String> {
        Some(self.0).filter(|text| !text.is_empty())
    }
}

impl TryFrom<String> for Slug {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let fits = |c: char| c.is_alphabetic() || c.is_numeric() || c == '_' || c == '-';
        if text.chars().count() <= 100 && text.chars().all(fits) {
            Ok(Slug(text))
        } else {
            Err("must have 1 to 100 letters, digits, _ and -")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_slugs() {
        for (text, fits) in [("ab", false), ("abc", true), (&"x".repeat(101), false)] {
            assert_eq!(Name::try_from(text.to_owned()).is_ok(), fits, "{text}");
        }
        for (text, fits) in
            [("a-b_c9", true), ("straße", true), ("日本", true), ("a b", false), ("a/b", false)]
        {
            assert_eq!(Slug::try_from(text.to_owned()).is_ok(), fits, "{text}");
        }
        assert_eq!(Slug::try_from(String::new()).unwrap().into_option(), None);
        assert!(Slug::try_from("é".repeat(100)).is_ok());
        assert!(Slug::try_from("é".repeat(101)).is_err());
    }
}
