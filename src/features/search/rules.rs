//! The checked values of search requests.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::features::search::class::Class;
use crate::search_queue::Kind;

const MAX_CHARACTERS: usize = 1000;
pub const MAX_RESULTS: usize = 50;

/// What is searched for: not blank, at most 1,000 characters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SearchText(String);

impl SearchText {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SearchText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let text = text.trim();
        match text.chars().take(MAX_CHARACTERS + 1).count() {
            0 => Err("must not be blank"),
            1..=MAX_CHARACTERS => Ok(SearchText(text.to_owned())),
            _ => Err("must have at most 1,000 characters"),
        }
    }
}

impl JsonSchema for SearchText {
    fn schema_name() -> Cow<'static, str> {
        "SearchText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS })
    }
}

/// How many results: clamped to the maximum; what is no positive number is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit<const DEFAULT: usize>(pub usize);

impl<const DEFAULT: usize> Default for Limit<DEFAULT> {
    fn default() -> Self {
        Limit(DEFAULT)
    }
}

impl<'de, const DEFAULT: usize> Deserialize<'de> for Limit<DEFAULT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = match Value::deserialize(deserializer)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 50")]
        let clamp = |number: f64| number.min(MAX_RESULTS as f64) as usize;
        let number = number.filter(|number| *number >= 1.0);
        Ok(Limit(number.map_or(DEFAULT, clamp)))
    }
}

impl<const DEFAULT: usize> JsonSchema for Limit<DEFAULT> {
    fn schema_name() -> Cow<'static, str> {
        "SearchLimit".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "default": DEFAULT })
    }
}

/// Kinds of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SourceType {
    Entity,
    Comment,
    Message,
}

impl SourceType {
    pub const ALL: [SourceType; 3] = [SourceType::Entity, SourceType::Comment, SourceType::Message];

    const fn kind(self) -> Kind {
        match self {
            SourceType::Entity => Kind::Entity,
            SourceType::Comment => Kind::Comment,
            SourceType::Message => Kind::Message,
        }
    }
}

/// One or more kinds; all by default.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<SourceType>")]
pub struct SourceTypes(Vec<SourceType>);

impl Default for SourceTypes {
    fn default() -> Self {
        SourceTypes(SourceType::ALL.to_vec())
    }
}

impl TryFrom<Vec<SourceType>> for SourceTypes {
    type Error = &'static str;

    fn try_from(types: Vec<SourceType>) -> Result<Self, Self::Error> {
        if types.is_empty() { Err("must not be empty") } else { Ok(SourceTypes(types)) }
    }
}

impl SourceTypes {
    /// May be none.
    pub fn without_messages(mut self) -> Self {
        self.0.retain(|source| *source != SourceType::Message);
        self
    }

    pub fn classes(&self) -> Vec<Class> {
        let is_asked = |class: &Class| self.0.iter().any(|source| source.kind() == class.kind());
        Class::ALL.into_iter().filter(is_asked).collect()
    }
}

impl JsonSchema for SourceTypes {
    fn schema_name() -> Cow<'static, str> {
        "SourceTypes".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<SourceType>();
        json_schema!({ "type": "array", "minItems": 1, "items": item })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_forgiving() {
        let limit = |value: Value| serde_json::from_value::<Limit<20>>(value).unwrap().0;
        let table = [
            (json!(5), 5),
            (json!(50), 50),
            (json!(51), 50),
            (json!(1e12), 50),
            (json!(0), 20),
            (json!(-3), 20),
            (json!("7"), 7),
            (json!("many"), 20),
            (json!(null), 20),
            (json!([1]), 20),
        ];
        for (value, expected) in table {
            assert_eq!(limit(value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn texts_are_trimmed_and_bounded() {
        let text = |text: &str| SearchText::try_from(text.to_owned()).map(|text| text.0);
        assert_eq!(text("  two words \n"), Ok("two words".to_owned()));
        assert!(text(" \t").is_err());
        assert!(text(&"é".repeat(1000)).is_ok());
        assert!(text(&"é".repeat(1001)).is_err());
    }

    #[test]
    fn no_kind_is_refused() {
        assert!(serde_json::from_value::<SourceTypes>(json!([])).is_err());
        assert!(serde_json::from_value::<SourceTypes>(json!(["user"])).is_err());
        let messages: SourceTypes = serde_json::from_value(json!(["message"])).unwrap();
        assert_eq!(messages.classes(), [Class::Message]);
        assert_eq!(SourceTypes::default().classes().len(), 5);
    }
}
