//! The inputs of an operation: its parameters and its body.

use serde_json::{Value, json};

use super::components::pascal_case;
use super::texts::texts;
use super::{Parts, annotate};
use crate::http::input::InputDoc;
use crate::http::operation::Operation;

pub(super) fn parameters(operation: &Operation, input: &InputDoc, parts: &mut Parts) -> Vec<Value> {
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
            "description": "With a key: the id of the user it acts as. The body may name the user instead.",
            "schema": { "type": "string", "format": "uuid" },
        }));
    }
    let owner = pascal_case(operation.name);
    let refer = |mut parameter: Value| {
        let name = parameter["name"].as_str().unwrap_or_default().to_owned();
        if parameter.get("description").is_none()
            && let Some(text) = texts().parameter(operation.name, &name)
        {
            // The maximum page size is in no schema: a larger limit is not refused.
            let largest = parameter["schema"]["description"].as_str().filter(|_| name == "limit");
            let text = largest.map_or(text.to_owned(), |largest| format!("{text} {largest}"));
            parameter["description"] = text.into();
        }
        annotate::parameter(&mut parameter["schema"]);
        // `name[key]=value`
        if parameter["schema"]["type"] == "object" {
            parameter["style"] = "deepObject".into();
        }
        parts.parameters.refer(&name, &owner, parameter)
    };
    parameters.into_iter().map(refer).collect()
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

pub(super) fn request_body(operation: &Operation, body: Value, parts: &mut Parts) -> Value {
    let mut content = json!({});
    let mut put = |media: &str, mut schema: Value| {
        annotate::inline("", &mut schema);
        content[media] = json!({ "schema": schema });
    };
    if operation.takes_forms {
        put("application/x-www-form-urlencoded", body.clone());
    }
    if let Some(form) = operation.form {
        put("multipart/form-data", form.schema(&body));
    }
    // Operations of the server itself parse their body themselves, as one of the two.
    let is_form = operation.takes_forms && !operation.is_project_scoped();
    if operation.form.is_none_or(|form| !form.only) && !is_form {
        put("application/json", body);
    }
    let json = content.get_mut("application/json");
    let sent = texts().example(operation.name).and_then(|example| example.get("request"));
    if let (Some(json), Some(sent)) = (json, sent) {
        json["examples"] = super::example(operation, "Request", sent, parts);
    }
    json!({ "content": content })
}
