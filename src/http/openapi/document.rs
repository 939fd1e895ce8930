//! A document in its parts, and how they become text: what a project adds is written beside them, so that
//! nothing is copied for it.

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// The parts of a document.
#[derive(Debug)]
pub struct Document {
    pub(super) paths: Map<String, Value>,
    pub(super) schemas: Map<String, Value>,
    pub(super) responses: Map<String, Value>,
    pub(super) parameters: Map<String, Value>,
}

/// What a project adds to the document.
#[derive(Debug, Default)]
pub struct Additions {
    pub paths: Map<String, Value>,
    pub schemas: Map<String, Value>,
}

impl Document {
    pub fn to_json(&self, additions: &Additions) -> Result<Vec<u8>> {
        serde_json::to_vec(&self.with(additions)).map_err(Error::internal)
    }

    /// The operations at a path.
    pub fn operations(&self, path: &str) -> &Value {
        self.paths.get(path).unwrap_or(&Value::Null)
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
                "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            }),
            paths: Joined(&self.paths, &additions.paths),
            components: Components {
                schemas: Joined(&self.schemas, &additions.schemas),
                responses: &self.responses,
                parameters: &self.parameters,
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
    paths: Joined<'a>,
    components: Components<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Components<'a> {
    schemas: Joined<'a>,
    responses: &'a Map<String, Value>,
    parameters: &'a Map<String, Value>,
    security_schemes: Value,
}

/// The entries of both, which have no key in common, without a copy of either.
struct Joined<'a>(&'a Map<String, Value>, &'a Map<String, Value>);

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().chain(self.1))
    }
}
