//! JSON values in one canonical spelling, that of PostgreSQL's JSONB: keys by length and then by bytes, the
//! last of two equal keys, numbers in plain notation. Equal values are equal texts on both engines.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::features::tables::values::decimal;

/// Maximum bytes of a value: a short exponent may expand to a long number.
const LONGEST: usize = 4 * 1024 * 1024;

/// The canonical spelling of a value. None if it cannot be stored: half of a surrogate pair, a number with
/// more digits than decimals may have, or too many bytes.
pub fn canonical(value: &RawValue) -> Option<String> {
    let mut reader = Reader { text: value.get(), at: 0, written: 0 };
    let mut out = String::with_capacity(value.get().len());
    reader.value(&mut out)?;
    Some(out)
}

/// Walks a text that is known to be JSON, and not nested too deeply.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Bytes so far; those of nested values count at each level.
    written: usize,
}

impl<'a> Reader<'a> {
    /// The next byte that is not a space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self, out: &mut String) -> Option<()> {
        if self.written > LONGEST {
            return None;
        }
        let before = out.len();
        self.any_value(out)?;
        self.written += out.len() - before;
        Some(())
    }

    fn any_value(&mut self, out: &mut String) -> Option<()> {
        match self.peek()? {
            b'{' => self.object(out),
            b'[' => self.array(out),
            b'"' => {
                out.push_str(&escaped(&self.string()?)?);
                Some(())
            }
            b't' | b'f' | b'n' => {
                out.push_str(self.word());
                Some(())
            }
            _ => {
                let number = decimal::plain(self.word())?;
                // `1.50` and `1.5` are the same number.
                let short = match number.contains('.') {
                    true => number.trim_end_matches('0').trim_end_matches('.'),
                    false => &number,
                };
                out.push_str(short);
                Some(())
            }
        }
    }

    fn object(&mut self, out: &mut String) -> Option<()> {
        let mut members = BTreeMap::new();
        self.at += 1;
        while self.peek()? != b'}' {
            if self.peek()? == b',' {
                self.at += 1;
                self.peek()?;
            }
            let key = self.string()?;
            self.peek()?;
            // Past the colon.
            self.at += 1;
            let mut value = String::new();
            self.value(&mut value)?;
            members.insert((key.len(), key), value);
        }
        self.at += 1;
        out.push('{');
        for (number, ((_, key), value)) in members.iter().enumerate() {
            out.push_str(if number == 0 { "" } else { ", " });
            out.push_str(&escaped(key)?);
            out.push_str(": ");
            out.push_str(value);
        }
        out.push('}');
        Some(())
    }

    fn array(&mut self, out: &mut String) -> Option<()> {
        self.at += 1;
        out.push('[');
        while self.peek()? != b']' {
            if self.peek()? == b',' {
                self.at += 1;
                out.push_str(", ");
            }
            self.value(out)?;
        }
        self.at += 1;
        out.push(']');
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        let rest = self.text.get(self.at..)?;
        let mut bytes = rest.bytes().enumerate().skip(1);
        let end = loop {
            match bytes.next()? {
                (at, b'"') => break at + 1,
                (_, b'\\') => drop(bytes.next()),
                _ => {}
            }
        };
        self.at += end;
        serde_json::from_str(&rest[..end]).ok()
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let is_end = |byte: u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
        let end = rest.bytes().position(is_end).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}

fn escaped(text: &str) -> Option<String> {
    serde_json::to_string(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(text: &str) -> Option<String> {
        canonical(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn one_spelling_for_equal_values() {
        for (text, expected) in [
            (r#" {"bb":1,"a":[1,2 , {}],"a":[ ]} "#, r#"{"a": [], "bb": 1}"#),
            (r#"{"b":{"y":null,"x":true}}"#, r#"{"b": {"x": true, "y": null}}"#),
            ("[1.50,1e2,-0.0,12345678901234567890123]", "[1.5, 100, 0, 12345678901234567890123]"),
            (r#""a\u00e9\n\"\/\\ ]}""#, "\"aé\\n\\\"/\\\\ ]}\""),
            ("{}", "{}"),
            ("false", "false"),
            ("[[[]],[]]", "[[[]], []]"),
        ] {
            assert_eq!(spelt(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let long = format!("[{}1]", "1e999,".repeat(10_000));
        assert_eq!(spelt(&long), None);
        for text in [r#""\ud800""#, r#"{"\udc00":1}"#, "[1e2000]"] {
            assert_eq!(spelt(text), None, "{text}");
        }
    }
}
