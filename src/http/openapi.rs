//! The OpenAPI 3.1 document, generated from the declarations that the router serves.

mod components;
mod document;

pub use document::{Additions, Document, Operations, text};

use std::collections::{BTreeMap, BTreeSet};

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::auth::caller::{Credential, ELEVATED_AUTH_REQUIRED};
use crate::auth::credential::{BadToken, KEY_IN_BROWSER};
use crate::auth::store::suspensions::SUSPENDED;
use crate::error::Fault;
use crate::http::dispatch::GENERAL_FAULTS;
use crate::http::operation::Operation;
use crate::http::render::{BUSY, UNAUTHORIZED};
use crate::http::version::Version;
use crate::tenancy::TABLES_NOT_AVAILABLE;
use components::Section;

/// The document of one version, or of every version side by side.
pub fn document(operations: &'static [Operation], version: Option<Version>) -> Value {
    // Maps with text for keys always become JSON.
    serde_json::to_value(Document::of(operations, version).with(&Additions::default()))
        .unwrap_or_default()
}

impl Document {
    pub fn of(operations: &'static [Operation], version: Option<Version>) -> Self {
        let mut parts = Parts::new();
        let mut paths: BTreeMap<String, Operations> = BTreeMap::new();
        for operation in operations {
            let prefixes = prefixes(operation, version);
            if prefixes.is_empty() {
                continue;
            }
            let mut described = describe(operation, &mut parts);
            for prefix in prefixes {
                described["operationId"] = operation_id(&prefix, operation.name).into();
                let methods = paths.entry(documented_path(&prefix, operation)).or_default();
                methods.insert(operation.method.as_str().to_lowercase(), text(&described));
            }
        }
        let mut schemas = parts.generator.take_definitions(true);
        schemas.insert("Error".to_owned(), error_schema());
        Document {
            paths,
            schemas,
            responses: parts.responses.into_parts(),
            parameters: parts.parameters.into_parts(),
        }
    }
}

/// What operations refer to, gathered while they are described.
struct Parts {
    generator: SchemaGenerator,
    responses: Section,
    parameters: Section,
}

impl Parts {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Parts {
            generator: settings.into_generator(),
            responses: Section::new("responses"),
            parameters: Section::new("parameters"),
        }
    }
}

/// Every fault the operation may answer with, from its declaration and from the shared checks.
pub fn faults(operation: &Operation) -> Vec<Fault> {
    let mut faults: Vec<Fault> = operation.errors.to_vec();
    // Operations of the server itself read no input that could be wrong.
    if operation.is_project_scoped() {
        faults.extend(operation.invalid.faults());
    }
    faults.extend(GENERAL_FAULTS);
    faults.push(BUSY);
    faults.extend(operation.unauthenticated);
    faults.extend(operation.key_refusal);
    if let Some(acts_as) = operation.acts_as {
        faults.extend([acts_as.missing, acts_as.unknown]);
        faults.extend(acts_as.other);
    }
    if operation.credential != Credential::Ignored {
        faults.push(KEY_IN_BROWSER);
    }
    if refuses_callers(operation) && !operation.plain_refusals {
        faults.push(UNAUTHORIZED);
    }
    if operation.may_be_closed {
        faults.push(ELEVATED_AUTH_REQUIRED);
    }
    match operation.credential {
        Credential::Optional if operation.bad_token != BadToken::Anonymous => {
            faults.push(operation.user_gone);
        }
        Credential::Ignored | Credential::Optional => {}
        Credential::Key => faults.push(ELEVATED_AUTH_REQUIRED),
        Credential::User | Credential::UserOrKey => faults.push(operation.user_gone),
    }
    if let Some(form) = operation.form {
        faults.extend(form.faults());
    }
    if operation.bundle.is_some() || operation.form.is_some() {
        faults.push(TABLES_NOT_AVAILABLE);
    }
    if !operation.open_to_suspended {
        faults.push(SUSPENDED);
    }
    faults
}

/// Whether a caller may hear 401 or 403 for want of a credential that holds.
fn refuses_callers(operation: &Operation) -> bool {
    let asks = !matches!(operation.credential, Credential::Ignored | Credential::Optional);
    asks || operation.may_be_closed || operation.bad_token != BadToken::Anonymous
}

pub fn prefixes(operation: &Operation, version: Option<Version>) -> Vec<String> {
    if !operation.is_project_scoped() {
        return vec![String::new()];
    }
    let versions = version.map_or(Version::ALL.to_vec(), |version| vec![version]);
    let served = versions.iter().filter(|version| operation.is_in(**version));
    served.map(|version| format!("/{}/{{projectId}}", version.segment())).collect()
}

/// The path as the document knows it: there a parameter is a parameter, however long.
pub fn documented_path(prefix: &str, operation: &Operation) -> String {
    format!("{prefix}{}", operation.path.replace("{*", "{"))
}

/// `v8-fetch-user`: unique in the document, and fit to name a function of a generated client.
fn operation_id(prefix: &str, name: &str) -> String {
    let version = prefix.split('/').nth(1);
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    version.into_iter().chain(words).collect::<Vec<_>>().join("-").to_lowercase()
}

fn describe(operation: &Operation, parts: &mut Parts) -> Value {
    let input = (operation.input)(&mut parts.generator);
    let mut parameters = Vec::new();
    if operation.is_project_scoped() {
        let schema = json!({ "type": "string", "format": "uuid" });
        parameters
            .push(json!({ "name": "projectId", "in": "path", "required": true, "schema": schema }));
    }
    parameters
        .extend(input.params.iter().flat_map(|schema| parameter_list(schema.as_value(), "path")));
    parameters
        .extend(input.query.iter().flat_map(|schema| parameter_list(schema.as_value(), "query")));
    if let Some(acts_as) = operation.acts_as {
        parameters.push(json!({
            "name": acts_as.parameter,
            "in": "query",
            "required": false,
            "description": "With a key: the user it acts as. The body may name them instead.",
            "schema": { "type": "string", "format": "uuid" },
        }));
    }

    let refer = |parameter: Value| {
        let name = parameter["name"].as_str().unwrap_or_default().to_owned();
        parts.parameters.refer(&name, parameter)
    };
    let parameters: Vec<Value> = parameters.into_iter().map(refer).collect();

    let tag = operation.path.split('/').nth(1).unwrap_or_default();
    let mut described = json!({
        "summary": operation.name,
        "tags": [tag],
        "parameters": parameters,
        "responses": responses(operation, parts),
    });
    if let Some(rate) = operation.rate {
        described["x-rate-limit"] =
            json!({ "requests": rate.max, "seconds": rate.window.as_secs() });
    }
    if let Some(body) = input.body {
        let mut content = json!({});
        if operation.form.is_none_or(|form| !form.only) {
            content["application/json"] = json!({ "schema": body });
        }
        if let Some(form) = operation.form {
            content["multipart/form-data"] = json!({ "schema": form.schema(body.as_value()) });
        }
        if operation.takes_forms {
            content["application/x-www-form-urlencoded"] = json!({ "schema": body });
        }
        described["requestBody"] = json!({ "content": content });
    }
    match operation.credential {
        Credential::Ignored => {}
        Credential::Optional => described["security"] = json!([{}, { "bearer": [] }]),
        _ => described["security"] = json!([{ "bearer": [] }]),
    }
    if let Some(bundle) = operation.bundle {
        described["x-bundle"] = bundle.name().into();
    }
    let further = operation.further_bundles.iter().map(|bundle| bundle.name());
    if !operation.further_bundles.is_empty() {
        described["x-further-bundles"] = further.collect();
    }
    described
}

fn parameter_list(schema: &Value, place: &str) -> Vec<Value> {
    let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, schema)| {
            let needed = place == "path" || required.iter().any(|r| *r == name);
            json!({ "name": name, "in": place, "required": needed, "schema": schema })
        })
        .collect()
}

fn responses(operation: &Operation, parts: &mut Parts) -> Value {
    let mut responses = Map::new();
    for reply in (operation.replies)(&mut parts.generator) {
        let entry = response(&mut responses, reply.status);
        if let Some((media, schema)) = reply.content {
            entry["content"][media] = json!({ "schema": schema });
        }
    }
    let faults = faults(operation);
    let statuses: BTreeSet<u16> = faults.iter().map(|fault| fault.status).collect();
    for status in statuses {
        let codes: BTreeSet<&str> =
            faults.iter().filter(|fault| fault.status == status).map(|fault| fault.code).collect();
        let entry = response(&mut responses, status);
        let known = entry["content"]["application/json"]["schema"].take();
        let schema = json!({
            "allOf": [{ "$ref": "#/components/schemas/Error" }],
            "properties": { "code": { "enum": codes } },
        });
        let schema = if known.is_null() { schema } else { json!({ "anyOf": [known, schema] }) };
        entry["content"]["application/json"] = json!({ "schema": schema });
    }
    let text = json!({ "schema": { "type": "string" } });
    if refuses_callers(operation) {
        for status in [401, 403] {
            response(&mut responses, status)["content"]["text/plain"] = text.clone();
        }
    }
    response(&mut responses, 429)["content"]["text/plain"] = text;
    let schema = json!({ "$ref": "#/components/schemas/Error" });
    response(&mut responses, 500)["content"]["application/json"] = json!({ "schema": schema });
    // Replies with what was asked for stay: a client reads them, and few operations share one.
    let shared = responses.into_iter().map(|(status, reply)| {
        let is_error = status.as_str() >= "400";
        let name = format!("E{status}");
        let reply = if is_error { parts.responses.refer(&name, reply) } else { reply };
        (status, reply)
    });
    Value::Object(shared.collect())
}

fn response(responses: &mut Map<String, Value>, status: u16) -> &mut Value {
    let phrase = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
    responses
        .entry(status.to_string())
        .or_insert_with(|| json!({ "description": phrase.unwrap_or_default() }))
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error", "code"],
        "properties": {
            "error": { "type": "string", "description": "For people; may change." },
            "code": { "type": "string", "description": "For programs; does not change." },
        },
    })
}
