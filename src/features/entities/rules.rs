//! Validation of entity fields. Each rule is a type that can only be built from a valid value, so that
//! creation and updates, from JSON and from forms, all apply the same one.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Fault;
use crate::features::users::rules::Location;
use crate::values::ids::UserId;
use crate::values::texts::texts;
use crate::values::time::Timestamp;

texts! {
    Title 0..=300;
    Content 0..=100_000;
    /// The application's own id, compared byte by byte. Longer ones could not be indexed.
    ForeignId 0..=500;
}

/// Tags with order and case kept; blank ones are dropped.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Vec<String>")]
#[schemars(inline, extend("maxItems" = Keywords::MAX_ENTRIES))]
pub struct Keywords(Vec<String>);

impl Keywords {
    const MAX_ENTRIES: usize = 100;
    const LONGEST: usize = 200;

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Keywords {
    type Error = &'static str;

    fn try_from(mut words: Vec<String>) -> Result<Self, Self::Error> {
        words.retain(|word| !word.trim().is_empty());
        if words.len() > Keywords::MAX_ENTRIES {
            return Err("must be at most 100 keywords");
        }
        if words.iter().any(|word| word.chars().count() > Keywords::LONGEST) {
            return Err("a keyword must have at most 200 characters");
        }
        Ok(Keywords(words))
    }
}

/// Objects of any form; other values are dropped.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "Vec<Value>")]
#[schemars(inline, with = "Vec<Map<String, Value>>")]
pub struct Attachments(Vec<Value>);

impl Attachments {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<Value>> for Attachments {
    fn from(mut items: Vec<Value>) -> Self {
        items.retain(Value::is_object);
        Attachments(items)
    }
}

/// A user or space mentioned in a text. Without a type it is a user, as older clients send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Mention {
    User {
        id: String,
        username: String,
        #[serde(default, rename = "foreignId", skip_serializing_if = "Option::is_none")]
        foreign_id: Option<String>,
    },
    Space {
        id: String,
        slug: String,
    },
}

impl Mention {
    fn user(&self) -> Option<UserId> {
        match self {
            Mention::User { id, .. } => id.parse().ok(),
            Mention::Space { .. } => None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Vec<Map<String, Value>>")]
#[schemars(inline, with = "Vec<Mention>", extend("maxItems" = Mentions::MAX_ENTRIES))]
pub struct Mentions(Vec<Mention>);

impl Mentions {
    const MAX_ENTRIES: usize = 100;
    /// Maximum characters of each text.
    const LONGEST: usize = 500;

    #[cfg(test)]
    fn as_slice(&self) -> &[Mention] {
        &self.0
    }

    /// The ids of the mentioned users; invalid ids are skipped.
    pub fn users(&self) -> impl Iterator<Item = UserId> + '_ {
        self.0.iter().filter_map(Mention::user)
    }

    /// Without mentions of this user.
    pub fn without(mut self, user: UserId) -> Self {
        self.0.retain(|mention| mention.user() != Some(user));
        self
    }
}

impl TryFrom<Vec<Map<String, Value>>> for Mentions {
    type Error = String;

    fn try_from(items: Vec<Map<String, Value>>) -> Result<Self, Self::Error> {
        if items.len() > Mentions::MAX_ENTRIES {
            return Err("must be at most 100 mentions".to_owned());
        }
        let mention = |mut item: Map<String, Value>| {
            item.entry("type").or_insert_with(|| "user".into());
            let is_long = |text: &str| text.chars().count() > Mentions::LONGEST;
            if item.values().filter_map(Value::as_str).any(is_long) {
                return Err(format!("must have at most {} characters", Mentions::LONGEST));
            }
            serde_json::from_value(Value::Object(item)).map_err(|error| error.to_string())
        };
        items.into_iter().map(mention).collect::<Result<_, _>>().map(Mentions)
    }
}

/// A place as `{latitude, longitude}`, or as the GeoJSON point that replies show.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Place(pub Location);

impl TryFrom<Map<String, Value>> for Place {
    type Error = &'static str;

    fn try_from(mut map: Map<String, Value>) -> Result<Self, Self::Error> {
        if map.get("type").is_some_and(|kind| kind == "Point")
            && let Some([longitude, latitude]) =
                map.get("coordinates").and_then(Value::as_array).map(Vec::as_slice)
        {
            let place = [("latitude", latitude.clone()), ("longitude", longitude.clone())];
            map = place.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        }
        Location::try_from(map).map(Place)
    }
}

impl JsonSchema for Place {
    fn schema_name() -> Cow<'static, str> {
        "Place".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            generator.subschema_for::<Location>(),
            generator.subschema_for::<crate::features::users::model::Point>(),
        ] })
    }
}

/// Creation and update times set by a key: the second only with the first, and not before it.
pub fn times(
    created: Option<&str>,
    updated: Option<&str>,
    invalid: Fault,
) -> crate::error::Result<Option<(Timestamp, Timestamp)>> {
    let read = |text: Option<&str>, name: &str| {
        let parse = |text: &str| {
            Timestamp::parse(text)
                .ok_or_else(|| invalid.because(format!("{name} must be an ISO 8601 date.")))
        };
        text.map(parse).transpose()
    };
    match (read(created, "createdAt")?, read(updated, "updatedAt")?) {
        (None, None) => Ok(None),
        (Some(created), None) => Ok(Some((created, created))),
        (Some(created), Some(updated)) if updated >= created => Ok(Some((created, updated))),
        (Some(_), Some(_)) => {
            Err(invalid.because("updatedAt must be the same or after createdAt."))
        }
        (None, Some(_)) => {
            Err(invalid.because("Cannot set updatedAt without also setting createdAt."))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::values::metadata::to_json;

    #[test]
    fn blank_texts_are_none_and_others_stay_as_they_are() {
        let title = |text: &str| Title::try_from(text.to_owned());
        assert_eq!(title("  ").unwrap().unless_blank(), None);
        assert_eq!(title(" a ").unwrap().unless_blank().as_deref(), Some(" a "));
        assert!(title(&"ü".repeat(300)).is_ok());
        assert!(title(&"x".repeat(301)).is_err());
    }

    #[test]
    fn keywords_drop_blanks_and_are_bounded() {
        let keywords = |words: Vec<&str>| {
            Keywords::try_from(words.into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(keywords(vec!["B", " ", "", "a"]).unwrap().as_slice(), ["B", "a"]);
        assert!(keywords(vec!["x"; 101]).is_err());
        assert!(keywords(vec![&"x".repeat(201)]).is_err());
    }

    #[test]
    fn mentions_without_a_type_are_users() {
        let mentions = |value: Value| serde_json::from_value::<Mentions>(value);
        let read = mentions(json!([
            { "id": "1", "username": "ada", "extra": 1 },
            { "type": "space", "id": "2", "slug": "s" },
        ]));
        let ada = Mention::User { id: "1".into(), username: "ada".into(), foreign_id: None };
        let space = Mention::Space { id: "2".into(), slug: "s".into() };
        assert_eq!(read.unwrap().as_slice(), [ada, space]);
        for wrong in [
            json!([{ "type": "user", "id": "1" }]),
            json!([{ "type": "space", "id": "1", "username": "x" }]),
            json!([{ "type": "thing", "id": "1" }]),
            json!(["ada"]),
            json!({}),
        ] {
            assert!(mentions(wrong.clone()).is_err(), "{wrong}");
        }
        let many = json!(vec![json!({ "id": "1", "username": "ada" }); 101]);
        assert!(mentions(many).is_err());
    }

    #[test]
    fn places_come_in_two_forms() {
        let place = |value: Value| serde_json::from_value::<Place>(value).map(|Place(at)| at);
        let expected = Location { latitude: 52.5, longitude: 13.4 };
        assert_eq!(place(json!({ "latitude": 52.5, "longitude": 13.4 })).unwrap(), expected);
        let point = json!({ "type": "Point", "coordinates": [13.4, 52.5] });
        assert_eq!(place(point).unwrap(), expected);
        assert!(place(json!({ "type": "Point", "coordinates": [13.4] })).is_err());
        assert!(place(json!({ "latitude": 90.1, "longitude": 0 })).is_err());
    }

    #[test]
    fn attachments_are_objects() {
        let read: Attachments =
            serde_json::from_value(json!([{ "a": 1 }, 2, "x", [], null])).unwrap();
        assert_eq!(to_json(&read), r#"[{"a":1}]"#);
    }
}
