//! The OpenAPI document for people and for generators: everything is named and described, every reference
//! resolves, examples match their schemas, and a public linter finds nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use db::Engine;
use serde_json::{Value, json};
use townhall::features;
use townhall::http::openapi;
use townhall::http::version::Version;

use crate::support::TestApp;
use crate::tables::create;

/// The operations of a document.
fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    let paths = document["paths"].as_object().unwrap().values();
    paths.flat_map(|methods| methods.as_object().unwrap().values())
}

fn find<'a>(document: &'a Value, part: &'a Value) -> &'a Value {
    match part["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => part,
    }
}

fn walk<'a>(value: &'a Value, visit: &mut dyn FnMut(&'a Value)) {
    visit(value);
    match value {
        Value::Object(object) => object.values().for_each(|value| walk(value, visit)),
        Value::Array(items) => items.iter().for_each(|value| walk(value, visit)),
        _ => {}
    }
}

#[test]
fn every_operation_and_parameter_is_described() {
    let document = openapi::document(townhall::features::operations(), None);
    for operation in operations(&document) {
        let id = &operation["operationId"];
        let words = ["summary", "description"].map(|key| operation[key].as_str().unwrap());
        let own = words[1].split("**").next().unwrap();
        assert!(words[0].len() >= 8 && words[0].len() <= 80, "{id}: {}", words[0]);
        assert!(own.len() >= 20, "{id} has no description of its own: {}", words[1]);
        assert!(!words[0].ends_with('.') && own.trim_end().ends_with(['.', '`']), "{id}: {own}");
        for parameter in operation["parameters"].as_array().unwrap() {
            let parameter = find(&document, parameter);
            assert!(parameter["description"].is_string(), "{id}: {parameter}");
        }
    }
}

#[test]
fn every_text_is_about_something_that_exists() {
    let document = openapi::document(townhall::features::operations(), None);
    let names: BTreeSet<&str> = features::operations().iter().map(|one| one.name).collect();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let parameters = document["components"]["parameters"].as_object().unwrap().values();
    let parameters: BTreeSet<Option<&str>> = parameters.map(|one| one["name"].as_str()).collect();
    for file in std::fs::read_dir(folder("docs/api")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut known: Option<&Value> = None;
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                match name.as_str() {
                    "README.md" | "parameters.md" => {}
                    "schemas.md" => {
                        known = schemas.get(heading);
                        assert!(known.is_some() || heading == "Any schema", "{name}: {heading}");
                    }
                    _ => assert!(names.contains(heading), "{name}: no operation {heading}"),
                }
            }
            let is_parameter = |name: &str| parameters.contains(&Some(name));
            let property = line.strip_prefix("- `").and_then(|line| line.split('`').next());
            if let ("parameters.md", Some(name)) = (name.as_str(), property) {
                assert!(is_parameter(name), "no operation has the parameter {name}");
            }
            if let (Some(schema), Some(property)) = (known, property) {
                let is_there = schema["properties"].get(property).is_some();
                assert!(is_there, "{name}: {property} is not in {schema}");
            }
        }
    }
    let described = |name: &&String| {
        document["components"]["schemas"][name.as_str()]["description"].is_string()
    };
    let bare: Vec<&String> = schemas.keys().filter(|name| !described(name)).collect();
    assert!(bare.is_empty(), "docs/api/schemas.md does not describe {bare:?}");
}

#[test]
fn generators_find_every_reference_and_a_name_for_each_part() {
    for version in Version::ALL.map(Some).into_iter().chain([None]) {
        let document = openapi::document(townhall::features::operations(), version);
        let mut ids = BTreeSet::new();
        for operation in operations(&document) {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{id} twice");
        }
        let mut referred = BTreeSet::new();
        walk(&document, &mut |value| {
            if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
                assert!(document.pointer(&reference[1..]).is_some(), "{reference} leads nowhere");
                referred.insert(reference);
            }
        });
        for (section, parts) in document["components"].as_object().unwrap() {
            for name in parts.as_object().unwrap().keys() {
                let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric());
                assert!(is_plain && !name.ends_with(|c: char| c.is_ascii_digit()), "{name}");
                assert!(section != "schemas" || name.starts_with(|c: char| c.is_ascii_uppercase()));
                let reference = format!("#/components/{section}/{name}");
                let is_used = section == "securitySchemes" || referred.contains(reference.as_str());
                assert!(is_used, "nothing refers to {reference}");
            }
        }
    }
}

#[test]
fn no_word_of_the_code_is_in_the_document() {
    let text = openapi::document(townhall::features::operations(), None).to_string();
    for word in [
        "Option<",
        "Option`",
        "Vec<",
        "struct",
        "enum variant",
        "Rust",
        "usize",
        "\"uint\"",
        "serde",
    ] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn fifty_operations_have_examples_that_fit_their_schemas() {
    let document = openapi::document(townhall::features::operations(), Some(Version::V8));
    let schemas = json!({ "schemas": document["components"]["schemas"] });
    let check = |media: &Value, id: &Value| {
        let Some(example) = media["examples"].get("example") else { return false };
        let value = &find(&document, example)["value"];
        let root = json!({ "allOf": [media["schema"]], "components": schemas });
        let validator = jsonschema::draft202012::new(&root).unwrap();
        if let Err(error) = validator.validate(value) {
            panic!("{id}: {error} at {}\n{value:#}", error.instance_path());
        }
        true
    };
    let mut with_examples = 0;
    for operation in operations(&document) {
        let id = &operation["operationId"];
        let sent = check(&operation["requestBody"]["content"]["application/json"], id);
        let replies = operation["responses"].as_object().unwrap().values();
        let received = replies.filter(|one| check(&one["content"]["application/json"], id)).count();
        with_examples += usize::from(sent || received > 0);
    }
    assert!(with_examples >= 50, "{with_examples}");
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The recommended rules of Redocly CLI, for the document of each version, of all, and of a project with a
/// table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_linter_has_nothing_to_say() {
    let app = TestApp::start(Engine::Sqlite, "the_linter_has_nothing_to_say").await;
    create(&app.service(), "games", &[("title", "text")], json!({})).await;
    let project = app.anonymous().get("/openapi.json").await.text();
    let linter = folder("tests/openapi-lint");
    assert!(linter.join("node_modules/@redocly").exists(), "scripts/test installs the linter");
    let documents = app.data_dir().join("openapi");
    std::fs::create_dir_all(&documents).unwrap();
    let versions = Version::ALL.map(|one| {
        (one.segment(), openapi::document(townhall::features::operations(), Some(one)).to_string())
    });
    for (name, text) in versions.into_iter().chain([("project", project)]) {
        std::fs::write(documents.join(format!("{name}.json")), text).unwrap();
    }
    let mut command = Command::new("node");
    command
        .args(["node_modules/@redocly/cli/bin/cli.js", "lint", "--config", "redocly.yaml"])
        .args(["--format", "json", "--max-problems", "20"])
        .args(["v6", "v7", "v8", "project"].map(|name| documents.join(format!("{name}.json"))))
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .current_dir(&linter);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let reports = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let reports: Vec<Value> = reports.map(Result::unwrap).collect();
    assert_eq!(reports.len(), 4, "{}", String::from_utf8_lossy(&output.stderr));
    for report in reports {
        let found = &report["totals"];
        let problems = report["problems"].as_array().unwrap().iter().map(|problem| {
            let [rule, message, place] = ["/ruleId", "/message", "/location/0/pointer"]
                .map(|part| problem.pointer(part).cloned().unwrap_or_default());
            format!("{rule} {message} {place}")
        });
        let problems: Vec<String> = problems.collect();
        assert_eq!((&found["errors"], &found["warnings"]), (&json!(0), &json!(0)), "{problems:#?}");
    }
}
