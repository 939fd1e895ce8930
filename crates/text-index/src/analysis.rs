//! From a text to its words. Words are those of UAX 29, in NFKC and lower case; scripts that are written without
//! spaces give single letters and pairs of neighbours instead. A word is found by its term: its stem.

use std::ops::Range;
use std::{fmt, iter};

use rust_stemmers::Stemmer;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use crate::Language;

/// Longer words are cut: nobody types them, and their bytes must fit into a byte when they are packed.
const MAX_LETTERS: usize = 60;

/// A word of a text, and where it stands there: offsets in UTF-16, as browsers count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub start: usize,
    pub end: usize,
    /// One of two neighbours in a script without spaces: words overlap there.
    pub is_pair: bool,
}

/// Splits texts of one language.
pub struct Analyzer {
    language: Language,
    stemmer: Option<Stemmer>,
}

impl fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Analyzer").field(&self.language).finish()
    }
}

impl Analyzer {
    pub fn new(language: Language) -> Self {
        Analyzer { language, stemmer: language.algorithm().map(Stemmer::create) }
    }

    pub fn language(&self) -> Language {
        self.language
    }

    /// What a word is found by. Words with digits stay as they are.
    pub fn term(&self, word: &str) -> String {
        match &self.stemmer {
            Some(stemmer) if !word.chars().any(|c| c.is_numeric()) => {
                let stem = stemmer.stem(word);
                if stem.is_empty() { word.to_owned() } else { stem.into_owned() }
            }
            _ => word.to_owned(),
        }
    }

    /// The words of a text in their order.
    pub fn words(&self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        let mut units = Utf16::new(text);
        self.split(text, |at, is_pair| {
            let normal = normalize(&text[at.clone()]);
            if !normal.is_empty() {
                let (start, end) = (units.at(at.start), units.at(at.end));
                words.push(Word { text: normal, start, end, is_pair });
            }
        });
        words
    }

    /// Where the words of a text stand, and whether each is a pair of neighbours. A word is what [`push_normal`] makes of it,
    /// if that is anything.
    pub(crate) fn split(&self, text: &str, mut take: impl FnMut(Range<usize>, bool)) {
        let mut rest = 0;
        while let Some(from) = text[rest..].find(is_unspaced).map(|at| rest + at) {
            spaced(text, rest..from, &mut take);
            let run = text[from..].find(|c| !is_unspaced(c)).map_or(text.len(), |len| from + len);
            unspaced(text, from..run, &mut take);
            rest = run;
        }
        spaced(text, rest..text.len(), &mut take);
    }
}

/// Words of a script with spaces.
fn spaced(text: &str, part: Range<usize>, take: &mut impl FnMut(Range<usize>, bool)) {
    let from = part.start;
    for (at, word) in text[part].unicode_word_indices() {
        for (piece_at, piece) in pieces(word) {
            let start = from + at + piece_at;
            take(start..start + piece.len(), false);
        }
    }
}

/// UAX 29 keeps `example.com` and `snake_case` together; people look for their parts. Numbers stay whole.
fn pieces(word: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = Some(0);
    let pieces = iter::from_fn(move || {
        let from = rest?;
        let separator = word[from..].char_indices().find(|(at, c)| separates(word, from + at, *c));
        rest = separator.map(|(at, c)| from + at + c.len_utf8());
        let end = separator.map_or(word.len(), |(at, _)| from + at);
        Some((from, &word[from..end]))
    });
    pieces.filter(|(_, piece)| !piece.is_empty())
}

/// Whether a character of a word stands between two pieces.
fn separates(word: &str, at: usize, c: char) -> bool {
    match c {
        '_' | ':' | '·' => true,
        '.' | ',' | ';' => {
            let after = word[at + c.len_utf8()..].chars().next();
            let before = word[..at].chars().next_back();
            !(before.is_some_and(char::is_numeric) && after.is_some_and(char::is_numeric))
        }
        _ => false,
    }
}

fn normalize(word: &str) -> String {
    let mut normal = String::new();
    push_normal(&mut normal, word);
    normal
}

/// Adds a word in NFKC and lower case.
pub(crate) fn push_normal(out: &mut String, word: &str) {
    // Most words are plain letters, for which all that is below says the same.
    if word.len() <= MAX_LETTERS && word.bytes().all(|byte| byte.is_ascii_graphic()) {
        let start = out.len();
        out.push_str(word);
        return out[start..].make_ascii_lowercase();
    }
    let lower = word.nfkc().flat_map(char::to_lowercase);
    let plain = lower.map(|c| if matches!(c, '’' | '‘' | 'ʼ') { '\'' } else { c });
    out.extend(plain.filter(|c| !matches!(c, '\0' | '\u{ad}')).take(MAX_LETTERS));
}

/// Letters and pairs of letters of a script without spaces.
fn unspaced(text: &str, run: Range<usize>, take: &mut impl FnMut(Range<usize>, bool)) {
    let mut letters = text[run.clone()].char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let start = run.start + at;
        let end = start + c.len_utf8();
        take(start..end, false);
        if let Some((_, next)) = letters.peek() {
            take(start..end + next.len_utf8(), true);
        }
    }
}

/// Whether a letter is of a script that puts no spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        // Thai, Lao, Myanmar, Khmer
        0x0E01..=0x0E3A | 0x0E40..=0x0E4E | 0x0E81..=0x0ECD | 0x0EDC..=0x0EDF | 0x1000..=0x103F
        | 0x1050..=0x109F | 0x1780..=0x17D3 | 0x17DC..=0x17DD
        // Hiragana, Katakana, Bopomofo, their half-width forms
        | 0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF
        | 0x3105..=0x312F | 0x31F0..=0x31FF | 0xFF66..=0xFF9D
        // Han
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

/// Converts byte offsets to UTF-16 offsets: quickly where they increase, or go back by little.
pub(crate) struct Utf16<'t> {
    text: &'t str,
    byte: usize,
    unit: usize,
}

impl<'t> Utf16<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Utf16 { text, byte: 0, unit: 0 }
    }

    pub(crate) fn at(&mut self, byte: usize) -> usize {
        let units = |part: &str| part.chars().map(char::len_utf16).sum::<usize>();
        match byte < self.byte {
            true => self.unit -= units(&self.text[byte..self.byte]),
            false => self.unit += units(&self.text[self.byte..byte]),
        }
        self.byte = byte;
        self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let words = Analyzer::new(Language::English).words(text);
        words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_normal_and_lower_case() {
        assert_eq!(words("Ｔｈｅ ﬁrst CAFÉ, don’t!"), ["the", "first", "café", "don't"]);
        assert_eq!(words("Cafe\u{301} STRASSE"), ["café", "strasse"]);
        assert_eq!(words("  \n\t ... !?"), [""; 0]);
    }

    #[test]
    fn joined_words_are_split_and_numbers_are_not() {
        assert_eq!(words("example.com"), ["example", "com"]);
        assert_eq!(words("snake_case v1.25 1,000"), ["snake", "case", "v1.25", "1,000"]);
        assert_eq!(words("end.Next"), ["end", "next"]);
    }

    #[test]
    fn scripts_without_spaces_give_letters_and_pairs() {
        assert_eq!(words("東京都 x"), ["東", "東京", "京", "京都", "都", "x"]);
        assert_eq!(words("กข"), ["ก", "กข", "ข"]);
        assert_eq!(words("안녕하세요 세계"), ["안녕하세요", "세계"]);
    }

    #[test]
    fn offsets_are_utf16_units_of_the_original_text() {
        let analyzer = Analyzer::new(Language::English);
        for text in
            ["a 😀 Ｔｈｅ cafe\u{301} b_c 東京都!", "\u{ad}soft\u{ad}hyphen x", "ﬁ 𝒳y 한국 ok"]
        {
            let units: Vec<u16> = text.encode_utf16().collect();
            for word in analyzer.words(text) {
                let slice = String::from_utf16(&units[word.start..word.end]).unwrap();
                assert_eq!(normalize(&slice), word.text, "{text}");
            }
        }
    }

    #[test]
    fn terms_are_stems_of_the_language() {
        let english = Analyzer::new(Language::English);
        assert_eq!(english.term("gardening"), english.term("gardens"));
        assert_eq!(english.term("cat's"), "cat");
        assert_eq!(english.term("v2s"), "v2s");
        assert_eq!(Analyzer::new(Language::None).term("gardens"), "gardens");
        assert_eq!(Analyzer::new(Language::German).term("häuser"), "haus");
    }

    #[test]
    fn long_words_are_cut() {
        let long = "é".repeat(1_000);
        assert_eq!(words(&long)[0].chars().count(), MAX_LETTERS);
    }
}
