//! The states of a connection, who may change it, and which counts it belongs to. Touches no database.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::names::names;

names! {
    #[schemars(rename = "ConnectionRequestStatus")]
    Status {
        Pending "pending",
        Accepted "accepted",
        Declined "declined",
    }
}

impl Status {
    /// The change of the counts of requester and receiver for `by` more connections of this status. A
    /// declined one is in no list.
    pub fn counted(self, by: i64) -> Option<(Counts, Counts)> {
        let none = Counts::default();
        match self {
            Status::Pending => Some((Counts { sent: by, ..none }, Counts { received: by, ..none })),
            Status::Accepted => {
                Some((Counts { connected: by, ..none }, Counts { connected: by, ..none }))
            }
            Status::Declined => None,
        }
    }
}

db::row! {
    /// The lengths of a user's lists.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Counts {
        pub connected: i64,
        pub sent: i64,
        pub received: i64,
    }
}

/// The message of a request: trimmed, at most 1000 characters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("maxLength" = Message::LONGEST))]
pub struct Message(String);

impl Message {
    const LONGEST: usize = 1000;

    /// None if it is empty.
    pub fn into_option(self) -> Option<String> {
        Some(self.0).filter(|text| !text.is_empty())
    }
}

impl TryFrom<String> for Message {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let text = text.trim();
        match text.chars().count() > Message::LONGEST {
            true => Err("must have at most 1000 characters"),
            false => Ok(Message(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_trimmed_and_blank_is_none() {
        let message = |text: &str| Message::try_from(text.to_owned()).map(Message::into_option);
        assert_eq!(message("  hi \n"), Ok(Some("hi".to_owned())));
        assert_eq!(message(" \t "), Ok(None));
        assert!(message(&"é".repeat(1000)).is_ok());
        assert!(message(&"é".repeat(1001)).is_err());
    }
}
