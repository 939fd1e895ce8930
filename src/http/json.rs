//! Bounds on a JSON text, checked in one pass before it is parsed: how deep it nests, and that no
//! string holds NUL, which one of the two databases cannot store.

const MAX_DEPTH: usize = 64;

pub fn check(text: &[u8]) -> Result<(), &'static str> {
    let mut depth = 0_usize;
    let mut bytes = text.iter().enumerate();
    let mut in_string = false;
    while let Some((at, byte)) = bytes.next() {
        match (in_string, byte) {
            (_, b'"') => in_string = !in_string,
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
    fn nul_is_refused_but_not_what_looks_like_it() {
        assert!(check(br#"{"a":"x\u0000y"}"#).is_err());
        assert!(check(br#"{"a":"x\\u0000y"}"#).is_ok());
        assert!(check(br#"{"a":"\"\u0001"}"#).is_ok());
    }
}
