//! What a field of chat may be, and what is decided without a database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::features::comments::rules::Gif;
use crate::names::names;
use crate::texts::texts;

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

texts! {
    Name 0..=200;
    Description 0..=1000;
    Content 0..=4000;
    /// What a client calls its own message.
    LocalId 0..=256;
}

/// A moving picture from elsewhere. Some clients send its proportions as a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Map<String, Value>")]
#[schemars(inline, with = "Gif")]
pub struct AnyGif(Gif);

impl TryFrom<Map<String, Value>> for AnyGif {
    type Error = serde_json::Error;

    fn try_from(mut map: Map<String, Value>) -> Result<Self, Self::Error> {
        if let Some(ratio) = map.get_mut("aspectRatio").filter(|ratio| ratio.is_number()) {
            *ratio = ratio.to_string().into();
        }
        serde_json::from_value(Value::Object(map)).map(AnyGif)
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
