//! Postings of a term in blocks: increasing numbers of documents as varint gaps, each with how often the term
//! occurs, unless that is once, and how long the document is, a byte each. Scores follow from the two when they are
//! asked for, so they never go stale when the collection grows.

use crate::varint;

/// A block that has this many postings is full.
pub const BLOCK: usize = 128;
/// Begins a block. Blocks of earlier versions, in which every count takes a byte, begin with the number of their first
/// document, which is never 0.
const SHORT_COUNTS: u8 = 0;

/// One document of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    pub number: i64,
    /// How often the term occurs, up to 255.
    pub count: u8,
    /// See [`length_code`].
    pub length: u8,
}

impl Posting {
    pub fn new(number: i64, count: u32, length: u32) -> Self {
        let count = u8::try_from(count).unwrap_or(u8::MAX);
        Posting { number, count, length: length_code(length) }
    }
}

/// A length in one byte, to a twelfth of it.
pub fn length_code(length: u32) -> u8 {
    let code = (f64::from(length.max(1)).log2() * 8.0).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 32 × 8")]
    let code = code.min(255.0) as u8;
    code
}

/// The length that a byte stands for.
pub fn length_of(code: u8) -> f32 {
    (f32::from(code) / 8.0).exp2()
}

/// The bytes of a block; the numbers must increase.
pub fn encode(postings: &[Posting]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(postings.len() * 3 + 8);
    bytes.push(SHORT_COUNTS);
    let mut before = 0;
    for posting in postings {
        let gap = posting.number.wrapping_sub(before).cast_unsigned();
        let has_count = posting.count != 1;
        varint::push(&mut bytes, gap << 1 | u64::from(has_count));
        if has_count {
            bytes.push(posting.count);
        }
        bytes.push(posting.length);
        before = posting.number;
    }
    bytes
}

/// The postings of a block, up to the first damaged byte.
pub fn decode(bytes: &[u8]) -> Decode<'_> {
    let short = bytes.strip_prefix(&[SHORT_COUNTS]);
    Decode { bytes: short.unwrap_or(bytes), number: 0, has_short_counts: short.is_some() }
}

#[derive(Debug, Clone)]
pub struct Decode<'b> {
    bytes: &'b [u8],
    number: i64,
    has_short_counts: bool,
}

impl Decode<'_> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }
}

impl Iterator for Decode<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let head = varint::take(&mut self.bytes)?;
        let (gap, has_count) = match self.has_short_counts {
            true => (head >> 1, head & 1 == 1),
            false => (head, true),
        };
        let count = if has_count { self.byte()? } else { 1 };
        let length = self.byte()?;
        self.number = self.number.wrapping_add(gap.cast_signed());
        Some(Posting { number: self.number, count, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of numbers, so that the tests try many cases and always the same ones.
    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        })
    }

    #[test]
    fn blocks_round_trip() {
        for seed in 1..500 {
            let mut random = numbers(seed);
            let mut number = 0_i64;
            let size = usize::try_from(seed % 130).unwrap();
            let postings: Vec<Posting> = (0..size)
                .map(|_| {
                    let spread = random.next().unwrap() % 40;
                    let gap = 1 + random.next().unwrap() % (1 << spread);
                    number += i64::try_from(gap).unwrap();
                    let [count, length, ..] = random.next().unwrap().to_le_bytes();
                    Posting { number, count, length }
                })
                .collect();
            assert_eq!(decode(&encode(&postings)).collect::<Vec<_>>(), postings);
        }
    }

    #[test]
    fn dense_blocks_take_two_bytes_a_posting() {
        let postings: Vec<Posting> = (1..=128).map(|n| Posting::new(n, 1, 60)).collect();
        assert_eq!(encode(&postings).len(), 1 + 2 * 128);
    }

    #[test]
    fn blocks_of_earlier_versions_are_read() {
        let (first, second) = (Posting::new(5, 1, 1), Posting::new(300, 2, 9));
        let bytes = [5, 1, first.length, 0xa7, 0x02, 2, second.length];
        assert_eq!(decode(&bytes).collect::<Vec<_>>(), [first, second]);
    }

    #[test]
    fn damaged_bytes_end_the_block() {
        let bytes = encode(&[Posting::new(5, 1, 1), Posting::new(300, 2, 9)]);
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).count() < 2);
        }
        assert_eq!(decode(&[0xff; 40]).count(), 0);
    }

    #[test]
    fn lengths_keep_their_order_and_size() {
        let mut before = 0;
        for length in 1..100_000_u32 {
            let code = length_code(length);
            assert!(code >= before);
            before = code;
            let kept = f64::from(length_of(code)) / f64::from(length);
            assert!((0.94..1.06).contains(&kept), "{length} became {kept}");
        }
        assert_eq!(length_code(0), 0);
        assert_eq!(length_code(u32::MAX), 255);
    }
}
