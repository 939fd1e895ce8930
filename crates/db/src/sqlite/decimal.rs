//! The collation `decimal`: numbers of any length, stored as text in plain notation (`-12.50`), in numeric
//! order. `1.5` and `1.50` are equal.

use std::cmp::Ordering;

pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (one_is_negative, one) = signed(one);
    let (other_is_negative, other) = signed(other);
    match (one_is_negative, other_is_negative) {
        (false, false) => magnitude(one, other),
        (true, true) => magnitude(other, one),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

fn signed(text: &str) -> (bool, &str) {
    text.strip_prefix('-').map_or((false, text), |rest| (true, rest))
}

/// Without leading zeros the longer integer part is the greater one; fractions compare as texts.
fn magnitude(one: &str, other: &str) -> Ordering {
    let (whole, fraction) = parts(one);
    let (other_whole, other_fraction) = parts(other);
    whole
        .len()
        .cmp(&other_whole.len())
        .then_with(|| whole.cmp(other_whole))
        .then_with(|| fraction.cmp(other_fraction))
}

fn parts(text: &str) -> (&str, &str) {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    (whole.trim_start_matches('0'), fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_order_of_their_worth() {
        let rising =
            ["-100", "-99.5", "-1.01", "-1", "0", "0.005", "0.05", "1", "1.5", "9", "10.0"];
        for (at, one) in rising.iter().enumerate() {
            for (other_at, other) in rising.iter().enumerate() {
                assert_eq!(compare(one, other), at.cmp(&other_at), "{one} and {other}");
            }
        }
        for equal in [["1.5", "1.50"], ["0", "0.00"], ["10", "10.0"], ["007", "7"]] {
            assert_eq!(compare(equal[0], equal[1]), Ordering::Equal, "{equal:?}");
        }
    }
}
