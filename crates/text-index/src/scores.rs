//! BM25. The frequencies come from the caller, because the searcher may only learn from what they may read; see
//! [`Statistics`].

use std::collections::HashMap;

use crate::postings::{self, length_of};
use crate::ranking::{Ranking, Totals};

const K1: f32 = 1.2;
const B: f32 = 0.75;
/// The length of a usual text, as long as there is none to measure.
const USUAL_LENGTH: f32 = 50.0;
/// Postings are few if they are fewer than one in so many documents.
const FEW: i64 = 32;

/// The size of a collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    pub documents: i64,
    /// Of all documents together.
    pub length: i64,
}

/// The formula for one collection.
#[derive(Debug, Clone)]
pub struct Bm25 {
    documents: f32,
    /// What a document's length adds to the denominator, for each [`postings::length_code`].
    norms: Vec<f32>,
}

impl Bm25 {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of large numbers")]
    pub fn new(statistics: Statistics) -> Self {
        let documents = statistics.documents.max(0) as f32;
        let average = match statistics {
            Statistics { documents: 1.., length: 1.. } => statistics.length as f32 / documents,
            _ => USUAL_LENGTH,
        };
        let norm = |code: u8| K1 * (1.0 - B + B * length_of(code) / average);
        Bm25 { documents, norms: (0..=u8::MAX).map(norm).collect() }
    }

    /// How much a term says that this many documents have.
    #[expect(clippy::cast_precision_loss, reason = "a ratio of large numbers")]
    pub fn idf(&self, frequency: i64) -> f32 {
        let frequency = (frequency.max(0) as f32).min(self.documents);
        (1.0 + (self.documents - frequency + 0.5) / (frequency + 0.5)).ln()
    }

    /// The share of the highest score that a term gives to a document, below 1.
    #[inline]
    pub fn share(&self, count: u8, length: u8) -> f32 {
        let count = f32::from(count);
        count / (count + self.norms[usize::from(length)])
    }
}

/// Which documents may be scored.
#[derive(Debug, Clone, Default)]
pub enum Filter {
    #[default]
    All,
    /// These alone, as bits.
    Only(Vec<u64>),
}

impl Filter {
    pub fn only(numbers: impl IntoIterator<Item = i64>) -> Self {
        let mut bits = Vec::new();
        for number in numbers {
            let Ok(number) = usize::try_from(number) else { continue };
            let (word, bit) = (number / 64, number % 64);
            if bits.len() <= word {
                bits.resize(word + 1, 0);
            }
            bits[word] |= 1 << bit;
        }
        Filter::Only(bits)
    }

    #[inline]
    pub fn passes(&self, number: i64) -> bool {
        match self {
            Filter::All => true,
            Filter::Only(bits) => usize::try_from(number).is_ok_and(|number| {
                bits.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
            }),
        }
    }
}

/// The scores of all documents for one query: for each word of the query the best of its alternatives, added up.
#[derive(Debug, Default)]
pub struct Scores {
    total: Totals,
    /// Of the word whose alternatives are being added.
    best: HashMap<i64, f32>,
}

impl Scores {
    /// For documents with numbers below `end`, when so many postings will be added.
    pub fn new(end: i64, postings: i64) -> Self {
        let total = match usize::try_from(end).unwrap_or_default() {
            _ if postings < end / FEW => Totals::Sparse(HashMap::new()),
            size => Totals::Dense(vec![0.0; size]),
        };
        Scores { total, best: HashMap::new() }
    }

    /// Adds a block of the one term that a word of the query stands for.
    pub fn add(&mut self, bm25: &Bm25, block: &[u8], weight: f32, filter: &Filter) {
        for posting in postings::decode(block) {
            if filter.passes(posting.number) {
                self.total.add(posting.number, weight * bm25.share(posting.count, posting.length));
            }
        }
    }

    /// Adds a block of one of several terms that a word may stand for; [`Scores::finish_word`] follows.
    pub fn add_alternative(&mut self, bm25: &Bm25, block: &[u8], weight: f32, filter: &Filter) {
        for posting in postings::decode(block) {
            if filter.passes(posting.number) {
                let score = weight * bm25.share(posting.count, posting.length);
                let best = self.best.entry(posting.number).or_default();
                *best = best.max(score);
            }
        }
    }

    pub fn finish_word(&mut self) {
        for (number, score) in self.best.drain() {
            self.total.add(number, score);
        }
    }

    /// Makes each score its share of the highest one possible; returns them by number of the document.
    pub fn normalise(&mut self, highest: f32) -> Vec<f32> {
        let mut scores = std::mem::take(&mut self.total).into_dense();
        if highest > 0.0 {
            scores.iter_mut().for_each(|score| *score = (*score / highest).min(1.0));
        }
        self.total = Totals::Dense(scores.clone());
        scores
    }

    /// Brings a second share in: either of them makes a document relevant, both make it more so. See [`fused`].
    pub fn fuse(&mut self, number: i64, share: f32) {
        self.total.add(number, 0.0);
        if let Some(score) = self.total.get_mut(number) {
            *score = fused(*score, share);
        }
    }

    pub fn ranking(self) -> Ranking {
        Ranking::new(self.total)
    }
}

/// Two shares as one. It depends on nothing but the document, so it tells nothing about others.
pub fn fused(one: f32, other: f32) -> f32 {
    1.0 - (1.0 - one.clamp(0.0, 1.0)) * (1.0 - other.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postings::{Posting, encode};

    fn bm25(documents: i64) -> Bm25 {
        Bm25::new(Statistics { documents, length: documents * 50 })
    }

    fn all(scores: Scores) -> Vec<(f32, i64)> {
        scores.ranking().next(usize::MAX, 0)
    }

    #[test]
    fn rare_terms_and_short_texts_score_higher() {
        let bm25 = bm25(1_000);
        assert!(bm25.idf(1) > bm25.idf(10) && bm25.idf(10) > bm25.idf(1_000));
        assert!(bm25.idf(1_000) > 0.0 && bm25.idf(5_000) > 0.0);
        let code = postings::length_code;
        assert!(bm25.share(1, code(10)) > bm25.share(1, code(100)));
        assert!(bm25.share(2, code(50)) > bm25.share(1, code(50)));
        assert!(bm25.share(255, 0) < 1.0);
    }

    #[test]
    fn words_add_up_and_alternatives_do_not() {
        let bm25 = bm25(10);
        let block = encode(&[Posting::new(1, 1, 50), Posting::new(2, 1, 50)]);
        let other = encode(&[Posting::new(2, 1, 50)]);
        let mut scores = Scores::new(3, 3);
        scores.add(&bm25, &block, 1.0, &Filter::All);
        scores.add(&bm25, &other, 1.0, &Filter::All);
        let ranked = all(scores);
        assert_eq!(ranked.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [2, 1]);
        assert!((ranked[0].0 - 2.0 * ranked[1].0).abs() < 1e-6);

        let mut scores = Scores::new(3, 3);
        scores.add_alternative(&bm25, &block, 1.0, &Filter::All);
        scores.add_alternative(&bm25, &other, 0.5, &Filter::All);
        scores.finish_word();
        let ranked = all(scores);
        assert!((ranked[0].0 - ranked[1].0).abs() < 1e-6, "{ranked:?}");
    }

    #[test]
    fn few_postings_among_many_documents_are_scored_like_many() {
        let bm25 = bm25(1_000_000);
        let blocks = [3, 5, 7].map(|step| {
            let numbers = (1..40).map(|number| number * step * 1_000);
            encode(&numbers.map(|number| Posting::new(number, 1, 50)).collect::<Vec<_>>())
        });
        let ranked = |mut scores: Scores| {
            scores.add(&bm25, &blocks[0], 1.0, &Filter::All);
            scores.add_alternative(&bm25, &blocks[1], 1.0, &Filter::All);
            scores.add_alternative(&bm25, &blocks[2], 0.5, &Filter::All);
            scores.finish_word();
            scores
        };
        let few = || ranked(Scores::new(1_000_000, 117));
        let many = || ranked(Scores::new(1_000_000, 1_000_000));
        assert!(
            matches!(few().total, Totals::Sparse(_)) && matches!(many().total, Totals::Dense(_))
        );
        assert_eq!(all(few()), all(many()));
        let fused = |mut scores: Scores| {
            scores.normalise(2.0);
            scores.fuse(3_000, 0.5);
            scores.fuse(999_999, 0.5);
            all(scores)
        };
        assert_eq!(fused(few()), fused(many()));
    }

    #[test]
    fn two_shares_are_more_than_one() {
        let mut scores = Scores::new(2, 2);
        scores.total.add(1, 2.0);
        assert_eq!(scores.normalise(4.0), [0.0, 0.5]);
        scores.fuse(1, 0.5);
        scores.fuse(3, 0.25);
        assert_eq!(all(scores), [(0.75, 1), (0.25, 3)]);
        assert_eq!((fused(1.0, 0.3), fused(0.0, 0.0)), (1.0, 0.0));
    }

    #[test]
    fn a_filter_lets_pass_what_is_in_it() {
        let filter = Filter::only([0, 63, 64, 1_000, -5]);
        for number in [0, 63, 64, 1_000] {
            assert!(filter.passes(number));
        }
        for number in [-5, 1, 65, 999, 1_001, i64::MAX] {
            assert!(!filter.passes(number));
        }
        let block = encode(&[Posting::new(63, 1, 1), Posting::new(65, 1, 1)]);
        let mut scores = Scores::new(0, 2);
        scores.add(&bm25(1), &block, 1.0, &filter);
        assert_eq!(all(scores).len(), 1);
    }

    #[test]
    fn an_empty_collection_has_a_formula_too() {
        let bm25 = Bm25::new(Statistics::default());
        assert!(bm25.idf(0) > 0.0 && bm25.share(1, 0) > 0.0);
    }
}
