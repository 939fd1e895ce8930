//! Every reply that any test sees is held against the OpenAPI document: its status must be
//! declared, its body must match the schema, and it must hold no key that the schema lacks.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use bytes::Bytes;
use http::Method;
use jsonschema::{Draft, Registry, Validator};
use serde_json::{Value, json};
use townhall::features;
use townhall::http::address::{Address, Dialect, Scope};
use townhall::http::openapi;
use townhall::http::router::Router;

use super::reply::Reply;

static ROUTER: LazyLock<Router> = LazyLock::new(|| Router::new(features::operations()).unwrap());
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut document = openapi::document(townhall::features::operations(), None);
    for (name, schema) in document["components"]["schemas"].as_object_mut().unwrap() {
        if name != "Error" {
            close(schema);
        }
    }
    document
});
/// The components that schemas refer to, prepared once for all of them.
static COMPONENTS: LazyLock<Registry<'_>> = LazyLock::new(|| {
    let components = json!({ "components": DOCUMENT["components"] });
    let registry = Registry::new().draft(Draft::Draft202012);
    registry.add(DOCUMENT_URI, components).unwrap().prepare().unwrap()
});
const DOCUMENT_URI: &str = "https://community.example/openapi.json";
/// A validator, once somebody has compiled it.
type Slot = Arc<OnceLock<Arc<Validator>>>;

pub fn check(method: &Method, address: &str, reply: &Reply) {
    let path = address.split('?').next().unwrap();
    let Some(address) = Address::parse(path) else { return };
    let (found, prefix) = match &address.scope {
        // Replies in the legacy dialect have other shapes; the tests of the dialect check them.
        Scope::Project { dialect: Dialect::Legacy, .. } => return,
        Scope::Project { version, .. } => {
            let prefix = format!("/{}/{{projectId}}", version.segment());
            (ROUTER.project(method, &address.endpoint), prefix)
        }
        Scope::Server => (ROUTER.server(method, &address.endpoint), String::new()),
    };
    let Some(found) = found else { return };
    if matches!(&address.scope, Scope::Project { version, .. } if !found.operation.is_in(*version))
    {
        return;
    }
    let key = format!("{} {prefix}{} {}", method, found.operation.path, reply.status);
    let documented = &DOCUMENT["paths"][openapi::documented_path(&prefix, found.operation)]
        [method.as_str().to_lowercase()]["responses"][reply.status.to_string()];
    // Error replies are shared by many operations.
    let shared = documented["$ref"].as_str().and_then(|name| DOCUMENT.pointer(&name[1..]));
    let documented = shared.unwrap_or(documented);
    assert!(documented.is_object(), "{key} is not documented: {}", reply.text());

    let media = reply.header("content-type").unwrap_or_default().split(';').next().unwrap();
    if media.is_empty() {
        assert!(reply.body.is_empty(), "{key} has a body without a type");
        return;
    }
    let content = &documented["content"];
    let schema = &content.get(media).unwrap_or(&content["*/*"])["schema"];
    assert!(!schema.is_null(), "{key} is not documented as {media}: {}", reply.text());
    // A reply to HEAD has the type of a body that it does not have.
    if media == "application/json" && *method != Method::HEAD && is_new(&key, reply) {
        let body = reply.json();
        if let Err(error) = validator(schema).validate(&body) {
            panic!(
                "{key} does not match its schema: {error} at {}\n{body:#}",
                error.instance_path()
            );
        }
    }
}

/// Whether the reply is not one of the large ones that were found right before, byte by byte.
fn is_new(key: &str, reply: &Reply) -> bool {
    const LARGE: usize = 100_000;
    static CHECKED: LazyLock<Mutex<HashSet<(String, Bytes)>>> = LazyLock::new(Mutex::default);
    let identity = || (key.to_owned(), reply.body.clone());
    reply.body.len() < LARGE || CHECKED.lock().unwrap().insert(identity())
}

/// The one of a schema in the document, found by its place there: nothing is written out for each reply.
fn validator(schema: &'static Value) -> Arc<Validator> {
    static PLACES: LazyLock<Mutex<HashMap<usize, Slot>>> = LazyLock::new(Mutex::default);
    let place = std::ptr::from_ref(schema).addr();
    let slot = PLACES.lock().unwrap().entry(place).or_default().clone();
    // Compiled outside the lock: other tests need other schemas meanwhile.
    slot.get_or_init(|| compiled(schema)).clone()
}

/// One for each schema, however many operations reply so.
fn compiled(schema: &Value) -> Arc<Validator> {
    static TEXTS: LazyLock<Mutex<HashMap<String, Slot>>> = LazyLock::new(Mutex::default);
    let text =
        schema.to_string().replace("\"#/components", &format!("\"{DOCUMENT_URI}#/components"));
    let slot = TEXTS.lock().unwrap().entry(text.clone()).or_default().clone();
    let compile = || {
        let schema = serde_json::from_str(&text).unwrap();
        let options = jsonschema::options().with_draft(Draft::Draft202012);
        Arc::new(options.with_registry(&COMPONENTS).build(&schema).unwrap())
    };
    slot.get_or_init(compile).clone()
}

/// Forbids keys that an object schema does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("properties") && !object.contains_key("additionalProperties") {
                object.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            object.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
#[should_panic(expected = "Additional properties are not allowed ('surplus' was unexpected)")]
fn a_key_that_the_schema_lacks_is_found() {
    let mut headers = http::HeaderMap::new();
    headers.insert("content-type", http::HeaderValue::from_static("application/json"));
    let body = json!({ "count": 1, "surplus": 1 }).to_string();
    let project = uuid::Uuid::nil();
    let address = format!("/v8/{project}/users/{project}/followers-count");
    check(&Method::GET, &address, &Reply::new(200, headers, body.into()));
}
