//! Descriptions of schemas: doc comments of the types are replaced by the texts of `docs/api/schemas.md`.

use serde_json::{Map, Value};

use super::texts::texts;

/// Describes the schemas of the document's components.
pub(super) fn components(schemas: &mut Map<String, Value>) {
    for (name, schema) in schemas {
        inline(name, schema);
        if let (Some(text), Some(schema)) = (texts().schema(name), schema.as_object_mut()) {
            schema.insert("description".to_owned(), text.into());
        }
    }
}

/// Describes the properties of a schema, also of an inline one without a name.
pub(super) fn inline(name: &str, schema: &mut Value) {
    strip(schema);
    describe_properties(name, schema);
}

/// A schema of a query parameter: a parameter that is not sent is absent, so nothing is ever null.
pub(super) fn parameter(schema: &mut Value) {
    strip(schema);
    let Some(object) = schema.as_object_mut() else { return };
    for list in ["type", "enum"] {
        let Some(names) = object.get_mut(list).and_then(Value::as_array_mut) else { continue };
        names.retain(|name| !name.is_null() && name != "null");
        if let ("type", [only]) = (list, names.as_slice()) {
            let only = only.clone();
            object.insert(list.to_owned(), only);
        }
    }
    let choices = object.get_mut("anyOf").and_then(Value::as_array_mut);
    let is_null = |choice: &Value| choice["type"] == "null";
    if let Some(choices) = choices.filter(|choices| choices.iter().any(is_null)) {
        choices.retain(|choice| !is_null(choice));
        if let [only] = choices.as_slice() {
            *schema = only.clone();
        }
    }
}

/// Removes doc comments and Rust-specific formats.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // A property of this name has a schema as its value, not a text.
            if object.get("description").is_some_and(Value::is_string) {
                object.remove("description");
            }
            if object.get("format").is_some_and(|format| format == "uint") {
                object.remove("format");
            }
            object.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn describe_properties(name: &str, schema: &mut Value) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (property, schema) in properties.into_iter().flatten() {
        let Some(text) = texts().property(name, property) else { continue };
        // A property of any type has `true` as its schema.
        if schema.is_boolean() {
            *schema = Value::Object(Map::new());
        }
        schema["description"] = text.into();
    }
    for choice in ["allOf", "anyOf", "oneOf"] {
        let choices = schema.get_mut(choice).and_then(Value::as_array_mut);
        choices.into_iter().flatten().for_each(|one| describe_properties(name, one));
    }
}
