//! What a field of chat may be, and what is decided without a database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::names::names;

names! {
    Kind {
        Direct "direct",
        Group "group",
        Space "space",
    }
    /// Who may write in the conversation of a space.
    Posting {
        Members "members",
        Admins "admins",
    }
    /// In a group; the other kinds have none.
    Role {
        Admin "admin",
        Member "member",
    }
}

/// Texts by their greatest length in characters.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident to $most:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(inline, extend("maxLength" = $most))]
        pub struct $name(pub String);

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                if text.chars().count() <= $most {
                    Ok($name(text))
                } else {
                    Err(concat!("must have at most ", $most, " characters"))
                }
            }
        }
    )*};
}

texts! {
    Name to 200;
    Description to 1000;
    Content to 4000;
}

impl Content {
    /// One of blanks alone is none.
    pub fn into_option(self) -> Option<String> {
        Some(self.0).filter(|text| !text.trim().is_empty())
    }
}

/// A moving picture from elsewhere. Older clients send its proportions as a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gif {
    id: String,
    url: String,
    gif_url: String,
    gif_preview_url: String,
    alt_text: String,
    #[serde(deserialize_with = "text_or_number")]
    aspect_ratio: String,
}

fn text_or_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(serde::de::Error::custom("must be a text")),
    }
}

/// What an app keeps with a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Map<String, Value>")]
#[schemars(inline)]
pub struct MessageMetadata(Map<String, Value>);

impl TryFrom<Map<String, Value>> for MessageMetadata {
    type Error = &'static str;

    fn try_from(map: Map<String, Value>) -> Result<Self, Self::Error> {
        let size = Value::Object(map.clone()).to_string().len();
        if size <= 10 * 1024 {
            Ok(MessageMetadata(map))
        } else {
            Err("must be at most 10 KiB of JSON")
        }
    }
}
