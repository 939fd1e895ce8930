//! The server's OpenAPI document: its operations, and whether a reply is one of those it describes.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::http::{Caller, Reply};

pub struct Document {
    pub operations: Vec<Operation>,
    root: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

#[derive(Debug)]
pub struct Operation {
    pub method: String,
    /// With `{names}` in the place of parameters.
    pub template: String,
    pub path: Vec<Parameter>,
    pub query: Vec<Parameter>,
    /// The schema of the body by media type.
    pub bodies: Vec<(String, Value)>,
    responses: Value,
}

#[derive(Debug)]
pub struct Parameter {
    pub name: String,
    pub required: bool,
    pub schema: Value,
}

impl Document {
    pub async fn load(address: SocketAddr, version: &str) -> Result<Document, String> {
        let path = format!("/openapi.json?version={version}");
        let reply = Caller::new(address).call("GET", &path, "", None).await?.expect(200)?;
        Ok(Document::new(reply.json()))
    }

    fn new(mut root: Value) -> Document {
        close(&mut root["components"]["schemas"]);
        let mut document = Document { operations: Vec::new(), root, validators: Mutex::default() };
        let paths = document.root["paths"].as_object().into_iter().flatten();
        let operations = paths.flat_map(|(template, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(|(method, described)| document.operation(method, template, described))
        });
        let operations: Vec<Operation> = operations.collect();
        // A HEAD is answered without the body that its headers speak of.
        document.operations = operations.into_iter().filter(|o| o.method != "HEAD").collect();
        document
    }

    fn operation(&self, method: &str, template: &str, described: &Value) -> Operation {
        let parameters = |place: &str| -> Vec<Parameter> {
            let all = described["parameters"].as_array().into_iter().flatten();
            let here = all.map(|one| self.resolve(one)).filter(|one| one["in"] == place);
            here.map(|one| Parameter {
                name: one["name"].as_str().unwrap_or_default().to_owned(),
                required: one["required"] == true,
                schema: one["schema"].clone(),
            })
            .collect()
        };
        let content = described["requestBody"]["content"].as_object().into_iter().flatten();
        Operation {
            method: method.to_uppercase(),
            template: template.to_owned(),
            path: parameters("path"),
            query: parameters("query"),
            bodies: content.map(|(media, one)| (media.clone(), one["schema"].clone())).collect(),
            responses: described["responses"].clone(),
        }
    }

    /// Resolves a reference; anything else is returned as it is.
    pub fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str().and_then(|text| text.strip_prefix('#')) {
            Some(pointer) => self.root.pointer(pointer).map_or(value, |found| self.resolve(found)),
            None => value,
        }
    }

    /// What is wrong with the reply, if anything.
    pub fn objection(&self, operation: &Operation, reply: &Reply) -> Option<String> {
        let Reply { status, media, body } = reply;
        let text = || String::from_utf8_lossy(body).chars().take(300).collect::<String>();
        if *status >= 500 {
            return Some(format!("{status} {}", text()));
        }
        let described = self.resolve(&operation.responses[status.to_string()]);
        if !described.is_object() {
            return Some(format!("{status} is not described: {}", text()));
        }
        if media.is_empty() {
            return (!body.is_empty()).then(|| format!("{status} has a body without a type"));
        }
        let content = &described["content"];
        let schema = &content.get(media).unwrap_or(&content["*/*"])["schema"];
        if schema.is_null() {
            return Some(format!("{status} is not described as {media}"));
        }
        if media != "application/json" {
            return None;
        }
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return Some(format!("{status} is not JSON"));
        };
        let validator = match self.validator(schema) {
            Ok(validator) => validator,
            Err(why) => return Some(why),
        };
        let error = validator.validate(&body).err()?;
        Some(format!("{status} does not match: {error} at {}", error.instance_path()))
    }

    fn validator(&self, schema: &Value) -> Result<Arc<Validator>, String> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let key = schema.to_string();
        if let Some(validator) = validators.get(&key) {
            return Ok(Arc::clone(validator));
        }
        let root = json!({ "allOf": [schema], "components": self.root["components"] });
        let made = jsonschema::draft202012::new(&root).map_err(|error| error.to_string())?;
        let made = Arc::new(made);
        validators.insert(key, Arc::clone(&made));
        Ok(made)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("operations", &self.operations.len()).finish()
    }
}

/// Forbids keys that an object schema does not name; errors may hold more than their two.
fn close(schemas: &mut Value) {
    for (name, schema) in schemas.as_object_mut().into_iter().flatten() {
        if name != "Error" {
            close_one(schema);
        }
    }
}

fn close_one(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("properties") && !object.contains_key("additionalProperties") {
                object.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            object.values_mut().for_each(close_one);
        }
        Value::Array(items) => items.iter_mut().for_each(close_one),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(status: u16, media: &str, body: &str) -> Option<String> {
        let thing = json!({
            "type": "object", "required": ["id"], "properties": { "id": { "type": "string" } },
        });
        let content =
            json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } });
        let document = Document::new(json!({
            "paths": { "/things": { "get": { "responses": { "200": { "content": content } } } } },
            "components": { "schemas": { "Thing": thing } },
        }));
        let reply = Reply { status, media: media.to_owned(), body: body.as_bytes().to_vec() };
        document.objection(&document.operations[0], &reply)
    }

    #[test]
    fn a_reply_must_be_one_that_the_document_describes() {
        assert_eq!(objection(200, "application/json", r#"{"id":"a"}"#), None);
        for (status, media, body) in [
            (503, "application/json", "{}"),
            (201, "application/json", r#"{"id":"a"}"#),
            (200, "text/plain", "a"),
            (200, "application/json", r#"{"id":1}"#),
            (200, "application/json", r#"{"id":"a","more":1}"#),
            (200, "application/json", "{"),
        ] {
            assert!(objection(status, media, body).is_some(), "{status} {media} {body}");
        }
    }
}
