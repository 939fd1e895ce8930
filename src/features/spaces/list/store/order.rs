//! The orders of lists of spaces `s`. Ties go to the newer one.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SortBy {
    #[default]
    #[serde(alias = "most_members")]
    Members,
    LeastMembers,
    Newest,
    Oldest,
    Alphabetical,
}

impl SortBy {
    /// The first sort key.
    pub const fn key(self) -> &'static str {
        match self {
            SortBy::Members | SortBy::LeastMembers => "s.members_count",
            SortBy::Newest | SortBy::Oldest => "s.created_at",
            SortBy::Alphabetical => "s.name_key",
        }
    }

    pub const fn order(self) -> &'static str {
        match self {
            SortBy::Members => "s.members_count DESC, s.created_at DESC, s.id",
            SortBy::LeastMembers => "s.members_count, s.created_at DESC, s.id",
            SortBy::Newest => "s.created_at DESC, s.id",
            SortBy::Oldest => "s.created_at, s.id",
            SortBy::Alphabetical => "s.name_key, s.created_at DESC, s.id",
        }
    }
}
