//! One field of an update: absent, null, or a value.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    #[default]
    Absent,
    Null,
    Value(T),
}

impl<T> Patch<T> {
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Patch::Absent => Patch::Absent,
            Patch::Null => Patch::Null,
            Patch::Value(value) => Patch::Value(change(value)),
        }
    }

    /// A value that turns out to be empty clears the field.
    pub fn and_then<U>(self, change: impl FnOnce(T) -> Option<U>) -> Patch<U> {
        match self {
            Patch::Absent => Patch::Absent,
            Patch::Null => Patch::Null,
            Patch::Value(value) => change(value).map_or(Patch::Null, Patch::Value),
        }
    }

    /// Applies the update to the field.
    pub fn put(self, field: &mut Option<T>) {
        match self {
            Patch::Absent => {}
            Patch::Null => *field = None,
            Patch::Value(value) => *field = Some(value),
        }
    }
}

/// Reads a present key; an absent one needs `#[serde(default)]` at the field or struct.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Patch::Null, Patch::Value))
    }
}

impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Update {
        name: Patch<String>,
    }

    #[test]
    fn absent_null_and_value_differ() {
        let read = |text: &str| serde_json::from_str::<Update>(text).unwrap().name;
        assert_eq!(read("{}"), Patch::Absent);
        assert_eq!(read(r#"{"name":null}"#), Patch::Null);
        assert_eq!(read(r#"{"name":"a"}"#), Patch::Value("a".to_owned()));
    }
}
