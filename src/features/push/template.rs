//! How a project words and delivers automatic pushes: for each type whether it is pushed, title and body, and
//! how it is delivered; what a type leaves open the project's default decides, then this server.

use std::collections::HashMap;

use db::Conn;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::features::push::message::{Delivery, Priority, PushMessage};
use crate::features::push::{EventType, store};
use crate::values::ids::ProjectId;

/// The name of what holds for all types.
pub const DEFAULT: &str = "default";
const SOMEBODY: &str = "Somebody";
/// Titles and bodies are cut off here: a service takes 4 kB in all.
const MAX_CHARACTERS: usize = 500;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Template {
    pub enabled: Option<bool>,
    pub title: Option<String>,
    pub body: Option<String>,
    pub sound: Option<String>,
    pub channel_id: Option<String>,
    pub priority: Option<Priority>,
}

/// Those of a project, by type.
#[derive(Debug, Clone, Default)]
pub struct Templates(HashMap<String, Template>);

impl Templates {
    pub fn load(c: &Conn<'_>, project: ProjectId) -> Result<Self> {
        let rows = store::templates(c, project)?.into_iter().map(|(kind, settings)| {
            Ok((kind, serde_json::from_str(&settings.0).map_err(Error::internal)?))
        });
        rows.collect::<Result<_>>().map(Templates)
    }

    pub fn of(&self, kind: &str) -> Template {
        self.0.get(kind).cloned().unwrap_or_default()
    }

    pub fn is_enabled(&self, kind: EventType) -> bool {
        self.of(kind.name()).enabled.or(self.of(DEFAULT).enabled).unwrap_or(true)
    }

    /// The message about something that happened.
    pub fn message(
        &self,
        kind: EventType,
        metadata: &Map<String, Value>,
        data: Map<String, Value>,
    ) -> PushMessage {
        let (own, shared) = (self.of(kind.name()), self.of(DEFAULT));
        let (title, body) = kind.wording();
        let delivery = Delivery {
            sound: own.sound.or(shared.sound),
            channel_id: own.channel_id.or(shared.channel_id),
            priority: own.priority.or(shared.priority),
            ..Delivery::default()
        };
        PushMessage {
            title: fill(own.title.as_deref().unwrap_or(title), metadata),
            body: fill(own.body.as_deref().unwrap_or(body), metadata),
            data,
            delivery,
        }
    }
}

/// The text with the value of each `{key}`; an unknown or empty one is left out.
pub fn fill(text: &str, metadata: &Map<String, Value>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((key, behind)) = after.split_once('}') else {
            rest = &rest[before.len()..];
            break;
        };
        filled.push_str(&value(key, metadata));
        rest = behind;
    }
    filled.push_str(rest);
    let mut characters = filled.trim().chars();
    let shown: String = characters.by_ref().take(MAX_CHARACTERS).collect();
    if characters.next().is_some() { shown + "…" } else { shown }
}

fn value(key: &str, metadata: &Map<String, Value>) -> String {
    let text = |key: &str| match metadata.get(key) {
        Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    // A user without a name has a user name, perhaps.
    let other_name = key.strip_suffix("Name").filter(|of| ["initiator", "granter"].contains(of));
    let found = text(key).or_else(|| text(&format!("{}Username", other_name?)));
    found.unwrap_or_else(|| if other_name.is_some() { SOMEBODY.into() } else { String::new() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn keys_in_braces_are_replaced() {
        let known = metadata(&json!({
            "initiatorName": null, "initiatorUsername": "ada", "count": 7, "nested": {}, "empty": ""
        }));
        for (text, filled) in [
            ("{initiatorName} has {count}", "ada has 7"),
            ("{unknown}{nested}{empty}!", "!"),
            ("{granterName} gave", "Somebody gave"),
            ("a { b", "a { b"),
            ("{initiatorName", "{initiatorName"),
            ("no key", "no key"),
        ] {
            assert_eq!(fill(text, &known), filled);
        }
        let long = fill(&"ä".repeat(MAX_CHARACTERS + 1), &known);
        assert_eq!(long.chars().count(), MAX_CHARACTERS + 1);
        assert!(long.ends_with("…"));
    }

    #[test]
    fn a_type_overrides_the_default_field_by_field() {
        let template = |value: Value| serde_json::from_value::<Template>(value).unwrap();
        let templates = Templates(HashMap::from([
            (DEFAULT.to_owned(), template(json!({ "sound": "ding", "channelId": "all" }))),
            (
                "new-follow".to_owned(),
                template(
                    json!({ "title": "Hi {initiatorName}", "sound": "dong", "enabled": false }),
                ),
            ),
        ]));
        let known = metadata(&json!({ "initiatorName": "Ada" }));
        let message = templates.message(EventType::NewFollow, &known, Map::new());
        assert_eq!((message.title.as_str(), message.body.as_str()), ("Hi Ada", ""));
        assert_eq!(message.delivery.sound.as_deref(), Some("dong"));
        assert_eq!(message.delivery.channel_id.as_deref(), Some("all"));
        assert!(!templates.is_enabled(EventType::NewFollow));
        assert!(templates.is_enabled(EventType::Message));
        let message = templates.message(EventType::Message, &known, Map::new());
        assert_eq!(message.delivery.sound.as_deref(), Some("ding"));
    }
}
