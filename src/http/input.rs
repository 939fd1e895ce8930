//! The inputs of a handler: path parameters, query and body, parsed into types that validate on construction.
//! The first error becomes the operation's own fault.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{Error, Fault, Result};
use crate::http::operation::CheckedRequest;
use crate::http::page::{Page, PageSize};
use crate::http::version::Version;
use crate::values::json;

/// The faults of an operation for each kind of invalid input. v6 has codes of its own for some of them.
#[derive(Debug, Clone, Copy)]
pub struct Invalid {
    pub params: Fault,
    pub query: Fault,
    pub body: Fault,
    pub v6_params: Option<Fault>,
    pub v6_query: Option<Fault>,
    pub v6_body: Option<Fault>,
    /// v6, when a required field of the body is missing or null (not when it is invalid).
    pub v6_missing: Option<Fault>,
    pub v6_page: Option<Fault>,
    pub v6_limit: Option<Fault>,
}

impl Invalid {
    /// One fault for all kinds.
    pub const fn all(fault: Fault) -> Self {
        Invalid {
            params: fault,
            query: fault,
            body: fault,
            v6_params: None,
            v6_query: None,
            v6_body: None,
            v6_missing: None,
            v6_page: None,
            v6_limit: None,
        }
    }

    pub fn body_in(&self, version: Version) -> Fault {
        self.v6_body.filter(|_| version == Version::V6).unwrap_or(self.body)
    }

    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        let always = [Some(self.params), Some(self.query), Some(self.body)];
        always
            .into_iter()
            .chain([self.v6_params, self.v6_query, self.v6_body, self.v6_missing])
            .chain([self.v6_page, self.v6_limit])
            .flatten()
    }
}

pub trait Input: Sized + Send {
    fn extract(request: &CheckedRequest) -> Result<Self>;
    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator);
}

/// The inputs of an operation as OpenAPI shows them.
#[derive(Debug, Default)]
pub struct InputDoc {
    pub params: Option<Schema>,
    /// One for each input that reads the query.
    pub query: Vec<Schema>,
    pub body: Option<Schema>,
}

impl InputDoc {
    /// Several inputs may read parts of one body.
    pub fn add_body(&mut self, schema: Schema) {
        self.body = Some(match self.body.take() {
            Some(other) => json_schema!({ "allOf": [other, schema] }),
            None => schema,
        });
    }
}

impl Input for () {
    fn extract(_: &CheckedRequest) -> Result<Self> {
        Ok(())
    }

    fn describe(_: &mut InputDoc, _: &mut SchemaGenerator) {}
}

/// Path parameters.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + JsonSchema + Send> Input for Path<T> {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let invalid = &request.operation.invalid;
        let fault = in_v6(request, invalid.v6_params).unwrap_or(invalid.params);
        read(&request.params).map(Path).map_err(|wrong| fault.because(wrong.text))
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        doc.params = Some(T::json_schema(generator));
    }
}

/// Query parameters.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + JsonSchema + Send> Input for Query<T> {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        read_query(request, &request.query).map(Query)
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        doc.query.push(T::json_schema(generator));
    }
}

/// `page` and `limit` of a list: the default, and at most the maximum. Used together with `Query` where a
/// list has filters.
#[derive(Debug)]
pub struct Paging<const DEFAULT: u32 = 20, const MAX: u32 = 100>(pub Page);

impl<const DEFAULT: u32, const MAX: u32> Input for Paging<DEFAULT, MAX> {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let size = PageSize { default: DEFAULT, max: MAX };
        Page::from_query(&request.query, size).map(Paging).map_err(|name| {
            let invalid = &request.operation.invalid;
            let v6 = if name == "page" { invalid.v6_page } else { invalid.v6_limit };
            let fault = in_v6(request, v6).unwrap_or_else(|| query_fault(request));
            fault.because(format!("{name}: must be a whole number from 1 on"))
        })
    }

    fn describe(doc: &mut InputDoc, _: &mut SchemaGenerator) {
        describe_paging(doc, DEFAULT, MAX);
    }
}

/// The same for lists that refuse nothing: an invalid page or limit is ignored.
#[derive(Debug)]
pub struct LenientPaging<const DEFAULT: u32 = 20, const MAX: u32 = 100>(pub Page);

impl<const DEFAULT: u32, const MAX: u32> Input for LenientPaging<DEFAULT, MAX> {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let size = PageSize { default: DEFAULT, max: MAX };
        Ok(LenientPaging(Page::or_default(&request.query, size)))
    }

    fn describe(doc: &mut InputDoc, _: &mut SchemaGenerator) {
        describe_paging(doc, DEFAULT, MAX);
    }
}

fn describe_paging(doc: &mut InputDoc, default: u32, max: u32) {
    doc.query.push(json_schema!({
        "type": "object",
        "properties": {
            "page": { "type": "integer", "minimum": 1, "default": 1 },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "default": default,
                "description": format!("More than {max} counts as {max}."),
            },
        },
    }));
}

/// A JSON body, whatever its content type; a form is read by the same types, as strings.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned + JsonSchema + Send> Input for Body<T> {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        read_body(request, body_value(request)?).map(Body)
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        doc.add_body(generator.subschema_for::<T>());
    }
}

/// A JSON body with its spelling: numbers keep their digits, keys their order.
#[derive(Debug)]
pub struct Verbatim<T>(pub T);

impl<T: DeserializeOwned + JsonSchema + Send> Input for Verbatim<T> {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let invalid = body_fault(request);
        let body = if request.body.is_empty() { b"{}" } else { &request.body[..] };
        json::check(body).map_err(|why| invalid.because(why))?;
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        if first != Some(&b'{') {
            return Err(invalid.because("The body must be an object"));
        }
        let read = serde_json::from_slice(body);
        read.map(Verbatim).map_err(|error| invalid.because(error.to_string()))
    }

    fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
        doc.add_body(generator.subschema_for::<T>());
    }
}

/// The body as a JSON value, parsed once.
pub fn body_value(request: &CheckedRequest) -> Result<&Value> {
    if let Some(parsed) = request.parsed_body.get() {
        return Ok(parsed);
    }
    let parsed = parse_body(request)?;
    Ok(request.parsed_body.get_or_init(|| parsed))
}

/// A missing body counts as an empty object.
fn parse_body(request: &CheckedRequest) -> Result<Value> {
    let invalid = body_fault(request);
    if request.body.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    if request.form {
        let text = std::str::from_utf8(&request.body).map_err(|_| Error::from(invalid))?;
        return Ok(crate::http::query::pairs(text));
    }
    json::check(&request.body).map_err(|why| invalid.because(why))?;
    serde_json::from_slice(&request.body).map_err(|_| invalid.because("The body is not valid JSON"))
}

/// Reads the body, or a part of it, into its type.
pub fn read_body<T: DeserializeOwned>(request: &CheckedRequest, value: &Value) -> Result<T> {
    // Serde would read an array into a struct by the order of its fields.
    if !value.is_object() {
        return Err(body_fault(request).because("The body must be an object"));
    }
    read(value).map_err(|wrong| wrong.in_body(request))
}

/// Reads the query into its type.
pub fn read_query<T: DeserializeOwned>(request: &CheckedRequest, value: &Value) -> Result<T> {
    read(value).map_err(|wrong| query_fault(request).because(wrong.text))
}

fn body_fault(request: &CheckedRequest) -> Fault {
    request.operation.invalid.body_in(request.version)
}

fn query_fault(request: &CheckedRequest) -> Fault {
    let invalid = &request.operation.invalid;
    in_v6(request, invalid.v6_query).unwrap_or(invalid.query)
}

fn in_v6(request: &CheckedRequest, fault: Option<Fault>) -> Option<Fault> {
    fault.filter(|_| request.version == Version::V6)
}

macro_rules! input_tuples {
    ($($name:ident),+) => {
        impl<$($name: Input),+> Input for ($($name,)+) {
            fn extract(request: &CheckedRequest) -> Result<Self> {
                Ok(($($name::extract(request)?,)+))
            }

            fn describe(doc: &mut InputDoc, generator: &mut SchemaGenerator) {
                $($name::describe(doc, generator);)+
            }
        }
    };
}
input_tuples!(A, B);
input_tuples!(A, B, C);

#[derive(Debug)]
struct Wrong {
    text: String,
    missing: bool,
}

/// Deserializes a value; the error names the first invalid field.
fn read<'de, T: Deserialize<'de>>(
    value: impl Deserializer<'de, Error = serde_json::Error>,
) -> Result<T, Wrong> {
    serde_path_to_error::deserialize(value).map_err(Wrong::from)
}

impl Wrong {
    fn in_body(self, request: &CheckedRequest) -> Error {
        let v6_missing = in_v6(request, request.operation.invalid.v6_missing);
        let missing = v6_missing.filter(|_| self.missing);
        missing.unwrap_or_else(|| body_fault(request)).because(self.text)
    }
}

impl From<serde_path_to_error::Error<serde_json::Error>> for Wrong {
    fn from(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        let path = error.path().to_string();
        let reason = error.into_inner().to_string();
        let is_null = reason.starts_with("invalid type: null") && !path.contains(['.', '[']);
        let missing = is_null || (path == "." && reason.starts_with("missing field"));
        let text = if path == "." { reason } else { format!("{path}: {reason}") };
        Wrong { text, missing }
    }
}

/// The order of a list, case-insensitive; descending by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline)]
pub enum Direction {
    Asc,
    #[default]
    Desc,
}

impl std::str::FromStr for Direction {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            _ if text.eq_ignore_ascii_case("asc") => Ok(Direction::Asc),
            _ if text.eq_ignore_ascii_case("desc") => Ok(Direction::Desc),
            _ => Err("must be asc or desc"),
        }
    }
}

impl TryFrom<String> for Direction {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// A boolean of a query or form: `true` is true, anything else false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Flag(Cow::<str>::deserialize(deserializer)? == "true"))
    }
}

impl JsonSchema for Flag {
    fn schema_name() -> Cow<'static, str> {
        "Flag".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean" })
    }
}
