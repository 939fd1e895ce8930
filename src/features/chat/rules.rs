//! Validation of chat fields, and the rules that need no database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::values::names::names;
use crate::values::texts::texts;

names! {
    #[schemars(rename = "ConversationType")]
    Kind {
        Direct "direct",
        Group "group",
        Space "space",
    }
    /// Who may write in the conversation of a space.
    #[schemars(rename = "ConversationPostingPermission")]
    Posting {
        Members "members",
        Admins "admins",
    }
    /// Roles of a group; other kinds have none.
    #[schemars(rename = "ConversationRole")]
    Role {
        Admin "admin",
        Member "member",
    }
}

texts! {
    Name 0..=200;
    Description 0..=1000;
    Content 0..=4000;
    /// The client's own id of a message.
    LocalId 0..=256;
}

/// The app's metadata of a message.
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
