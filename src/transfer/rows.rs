//! Rows as bytes, the same for both engines: for each value a tag, then a number of 8 bytes, or the length as 4
//! bytes and the bytes. Numbers are little-endian.

use std::borrow::Cow;

use db::Value;

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BYTES: u8 = 4;

pub type Row = Vec<Value<'static>>;

pub fn encode(row: &[Value<'_>], out: &mut Vec<u8>) {
    for value in row {
        match value {
            Value::Null => out.push(NULL),
            Value::Bool(value) => number(out, INTEGER, i64::from(*value).to_le_bytes()),
            Value::Int(value) => number(out, INTEGER, value.to_le_bytes()),
            Value::Real(value) => number(out, REAL, value.to_bits().to_le_bytes()),
            Value::Text(text) | Value::Json(text) => bytes(out, TEXT, text.as_bytes()),
            Value::Blob(blob) => bytes(out, BYTES, blob),
            Value::Uuid(uuid) => bytes(out, BYTES, uuid.as_bytes()),
            Value::Uuids(list) => {
                let list: Vec<u8> = list.iter().flat_map(|uuid| *uuid.as_bytes()).collect();
                bytes(out, BYTES, &list);
            }
            // Lists are arguments only; no column holds one.
            Value::Texts(list) => bytes(out, TEXT, list.concat().as_bytes()),
            Value::Ints(list) => {
                list.iter().for_each(|value| number(out, INTEGER, value.to_le_bytes()));
            }
        }
    }
}

fn number(out: &mut Vec<u8>, tag: u8, value: [u8; 8]) {
    out.push(tag);
    out.extend(value);
}

fn bytes(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    out.push(tag);
    // No value of either engine is that long.
    out.extend(u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(value);
}

/// The rows of this width; `None` if the bytes are not rows.
pub fn decode(mut bytes: &[u8], width: usize) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        let mut row = Vec::with_capacity(width);
        for _ in 0..width {
            row.push(value(&mut bytes)?);
        }
        rows.push(row);
    }
    Some(rows)
}

fn value(bytes: &mut &[u8]) -> Option<Value<'static>> {
    let [tag] = *take(bytes)?;
    Some(match tag {
        NULL => Value::Null,
        INTEGER => Value::Int(i64::from_le_bytes(*take(bytes)?)),
        REAL => Value::Real(f64::from_bits(u64::from_le_bytes(*take(bytes)?))),
        TEXT => Value::Text(Cow::Owned(String::from_utf8(long(bytes)?.to_vec()).ok()?)),
        BYTES => Value::Blob(Cow::Owned(long(bytes)?.to_vec())),
        _ => return None,
    })
}

fn take<'b, const N: usize>(bytes: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}

fn long<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = u32::from_le_bytes(*take(bytes)?);
    let (value, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_kind() -> Row {
        vec![
            Value::Null,
            Value::Int(i64::MIN),
            Value::Real(-0.1),
            Value::from("naïve 🦀".to_owned()),
            Value::from(vec![0_u8, 255]),
        ]
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let (mut out, rows) = (Vec::new(), [every_kind(), every_kind()]);
        rows.iter().for_each(|row| encode(row, &mut out));
        assert_eq!(decode(&out, 5).as_deref(), Some(&rows[..]));
    }

    #[test]
    fn what_only_one_engine_knows_has_one_form() {
        let uuid = uuid::Uuid::from_u128(7);
        let (mut postgres, mut sqlite) = (Vec::new(), Vec::new());
        encode(&[Value::Uuid(uuid), Value::Bool(true), Value::Json("{}".into())], &mut postgres);
        let blob = Value::from(uuid.as_bytes().to_vec());
        encode(&[blob, Value::Int(1), Value::Text("{}".into())], &mut sqlite);
        assert_eq!(postgres, sqlite);
    }

    #[test]
    fn damaged_bytes_are_no_rows() {
        let mut out = Vec::new();
        encode(&every_kind(), &mut out);
        for length in 1..out.len() {
            assert_eq!(decode(&out[..length], 5), None, "{length}");
        }
        out[0] = 9;
        assert_eq!(decode(&out, 5), None);
    }
}
