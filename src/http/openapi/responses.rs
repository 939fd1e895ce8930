//! The responses of an operation: the replies of its handler, and its errors with their codes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::components::pascal_case;
use super::texts::texts;
use super::{Parts, annotate, faults, refuses_callers};
use crate::http::operation::Operation;

pub(super) fn responses(operation: &Operation, parts: &mut Parts) -> Value {
    let mut responses = Map::new();
    for reply in (operation.replies)(&mut parts.generator) {
        let entry = response(&mut responses, reply.status);
        let Some((media, schema)) = reply.content else { continue };
        // Not every tool accepts `true` as a schema that allows anything.
        let mut schema =
            if schema.as_value() == &json!(true) { json!({}) } else { schema.to_value() };
        annotate::inline("", &mut schema);
        entry["content"][media] = json!({ "schema": schema });
        let recorded = texts().example(operation.name);
        let recorded = recorded.filter(|one| one["status"] == reply.status);
        if let Some(received) = recorded.and_then(|one| one.get("response")) {
            entry["content"][media]["examples"] =
                super::example(operation, "Response", received, parts);
        }
    }
    let has_json = |reply: &Value| reply["content"].get("application/json").is_some();
    if operation.is_conditional() && responses.get("200").is_some_and(has_json) {
        response(&mut responses, 304);
    }
    add_errors(operation, &mut responses);
    // Success replies stay inline: clients read them, and few operations share one.
    let owner = pascal_case(operation.name);
    let shared = responses.into_iter().map(|(status, reply)| {
        let is_shared = status.as_str() >= "304";
        // Its codes belong to the operation, or to a few like it.
        let is_own = ["400", "401", "403", "404", "409", "422"].contains(&status.as_str());
        let name = if is_own {
            format!("{owner} {}", phrase(&status))
        } else {
            phrase(&status).to_owned()
        };
        let reply = if is_shared { parts.responses.refer(&name, &owner, reply) } else { reply };
        (status, reply)
    });
    Value::Object(shared.collect())
}

/// The errors of each status, with all codes they may have.
fn add_errors(operation: &Operation, responses: &mut Map<String, Value>) {
    let faults = faults(operation);
    let statuses: BTreeSet<u16> = faults.iter().map(|fault| fault.status).collect();
    for status in statuses {
        let known: BTreeMap<&str, &str> = faults
            .iter()
            .filter(|fault| fault.status == status)
            .map(|fault| (fault.code, fault.message))
            .collect();
        let codes: Vec<&&str> = known.keys().collect();
        let entry = response(responses, status);
        let other = entry["content"]["application/json"]["schema"].take();
        let schema = json!({
            "allOf": [{ "$ref": "#/components/schemas/Error" }],
            "properties": { "code": { "enum": codes } },
        });
        let schema = if other.is_null() { schema } else { json!({ "anyOf": [other, schema] }) };
        entry["content"]["application/json"] = json!({ "schema": schema });
        let lines = known.iter().map(|(code, message)| format!("- `{code}`: {message}"));
        let lines: Vec<String> = lines.collect();
        let phrase = entry["description"].as_str().unwrap_or_default();
        entry["description"] = format!("{phrase}. By `code`:\n\n{}", lines.join("\n")).into();
    }
    let text = json!({ "schema": { "type": "string" } });
    if refuses_callers(operation) {
        for status in [401, 403] {
            response(responses, status)["content"]["text/plain"] = text.clone();
        }
    }
    response(responses, 429)["content"]["text/plain"] = text;
    let schema = json!({ "$ref": "#/components/schemas/Error" });
    response(responses, 500)["content"]["application/json"] = json!({ "schema": schema });
}

/// The reason phrase of a status.
fn phrase(status: &str) -> &'static str {
    let status = http::StatusCode::from_bytes(status.as_bytes()).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or_default()
}

fn response(responses: &mut Map<String, Value>, status: u16) -> &mut Value {
    let status = status.to_string();
    let description = phrase(&status);
    responses.entry(status).or_insert_with(|| json!({ "description": description }))
}

pub(super) fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error", "code"],
        "properties": {
            "error": { "type": "string" },
            "code": { "type": "string" },
        },
    })
}
