//! Shared parts of the document. Each distinct one is written once under a name of its own, and the
//! operations refer to it.

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

    /// A reference to the part. If another part has the name already, this one is named after the first
    /// operation that uses it.
    pub(super) fn refer(&mut self, name: &str, owner: &str, part: Value) -> Value {
        let text = part.to_string();
        let name = match self.names.get(&text) {
            Some(name) => name.clone(),
            None => {
                let plain = camel_case(name);
                let is_free = !self.parts.contains_key(&plain);
                let name = if is_free { plain } else { format!("{owner}{}", pascal_case(name)) };
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
}

/// In Pascal case: `FetchEntityByShortID`.
pub(super) fn pascal_case(words: &str) -> String {
    let capitalized = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    words.split(|c: char| !c.is_ascii_alphanumeric()).map(capitalized).collect()
}

/// The same, but keeps the first letter.
fn camel_case(words: &str) -> String {
    let rest = pascal_case(words);
    let first = words.chars().next().filter(char::is_ascii_alphanumeric);
    first.into_iter().chain(rest.chars().skip(first.iter().len())).collect()
}
