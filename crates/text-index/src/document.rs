//! A text as the index sees it: the words it is written with, how often each occurs, and how long it is.

use std::collections::BTreeMap;
use std::iter;

use crate::analysis::push_normal;
use crate::bits::{self, Fields, Writer, Zeros};
use crate::{Analyzer, varint};

/// Begin words that are stored as numbers: with gaps in bits, and with gaps as varints by earlier versions. Words as texts
/// begin with how much the first one shares with none before: 0.
const NUMBERS: u8 = 2;
const VARINT_NUMBERS: u8 = 1;

/// What is added to an index for one text, and what has to be known to take it out again.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// All words one behind another: they would be many small allocations.
    texts: String,
    /// Each word as it is written, once, sorted.
    words: Vec<Counted>,
    /// The number of words, fields weighted.
    pub length: u32,
}

/// Where a word stands, and how often it occurs, fields weighted.
#[derive(Debug, Clone, Copy)]
struct Counted {
    start: usize,
    end: usize,
    count: u32,
}

impl Document {
    /// Each field with how often it counts.
    pub fn new(analyzer: &Analyzer, fields: &[(&str, u32)]) -> Self {
        let (mut texts, mut words, mut length) = (String::new(), Vec::new(), 0_u32);
        for (text, weight) in fields {
            analyzer.split(text, |at, _| {
                let start = texts.len();
                push_normal(&mut texts, &text[at]);
                if texts.len() > start {
                    words.push(Counted { start, end: texts.len(), count: *weight });
                    length = length.saturating_add(*weight);
                }
            });
        }
        let text = |word: &Counted| &texts.as_bytes()[word.start..word.end];
        words.sort_unstable_by(|a, b| text(a).cmp(text(b)));
        words.dedup_by(|word, kept| {
            let is_same = text(word) == text(kept);
            kept.count += if is_same { word.count } else { 0 };
            is_same
        });
        Document { texts, words, length }
    }

    /// Each word as it is written, sorted, and how often it occurs, fields weighted.
    pub fn words(&self) -> impl ExactSizeIterator<Item = (&str, u32)> {
        self.words.iter().map(|word| (&self.texts[word.start..word.end], word.count))
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// What it is found by, and how often each term occurs.
    pub fn terms(&self, analyzer: &Analyzer) -> BTreeMap<String, u32> {
        let mut terms = BTreeMap::new();
        for (word, count) in self.words() {
            *terms.entry(analyzer.term(word)).or_default() += count;
        }
        terms
    }

    /// The words in a few bytes: sorted, each without what it shares with the one before.
    pub fn packed_words(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut before = "";
        for (word, _) in self.words() {
            let shared = before.bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
            let rest = &word.as_bytes()[shared..];
            bytes.extend([u8::try_from(shared), u8::try_from(rest.len())].map(|n| n.unwrap_or(0)));
            bytes.extend(rest);
            before = word;
        }
        bytes
    }
}

/// Words that a dictionary knows, by their numbers, in fewer bytes still. No number may be there twice.
pub fn pack_numbers(mut numbers: Vec<i64>) -> Vec<u8> {
    numbers.sort_unstable();
    let mut bytes = Vec::with_capacity(numbers.len() * 2 + 4);
    bytes.push(NUMBERS);
    varint::push(&mut bytes, u64::try_from(numbers.len()).unwrap_or_default());
    let last = numbers.last().copied().unwrap_or_default();
    let gap_bits = bits::low_bits(last.cast_unsigned(), numbers.len()).min(bits::MAX_BITS);
    bytes.push(gap_bits.to_le_bytes()[0]);
    let before = iter::once(-1).chain(numbers.iter().copied());
    let gaps = before.zip(&numbers).map(|(before, number)| number.wrapping_sub(before));
    let gaps = gaps.map(|gap| gap.wrapping_sub(1).cast_unsigned());
    let mut fields = Writer::new(bytes);
    gaps.clone().for_each(|gap| fields.put(gap, gap_bits));
    let mut zeros = Writer::new(fields.finish());
    gaps.for_each(|gap| zeros.zeros(gap >> gap_bits));
    zeros.finish()
}

/// The words of a document as an index stores them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredWords {
    /// See [`Document::packed_words`].
    Texts(Vec<String>),
    /// See [`pack_numbers`].
    Numbers(Vec<i64>),
}

impl StoredWords {
    /// `None` if the bytes are damaged.
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [NUMBERS, bytes @ ..] => unpack_numbers(bytes).map(StoredWords::Numbers),
            [VARINT_NUMBERS, bytes @ ..] => unpack_varints(bytes).map(StoredWords::Numbers),
            bytes => unpack_texts(bytes).map(StoredWords::Texts),
        }
    }
}

fn unpack_numbers(mut bytes: &[u8]) -> Option<Vec<i64>> {
    let count = usize::try_from(varint::take(&mut bytes)?).ok()?;
    let (gap_bits, bytes) = bytes.split_first()?;
    let gap_bits = u32::from(*gap_bits);
    let (mut fields, bytes) = Fields::open(bytes, count, gap_bits)?;
    let (mut zeros, mut number) = (Zeros::new(bytes), -1_i64);
    let numbers = (0..count).map(|_| {
        let gap = zeros.next()? << gap_bits | fields.next();
        number = number.wrapping_add(gap.cast_signed()).wrapping_add(1);
        Some(number)
    });
    numbers.collect()
}

fn unpack_varints(mut bytes: &[u8]) -> Option<Vec<i64>> {
    let (mut numbers, mut number) = (Vec::new(), 0_i64);
    while !bytes.is_empty() {
        number = number.wrapping_add(varint::take(&mut bytes)?.cast_signed());
        numbers.push(number);
    }
    Some(numbers)
}

fn unpack_texts(mut bytes: &[u8]) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    while let [shared, rest, tail @ ..] = bytes {
        let before = words.last().map_or(&[][..], |word| word.as_bytes());
        let (rest, tail) = tail.split_at_checked(usize::from(*rest))?;
        let word = [before.get(..usize::from(*shared))?, rest].concat();
        words.push(String::from_utf8(word).ok()?);
        bytes = tail;
    }
    bytes.is_empty().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    #[test]
    fn a_title_counts_twice() {
        let analyzer = Analyzer::new(Language::English);
        let document = Document::new(&analyzer, &[("Tomato plants", 2), ("Planting a tomato", 1)]);
        let terms = document.terms(&analyzer);
        assert_eq!((terms["tomato"], terms["plant"]), (3, 3));
        assert_eq!(document.length, 7);
        let words = [("a", 1), ("planting", 1), ("plants", 2), ("tomato", 3)];
        assert_eq!(Vec::from_iter(document.words()), words);
    }

    #[test]
    fn words_are_packed_without_loss() {
        let analyzer = Analyzer::new(Language::English);
        let long = "é".repeat(100);
        let text = format!("gardens gardening garden Ärger äpfel 東京都 {long} {long}x 😀 zoo");
        let document = Document::new(&analyzer, &[(&text, 1)]);
        let packed = document.packed_words();
        let words: Vec<String> = document.words().map(|(word, _)| word.to_owned()).collect();
        assert_eq!(StoredWords::unpack(&packed), Some(StoredWords::Texts(words)));
        assert_eq!(StoredWords::unpack(&[]), Some(StoredWords::Texts(Vec::new())));
        assert_eq!(StoredWords::unpack(&packed[..packed.len() - 1]), None);
        assert_eq!(StoredWords::unpack(&[9, 1, b'a']), None);
    }

    #[test]
    fn numbers_are_packed_without_loss() {
        let packed = pack_numbers(vec![300, 1, 5, 1 << 40]);
        let numbers = vec![1, 5, 300, 1 << 40];
        assert_eq!(StoredWords::unpack(&packed), Some(StoredWords::Numbers(numbers)));
        assert_eq!(StoredWords::unpack(&packed[..packed.len() - 1]), None);
        assert_eq!(
            StoredWords::unpack(&pack_numbers(Vec::new())),
            Some(StoredWords::Numbers(Vec::new()))
        );
    }

    #[test]
    fn numbers_of_earlier_versions_are_read() {
        let numbers = StoredWords::Numbers(vec![1, 5, 300]);
        assert_eq!(StoredWords::unpack(&[1, 1, 4, 0xa7, 0x02]), Some(numbers));
    }
}
