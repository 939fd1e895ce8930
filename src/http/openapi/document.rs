//! A document in parts, and how they become text: a project's additions are written beside them without
//! copying. Operations are stored as text: as values they take twenty times the memory.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::texts::texts;
use crate::error::{Error, Result};

/// The parts of a document.
#[derive(Debug)]
pub struct Document {
    pub(super) paths: BTreeMap<String, Operations>,
    pub(super) schemas: Map<String, Value>,
    pub(super) responses: Map<String, Value>,
    pub(super) parameters: Map<String, Value>,
    pub(super) examples: Map<String, Value>,
}

/// What a project adds to the document.
#[derive(Debug, Default)]
pub struct Additions {
    pub paths: BTreeMap<String, Operations>,
    pub schemas: BTreeMap<String, Box<RawValue>>,
}

/// The operations at a path, by their methods in lower case.
pub type Operations = BTreeMap<String, Box<RawValue>>;

/// The text of a part. Values always serialize.
pub fn text(part: &Value) -> Box<RawValue> {
    to_raw_value(part).unwrap_or_default()
}

impl Document {
    pub fn to_json(&self, additions: &Additions) -> Result<Vec<u8>> {
        serde_json::to_vec(&self.with(additions)).map_err(Error::internal)
    }

    /// The operations at a path, with their methods.
    pub fn operations(&self, path: &str) -> impl Iterator<Item = (&str, Value)> {
        let operations = self.paths.get(path).into_iter().flatten();
        operations.map(|(method, operation)| {
            (method.as_str(), serde_json::from_str(operation.get()).unwrap_or_default())
        })
    }

    /// The name of a parameter of an operation.
    pub fn parameter_name(&self, reference: &Value) -> Option<&str> {
        let name = reference["$ref"].as_str()?.rsplit('/').next()?;
        self.parameters.get(name)?["name"].as_str()
    }

    pub(super) fn with<'a>(&'a self, additions: &'a Additions) -> impl Serialize + 'a {
        Whole {
            openapi: "3.1.0",
            info: json!({
                "title": "Townhall",
                "version": env!("CARGO_PKG_VERSION"),
                "description": texts().overview,
                "contact": { "name": "Townhall" },
                "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            }),
            // The server that serves the document.
            servers: json!([{ "url": "/" }]),
            tags: texts()
                .groups
                .iter()
                .map(|(name, text)| json!({ "name": name, "description": text }))
                .collect(),
            paths: Joined(self.paths.iter().collect(), &additions.paths),
            components: Components {
                schemas: Joined(self.schemas.iter().collect(), &additions.schemas),
                responses: &self.responses,
                parameters: &self.parameters,
                examples: &self.examples,
                security_schemes: json!({
                    "bearer": {
                        "type": "http",
                        "scheme": "bearer",
                        "description": "A user's access token, or a service or master key.",
                    },
                }),
            },
        }
    }
}

#[derive(Serialize)]
struct Whole<'a> {
    openapi: &'static str,
    info: Value,
    servers: Value,
    tags: Value,
    paths: Joined<'a, Operations, Operations>,
    components: Components<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Components<'a> {
    schemas: Joined<'a, Value, Box<RawValue>>,
    responses: &'a Map<String, Value>,
    parameters: &'a Map<String, Value>,
    examples: &'a Map<String, Value>,
    security_schemes: Value,
}

/// The entries of both, which have no key in common, without a copy of either.
struct Joined<'a, A, B>(Vec<(&'a String, &'a A)>, &'a BTreeMap<String, B>);

impl<A: Serialize, B: Serialize> Serialize for Joined<'_, A, B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len() + self.1.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        for (key, value) in self.1 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
