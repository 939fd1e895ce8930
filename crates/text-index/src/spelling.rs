//! Words that an index does not know are corrected to words that it knows: at distance 1 from 5 letters on, at
//! distance 2 from 9. Distance counts letters that are missing, too many, wrong, or swapped with a neighbour.
//!
//! A word with one slip is intact in its first or in its last part, so candidates are looked up by [`Parts`] in two
//! sorted lists: of words, and of reversed words.

/// Shorter words are never corrected: too many others are near.
pub const MIN_LETTERS: usize = 5;
const TWO_SLIPS_FROM: usize = 9;

/// The greatest distance at which a word is corrected.
pub fn max_distance(word: &str) -> usize {
    match word.chars().count() {
        letters if letters < MIN_LETTERS => 0,
        letters if letters < TWO_SLIPS_FROM => 1,
        _ => 2,
    }
}

/// Whether a word may be what another one is corrected to: letters only, and not too few.
pub fn is_candidate(word: &str) -> bool {
    word.chars().count() + 1 >= MIN_LETTERS && word.chars().all(|c| c.is_alphabetic() || c == '\'')
}

/// What candidates at a distance share with a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// How candidates begin.
    pub start: String,
    /// How they end, reversed.
    pub reversed_end: String,
    /// How many letters they have.
    pub letters: std::ops::RangeInclusive<usize>,
}

/// A candidate at `distance` begins or ends with one of the parts. At distance 2 only if not both its beginning and
/// its end are wrong.
pub fn parts(word: &str, distance: usize) -> Parts {
    let letters = word.chars().count();
    let shared = if distance <= 1 { letters.saturating_sub(1) / 2 } else { letters / 3 };
    Parts {
        start: word.chars().take(shared).collect(),
        reversed_end: word.chars().rev().take(shared).collect(),
        letters: letters.saturating_sub(distance)..=letters + distance,
    }
}

pub fn reversed(word: &str) -> String {
    word.chars().rev().collect()
}

/// The distance of two words, if it is at most `max`.
pub fn distance(a: &str, b: &str, max: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > max {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        if row.iter().min().is_none_or(|least| *least > max) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|distance| *distance <= max)
}

/// The nearest of the candidates, the most frequent first; at most two.
pub fn nearest(
    word: &str,
    max: usize,
    candidates: impl IntoIterator<Item = (String, i64)>,
) -> Vec<String> {
    let near = candidates.into_iter().filter_map(|(candidate, frequency)| {
        let distance = distance(word, &candidate, max)?;
        let other_start = word.chars().next() != candidate.chars().next();
        Some((distance, other_start, std::cmp::Reverse(frequency), candidate))
    });
    let mut near: Vec<_> = near.collect();
    near.sort_unstable();
    near.dedup();
    let least = near.first().map(|(distance, ..)| *distance);
    near.retain(|(distance, ..)| Some(*distance) == least);
    near.into_iter().take(2).map(|(.., candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_slips() {
        assert_eq!(distance("garden", "garden", 2), Some(0));
        assert_eq!(distance("gardn", "garden", 2), Some(1));
        assert_eq!(distance("gadren", "garden", 2), Some(1));
        assert_eq!(distance("gardeen", "garden", 1), Some(1));
        assert_eq!(distance("harden", "garden", 1), Some(1));
        assert_eq!(distance("hardem", "garden", 1), None);
        assert_eq!(distance("", "abc", 2), None);
        assert_eq!(distance("ähre", "ahre", 1), Some(1));
    }

    /// Every slip at every place is found through the parts.
    #[test]
    fn one_slip_leaves_a_part_intact() {
        for word in ["bread", "garden", "compost", "seedling", "irrigation", "microscopes"] {
            let letters: Vec<char> = word.chars().collect();
            for at in 0..letters.len() {
                let (mut missing, mut wrong, mut more) =
                    (letters.clone(), letters.clone(), letters.clone());
                missing.remove(at);
                wrong[at] = 'z';
                more.insert(at, 'q');
                let mut slips = vec![missing, wrong, more];
                if at + 1 < letters.len() {
                    let mut swapped = letters.clone();
                    swapped.swap(at, at + 1);
                    slips.push(swapped);
                }
                for slip in slips.into_iter().map(String::from_iter) {
                    if slip == word || slip.chars().count() < MIN_LETTERS {
                        continue;
                    }
                    let parts = parts(&slip, 1);
                    let is_found = word.starts_with(&parts.start)
                        || reversed(word).starts_with(&parts.reversed_end);
                    assert!(
                        is_found && parts.letters.contains(&letters.len()),
                        "{slip}: {parts:?}"
                    );
                    assert_eq!(distance(&slip, word, 1), Some(1), "{slip}");
                }
            }
        }
    }

    #[test]
    fn the_nearest_and_most_frequent_wins() {
        let known = [("garden", 3), ("warden", 9), ("gardens", 1), ("burden", 50)];
        let known = known.map(|(word, frequency)| (word.to_owned(), frequency));
        assert_eq!(nearest("gardem", 1, known.clone()), ["garden"]);
        assert_eq!(nearest("farden", 1, known.clone()), ["warden", "garden"]);
        assert_eq!(nearest("zzzzz", 1, known), [""; 0]);
    }

    #[test]
    fn short_words_stay_as_they_are() {
        assert_eq!(
            [max_distance("rose"), max_distance("roses"), max_distance("rosebushes")],
            [0, 1, 2]
        );
        assert!(is_candidate("rose") && !is_candidate("ros") && !is_candidate("v1.25"));
    }
}
