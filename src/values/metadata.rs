//! Free-form JSON that callers attach to what they create.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Free-form JSON of at most 1 MiB as text.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Map<String, Value>")]
#[schemars(inline)]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    const MAX_BYTES: usize = 1024 * 1024;

    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl TryFrom<Map<String, Value>> for Metadata {
    type Error = &'static str;

    fn try_from(map: Map<String, Value>) -> Result<Self, Self::Error> {
        let metadata = Metadata(map);
        if to_json(&metadata).len() <= Metadata::MAX_BYTES {
            Ok(metadata)
        } else {
            Err("must be at most 1 MiB of JSON")
        }
    }
}

/// The text that is stored.
pub fn to_json(value: &impl Serialize) -> String {
    // Keys are strings and numbers are finite: values parsed from JSON always serialize.
    serde_json::to_string(value).unwrap_or_default()
}
