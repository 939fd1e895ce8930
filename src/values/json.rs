//! Limits of a JSON text, checked in one pass before it is parsed: its depth, and no NUL in strings, which
//! PostgreSQL cannot store.

const MAX_DEPTH: usize = 64;

pub fn check(text: &[u8]) -> Result<(), &'static str> {
    let mut depth = 0_usize;
    let mut bytes = text.iter().enumerate();
    let mut in_string = false;
    while let Some((at, byte)) = bytes.next() {
        match (in_string, byte) {
            (_, b'"') => {
                in_string = !in_string;
                if in_string && is_reserved(&text[at..]) {
                    return Err("text must not begin with a name of the parser's own");
                }
            }
            (true, b'\\') => {
                if text[at + 1..].starts_with(b"u0000") {
                    return Err("text must not contain the NUL character");
                }
                bytes.next();
            }
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err("JSON is nested too deeply");
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the string at the beginning of the text is a key that the parser treats specially: its value would
/// be parsed unchecked.
fn is_reserved(text: &[u8]) -> bool {
    let begins = |start: &[u8]| text[1..].starts_with(start);
    if !begins(b"$") && !begins(b"\\u0024") {
        return false;
    }
    let mut bytes = text.iter().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => {
                let decoded = serde_json::from_slice::<String>(&text[..=at]);
                return decoded.is_ok_and(|name| name.starts_with("$serde_json::private"));
            }
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_bounded_outside_strings_only() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(check(&nested(64)).is_ok());
        assert!(check(&nested(65)).is_err());
        assert!(check(format!("\"{}\"", "[".repeat(500)).as_bytes()).is_ok());
        assert!(check(b"[[[").is_ok(), "an unfinished text is the parser's business");
    }

    #[test]
    fn names_of_the_parser_are_refused_however_they_are_spelt() {
        for name in ["$serde_json::private::RawValue", "\\u0024serde_json::private::Number"] {
            assert!(check(format!(r#"{{"a":{{"{name}":"[]"}}}}"#).as_bytes()).is_err(), "{name}");
        }
        let escaped = r#"{"\u0024serde\u005fjson::private::RawValue":"{}"}"#;
        assert!(check(escaped.as_bytes()).is_err());
        for fine in [r#"{"$price":1}"#, r#"["$", "\u0024a\"b"]"#, r#"{"a":"$serde"}"#] {
            assert!(check(fine.as_bytes()).is_ok(), "{fine}");
        }
    }

    #[test]
    fn nul_is_refused_but_not_what_looks_like_it() {
        assert!(check(br#"{"a":"x\u0000y"}"#).is_err());
        assert!(check(br#"{"a":"x\\u0000y"}"#).is_ok());
        assert!(check(br#"{"a":"\"\u0001"}"#).is_ok());
    }
}
