//! The part of CBOR (RFC 8949) that authenticators send: numbers, bytes, texts, arrays and maps of a known length.

/// How deep values may lie in each other. CTAP2 allows four.
const DEEPEST: u8 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Value<'a>>),
    Map(Vec<(Value<'a>, Value<'a>)>),
    Flag(bool),
    Null,
}

impl<'a> Value<'a> {
    /// The first value, and what follows it.
    pub(super) fn read(bytes: &'a [u8]) -> Option<(Value<'a>, &'a [u8])> {
        let mut reader = Reader(bytes);
        let value = reader.value(DEEPEST)?;
        Some((value, reader.0))
    }

    /// The value of a key of a map.
    pub(super) fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        let Value::Map(entries) = self else { return None };
        entries.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(super) fn number(&self) -> Option<i64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }

    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// The number that follows the first byte of a value.
    fn argument(&mut self, short: u8) -> Option<u64> {
        let length = match short {
            0..=23 => return Some(u64::from(short)),
            24..=27 => 1 << (short - 24),
            // Unknown lengths are not for authenticators.
            _ => return None,
        };
        let bytes = self.take(length)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn value(&mut self, depth: u8) -> Option<Value<'a>> {
        let depth = depth.checked_sub(1)?;
        let first = *self.take(1)?.first()?;
        let (kind, short) = (first >> 5, first & 31);
        let argument = self.argument(short)?;
        let length = usize::try_from(argument).ok()?;
        Some(match kind {
            0 => Value::Number(i64::try_from(argument).ok()?),
            1 => Value::Number(-1 - i64::try_from(argument).ok()?),
            2 => Value::Bytes(self.take(length)?),
            3 => Value::Text(std::str::from_utf8(self.take(length)?).ok()?),
            // Grown as they are read: the length is a claim.
            4 => {
                let mut values = Vec::new();
                for _ in 0..length {
                    values.push(self.value(depth)?);
                }
                Value::Array(values)
            }
            5 => {
                let mut entries = Vec::new();
                for _ in 0..length {
                    entries.push((self.value(depth)?, self.value(depth)?));
                }
                Value::Map(entries)
            }
            7 if short == 20 || short == 21 => Value::Flag(short == 21),
            7 if short == 22 => Value::Null,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_standard_has_them() {
        // Examples of RFC 8949, appendix A.
        let read = |bytes: &'static [u8]| Value::read(bytes).unwrap();
        assert_eq!(read(b"\x00"), (Value::Number(0), &[][..]));
        assert_eq!(read(b"\x18\x64"), (Value::Number(100), &[][..]));
        assert_eq!(read(b"\x19\x03\xe8\xff"), (Value::Number(1000), &[255][..]));
        assert_eq!(
            read(b"\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00").0,
            Value::Number(1_000_000_000_000)
        );
        assert_eq!(read(b"\x39\x03\xe7").0, Value::Number(-1000));
        assert_eq!(read(b"\x44\x01\x02\x03\x04").0, Value::Bytes(&[1, 2, 3, 4]));
        assert_eq!(read(b"\x64IETF").0, Value::Text("IETF"));
        let map = read(b"\xa2\x61a\x01\x61b\x82\x02\xf5").0;
        assert_eq!(map.get(&Value::Text("a")), Some(&Value::Number(1)));
        let several = Value::Array(vec![Value::Number(2), Value::Flag(true)]);
        assert_eq!(map.get(&Value::Text("b")), Some(&several));
        assert_eq!(map.get(&Value::Text("c")), None);
    }

    #[test]
    fn what_is_broken_deep_or_endless_is_refused() {
        let deep = [0x81; 100];
        let bad: [&[u8]; 9] = [
            b"",
            b"\x18",
            b"\x44\x01",
            b"\x62\xff\xff",
            b"\x9f\x01\xff",
            b"\xa1\x01",
            &deep,
            b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x5b\x00\x00\x00\xff\xff\xff\xff\xff",
        ];
        for bytes in bad {
            assert_eq!(Value::read(bytes), None, "{bytes:?}");
        }
    }
}
