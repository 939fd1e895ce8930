//! JSON as JavaScript writes it. Receivers of webhooks check a signature over the text, and many parse the body and
//! write it again first: the text must be the same then.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// What `JSON.stringify(JSON.parse(text))` gives, in a text of valid JSON.
pub fn restringify(text: &str) -> serde_json::Result<String> {
    let node: Node = serde_json::from_str(text)?;
    let mut out = String::with_capacity(text.len());
    node.write(&mut out);
    Ok(out)
}

/// A JSON value that keeps the order of keys.
enum Node {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    fn write(&self, out: &mut String) {
        match self {
            Node::Null => out.push_str("null"),
            Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Node::Number(number) => out.push_str(&to_text(*number)),
            Node::Text(text) => write_text(text, out),
            Node::Array(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Node::Object(fields) => {
                out.push('{');
                for (n, (key, value)) in fields.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    write_text(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    use fmt::Write as _;

    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// As `Number.prototype.toString` writes it: the fewest digits that mean this number, with an exponent below 1e-6 and
/// from 1e21 on.
fn to_text(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if !number.is_finite() {
        return "null".to_owned();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-6..21).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{}", exponent.unsigned_abs())
}

/// The keys that JavaScript puts first, in numerical order: array indexes.
fn array_index(key: &str) -> Option<u32> {
    let index: u32 = key.parse().ok().filter(|index| *index < u32::MAX)?;
    (index.to_string() == key).then_some(index)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
                Ok(Node::Bool(value))
            }

            #[expect(clippy::cast_precision_loss, reason = "JavaScript reads every number so")]
            fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
                Ok(Node::Number(value as f64))
            }

            #[expect(clippy::cast_precision_loss, reason = "JavaScript reads every number so")]
            fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
                Ok(Node::Number(value as f64))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
                Ok(Node::Number(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Node, E> {
                Ok(Node::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = from.next_element()? {
                    items.push(item);
                }
                Ok(Node::Array(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
                let mut fields: Vec<(String, Node)> = Vec::new();
                let mut places: HashMap<String, usize> = HashMap::new();
                while let Some((key, value)) = from.next_entry::<String, Node>()? {
                    // A repeated key keeps its first place and its last value.
                    match places.entry(key.clone()) {
                        Entry::Occupied(place) => fields[*place.get()].1 = value,
                        Entry::Vacant(place) => {
                            place.insert(fields.len());
                            fields.push((key, value));
                        }
                    }
                }
                // Stable: other keys keep their order.
                fields.sort_by_key(|(key, _)| array_index(key).unwrap_or(u32::MAX));
                Ok(Node::Object(fields))
            }
        }

        from.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each checked with `JSON.stringify(JSON.parse(text))` in Node.
    #[test]
    fn texts_become_what_javascript_writes() {
        for (text, expected) in [
            (r#"{"b":1,"a":2}"#, r#"{"b":1,"a":2}"#),
            (r#"{"b":1,"10":2,"9":3,"01":4,"-1":5}"#, r#"{"9":3,"10":2,"b":1,"01":4,"-1":5}"#),
            (r#"{"4294967295":1,"4294967294":2}"#, r#"{"4294967294":2,"4294967295":1}"#),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (
                "[1.0,-0,0.10,1e2,1E-7,123456789012345680000]",
                "[1,0,0.1,100,1e-7,123456789012345680000]",
            ),
            (
                "[1e21,1.5e300,5e-324,0.000001,12345678901234567890]",
                "[1e+21,1.5e+300,5e-324,0.000001,12345678901234567000]",
            ),
            (
                "[9007199254740993,-9007199254740993,0.30000000000000004]",
                "[9007199254740992,-9007199254740992,0.30000000000000004]",
            ),
            (
                r#""a\/b\u00e4\u2028\u0001\u007f\"\\\b\f\n\r\t""#,
                "\"a/bä\u{2028}\\u0001\u{7f}\\\"\\\\\\b\\f\\n\\r\\t\"",
            ),
            (r" { } ", "{}"),
            ("[ true , false , null ]", "[true,false,null]"),
        ] {
            assert_eq!(restringify(text).unwrap(), expected, "{text}");
        }
        assert!(restringify("{").is_err());
    }
}
