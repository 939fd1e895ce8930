//! Postings of a term in blocks: increasing numbers of documents as gaps, each with how often the term occurs and how
//! long the document is, in bits (see [`bits`]). Scores follow from the two when they are asked for, so they never go
//! stale when the collection grows.

use std::iter;

use crate::bits::{self, Fields, Writer, Zeros};
use crate::varint;

/// A block that has this many postings is full.
pub const BLOCK: usize = 256;
/// Begin a block. Blocks of earlier versions hold bytes: those in which a count of one takes none begin with the zero alone,
/// and a varint of 2 or more follows; the oldest ones begin with the number of their first document, which is never 0.
const BYTES: u8 = 0;
const BITS: u8 = 1;
/// Marks the number of bits of a length: some counts are not one.
const HAS_COUNTS: u8 = 0x80;

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
    let mut bytes = Vec::with_capacity(postings.len() * 2 + 16);
    bytes.extend([BYTES, BITS]);
    varint::push(&mut bytes, u64::try_from(postings.len()).unwrap_or_default());
    let (Some(first), Some(last)) = (postings.first(), postings.last()) else { return bytes };
    varint::push(&mut bytes, first.number.cast_unsigned());
    let lengths = postings.iter().map(|posting| posting.length);
    let shortest = lengths.clone().min().unwrap_or_default();
    let length_bits = u8::BITS - (lengths.max().unwrap_or_default() - shortest).leading_zeros();
    let gaps = last.number.wrapping_sub(first.number).cast_unsigned();
    let gap_bits = bits::low_bits(gaps, postings.len()).min(bits::MAX_BITS - length_bits);
    let has_counts = postings.iter().any(|posting| posting.count != 1);
    let [gap_byte, length_byte] = [gap_bits, length_bits].map(|bits| bits.to_le_bytes()[0]);
    let flag = if has_counts { HAS_COUNTS } else { 0 };
    bytes.extend([gap_byte, length_byte | flag, shortest]);
    let before = iter::once(first.number - 1).chain(postings.iter().map(|one| one.number));
    let gaps = before.zip(postings).map(|(before, one)| gap(before, one.number));
    let mut fields = Writer::new(bytes);
    for (gap, posting) in gaps.clone().zip(postings) {
        fields.put(gap, gap_bits);
        fields.put((posting.length - shortest).into(), length_bits);
    }
    let mut bytes = fields.finish();
    if has_counts {
        let mut counts = Writer::default();
        postings.iter().for_each(|one| counts.zeros(one.count.wrapping_sub(1).into()));
        let counts = counts.finish();
        varint::push(&mut bytes, u64::try_from(counts.len()).unwrap_or_default());
        bytes.extend(counts);
    }
    let mut zeros = Writer::new(bytes);
    gaps.for_each(|gap| zeros.zeros(gap >> gap_bits));
    zeros.finish()
}

/// How many numbers are between the two.
fn gap(from: i64, to: i64) -> u64 {
    to.wrapping_sub(from).wrapping_sub(1).cast_unsigned()
}

/// Postings that are put together for a block, in few bytes.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    bytes: Vec<u8>,
    last: i64,
}

impl Collected {
    /// The numbers must increase.
    pub fn push(&mut self, posting: Posting) {
        let gap = posting.number.wrapping_sub(self.last).cast_unsigned();
        let has_count = posting.count != 1;
        varint::push(&mut self.bytes, gap << 1 | u64::from(has_count));
        if has_count {
            self.bytes.push(posting.count);
        }
        self.bytes.push(posting.length);
        self.last = posting.number;
    }

    pub fn postings(&self) -> Decode<'_> {
        Decode(Format::Bytes { bytes: &self.bytes, number: 0, has_short_counts: true })
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The postings of a block, up to the first damaged byte.
pub fn decode(bytes: &[u8]) -> Decode<'_> {
    match bytes {
        [BYTES, BITS, bytes @ ..] => Decode(Format::Bits(Bits::open(bytes).unwrap_or_default())),
        [BYTES, bytes @ ..] => Decode(Format::Bytes { bytes, number: 0, has_short_counts: true }),
        bytes => Decode(Format::Bytes { bytes, number: 0, has_short_counts: false }),
    }
}

#[derive(Debug, Clone)]
pub struct Decode<'b>(Format<'b>);

#[derive(Debug, Clone)]
enum Format<'b> {
    Bits(Bits<'b>),
    Bytes { bytes: &'b [u8], number: i64, has_short_counts: bool },
}

#[derive(Debug, Clone, Default)]
struct Bits<'b> {
    left: usize,
    /// Of the last posting.
    number: i64,
    gap_bits: u32,
    shortest: u8,
    /// Low bits of gaps, and lengths above the shortest one.
    fields: Fields<'b>,
    counts: Option<Zeros<'b>>,
    gaps: Zeros<'b>,
}

impl<'b> Bits<'b> {
    fn open(mut bytes: &'b [u8]) -> Option<Self> {
        let left = usize::try_from(varint::take(&mut bytes)?).ok()?;
        let first = varint::take(&mut bytes)?.cast_signed();
        let [gap_bits, length_bits, shortest, bytes @ ..] = bytes else { return None };
        let has_counts = length_bits & HAS_COUNTS != 0;
        let (gap_bits, length_bits) = (u32::from(*gap_bits), u32::from(length_bits & !HAS_COUNTS));
        let (fields, mut bytes) = Fields::open(bytes, left, gap_bits + length_bits)?;
        let mut counts = None;
        if has_counts {
            let size = usize::try_from(varint::take(&mut bytes)?).ok()?;
            let (those, rest) = bytes.split_at_checked(size)?;
            (counts, bytes) = (Some(Zeros::new(those)), rest);
        }
        let number = first.wrapping_sub(1);
        let gaps = Zeros::new(bytes);
        Some(Bits { left, number, gap_bits, shortest: *shortest, fields, counts, gaps })
    }

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        self.left = self.left.checked_sub(1)?;
        let field = self.fields.next();
        let low = field & ((1 << self.gap_bits) - 1);
        let gap = self.gaps.next()? << self.gap_bits | low;
        let count = match &mut self.counts {
            Some(counts) => counts.next()?,
            None => 0,
        };
        self.number = self.number.wrapping_add(gap.cast_signed()).wrapping_add(1);
        #[expect(clippy::cast_possible_truncation, reason = "both are bytes, unless damaged")]
        let (count, length) = ((count as u8).wrapping_add(1), (field >> self.gap_bits) as u8);
        let length = self.shortest.wrapping_add(length);
        Some(Posting { number: self.number, count, length })
    }
}

impl Iterator for Decode<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        match &mut self.0 {
            Format::Bits(bits) => bits.next(),
            Format::Bytes { bytes, number, has_short_counts } => {
                let head = varint::take(bytes)?;
                let (gap, has_count) = match has_short_counts {
                    true => (head >> 1, head & 1 == 1),
                    false => (head, true),
                };
                let count = if has_count { byte(bytes)? } else { 1 };
                let length = byte(bytes)?;
                *number = number.wrapping_add(gap.cast_signed());
                Some(Posting { number: *number, count, length })
            }
        }
    }
}

#[inline]
fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*byte)
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
    fn dense_blocks_take_a_byte_a_posting() {
        let postings: Vec<Posting> = (1..=256).map(|n| Posting::new(n, 1, 50 + n as u32)).collect();
        let size = encode(&postings).len();
        assert!(size <= 256 + 8, "{size}");
    }

    #[test]
    fn lengths_that_are_all_the_same_take_no_space() {
        let postings: Vec<Posting> = (1..=256).map(|n| Posting::new(n * 3, 1, 60)).collect();
        let size = encode(&postings).len();
        assert!(size <= 256 * 4 / 8 + 8, "{size}");
    }

    #[test]
    fn blocks_of_earlier_versions_are_read() {
        let (first, second) = (Posting::new(5, 1, 1), Posting::new(300, 2, 9));
        let oldest = [5, 1, first.length, 0xa7, 0x02, 2, second.length];
        assert_eq!(decode(&oldest).collect::<Vec<_>>(), [first, second]);
        let short_counts = [0, 10, first.length, 0xcf, 0x04, 2, second.length];
        assert_eq!(decode(&short_counts).collect::<Vec<_>>(), [first, second]);
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
