//! Parameters of statements as SQL.

use uuid::Uuid;

use super::wire::{Parameter, Reader};

pub const UUID: u32 = 2950;
pub const UUIDS: u32 = 2951;

/// The name of a type by its object id, which never changes.
pub fn type_name(type_id: u32) -> Result<&'static str, String> {
    Ok(match type_id {
        16 => "bool",
        17 => "bytea",
        20 => "int8",
        21 => "int2",
        23 => "int4",
        25 => "text",
        114 => "json",
        700 => "float4",
        701 => "float8",
        1000 => "bool[]",
        1007 => "int4[]",
        1009 => "text[]",
        1016 => "int8[]",
        1022 => "float8[]",
        1043 => "varchar",
        UUID => "uuid",
        UUIDS => "uuid[]",
        3802 => "jsonb",
        _ => return Err(format!("a parameter of type {type_id}")),
    })
}

/// The text of a value as PostgreSQL reads it; None for NULL.
pub fn value(parameter: &Parameter) -> Result<Option<String>, String> {
    let name = type_name(parameter.type_id)?;
    let Some(bytes) = &parameter.bytes else { return Ok(None) };
    let found = match parameter.is_binary {
        false => utf8(bytes),
        true if name.ends_with("[]") => {
            let elements = elements(bytes).ok_or_else(|| wrong(name))?;
            let texts: Result<Vec<Option<String>>, String> = elements.iter().map(value).collect();
            Some(array(texts?.iter().map(Option::as_deref)))
        }
        true => scalar(name, bytes),
    };
    found.map(Some).ok_or_else(|| wrong(name))
}

fn wrong(name: &str) -> String {
    format!("a {name} that cannot be read")
}

/// The values as the text of an array.
pub fn array<'a>(values: impl Iterator<Item = Option<&'a str>>) -> String {
    let element = |value: Option<&str>| match value {
        None => "NULL".to_owned(),
        Some(text) => format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"")),
    };
    format!("{{{}}}", values.map(element).collect::<Vec<_>>().join(","))
}

/// A value as a literal. A colon would begin one of pgbench's variables.
pub fn literal(value: Option<&str>, type_name: &str) -> String {
    match value {
        None => format!("NULL::{type_name}"),
        Some(text) => {
            let text = text.replace('\\', r"\\").replace('\'', "''").replace(':', r"\x3a");
            format!("E'{text}'::{type_name}")
        }
    }
}

/// The UUID of a parameter, or those of an array.
pub fn uuids(parameter: &Parameter) -> Vec<Uuid> {
    let Some(bytes) = parameter.bytes.as_deref().filter(|_| parameter.is_binary) else {
        return Vec::new();
    };
    match parameter.type_id {
        UUID => Uuid::from_slice(bytes).into_iter().collect(),
        UUIDS => elements(bytes).iter().flatten().flat_map(uuids).collect(),
        _ => Vec::new(),
    }
}

fn scalar(type_name: &str, bytes: &[u8]) -> Option<String> {
    Some(match type_name {
        "bool" => (bytes != [0]).to_string(),
        "bytea" => bytes.iter().fold(r"\x".to_owned(), |text, byte| text + &format!("{byte:02x}")),
        "int2" => i16::from_be_bytes(bytes.try_into().ok()?).to_string(),
        "int4" => i32::from_be_bytes(bytes.try_into().ok()?).to_string(),
        "int8" => i64::from_be_bytes(bytes.try_into().ok()?).to_string(),
        "float4" => f32::from_be_bytes(bytes.try_into().ok()?).to_string(),
        "float8" => f64::from_be_bytes(bytes.try_into().ok()?).to_string(),
        "uuid" => Uuid::from_slice(bytes).ok()?.to_string(),
        // The first byte is the version of its format.
        "jsonb" => utf8(bytes.get(1..)?)?,
        _ => utf8(bytes)?,
    })
}

fn utf8(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// The elements of an array with at most one dimension.
fn elements(bytes: &[u8]) -> Option<Vec<Parameter>> {
    let mut reader = Reader(bytes);
    let (dimensions, _has_null, type_id) = (reader.int32()?, reader.int32()?, reader.int32()?);
    if dimensions == 0 {
        return Some(Vec::new());
    }
    let (length, _first) = (reader.int32()?, reader.int32()?);
    let mut elements = Vec::new();
    for _ in 0..length {
        let bytes = match usize::try_from(reader.int32()?.cast_signed()) {
            Ok(length) => Some(reader.take(length)?.to_vec()),
            Err(_) => None,
        };
        elements.push(Parameter { type_id, is_binary: true, bytes });
    }
    Some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(type_id: u32, bytes: &[u8]) -> Parameter {
        Parameter { type_id, is_binary: true, bytes: Some(bytes.to_vec()) }
    }

    fn plain(parameter: &Parameter) -> String {
        let value = value(parameter).unwrap();
        literal(value.as_deref(), type_name(parameter.type_id).unwrap())
    }

    #[test]
    fn every_value_is_written_with_its_type() {
        assert_eq!(plain(&binary(16, &[1])), "E'true'::bool");
        assert_eq!(plain(&binary(20, &(-7_i64).to_be_bytes())), "E'-7'::int8");
        assert_eq!(plain(&binary(701, &0.25_f64.to_be_bytes())), "E'0.25'::float8");
        assert_eq!(plain(&binary(25, br"it's \ a:b")), r"E'it''s \\ a\x3ab'::text");
        assert_eq!(plain(&binary(3802, b"\x01{\"a\":1}")), r#"E'{"a"\x3a1}'::jsonb"#);
        assert_eq!(plain(&binary(17, &[0, 255])), r"E'\\x00ff'::bytea");
        let null = Parameter { type_id: 25, is_binary: true, bytes: None };
        assert_eq!(plain(&null), "NULL::text");
        assert!(value(&binary(1, &[])).is_err());
        assert!(value(&binary(20, &[1])).is_err());
    }

    #[test]
    fn arrays_are_written_as_text_and_their_uuids_are_found() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let head = [1, 0, UUID, 2, 1].map(u32::to_be_bytes).concat();
        let sixteen = 16_u32.to_be_bytes();
        let ids = [&head[..], &sixteen, one.as_bytes(), &sixteen, other.as_bytes()].concat();
        let ids = binary(UUIDS, &ids);
        assert_eq!(uuids(&ids), [one, other]);
        assert_eq!(plain(&ids), format!("E'{{\"{one}\",\"{other}\"}}'::uuid[]"));
        let empty = binary(UUIDS, &[0, 0, UUID].map(u32::to_be_bytes).concat());
        assert_eq!(plain(&empty), "E'{}'::uuid[]");
        let of_texts = array([Some(r#"a "b" \"#), None, Some("NULL")].into_iter());
        assert_eq!(of_texts, r#"{"a \"b\" \\",NULL,"NULL"}"#);
    }
}
