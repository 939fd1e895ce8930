//! Query strings and form bodies: decoded once; the first value of a repeated key wins.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The pairs of a query string or form body as a JSON object of strings, so that inputs from
/// every place are read by the same types.
pub fn pairs(encoded: &str) -> Value {
    let mut pairs = Map::new();
    for pair in encoded.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(key) = percent_decode(key, true) else { continue };
        let value = match percent_decode(value, true) {
            Some(value) => value,
            None if value.contains("%00") => continue,
            // Kept as it came: dropping it would silently drop a filter.
            None => Cow::Borrowed(value),
        };
        pairs.entry(key.into_owned()).or_insert_with(|| Value::String(value.into_owned()));
    }
    Value::Object(pairs)
}

/// Percent-decoding to UTF-8; `None` for a broken escape, invalid UTF-8, and NUL, which PostgreSQL cannot
/// store.
pub fn percent_decode(text: &str, plus_is_space: bool) -> Option<Cow<'_, str>> {
    let encoded = |c| c == '%' || (c == '+' && plus_is_space);
    if !text.contains(encoded) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    String::from_utf8(decoded).ok().filter(|text| !text.contains('\0')).map(Cow::Owned)
}

/// Percent-encodes everything but unreserved characters.
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_value_of_a_repeated_key_wins() {
        let pairs = pairs("a=1&a=2&b=x+y%21&flag&c=%zz&d=%00");
        assert_eq!(pairs["a"], "1");
        assert_eq!(pairs["b"], "x y!");
        assert_eq!(pairs["flag"], "");
        assert_eq!(pairs["c"], "%zz");
        assert!(pairs.get("d").is_none());
    }

    #[test]
    fn encoding_round_trips() {
        let text = "https://app.example/a?b=c&ü";
        assert_eq!(percent_decode(&percent_encode(text), true).unwrap(), text);
    }
}
