//! Documents as text: values of columns, which the two engines deliver differently, as JSON of one spelling, and back.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use db::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::kinds::{Field, Kind, Type};
use crate::values::ids::parse_uuid;
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

/// The fields of a document as they were written.
pub type Fields = BTreeMap<String, Box<RawValue>>;

/// A document on one line, without fields that are null and without these columns.
pub fn line(kind: &Kind, values: &[Value<'static>], without: &[&str]) -> String {
    let mut line = format!("{{\"type\":{}", to_json(&kind.name));
    for (field, value) in kind.fields.iter().zip(values) {
        if without.contains(&field.column) {
            continue;
        }
        if let Some(text) = json(field.kind, value) {
            line.push_str(&format!(",{}:{text}", to_json(&field.name)));
        }
    }
    line.push('}');
    line
}

/// A value as JSON; none for null.
fn json(kind: Type, value: &Value<'_>) -> Option<String> {
    Some(match (kind, value) {
        (_, Value::Null) => return None,
        // Line breaks in it are white space: in its texts they are escaped.
        (Type::Json, Value::Text(text) | Value::Json(text)) => text.replace(['\n', '\r'], " "),
        (Type::Id(_), _) => to_json(&uuid(value)?.to_string()),
        (Type::Time, Value::Int(millis)) => to_json(&Timestamp::from_millis(*millis)),
        (Type::Flag, Value::Int(flag)) => (*flag != 0).to_string(),
        (Type::Bytes, Value::Blob(bytes)) => to_json(&STANDARD.encode(bytes)),
        (_, Value::Bool(flag)) => flag.to_string(),
        (_, Value::Int(number)) => number.to_string(),
        (_, Value::Real(number)) => to_json(number),
        (_, Value::Text(text) | Value::Json(text)) => to_json(text),
        (
            _,
            Value::Uuid(_) | Value::Blob(_) | Value::Uuids(_) | Value::Texts(_) | Value::Ints(_),
        ) => return None,
    })
}

/// A value as a cell of a CSV file; empty for null.
pub fn cell(field: &Field, value: &Value<'_>) -> String {
    match (field.kind, value) {
        (Type::Text, Value::Text(text)) => text.to_string(),
        _ => {
            let text = json(field.kind, value).unwrap_or_default();
            let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            match field.kind {
                Type::Json => text,
                _ => bare.map_or_else(|| text.clone(), str::to_owned),
            }
        }
    }
}

/// The id in a value of either engine.
pub fn uuid(value: &Value<'_>) -> Option<Uuid> {
    match value {
        Value::Uuid(id) => Some(*id),
        Value::Blob(bytes) => Uuid::from_slice(bytes).ok(),
        _ => None,
    }
}

/// The values of a document; what it does not name is null. Names that the type does not have are skipped: a later version may
/// have added them.
pub fn values(kind: &Kind, fields: &Fields) -> Result<Vec<Value<'static>>, String> {
    let read = |field: &Field| match fields.get(&field.name) {
        None => Ok(Value::Null),
        Some(raw) => value(field.kind, raw.get())
            .ok_or_else(|| format!("{}: {}", field.name, wanted(field.kind))),
    };
    kind.fields.iter().map(read).collect()
}

fn value(kind: Type, text: &str) -> Option<Value<'static>> {
    if text == "null" {
        return Some(Value::Null);
    }
    Some(match kind {
        Type::Json => Value::Json(text.to_owned().into()),
        Type::Flag => Value::Bool(serde_json::from_str(text).ok()?),
        Type::Integer => Value::Int(serde_json::from_str(text).ok()?),
        Type::Real => Value::Real(serde_json::from_str(text).ok()?),
        Type::Text | Type::Id(_) | Type::Time | Type::Bytes => {
            plain(kind, serde_json::from_str::<String>(text).ok()?)?
        }
    })
}

/// The value of a cell of a CSV file, or of a text of another format.
pub fn plain(kind: Type, text: String) -> Option<Value<'static>> {
    Some(match kind {
        Type::Text if text.contains('\0') => return None,
        Type::Text => Value::from(text),
        Type::Id(_) => Value::Uuid(parse_uuid(&text)?),
        Type::Time => Value::Int(Timestamp::parse(&text)?.millis()),
        Type::Bytes => Value::from(STANDARD.decode(text).ok()?),
        Type::Json => {
            serde_json::from_str::<&RawValue>(&text).ok()?;
            Value::Json(text.into())
        }
        Type::Flag => Value::Bool(match &*text.to_ascii_lowercase() {
            "true" | "1" | "yes" => true,
            "false" | "0" | "no" => false,
            _ => return None,
        }),
        Type::Integer => Value::Int(text.parse().ok()?),
        Type::Real => Value::Real(text.parse().ok().filter(|number: &f64| number.is_finite())?),
    })
}

/// What a field should have held.
pub fn wanted(kind: Type) -> &'static str {
    match kind {
        Type::Text => "must be text without NUL",
        Type::Id(_) => "must be a UUID",
        Type::Time => "must be an ISO 8601 date-time",
        Type::Flag => "must be true or false",
        Type::Json => "must be JSON",
        Type::Integer => "must be a whole number",
        Type::Real => "must be a number",
        Type::Bytes => "must be base64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::exports::kinds;

    #[test]
    fn what_either_engine_delivers_is_the_same_document_and_leads_back() {
        let kind = kinds::find("reaction").unwrap();
        let (target, user) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let text = |text: &str| Value::from(text.to_owned());
        let rest = [text("entity"), text("like"), Value::Null, Value::Int(5), Value::Int(6)];
        let of = |id: fn(Uuid) -> Value<'static>| -> Vec<Value<'static>> {
            [id(target), id(user), id(target)].into_iter().chain(rest.clone()).collect()
        };
        let postgres = of(Value::Uuid);
        let sqlite = of(|id| Value::from(id.as_bytes().to_vec()));
        let shown = line(kind, &postgres, &[]);
        assert_eq!(shown, line(kind, &sqlite, &[]));
        assert!(shown.starts_with(r#"{"type":"reaction","targetId":"00000000-"#), "{shown}");
        assert!(!shown.contains("previousType") && shown.contains(".005Z"), "{shown}");
        let fields: Fields = serde_json::from_str(&shown).unwrap();
        assert_eq!(values(kind, &fields).unwrap(), postgres);
    }

    #[test]
    fn wrong_values_are_named() {
        let kind = kinds::find("follow").unwrap();
        let fields: Fields = serde_json::from_str(r#"{"id":"x"}"#).unwrap();
        assert_eq!(values(kind, &fields).unwrap_err(), "id: must be a UUID");
        assert_eq!(plain(Type::Text, "a\0".to_owned()), None);
        assert_eq!(plain(Type::Real, "inf".to_owned()), None);
    }
}
