//! The words of a query.

use crate::Analyzer;
use crate::analysis::is_unspaced;

/// Further words do not count.
const MAX_WORDS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWord {
    pub word: String,
    pub term: String,
}

/// The words that a query searches: without stop words, unless there are no others, and each term once. Of a
/// script without spaces the pairs, or a letter that stands alone.
pub fn query_words(analyzer: &Analyzer, query: &str) -> Vec<QueryWord> {
    let words = analyzer.words(query);
    let pairs: Vec<(usize, usize)> =
        words.iter().filter(|word| word.is_pair).map(|word| (word.start, word.end)).collect();
    let is_in_pair = |start, end| pairs.iter().any(|(from, to)| *from <= start && end <= *to);
    let mut counted: Vec<QueryWord> = words
        .into_iter()
        .filter(|word| {
            let is_letter = !word.is_pair && word.text.chars().all(is_unspaced);
            !(is_letter && is_in_pair(word.start, word.end))
        })
        .take(MAX_WORDS)
        .map(|word| QueryWord { term: analyzer.term(&word.text), word: word.text })
        .collect();
    let is_stop = |word: &QueryWord| analyzer.language().is_stop_word(&word.word);
    if !counted.iter().all(is_stop) {
        counted.retain(|word| !is_stop(word));
    }
    let mut seen = Vec::new();
    counted.retain(|word| {
        let is_new = !seen.contains(&word.term);
        seen.push(word.term.clone());
        is_new
    });
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    fn terms(query: &str) -> Vec<String> {
        let words = query_words(&Analyzer::new(Language::English), query);
        words.into_iter().map(|word| word.term).collect()
    }

    #[test]
    fn stop_words_count_only_alone() {
        assert_eq!(terms("How do I grow the tomatoes?"), ["grow", "tomato"]);
        assert_eq!(terms("to be or not to be"), ["to", "be", "or", "not"]);
        assert_eq!(terms("  ?!"), [""; 0]);
    }

    #[test]
    fn words_count_once_and_up_to_a_number() {
        assert_eq!(terms("garden gardens gardening"), ["garden"]);
        let many: String = (0..100).map(|n| format!("w{n} ")).collect();
        assert_eq!(terms(&many).len(), MAX_WORDS);
    }

    #[test]
    fn pairs_replace_letters() {
        assert_eq!(terms("東京都"), ["東京", "京都"]);
        assert_eq!(terms("水 東京"), ["水", "東京"]);
    }
}
