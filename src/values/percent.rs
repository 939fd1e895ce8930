//! Percent-encoding, as URLs and headers use it.

use std::borrow::Cow;

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
    fn encoding_round_trips() {
        let text = "https://app.example/a?b=c&ü";
        assert_eq!(percent_decode(&percent_encode(text), true).unwrap(), text);
    }
}
