//! Query strings and form bodies: decoded once; the first value of a repeated key wins.

use std::borrow::Cow;

use serde_json::{Map, Value};

pub use crate::values::percent::{percent_decode, percent_encode};

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
}
