//! The `include` parameter: comma-separated names of what to embed.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// Names as sent, trimmed; unknown names are ignored.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "String")]
pub struct Include(Vec<String>);

impl Include {
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|included| included.eq_ignore_ascii_case(name))
    }

    /// Only this name, if it is included.
    pub fn only(&self, name: &str) -> Include {
        Include(self.has(name).then(|| name.to_owned()).into_iter().collect())
    }

    /// Adds this name.
    pub fn and(&self, name: &str) -> Include {
        Include(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// The first unknown name, for resources that refuse those.
    pub fn unknown(&self, known: &[&str]) -> Option<&str> {
        let is_known = |name: &str| known.iter().any(|known| known.eq_ignore_ascii_case(name));
        self.0.iter().map(String::as_str).find(|name| !name.is_empty() && !is_known(name))
    }
}

impl From<String> for Include {
    fn from(text: String) -> Self {
        Include(text.split(',').map(|name| name.trim().to_owned()).collect())
    }
}

impl JsonSchema for Include {
    fn schema_name() -> Cow<'static, str> {
        "Include".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "Comma-separated names of what to embed." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_compared_without_case() {
        let include = Include::from(" files ,topComment,bogus".to_owned());
        assert!(include.has("files"));
        assert!(include.has("topcomment"));
        assert!(!include.has("user"));
        assert!(include.only("files").has("files"));
        assert!(!include.only("files").has("topComment"));
        assert_eq!(include.unknown(&["files", "TOPCOMMENT"]), Some("bogus"));
        assert_eq!(Include::from(",user,".to_owned()).unknown(&["user"]), None);
    }
}
