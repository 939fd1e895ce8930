//! Where the words of a query stand in a text.

use std::collections::HashSet;

use crate::Analyzer;

/// A part of a text, in UTF-16 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// The words of a text that are found by one of the terms, in their order; those that overlap are one.
pub fn highlights(analyzer: &Analyzer, text: &str, terms: &HashSet<String>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for word in analyzer.words(text) {
        if !terms.contains(&analyzer.term(&word.text)) {
            continue;
        }
        match spans.last_mut() {
            Some(last) if word.start < last.end => last.end = last.end.max(word.end),
            _ => spans.push(Span { start: word.start, end: word.end }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    #[test]
    fn matching_words_are_marked_where_they_stand() {
        let analyzer = Analyzer::new(Language::English);
        let terms = HashSet::from(["tomato".to_owned(), "東京".to_owned(), "京都".to_owned()]);
        let text = "😀 Tomatoes & tomatoes 東京都";
        let marked: Vec<String> = highlights(&analyzer, text, &terms)
            .into_iter()
            .map(|span| {
                let units: Vec<u16> = text.encode_utf16().collect();
                String::from_utf16(&units[span.start..span.end]).unwrap()
            })
            .collect();
        assert_eq!(marked, ["Tomatoes", "tomatoes", "東京都"]);
    }
}
