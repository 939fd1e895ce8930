//! The scores of all documents, and the best of them piece by piece.

use std::collections::HashMap;

/// Scores by number of the document.
#[derive(Debug)]
pub(crate) enum Totals {
    /// With a place for each document.
    Dense(Vec<f32>),
    /// Of few documents among many: places for all would have to be cleared, and looked through, for each query.
    Sparse(HashMap<i64, f32>),
}

impl Default for Totals {
    fn default() -> Self {
        Totals::Dense(Vec::new())
    }
}

impl Totals {
    #[inline]
    pub fn add(&mut self, number: i64, score: f32) {
        let Ok(place) = usize::try_from(number) else { return };
        match self {
            Totals::Dense(scores) => {
                if scores.len() <= place {
                    scores.resize(place + 1, 0.0);
                }
                scores[place] += score;
            }
            Totals::Sparse(scores) => *scores.entry(number).or_default() += score,
        }
    }

    pub fn get_mut(&mut self, number: i64) -> Option<&mut f32> {
        match self {
            Totals::Dense(scores) => scores.get_mut(usize::try_from(number).ok()?),
            Totals::Sparse(scores) => scores.get_mut(&number),
        }
    }

    pub fn into_dense(self) -> Vec<f32> {
        match self {
            Totals::Dense(scores) => scores,
            Totals::Sparse(scores) => {
                let places = scores
                    .iter()
                    .filter_map(|(number, score)| Some((usize::try_from(*number).ok()?, *score)));
                let mut dense =
                    vec![0.0; places.clone().map(|(place, _)| place + 1).max().unwrap_or(0)];
                places.for_each(|(place, score)| dense[place] = score);
                dense
            }
        }
    }

    /// Those above zero. Where there is an order, the highest number comes first: among equals, what follows is worse.
    fn each(&self, mut take: impl FnMut(Scored)) {
        let mut take = |one: Scored| {
            if one.0 > 0.0 {
                take(one);
            }
        };
        match self {
            Totals::Dense(scores) => {
                let count = i64::try_from(scores.len()).unwrap_or(i64::MAX);
                scores.iter().copied().rev().zip((0..count).rev()).for_each(&mut take);
            }
            Totals::Sparse(scores) => {
                scores.iter().for_each(|(number, score)| take((*score, *number)));
            }
        }
    }
}

/// Documents by score: the best first, among equals the highest number. Only as many are sorted as are asked for: a
/// common word is in most documents, and nobody looks at them all.
#[derive(Debug)]
pub struct Ranking {
    totals: Totals,
    /// The last one that was taken.
    last: Option<Scored>,
    is_at_end: bool,
}

/// A score, and the number of its document.
type Scored = (f32, i64);

/// Whether the first one is better.
#[inline]
fn is_better(one: Scored, other: Scored) -> bool {
    one.0 > other.0 || (one.0 == other.0 && one.1 > other.1)
}

impl Ranking {
    pub(crate) fn new(totals: Totals) -> Self {
        Ranking { totals, last: None, is_at_end: false }
    }

    /// The next ones: `count`, and up to `ties` more with the score of the last of them.
    pub fn next(&mut self, count: usize, ties: usize) -> Vec<Scored> {
        let mut best = Best::new(count.saturating_add(ties));
        let (last, mut left) = (self.last, 0);
        self.totals.each(|one| {
            if last.is_none_or(|last| is_better(last, one)) {
                left += 1;
                best.add(one);
            }
        });
        let mut best = best.sorted();
        let mut size = count.min(best.len());
        while size > 0 && size < best.len() && best[size].0 == best[size - 1].0 {
            size += 1;
        }
        best.truncate(size);
        self.last = best.last().copied().or(self.last);
        self.is_at_end = left == size;
        best
    }

    /// Whether the last call of [`next`](Ranking::next) has returned what was left.
    pub fn is_at_end(&self) -> bool {
        self.is_at_end
    }
}

/// The best so many of all that are added.
struct Best {
    most: usize,
    /// Up to twice as many, so that most of what is added costs one comparison.
    some: Vec<Scored>,
    /// The worst that may still be one of them.
    worst: Option<Scored>,
}

impl Best {
    fn new(most: usize) -> Self {
        Best { most, some: Vec::new(), worst: None }
    }

    #[inline]
    fn add(&mut self, one: Scored) {
        if self.worst.is_none_or(|worst| is_better(one, worst)) {
            self.some.push(one);
            if self.some.len() >= self.most.saturating_mul(2) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        let Some(at) = self.most.checked_sub(1) else { return self.some.clear() };
        if at < self.some.len() {
            let (_, worst, _) = self.some.select_nth_unstable_by(at, order);
            self.worst = Some(*worst);
            self.some.truncate(self.most);
        }
    }

    fn sorted(mut self) -> Vec<Scored> {
        self.cut();
        self.some.sort_unstable_by(order);
        self.some
    }
}

/// The best first.
fn order((a, x): &Scored, (b, y): &Scored) -> std::cmp::Ordering {
    b.total_cmp(a).then(y.cmp(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(scores: impl IntoIterator<Item = f32>) -> Totals {
        Totals::Dense(scores.into_iter().collect())
    }

    #[test]
    fn a_ranking_is_sorted_piece_by_piece() {
        let scores =
            (0..1_000_i64).map(|number| f32::from(u8::try_from(number * 37 % 100).unwrap()) + 1.0);
        let sparse = Totals::Sparse((0..).zip(scores.clone()).collect());
        for totals in [dense(scores.clone()), sparse] {
            let mut ranking = Ranking::new(totals);
            let mut pieces = Vec::new();
            while !ranking.is_at_end() {
                let piece = ranking.next(25, 3);
                assert!(piece.len() >= 25 || pieces.len() + piece.len() == 1_000);
                pieces.extend(piece);
            }
            let mut sorted: Vec<Scored> = scores.clone().zip(0..).collect();
            sorted.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(y.cmp(x)));
            assert_eq!(pieces, sorted);
            assert!(ranking.next(5, 5).is_empty());
        }
    }

    #[test]
    fn equals_are_taken_together() {
        let mut ranking = Ranking::new(dense((0..10).map(|n| if n < 2 { 9.0 } else { 1.0 })));
        let mut next = |count, ties| -> Vec<i64> {
            ranking.next(count, ties).iter().map(|(_, number)| *number).collect()
        };
        assert_eq!(next(3, 4), [1, 0, 9, 8, 7, 6, 5]);
        assert_eq!(next(1, 0), [4]);
        assert_eq!(next(1, 9), [3, 2]);
    }

    #[test]
    fn documents_without_a_score_are_left_out() {
        let mut ranking = Ranking::new(dense([0.0, 0.5, 0.0]));
        assert_eq!(ranking.next(10, 10), [(0.5, 1)]);
        assert!(ranking.is_at_end());
        let mut none = Ranking::new(Totals::default());
        assert!(none.next(10, 10).is_empty() && none.is_at_end());
    }
}
