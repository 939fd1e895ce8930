//! The best passages of texts: sentences as they are written, chosen by the weights of the terms in them.

use std::collections::HashMap;

use unicode_segmentation::UnicodeSegmentation;

use crate::Analyzer;

/// Longer sentences are cut at a word.
const MAX_LETTERS: usize = 400;

/// A sentence of one of the texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The index of the text.
    pub source: usize,
    /// The index of the sentence in it.
    pub place: usize,
    pub sentence: String,
    pub score: f32,
}

/// The best sentences that have any of the terms, at most `max`: the best first, none twice. A term that an earlier one
/// has already counts half.
pub fn best(
    analyzer: &Analyzer,
    texts: &[&str],
    weights: &HashMap<String, f32>,
    max: usize,
) -> Vec<Passage> {
    let mut all: Vec<(Passage, Vec<String>)> = Vec::new();
    for (source, text) in texts.iter().enumerate() {
        for (place, sentence) in text.unicode_sentences().enumerate() {
            let sentence = shortened(sentence);
            if all.iter().any(|(known, _)| known.sentence == sentence) {
                continue;
            }
            let mut terms: Vec<String> =
                analyzer.words(&sentence).iter().map(|word| analyzer.term(&word.text)).collect();
            terms.sort_unstable();
            terms.dedup();
            terms.retain(|term| weights.contains_key(term));
            if !terms.is_empty() {
                all.push((Passage { source, place, sentence, score: 0.0 }, terms));
            }
        }
    }
    let mut weights = weights.clone();
    let mut best = Vec::new();
    while best.len() < max && !all.is_empty() {
        for (passage, terms) in &mut all {
            passage.score = terms.iter().filter_map(|term| weights.get(term)).sum();
        }
        // Among equals the first one of the most relevant text.
        let first = |(at, (passage, _)): &(usize, &(Passage, Vec<String>))| {
            (passage.score, std::cmp::Reverse(*at))
        };
        let found = all.iter().enumerate().max_by(|a, b| {
            let (a, b) = (first(a), first(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        });
        let Some(at) = found.map(|(at, _)| at) else { break };
        let (passage, terms) = all.remove(at);
        for term in terms {
            weights.entry(term).and_modify(|weight| *weight /= 2.0);
        }
        best.push(passage);
    }
    best
}

fn shortened(sentence: &str) -> String {
    let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    if sentence.chars().count() <= MAX_LETTERS {
        return sentence;
    }
    let cut: String = sentence.chars().take(MAX_LETTERS).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}…", &cut[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    #[test]
    fn the_sentences_with_the_weightiest_words_are_taken() {
        let analyzer = Analyzer::new(Language::English);
        let weights = HashMap::from([("tomato".to_owned(), 1.0), ("water".to_owned(), 2.0)]);
        let texts = [
            "I like tea. Tomatoes need sun. Water tomatoes in the morning!",
            "Water is wet. Tomatoes need sun.",
        ];
        let found = best(&analyzer, &texts, &weights, 3);
        let found: Vec<(usize, &str)> =
            found.iter().map(|passage| (passage.source, passage.sentence.as_str())).collect();
        let expected = [
            (0, "Water tomatoes in the morning!"),
            (1, "Water is wet."),
            (0, "Tomatoes need sun."),
        ];
        assert_eq!(found, expected);
        assert!(best(&analyzer, &["Nothing here."], &weights, 3).is_empty());
    }

    #[test]
    fn long_sentences_are_cut_at_a_word() {
        let long = "word ".repeat(200);
        let cut = shortened(&long);
        assert!(cut.ends_with("word…") && cut.chars().count() <= MAX_LETTERS + 1);
    }
}
