//! The texts of the document: what `docs/api` says about operations, parameters and schemas, and the examples
//! that the tests recorded. Comments in the code never become part of it.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

/// One file for each group of operations, in the order in which the document shows them.
const GROUPS: [&str; 25] = [
    include_str!("../../../docs/api/auth.md"),
    include_str!("../../../docs/api/users.md"),
    include_str!("../../../docs/api/entities.md"),
    include_str!("../../../docs/api/reactions.md"),
    include_str!("../../../docs/api/comments.md"),
    include_str!("../../../docs/api/collections.md"),
    include_str!("../../../docs/api/spaces.md"),
    include_str!("../../../docs/api/members.md"),
    include_str!("../../../docs/api/workspaces.md"),
    include_str!("../../../docs/api/follows.md"),
    include_str!("../../../docs/api/connections.md"),
    include_str!("../../../docs/api/blocks.md"),
    include_str!("../../../docs/api/events.md"),
    include_str!("../../../docs/api/grants.md"),
    include_str!("../../../docs/api/conversations.md"),
    include_str!("../../../docs/api/messages.md"),
    include_str!("../../../docs/api/notifications.md"),
    include_str!("../../../docs/api/push.md"),
    include_str!("../../../docs/api/mails.md"),
    include_str!("../../../docs/api/moderation.md"),
    include_str!("../../../docs/api/files.md"),
    include_str!("../../../docs/api/search.md"),
    include_str!("../../../docs/api/tables.md"),
    include_str!("../../../docs/api/server.md"),
    include_str!("../../../docs/api/webhooks.md"),
];
const OVERVIEW: &str = include_str!("../../../docs/api/README.md");
const PARAMETERS: &str = include_str!("../../../docs/api/parameters.md");
const SCHEMAS: &str = include_str!("../../../docs/api/schemas.md");
const EXAMPLES: &str = include_str!("../../../docs/api/examples.json");

/// The section of `schemas.md` for properties that mean the same in every schema.
const ANY_SCHEMA: &str = "Any schema";

/// Texts by the names of what they describe.
type Named = HashMap<&'static str, String>;

pub(super) struct Texts {
    /// The introduction of the whole document.
    pub(super) overview: &'static str,
    /// Groups of operations with their descriptions.
    pub(super) groups: Vec<(&'static str, &'static str)>,
    operations: HashMap<&'static str, OperationText>,
    parameters: Named,
    schemas: HashMap<&'static str, SchemaText>,
    examples: Map<String, Value>,
}

pub(super) struct OperationText {
    pub(super) group: &'static str,
    pub(super) summary: String,
    pub(super) description: &'static str,
    /// Parameters with another meaning than elsewhere.
    parameters: Named,
}

struct SchemaText {
    description: &'static str,
    properties: Named,
}

pub(super) fn texts() -> &'static Texts {
    static TEXTS: LazyLock<Texts> = LazyLock::new(Texts::read);
    &TEXTS
}

impl Texts {
    fn read() -> Self {
        let mut groups = Vec::new();
        let mut operations = HashMap::new();
        for file in GROUPS {
            let (group, text, sections) = parts(file);
            groups.push((group, text));
            for (name, section) in sections {
                operations.insert(name, OperationText::read(group, section));
            }
        }
        let schemas = parts(SCHEMAS).2.map(|(name, section)| (name, SchemaText::read(section)));
        Texts {
            overview: parts(OVERVIEW).1,
            groups,
            operations,
            parameters: items(PARAMETERS),
            schemas: schemas.collect(),
            // A file that is not an object has no examples, and a test fails.
            examples: serde_json::from_str(EXAMPLES).unwrap_or_default(),
        }
    }

    pub(super) fn operation(&self, name: &str) -> Option<&OperationText> {
        self.operations.get(name)
    }

    /// The description of a parameter.
    pub(super) fn parameter(&self, operation: &str, name: &str) -> Option<&str> {
        let own = self.operation(operation).and_then(|text| text.parameters.get(name));
        own.or_else(|| self.parameters.get(name)).map(String::as_str)
    }

    pub(super) fn schema(&self, name: &str) -> Option<&str> {
        self.schemas.get(name).map(|text| text.description)
    }

    /// The description of a property; for a schema without a name, the shared one.
    pub(super) fn property(&self, schema: &str, name: &str) -> Option<&str> {
        let sections = [schema, ANY_SCHEMA].into_iter().filter_map(|name| self.schemas.get(name));
        let mut found = sections.filter_map(|section| section.properties.get(name));
        found.next().map(String::as_str)
    }

    /// `{request, status, response}` as a test recorded them.
    pub(super) fn example(&self, operation: &str) -> Option<&Value> {
        self.examples.get(operation)
    }
}

impl OperationText {
    /// The first paragraph is the summary; a list at the end, below its own heading, names parameters.
    fn read(group: &'static str, section: &'static str) -> Self {
        let (text, parameters) = section.split_once("### Parameters").unwrap_or((section, ""));
        let (summary, description) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
        OperationText {
            group,
            summary: summary.replace('\n', " "),
            description: description.trim(),
            parameters: items(parameters),
        }
    }
}

impl SchemaText {
    fn read(section: &'static str) -> Self {
        let list = section.find("- `").unwrap_or(section.len());
        let (description, properties) = section.split_at(list);
        SchemaText { description: description.trim(), properties: items(properties) }
    }
}

/// The title of a file, the text below it, and its sections with their headings.
fn parts(
    file: &'static str,
) -> (&'static str, &'static str, impl Iterator<Item = (&'static str, &'static str)>) {
    let mut sections = file.split("\n## ").map(|section| {
        let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
        (heading.trim(), text.trim())
    });
    let (title, text) = sections.next().unwrap_or_default();
    (title.trim_start_matches("# "), text, sections)
}

/// A list whose items are a name and what it means, over one line or several.
fn items(list: &'static str) -> Named {
    let items = list.split("\n- `").map(|item| item.trim_start().trim_start_matches("- `"));
    let items = items.filter_map(|item| item.split_once("`: "));
    items
        .map(|(name, text)| {
            let text = text.split("\n\n#").next().unwrap_or_default();
            let lines: Vec<&str> =
                text.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
            (name, lines.join("\n").trim().to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_a_summary_a_description_and_parameters() {
        let text = OperationText::read(
            "Notes",
            "Pin a note\n\nA pinned note\nis on top.\n\nOne for each user.\n\n### Parameters\n\n- `order`: Where:\n  - `top`\n  - `end`\n- `page`: Which.",
        );
        assert_eq!((text.group, text.summary.as_str()), ("Notes", "Pin a note"));
        assert_eq!(text.description, "A pinned note\nis on top.\n\nOne for each user.");
        assert_eq!(text.parameters["order"], "Where:\n- `top`\n- `end`");
        assert_eq!(text.parameters["page"], "Which.");
    }

    #[test]
    fn a_file_has_a_title_and_sections() {
        let (title, text, sections) =
            parts("# Notes\n\nShort texts.\n\n## Pin\n\nOne.\n\n## Unpin\n\nTwo.\n");
        assert_eq!((title, text), ("Notes", "Short texts."));
        assert_eq!(sections.collect::<Vec<_>>(), [("Pin", "One."), ("Unpin", "Two.")]);
    }
}
