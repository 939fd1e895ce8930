//! The strict inputs of workspaces. Unlike elsewhere, a key that is not declared is refused: a misspelt `actingUserId`
//! would otherwise let a key act for the whole project. Every request may have `actingUserId` and `projectId`.

use std::collections::HashSet;

use http::header::CONTENT_TYPE;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::auth::credential::Presented;
use crate::error::Result;
use crate::features::workspaces::{INVALID_BODY, INVALID_QUERY};
use crate::http::input::{Input, InputDoc, body_value, read_body, read_query};
use crate::http::operation::CheckedRequest;
use crate::http::query::percent_decode;
use crate::values::ids::UserId;

const ACTOR: &str = "actingUserId";
const PROJECT: &str = "projectId";
/// What clients add to get around caches.
const CACHE_BUSTERS: [&str; 2] = ["_", "_t"];
/// Queries with this many parts are refused.
const TOO_MANY_PARTS: usize = 1000;

/// A query or body whose type refuses unknown keys.
pub(super) trait Declared: DeserializeOwned + JsonSchema + Send {
    /// Rules about several fields.
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

/// No key of its own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WorkspaceActor")]
pub(super) struct Nothing {}

impl Declared for Nothing {}

/// The input of a GET: its query, and the user that it names.
#[derive(Debug)]
pub(super) struct Read<Q = Nothing> {
    pub(super) named: Option<UserId>,
    pub(super) query: Q,
}

impl<Q: Declared> Input for Read<Q> {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let (in_query, query) = query::<Q>(request)?;
        let (in_body, Nothing {}) = body(request, in_query)?;
        Ok(Read { named: one_of(in_query, in_body)?, query })
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        let mut schema = Q::json_schema(generator);
        declare(schema.ensure_object(), &[ACTOR]);
        doc.query.push(schema);
    }
}

/// The input of any other operation: its body, and the user that it names.
#[derive(Debug)]
pub(super) struct Write<B = Nothing> {
    pub(super) named: Option<UserId>,
    pub(super) body: B,
}

impl<B: Declared> Input for Write<B> {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let (in_query, Nothing {}) = query(request)?;
        let (in_body, body) = body::<B>(request, in_query)?;
        Ok(Write { named: one_of(in_body, in_query)?, body })
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        let schema = generator.subschema_for::<B>();
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.rsplit('/').next());
        let definition = name.and_then(|name| generator.definitions_mut().get_mut(name));
        if let Some(object) = definition.and_then(Value::as_object_mut) {
            declare(object, &[ACTOR, PROJECT]);
        }
        doc.add_body(schema);
    }
}

/// Adds ids to the properties of a schema.
fn declare(schema: &mut Map<String, Value>, names: &[&str]) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    for name in names {
        let id: Schema = schemars::json_schema!({ "type": "string", "format": "uuid" });
        properties[name] = id.to_value();
    }
}

/// The user may be named in the query or in the body, but not differently in both.
fn one_of(first: Option<UserId>, second: Option<UserId>) -> Result<Option<UserId>> {
    match (first, second) {
        (Some(one), Some(other)) if one != other => {
            Err(INVALID_BODY.because("actingUserId: query and body name different users"))
        }
        (first, second) => Ok(first.or(second)),
    }
}

fn query<Q: Declared>(request: &CheckedRequest) -> Result<(Option<UserId>, Q)> {
    let mut pairs = pairs(&request.query_text).map_err(|why| INVALID_QUERY.because(why))?;
    let named = take_actor(&mut pairs).map_err(|why| INVALID_QUERY.because(why))?;
    let query: Q = read_query(request, &Value::Object(pairs))?;
    query.check().map_err(|why| INVALID_QUERY.because(why))?;
    Ok((named, query))
}

/// Each key once, decoded.
fn pairs(text: &str) -> Result<Map<String, Value>, String> {
    if text.split('&').count() >= TOO_MANY_PARTS {
        return Err("The query has too many parts".to_owned());
    }
    let (mut pairs, mut seen) = (Map::new(), HashSet::new());
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let decoded = percent_decode(key, true).zip(percent_decode(value, true));
        let (key, value) = decoded.ok_or_else(|| format!("{key}: is not encoded properly"))?;
        if !seen.insert(key.to_string()) {
            return Err(format!("{key}: is given more than once"));
        }
        if !CACHE_BUSTERS.contains(&&*key) {
            pairs.insert(key.into_owned(), Value::String(value.into_owned()));
        }
    }
    Ok(pairs)
}

fn body<B: Declared>(
    request: &CheckedRequest,
    in_query: Option<UserId>,
) -> Result<(Option<UserId>, B)> {
    let value = body_value(request)?;
    let mut fields = value.as_object().cloned().unwrap_or_default();
    let named = take_actor(&mut fields).map_err(|why| INVALID_BODY.because(why))?;
    let acts_for_all =
        matches!(request.presented, Presented::Key { .. }) && named.or(in_query).is_none();
    if acts_for_all && !request.body.is_empty() && !is_json(request) {
        return Err(INVALID_BODY.because("A key that names no user must send application/json"));
    }
    if !value.is_object() {
        // The general error for bodies that are no object.
        return read_body(request, value).map(|body| (named, body));
    }
    let body: B = read_body(request, &Value::Object(fields))?;
    body.check().map_err(|why| INVALID_BODY.because(why))?;
    Ok((named, body))
}

fn is_json(request: &CheckedRequest) -> bool {
    let media = request.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.and_then(|media| media.split(';').next());
    media.is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
}

/// Removes the keys that every request may have; the user that one of them names.
fn take_actor(fields: &mut Map<String, Value>) -> Result<Option<UserId>, &'static str> {
    fields.remove(PROJECT);
    let Some(value) = fields.remove(ACTOR) else { return Ok(None) };
    let id = value.as_str().and_then(|text| text.parse().ok());
    id.map(Some).ok_or("actingUserId: must be a UUID")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_strictly() {
        let read = |text: &str| pairs(text).map(|pairs| Value::Object(pairs).to_string());
        assert_eq!(read(""), Ok("{}".to_owned()));
        assert_eq!(read("&a=x+y&_=1&_t=2&&b"), Ok(r#"{"a":"x y","b":""}"#.to_owned()));
        for wrong in ["a=1&a=2", "_=1&_=2", "_t&_t", "a=%zz", "%ff=1", "a=%00"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read("_[a]=1"), Ok(r#"{"_[a]":"1"}"#.to_owned()), "its type refuses it");
        assert!(read(&"&".repeat(998)).is_ok());
        assert!(read(&"&".repeat(999)).is_err());
    }
}
