//! The OpenAPI 3.1 document, generated from the declarations that the router serves.

mod annotate;
mod components;
mod document;
mod inputs;
mod responses;
mod texts;

pub use document::{Additions, Document, Operations, text};

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::auth::caller::{Credential, ELEVATED_AUTH_REQUIRED};
use crate::auth::credential::{BadToken, KEY_IN_BROWSER, KEY_SCOPE};
use crate::auth::store::suspensions::SUSPENDED;
use crate::error::Fault;
use crate::http::dispatch::GENERAL_FAULTS;
use crate::http::operation::Operation;
use crate::http::render::{BUSY, UNAUTHORIZED};
use crate::http::version::Version;
use crate::tenancy::TABLES_NOT_AVAILABLE;
use components::{Section, pascal_case};
use texts::texts;

/// The document of one version, or of every version side by side.
pub fn document(operations: &'static [Operation], version: Option<Version>) -> Value {
    // Maps with text keys always serialize.
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
        schemas.insert("Error".to_owned(), responses::error_schema());
        annotate::components(&mut schemas);
        Document {
            paths,
            schemas,
            responses: parts.responses.into_parts(),
            parameters: parts.parameters.into_parts(),
            examples: parts.examples,
        }
    }
}

/// Components that operations refer to, collected while they are described.
struct Parts {
    generator: SchemaGenerator,
    responses: Section,
    parameters: Section,
    examples: Map<String, Value>,
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
            examples: Map::new(),
        }
    }
}

/// Every fault of the operation, from its declaration and from the shared checks.
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
        faults.extend([KEY_IN_BROWSER, KEY_SCOPE]);
    }
    if refuses_callers(operation) && !operation.plain_refusals {
        faults.push(UNAUTHORIZED);
    }
    if operation.may_be_closed {
        faults.push(ELEVATED_AUTH_REQUIRED);
    }
    match operation.credential {
        Credential::Optional
            if operation.bad_token != BadToken::Anonymous || operation.required_since.is_some() =>
        {
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

/// Whether a caller may get 401 or 403 for a missing or invalid credential.
fn refuses_callers(operation: &Operation) -> bool {
    let asks = !matches!(operation.credential, Credential::Ignored | Credential::Optional);
    asks || operation.required_since.is_some()
        || operation.may_be_closed
        || operation.bad_token != BadToken::Anonymous
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

/// `v8-fetch-user`: unique in the document, and usable as a function name in a generated client.
fn operation_id(prefix: &str, name: &str) -> String {
    let version = prefix.split('/').nth(1);
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    version.into_iter().chain(words).collect::<Vec<_>>().join("-").to_lowercase()
}

fn describe(operation: &Operation, parts: &mut Parts) -> Value {
    let mut input = (operation.input)(&mut parts.generator);
    let words = texts().operation(operation.name);
    let mut described = json!({
        "summary": words.map_or(operation.name, |words| &words.summary),
        "description": description(operation),
        "tags": [words.map_or("Server", |words| words.group)],
        "parameters": inputs::parameters(operation, &input, parts),
        "responses": responses::responses(operation, parts),
    });
    if let Some(rate) = operation.rate {
        described["x-rate-limit"] =
            json!({ "requests": rate.max, "seconds": rate.window.as_secs() });
    }
    if let Some(body) = input.body.take() {
        described["requestBody"] = inputs::request_body(operation, body.to_value(), parts);
    }
    described["security"] = match operation.credential {
        Credential::Ignored => json!([]),
        Credential::Optional => json!([{}, { "bearer": [] }]),
        _ => json!([{ "bearer": [] }]),
    };
    if let Some(bundle) = operation.bundle {
        described["x-bundle"] = bundle.name().into();
    }
    let further = operation.further_bundles.iter().map(|bundle| bundle.name());
    if !operation.further_bundles.is_empty() {
        described["x-further-bundles"] = further.collect();
    }
    described
}

/// The operation's description, followed by its callers and limits from the declaration.
fn description(operation: &Operation) -> String {
    let mut paragraphs = Vec::new();
    if let Some(words) = texts().operation(operation.name) {
        paragraphs.push(words.description.to_owned());
    }
    if operation.is_project_scoped() {
        paragraphs.push(format!("**Callers:** {}.", callers(operation)));
    }
    if let Some(rate) = operation.rate {
        let minutes = rate.window.as_secs() / 60;
        paragraphs.push(format!(
            "**Rate limit:** {} requests in {minutes} minutes for each network.",
            rate.max
        ));
    }
    paragraphs.join("\n\n")
}

fn callers(operation: &Operation) -> String {
    let who = match operation.credential {
        Credential::Ignored => "anyone, without a credential",
        Credential::Optional if operation.may_be_closed => {
            "anyone, a signed-in user or a key, depending on the `access` of the table"
        }
        Credential::Optional => "anyone; an access token or a key is optional",
        Credential::Key => "a service or master key",
        Credential::User => "a signed-in user",
        Credential::UserOrKey => "a signed-in user, or a service or master key",
    };
    match operation.acts_as {
        Some(acts_as) => {
            format!("{who} that acts as the user named in `{}`", acts_as.parameter)
        }
        None => who.to_owned(),
    }
}

/// A reference to an example, which every version of the operation shares.
fn example(operation: &Operation, what: &str, value: &Value, parts: &mut Parts) -> Value {
    let name = format!("{}{what}", pascal_case(operation.name));
    let reference = format!("#/components/examples/{name}");
    parts.examples.insert(name, json!({ "value": value }));
    json!({ "example": { "$ref": reference } })
}
