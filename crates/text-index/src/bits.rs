//! Numbers in as few bits as they need. Small ones are likelier than large ones: a Rice code writes the low bits as they
//! are, and how often they overflow as so many zeros before a one. Here the low bits of all numbers come first, each at a
//! place that is known, and then all rows of zeros: that is read much faster than one number after the other.

/// With more than these a number does not fit into eight bytes that begin anywhere in a byte.
pub(crate) const MAX_BITS: u32 = 57;

/// How many low bits to write as they are, for so many numbers with this sum. The zeros are fewer than three for each then.
pub(crate) fn low_bits(sum: u64, count: usize) -> u32 {
    let count = u128::try_from(count).unwrap_or(u128::MAX).max(1);
    // The median is ln 2, about 11/16, of the mean, and half of all numbers should have no zeros.
    (u128::from(sum) * 11 / 16 / count).checked_ilog2().unwrap_or_default()
}

/// The low bits that are set.
fn mask(bits: u32) -> u64 {
    1_u64.checked_shl(bits).unwrap_or_default().wrapping_sub(1)
}

#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Bits that do not fill eight bytes yet.
    held: u128,
    filled: u32,
}

impl Writer {
    /// Goes on behind these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Writer { bytes, held: 0, filled: 0 }
    }

    /// The low bits of a value, up to 64.
    #[inline]
    pub fn put(&mut self, value: u64, bits: u32) {
        self.held |= u128::from(value & mask(bits)) << self.filled;
        self.filled += bits;
        if self.filled >= u64::BITS {
            self.bytes.extend_from_slice(&self.held.to_le_bytes().as_chunks::<8>().0[0]);
            self.held >>= u64::BITS;
            self.filled -= u64::BITS;
        }
    }

    /// So many zeros and a one.
    #[inline]
    pub fn zeros(&mut self, mut zeros: u64) {
        while zeros >= u64::BITS.into() {
            self.put(0, u64::BITS);
            zeros -= u64::from(u64::BITS);
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        self.put(1 << zeros, zeros as u32 + 1);
    }

    /// Ends with a whole byte.
    pub fn finish(mut self) -> Vec<u8> {
        let left = usize::try_from(self.filled.div_ceil(8)).unwrap_or_default();
        self.bytes.extend_from_slice(&self.held.to_le_bytes()[..left]);
        self.bytes
    }
}

/// Numbers of so many bits each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields<'b> {
    bytes: &'b [u8],
    /// Of the next number, in bits.
    at: usize,
    bits: u32,
}

impl<'b> Fields<'b> {
    /// So many numbers, and the bytes behind them; `None` if there are not so many.
    pub fn open(bytes: &'b [u8], count: usize, bits: u32) -> Option<(Self, &'b [u8])> {
        let size = count.checked_mul(usize::try_from(bits).ok()?)?.div_ceil(8);
        let rest = bytes.get(size..)?;
        (bits <= MAX_BITS).then_some((Fields { bytes, at: 0, bits }, rest))
    }

    /// The next number; what follows the last one means nothing.
    #[inline]
    pub fn next(&mut self) -> u64 {
        let (byte, bit) = (self.at / 8, self.at % 8);
        self.at += self.bits as usize;
        let word = match self.bytes.get(byte..).and_then(|rest| rest.first_chunk()) {
            Some(word) => u64::from_le_bytes(*word),
            None => last_word(self.bytes.get(byte..).unwrap_or_default()),
        };
        word >> bit & mask(self.bits)
    }
}

/// Fewer than eight bytes.
#[cold]
fn last_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Rows of zeros, each before a one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Zeros<'b> {
    bytes: &'b [u8],
    /// Bits that are read, without the ones that are taken.
    word: u64,
    /// How many bits of the word are left.
    left: u32,
}

impl<'b> Zeros<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Zeros { bytes, word: 0, left: 0 }
    }

    /// How many zeros come before the next one; `None` if no one comes.
    #[inline]
    pub fn next(&mut self) -> Option<u64> {
        let mut zeros = 0;
        while self.word == 0 {
            zeros += u64::from(self.left);
            self.fill()?;
        }
        let here = self.word.trailing_zeros();
        self.word = self.word >> here >> 1;
        self.left -= here + 1;
        Some(zeros + u64::from(here))
    }

    #[inline]
    fn fill(&mut self) -> Option<()> {
        if let Some((word, rest)) = self.bytes.split_first_chunk() {
            (self.word, self.left, self.bytes) = (u64::from_le_bytes(*word), u64::BITS, rest);
        } else {
            let (byte, rest) = self.bytes.split_first()?;
            (self.word, self.left, self.bytes) = (u64::from(*byte), u8::BITS, rest);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_any_width_round_trip() {
        for bits in 0..=MAX_BITS {
            let numbers: Vec<u64> = (0..100_u64).map(|n| n.wrapping_mul(u64::MAX / 77)).collect();
            let mut writer = Writer::new(vec![7]);
            numbers.iter().for_each(|number| writer.put(*number, bits));
            let bytes = [writer.finish(), vec![9]].concat();
            assert_eq!(bytes[0], 7);
            let (mut fields, rest) = Fields::open(&bytes[1..], numbers.len(), bits).unwrap();
            assert_eq!(rest, [9]);
            assert!(numbers.iter().all(|number| fields.next() == number & mask(bits)));
        }
        assert!(Fields::open(&[0; 9], 2, 37).is_none(), "too few bytes");
        assert!(Fields::open(&[0; 9], 1, MAX_BITS + 1).is_none(), "too many bits");
    }

    #[test]
    fn rows_of_zeros_round_trip() {
        let rows: Vec<u64> = (0..300).chain([0, 0, 1, 63, 64, 65, 1_000]).collect();
        let mut writer = Writer::default();
        rows.iter().for_each(|row| writer.zeros(*row));
        let bytes = writer.finish();
        let mut zeros = Zeros::new(&bytes);
        let read: Vec<u64> = std::iter::from_fn(|| zeros.next()).collect();
        assert_eq!(read, rows);
        for cut in 0..bytes.len() {
            let mut zeros = Zeros::new(&bytes[..cut]);
            assert!(std::iter::from_fn(|| zeros.next()).count() < rows.len());
        }
    }

    #[test]
    fn a_number_of_usual_size_takes_little_more_than_its_bits() {
        for size in [1_u64, 10, 1_000, 100_000, 1 << 50] {
            let numbers: Vec<u64> = (0..1_000).map(|n| n * 7919 % 1_000 * size / 500).collect();
            let sum = numbers.iter().sum();
            let low_bits = low_bits(sum, numbers.len());
            let zeros = numbers.iter().map(|number| number >> low_bits).sum::<u64>();
            let bits = f64::from(low_bits) + 1.0 + zeros as f64 / 1_000.0;
            assert!(bits < (2.0 * size as f64).log2() + 1.8, "{bits} for {size}");
        }
    }
}
