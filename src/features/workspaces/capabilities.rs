//! What a member may do in a workspace (`Capabilities`, a closed set), what the application makes of them
//! (`Permissions`, free words that the server never interprets), and their rank: the smaller, the more senior.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::metadata::to_json;
use crate::values::names::names;

names! {
    #[schemars(rename = "WorkspaceCapability")]
    Capability {
        View "view",
        Invite "invite",
        RemoveMember "remove-member",
        EditMemberAccess "edit-member-access",
        EditMemberProfile "edit-member-profile",
        CreateSubWorkspace "create-sub-workspace",
        EditWorkspace "edit-workspace",
    }
}

impl Capability {
    pub const ALL: [Capability; 7] = [
        Capability::View,
        Capability::Invite,
        Capability::RemoveMember,
        Capability::EditMemberAccess,
        Capability::EditMemberProfile,
        Capability::CreateSubWorkspace,
        Capability::EditWorkspace,
    ];

    /// A member with one of these sees what other members may do.
    pub const OVER_MEMBERS: [Capability; 4] = [
        Capability::Invite,
        Capability::RemoveMember,
        Capability::EditMemberAccess,
        Capability::EditMemberProfile,
    ];
}

/// Each one once, in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<Capability>")]
#[schemars(inline)]
pub struct Capabilities(Vec<Capability>);

impl Capabilities {
    pub fn all() -> Self {
        Capabilities(Capability::ALL.to_vec())
    }

    pub fn has(&self, one: Capability) -> bool {
        self.0.contains(&one)
    }

    pub fn iter(&self) -> impl Iterator<Item = Capability> {
        self.0.iter().copied()
    }

    /// Those for which this holds, in the order of the set.
    pub fn only(holds: impl Fn(Capability) -> bool) -> Self {
        Capabilities(Capability::ALL.into_iter().filter(|one| holds(*one)).collect())
    }
}

impl From<Vec<Capability>> for Capabilities {
    fn from(given: Vec<Capability>) -> Self {
        let mut each = Vec::new();
        for one in given {
            if !each.contains(&one) {
                each.push(one);
            }
        }
        Capabilities(each)
    }
}

/// Each word once, in the order in which they were given: at most 100, of at most 100 characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>")]
#[schemars(inline)]
pub struct Permissions(Vec<String>);

impl Permissions {
    const MOST: usize = 100;

    pub fn has(&self, one: &str) -> bool {
        self.0.iter().any(|held| held == one)
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl TryFrom<Vec<String>> for Permissions {
    type Error = &'static str;

    fn try_from(given: Vec<String>) -> Result<Self, Self::Error> {
        let mut each: Vec<String> = Vec::new();
        for one in given {
            if !(1..=Permissions::MOST).contains(&one.chars().count()) {
                return Err("each must have 1 to 100 characters");
            }
            if !each.contains(&one) {
                each.push(one);
            }
            if each.len() > Permissions::MOST {
                return Err("must be at most 100");
            }
        }
        Ok(Permissions(each))
    }
}

/// Stored as JSON lists.
macro_rules! stored_as_json {
    ($($type:ident)*) => {$(
        impl db::Column for $type {
            fn from_column(value: db::ColumnRef<'_>) -> Result<Self, db::WrongType> {
                let wrong = db::WrongType { expected: stringify!($type) };
                match value {
                    db::ColumnRef::Text(text) | db::ColumnRef::Json(text) => {
                        serde_json::from_str(text).map_err(|_| wrong)
                    }
                    _ => Err(wrong),
                }
            }
        }

        impl<'a> From<&'a $type> for db::Value<'a> {
            fn from(list: &'a $type) -> Self {
                db::Value::Json(to_json(list).into())
            }
        }
    )*};
}
stored_as_json!(Capabilities Permissions);

/// The most junior rank.
pub const MAX_RANK: i64 = 2_147_483_647;
/// The rank of owners, and of callers who are not members: above every other.
pub const APEX: i64 = -1;

macro_rules! ranks {
    ($($(#[$doc:meta])* $name:ident from $least:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(try_from = "i64")]
        #[schemars(inline, extend("minimum" = $least, "maximum" = 2_147_483_647))]
        pub struct $name(i64);

        impl TryFrom<i64> for $name {
            type Error = &'static str;

            fn try_from(number: i64) -> Result<Self, Self::Error> {
                if ($least..=MAX_RANK).contains(&number) {
                    Ok($name(number))
                } else {
                    Err(concat!("must be from ", $least, " to 2147483647"))
                }
            }
        }
    )*};
}

ranks! {
    Rank from 0;
    /// Counted from the giver's rank.
    RelativeRank from 1;
}

impl Rank {
    pub fn number(self) -> i64 {
        self.0
    }
}

impl RelativeRank {
    /// The least distance.
    pub const NEXT: RelativeRank = RelativeRank(1);

    /// None beyond the most junior rank.
    pub fn below(self, anchor: i64) -> Option<i64> {
        Some(anchor + self.0).filter(|rank| *rank <= MAX_RANK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_each_entry_once_in_the_order_given() {
        let read = |text: &str| serde_json::from_str::<Capabilities>(text);
        let list = read(r#"["invite","view","invite"]"#).unwrap();
        assert_eq!(to_json(&list), r#"["invite","view"]"#);
        assert!(read(r#"["rule"]"#).is_err());
        let read = |text: &str| serde_json::from_str::<Permissions>(text);
        assert_eq!(to_json(&read(r#"["b","a","b"]"#).unwrap()), r#"["b","a"]"#);
        assert!(read(r#"[""]"#).is_err());
        assert!(read(&format!("[\"{}\"]", "x".repeat(101))).is_err());
        let many = |count: usize| to_json(&(0..count).map(|n| n.to_string()).collect::<Vec<_>>());
        assert!(read(&many(100)).is_ok());
        assert!(read(&many(101)).is_err());
    }

    #[test]
    fn ranks_are_within_their_bounds() {
        let rank = |number: i64| Rank::try_from(number).is_ok();
        assert_eq!([-1, 0, MAX_RANK, MAX_RANK + 1].map(rank), [false, true, true, false]);
        let relative = |number: i64| RelativeRank::try_from(number).is_ok();
        assert_eq!([0, 1, MAX_RANK, MAX_RANK + 1].map(relative), [false, true, true, false]);
        assert_eq!(RelativeRank::NEXT.below(APEX), Some(0));
        assert_eq!(RelativeRank::NEXT.below(MAX_RANK - 1), Some(MAX_RANK));
        assert_eq!(RelativeRank::NEXT.below(MAX_RANK), None);
    }
}
