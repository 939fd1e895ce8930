//! Validation of grants: each field is a type that can only be built from a valid value.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::names::names;

names! {
    /// Who gives.
    #[schemars(rename = "GrantSource")]
    Source {
        User "user",
        App "app",
    }
    /// What a grant is for.
    #[schemars(rename = "GrantTarget")]
    TargetKind {
        Entity "entity",
        Comment "comment",
        Message "chat-message",
    }
}

/// What a user gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(inline, extend("minimum" = 1, "maximum" = i32::MAX))]
pub struct Given(i64);

/// What a project gives or takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(inline, extend("minimum" = i32::MIN, "maximum" = i32::MAX))]
pub struct Minted(i64);

impl TryFrom<i64> for Given {
    type Error = &'static str;

    fn try_from(points: i64) -> Result<Self, Self::Error> {
        match i32::try_from(points) {
            Ok(1..) => Ok(Given(points)),
            _ => Err("must be an integer from 1 to 2147483647"),
        }
    }
}

impl TryFrom<i64> for Minted {
    type Error = &'static str;

    fn try_from(points: i64) -> Result<Self, Self::Error> {
        match i32::try_from(points) {
            Ok(0) | Err(_) => Err("must be an integer of 32 bits, and not 0"),
            Ok(_) => Ok(Minted(points)),
        }
    }
}

impl From<Given> for i64 {
    fn from(points: Given) -> i64 {
        points.0
    }
}

impl From<Minted> for i64 {
    fn from(points: Minted) -> i64 {
        points.0
    }
}

/// Trimmed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("maxLength" = Note::LONGEST))]
pub struct Note(String);

impl Note {
    const LONGEST: usize = 2000;

    pub fn unless_blank(self) -> Option<String> {
        Some(self.0).filter(|text| !text.is_empty())
    }
}

impl TryFrom<String> for Note {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let note = text.trim();
        if note.chars().count() <= Note::LONGEST {
            Ok(Note(note.to_owned()))
        } else {
            Err("must have at most 2000 characters")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_give_and_projects_also_take() {
        for (points, given, minted) in [
            (0, false, false),
            (1, true, true),
            (-1, false, true),
            (i64::from(i32::MAX), true, true),
            (i64::from(i32::MAX) + 1, false, false),
            (i64::from(i32::MIN), false, true),
            (i64::from(i32::MIN) - 1, false, false),
        ] {
            let allowed = (Given::try_from(points).is_ok(), Minted::try_from(points).is_ok());
            assert_eq!(allowed, (given, minted), "{points}");
        }
    }

    #[test]
    fn notes_are_trimmed() {
        let note = |text: &str| Note::try_from(text.to_owned()).map(Note::unless_blank);
        assert_eq!(note(" x "), Ok(Some("x".to_owned())));
        assert_eq!(note("  "), Ok(None));
        assert!(note(&"x".repeat(2001)).is_err() && note(&"x".repeat(2000)).is_ok());
    }
}
