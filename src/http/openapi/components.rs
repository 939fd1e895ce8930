//! Parts of the document that many operations have in common. Each distinct one is written once, and
//! the operations refer to it: the document is a third of the size.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// The distinct parts of one section of `components`, each under a name of its own.
#[derive(Debug)]
pub(super) struct Section {
    name: &'static str,
    parts: Map<String, Value>,
    /// The name of each part, by its text.
    names: HashMap<String, String>,
}

impl Section {
    pub(super) fn new(name: &'static str) -> Self {
        Section { name, parts: Map::new(), names: HashMap::new() }
    }

    /// A reference to the part. Another part that was given the same name before keeps it: this one
    /// is numbered.
    pub(super) fn refer(&mut self, name: &str, part: Value) -> Value {
        let text = part.to_string();
        let name = match self.names.get(&text) {
            Some(name) => name.clone(),
            None => {
                let name = self.free(name);
                self.names.insert(text, name.clone());
                self.parts.insert(name.clone(), part);
                name
            }
        };
        json!({ "$ref": format!("#/components/{}/{name}", self.name) })
    }

    pub(super) fn into_parts(self) -> Map<String, Value> {
        self.parts
    }

    /// The standard allows letters, digits and a few signs in names.
    fn free(&self, wanted: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let wanted: String = wanted.chars().map(plain).collect();
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.clone()).chain(numbered);
        names.find(|name| !self.parts.contains_key(name)).unwrap_or(wanted)
    }
}
