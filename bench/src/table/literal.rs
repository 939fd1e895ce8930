//! Parameters of statements as SQL literals.

use uuid::Uuid;

use super::wire::{Parameter, Reader};

const UUID: u32 = 2950;

/// Types by their object ids, which never change.
fn type_name(type_id: u32) -> Option<&'static str> {
    Some(match type_id {
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
        2951 => "uuid[]",
        3802 => "jsonb",
        _ => return None,
    })
}

/// `replace`: an expression for a UUID, if it is not to stand there as it is.
pub fn literal(
    parameter: &Parameter,
    replace: &dyn Fn(Uuid) -> Option<String>,
) -> Result<String, String> {
    let Parameter { type_id, is_binary, bytes } = parameter;
    let name = type_name(*type_id).ok_or_else(|| format!("a parameter of type {type_id}"))?;
    let wrong = || format!("a {name} that cannot be read");
    let value = match bytes {
        None => "NULL".to_owned(),
        Some(bytes) if !is_binary => quoted(std::str::from_utf8(bytes).map_err(|_| wrong())?),
        Some(bytes) if name.ends_with("[]") => {
            let elements = elements(bytes).ok_or_else(wrong)?;
            let elements: Result<Vec<String>, String> =
                elements.iter().map(|element| literal(element, replace)).collect();
            format!("ARRAY[{}]", elements?.join(", "))
        }
        Some(bytes) => scalar(*type_id, bytes, replace).ok_or_else(wrong)?,
    };
    Ok(format!("{value}::{name}"))
}

/// The UUIDs in a parameter, those in arrays too.
pub fn uuids(parameter: &Parameter) -> Vec<Uuid> {
    let Some(bytes) = parameter.bytes.as_deref().filter(|_| parameter.is_binary) else {
        return Vec::new();
    };
    match type_name(parameter.type_id) {
        Some("uuid") => Uuid::from_slice(bytes).into_iter().collect(),
        Some("uuid[]") => elements(bytes).iter().flatten().flat_map(uuids).collect(),
        _ => Vec::new(),
    }
}

fn scalar(type_id: u32, bytes: &[u8], replace: &dyn Fn(Uuid) -> Option<String>) -> Option<String> {
    Some(match type_name(type_id)? {
        "bool" => (bytes != [0]).to_string(),
        "bytea" => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("decode('{hex}', 'hex')")
        }
        "int2" => format!("({})", i16::from_be_bytes(bytes.try_into().ok()?)),
        "int4" => format!("({})", i32::from_be_bytes(bytes.try_into().ok()?)),
        "int8" => format!("({})", i64::from_be_bytes(bytes.try_into().ok()?)),
        "float4" => format!("'{}'", f32::from_be_bytes(bytes.try_into().ok()?)),
        "float8" => format!("'{}'", f64::from_be_bytes(bytes.try_into().ok()?)),
        "uuid" => {
            let id = Uuid::from_slice(bytes).ok()?;
            replace(id).unwrap_or_else(|| format!("'{id}'"))
        }
        // The first byte is the version of its format.
        "jsonb" => quoted(std::str::from_utf8(bytes.get(1..)?).ok()?),
        _ => quoted(std::str::from_utf8(bytes).ok()?),
    })
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

/// A colon would begin one of pgbench's variables.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', r"\\").replace('\'', "''").replace(':', r"\x3a");
    format!("E'{text}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(type_id: u32, bytes: &[u8]) -> Parameter {
        Parameter { type_id, is_binary: true, bytes: Some(bytes.to_vec()) }
    }

    fn plain(parameter: &Parameter) -> String {
        literal(parameter, &|_| None).unwrap()
    }

    #[test]
    fn every_value_is_written_with_its_type() {
        assert_eq!(plain(&binary(16, &[1])), "true::bool");
        assert_eq!(plain(&binary(20, &(-7_i64).to_be_bytes())), "(-7)::int8");
        assert_eq!(plain(&binary(701, &0.25_f64.to_be_bytes())), "'0.25'::float8");
        assert_eq!(plain(&binary(25, br"it's \ a:b")), r"E'it''s \\ a\x3ab'::text");
        assert_eq!(plain(&binary(3802, b"\x01{\"a\":1}")), r#"E'{"a"\x3a1}'::jsonb"#);
        assert_eq!(plain(&binary(17, &[0, 255])), "decode('00ff', 'hex')::bytea");
        let null = Parameter { type_id: 25, is_binary: true, bytes: None };
        assert_eq!(plain(&null), "NULL::text");
        assert!(literal(&binary(1, &[]), &|_| None).is_err());
        assert!(literal(&binary(20, &[1]), &|_| None).is_err());
    }

    #[test]
    fn uuids_are_found_and_replaced_in_arrays_too() {
        let (kept, replaced) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let head = [1, 0, UUID, 2, 1].map(u32::to_be_bytes).concat();
        let sixteen = 16_u32.to_be_bytes();
        let array = [&head[..], &sixteen, kept.as_bytes(), &sixteen, replaced.as_bytes()].concat();
        let array = binary(2951, &array);
        assert_eq!(uuids(&array), [kept, replaced]);
        let replace = |id: Uuid| (id == replaced).then(|| "x".to_owned());
        assert_eq!(
            literal(&array, &replace).unwrap(),
            format!("ARRAY['{kept}'::uuid, x::uuid]::uuid[]")
        );
        let empty = binary(2951, &[0, 0, UUID].map(u32::to_be_bytes).concat());
        assert_eq!(plain(&empty), "ARRAY[]::uuid[]");
    }
}
