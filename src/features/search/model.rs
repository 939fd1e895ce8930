//! Search results as the API shows them.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;
use text_index::{Analyzer, highlights};
use uuid::Uuid;

use crate::features::chat::model::ChatMessage;
use crate::features::comments::model::Comment;
use crate::features::entities::model::Entity;
use crate::features::search::rules::SourceType;
use crate::features::spaces::model::Space;
use crate::features::users::model::User;

/// Highlights of one field; more say nothing.
const MAX_HIGHLIGHTS: usize = 50;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContentSearchResult {
    pub source_type: SourceType,
    pub similarity: f64,
    pub record: FoundRecord,
    pub highlights: Vec<Highlight>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum FoundRecord {
    Entity(Box<Entity>),
    Comment(Box<Comment>),
    Message(Box<ChatMessage>),
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct UserSearchResult {
    pub similarity: f64,
    pub record: User,
    pub highlights: Vec<Highlight>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SpaceSearchResult {
    pub similarity: f64,
    pub record: Space,
    pub highlights: Vec<Highlight>,
}

/// A word of a field that matches the query: from `start` up to `end`, in UTF-16 code units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Highlight {
    pub field: &'static str,
    pub start: usize,
    pub end: usize,
}

impl Highlight {
    pub fn all(
        analyzer: &Analyzer,
        terms: &HashSet<String>,
        fields: &[(&'static str, Option<&str>)],
    ) -> Vec<Highlight> {
        let of_field = |(field, text): &(&'static str, Option<&str>)| {
            let field = *field;
            let spans = highlights(analyzer, text.unwrap_or_default(), terms);
            spans.into_iter().take(MAX_HIGHLIGHTS).map(move |span| Highlight {
                field,
                start: span.start,
                end: span.end,
            })
        };
        fields.iter().flat_map(of_field).collect()
    }
}

impl FoundRecord {
    pub fn id(&self) -> Uuid {
        match self {
            FoundRecord::Entity(entity) => entity.id.0,
            FoundRecord::Comment(comment) => comment.id.0,
            FoundRecord::Message(message) => message.id.0,
        }
    }

    /// The fields in which words are found and marked.
    pub fn texts(&self) -> Vec<(&'static str, Option<&str>)> {
        match self {
            FoundRecord::Entity(entity) => {
                vec![("title", entity.title.as_deref()), ("content", entity.content.as_deref())]
            }
            FoundRecord::Comment(comment) => vec![("content", comment.content.as_deref())],
            FoundRecord::Message(message) => vec![("content", message.content.as_deref())],
        }
    }
}
