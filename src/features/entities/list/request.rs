//! The query of a list of entities, parsed and validated.

use schemars::{SchemaGenerator, json_schema};
use serde_json::Value;

use crate::error::Result;
use crate::features::entities::INVALID_QUERY;
use crate::features::entities::list::filters::Filters;
use crate::features::entities::list::metadata_sort::SortType;
use crate::features::reactions::ReactionType;
use crate::http::include::Include;
use crate::http::input::{Direction, Input, InputDoc};
use crate::http::operation::CheckedRequest;
use crate::http::version::Version;
use crate::values::ids::{SpaceId, UserId};

/// Where entities belong: a space, or a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filed<T> {
    Anywhere,
    Nowhere,
    In(T),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sort {
    New(Direction),
    /// Of drafts.
    LastChanged,
    Hot,
    Top(ReactionType),
    /// Upvotes minus downvotes, in v6.
    Balance,
    Controversial,
    Metadata {
        property: String,
        kind: SortType,
        direction: Direction,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nsfw {
    All,
    Exclude,
    Only,
}

#[derive(Debug)]
pub struct ListRequest {
    pub sort: Sort,
    /// `sortBy=new` is an old name; the reply is marked as deprecated.
    pub is_deprecated: bool,
    /// Not older than this.
    pub hours: Option<u64>,
    pub source: Filed<String>,
    /// None if the query names an invalid space: the list is empty.
    pub space: Option<Filed<SpaceId>>,
    pub user: Option<UserId>,
    pub followed_only: bool,
    /// Also shows authors that the viewer has blocked.
    pub shows_blocked: bool,
    pub nsfw: Nsfw,
    pub filters: Filters,
    pub include: Include,
}

impl Input for ListRequest {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let query = Texts { query: &request.query };
        let version = request.version;
        let (sort, is_deprecated) = sort(&query, version)?;
        let filters = Filters::parse(&request.query_text);
        Ok(ListRequest {
            sort,
            is_deprecated,
            hours: query.one_of(
                "timeFrame",
                &[
                    ("hour", 1),
                    ("day", 24),
                    ("week", 7 * 24),
                    ("month", 30 * 24),
                    ("year", 365 * 24),
                ],
            )?,
            source: source(&query, version),
            space: space(&query),
            user: match query.text("userId") {
                Some(id) => Some(id.parse().map_err(|why| wrong("userId", why))?),
                None => None,
            },
            followed_only: query.one_of("followedOnly", &[("true", true), ("false", false)])?
                == Some(true),
            shows_blocked: query.one_of(
                "blockedFilter",
                &[("exclude", false), ("include-outbound-blocked", true)],
            )? == Some(true),
            nsfw: query
                .one_of(
                    "nsfwFilter",
                    &[("include-all", Nsfw::All), ("exclude", Nsfw::Exclude), ("only", Nsfw::Only)],
                )?
                .unwrap_or(Nsfw::All),
            filters: filters.map_err(|why| INVALID_QUERY.because(why))?,
            include: query.include(),
        })
    }

    fn describe(doc: &mut InputDoc, _: &mut SchemaGenerator) {
        let text = json_schema!({ "type": "string" });
        let object = json_schema!({
            "type": "object",
            "description": "In brackets (`name[key]=value`) or as JSON text.",
        });
        doc.query.push(json_schema!({
            "type": "object",
            "properties": {
                "sortBy": {
                    "type": "string",
                    "description": "createdAt, hot, top, controversial, or metadata.<property>.",
                },
                "sortDir": { "type": "string", "enum": ["asc", "desc"] },
                "sortType": {
                    "type": "string",
                    "enum": ["auto", "numeric", "text", "boolean", "timestamp"],
                },
                "sortByReaction": { "type": "string" },
                "timeFrame": {
                    "type": "string",
                    "enum": ["hour", "day", "week", "month", "year"],
                },
                "sourceId": text,
                "spaceId": text,
                "userId": { "type": "string", "format": "uuid" },
                "followedOnly": { "type": "boolean" },
                "blockedFilter": {
                    "type": "string",
                    "enum": ["exclude", "include-outbound-blocked"],
                },
                "nsfwFilter": { "type": "string", "enum": ["include-all", "exclude", "only"] },
                "keywordsFilters": object,
                "titleFilters": object,
                "contentFilters": object,
                "attachmentsFilters": object,
                "locationFilters": object,
                "metadataFilters": object,
                "include": text,
            },
        }));
    }
}

/// The space and source of a list, for lists with no other filter.
pub fn source(query: &Texts<'_>, version: Version) -> Filed<String> {
    match query.text("sourceId") {
        Some("null") => Filed::Nowhere,
        // v6 lists entities without a source unless one is named.
        None if version == Version::V6 => Filed::Nowhere,
        Some("undefined" | "") if version == Version::V6 => Filed::Nowhere,
        None => Filed::Anywhere,
        Some(id) => Filed::In(id.to_owned()),
    }
}

/// None for an invalid space.
pub fn space(query: &Texts<'_>) -> Option<Filed<SpaceId>> {
    match query.text("spaceId") {
        None => Some(Filed::Anywhere),
        Some("null") => Some(Filed::Nowhere),
        Some(id) => id.parse().ok().map(Filed::In),
    }
}

fn sort(query: &Texts<'_>, version: Version) -> Result<(Sort, bool)> {
    let direction = query.text("sortDir").map(str::parse).transpose();
    let direction: Direction = direction.map_err(|why| wrong("sortDir", why))?.unwrap_or_default();
    let reaction = query.text("sortByReaction").map(|name| {
        ReactionType::from_name(name).ok_or_else(|| wrong("sortByReaction", "is no reaction type"))
    });
    let reaction = reaction.transpose()?;
    let kind = query.one_of("sortType", SortType::NAMES)?.unwrap_or(SortType::Auto);
    let by_default = if version == Version::V6 { "hot" } else { "createdAt" };
    let sort = match query.text("sortBy").unwrap_or(by_default) {
        "createdAt" | "new" => Sort::New(direction),
        "hot" | "score" => Sort::Hot,
        "top" if version == Version::V6 && reaction.is_none() => Sort::Balance,
        "top" => Sort::Top(reaction.unwrap_or(ReactionType::Upvote)),
        "controversial" => Sort::Controversial,
        other => {
            let property = other.strip_prefix("metadata.").unwrap_or_default();
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if property.is_empty() || property.len() > 256 || !property.bytes().all(is_name) {
                return Err(wrong("sortBy", "is not something to sort by"));
            }
            Sort::Metadata { property: property.to_owned(), kind, direction }
        }
    };
    Ok((sort, query.text("sortBy") == Some("new")))
}

fn wrong(name: &str, why: &str) -> crate::error::Error {
    INVALID_QUERY.because(format!("{name}: {why}"))
}

/// The plain parameters of a query.
#[derive(Debug)]
pub struct Texts<'a> {
    pub query: &'a Value,
}

impl<'a> Texts<'a> {
    pub fn include(&self) -> Include {
        self.text("include").map(|text| text.to_owned().into()).unwrap_or_default()
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.query.get(name).and_then(Value::as_str)
    }

    /// The value of a parameter with a fixed set of values.
    fn one_of<T: Copy>(&self, name: &str, known: &[(&str, T)]) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = known.iter().find(|(known, _)| *known == text);
        match found {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                Err(wrong(name, &format!("must be one of {}", names.join(", "))))
            }
        }
    }
}
