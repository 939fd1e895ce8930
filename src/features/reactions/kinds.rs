//! The eight reactions, the points each gives the author, and their counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares the reactions once: variants, names, points for the author, fields of the counts.
macro_rules! reactions {
    ($($variant:ident $field:ident $name:literal $points:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum ReactionType {
            $($variant,)*
        }

        impl ReactionType {
            pub const ALL: &[ReactionType] = &[$(ReactionType::$variant),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(ReactionType::$variant => $name,)*
                }
            }

            /// Points that the author gets for one.
            pub const fn points(self) -> i64 {
                match self {
                    $(ReactionType::$variant => $points,)*
                }
            }

            /// The column of `entities` that counts it.
            pub const fn column(self) -> &'static str {
                match self {
                    $(ReactionType::$variant => concat!($name, "_count"),)*
                }
            }
        }

        /// The number of each; all are always present.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
        pub struct ReactionCounts {
            $(pub $field: i64,)*
        }

        impl db::Row for ReactionCounts {
            const COLUMNS: Option<&'static [&'static str]> =
                Some(&[$(ReactionType::$variant.column()),*]);

            fn read(columns: &mut db::Columns<'_>) -> Result<Self, db::Error> {
                Ok(ReactionCounts { $($field: columns.next()?),* })
            }
        }

        impl ReactionCounts {
            pub const fn of(&self, kind: ReactionType) -> i64 {
                match kind {
                    $(ReactionType::$variant => self.$field,)*
                }
            }

            pub const fn of_mut(&mut self, kind: ReactionType) -> &mut i64 {
                match kind {
                    $(ReactionType::$variant => &mut self.$field,)*
                }
            }

            pub const fn total(&self) -> i64 {
                0 $(+ self.$field)*
            }
        }
    };
}

reactions! {
    Upvote upvote "upvote" 1;
    Downvote downvote "downvote" -1;
    Like like "like" 1;
    Love love "love" 2;
    Wow wow "wow" 1;
    Sad sad "sad" 0;
    Angry angry "angry" 0;
    Funny funny "funny" 1;
}

impl ReactionType {
    pub fn from_name(name: &str) -> Option<Self> {
        ReactionType::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl ReactionCounts {
    /// The difference to other counts.
    pub fn less(mut self, others: ReactionCounts) -> Self {
        for kind in ReactionType::ALL.iter().copied() {
            *self.of_mut(kind) -= others.of(kind);
        }
        self
    }

    /// The sum of the positive reactions.
    pub const fn liked(&self) -> i64 {
        self.upvote + self.like + self.love + self.wow + self.funny
    }
}

/// SQL with a piece for each reaction: `$sql!` makes it of the reaction's name and the arguments.
macro_rules! each_reaction {
    ($between:literal, $sql:ident $(, $arg:tt)*) => {
        concat!(
            $sql!("upvote" $(, $arg)*),
            $between,
            $sql!("downvote" $(, $arg)*),
            $between,
            $sql!("like" $(, $arg)*),
            $between,
            $sql!("love" $(, $arg)*),
            $between,
            $sql!("wow" $(, $arg)*),
            $between,
            $sql!("sad" $(, $arg)*),
            $between,
            $sql!("angry" $(, $arg)*),
            $between,
            $sql!("funny" $(, $arg)*)
        )
    };
}
pub(crate) use each_reaction;

/// The columns of [`ReactionCounts`], with what comes before each name: `"e."`.
macro_rules! reaction_columns {
    ($before:literal) => {
        $crate::features::reactions::each_reaction!(", ", reaction_columns, $before)
    };
    ($name:literal, $before:literal) => {
        concat!($before, $name, "_count")
    };
}
pub(crate) use reaction_columns;

impl db::Column for ReactionType {
    fn from_column(value: db::ColumnRef<'_>) -> Result<Self, db::WrongType> {
        let wrong = db::WrongType { expected: "a reaction type" };
        match value {
            db::ColumnRef::Text(name) => ReactionType::from_name(name).ok_or(wrong),
            _ => Err(wrong),
        }
    }
}

impl From<ReactionType> for db::Value<'_> {
    fn from(kind: ReactionType) -> Self {
        kind.name().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_counts() {
        let columns: Vec<&str> = reaction_columns!("").split(", ").collect();
        assert_eq!(<ReactionCounts as db::Row>::COLUMNS, Some(&columns[..]));
        assert!(reaction_columns!("e.").starts_with("e.upvote_count, e.downvote_count, "));
    }

    #[test]
    fn names_round_trip_and_counts_are_apart() {
        let mut counts = ReactionCounts::default();
        for (n, kind) in (1..).zip(ReactionType::ALL) {
            assert_eq!(ReactionType::from_name(kind.name()), Some(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            *counts.of_mut(*kind) = n;
        }
        assert_eq!(counts.of(ReactionType::Funny), 8);
        assert_eq!(counts.total(), 36);
        assert_eq!(ReactionType::from_name("LIKE"), None);
    }
}
