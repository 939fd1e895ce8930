//! Numbers as tiles and bars, drawn by the server.

use maud::{Markup, html};

use crate::features::admin::store::figures::BOUND;

pub(super) fn tile(name: &str, number: &str) -> Markup {
    html! { div.tile { span.number { (number) } span { (name) } } }
}

/// A count that ends at a bound.
pub(super) fn bounded(count: i64) -> String {
    if count >= BOUND { format!("≥ {BOUND}") } else { count.to_string() }
}

/// A size with at most three digits.
pub(super) fn bytes(size: i64) -> String {
    let mut size = size;
    for unit in ["B", "kB", "MB", "GB"] {
        if size < 1000 {
            return format!("{size} {unit}");
        }
        size /= 1000;
    }
    format!("{size} TB")
}

pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        under if under < 1.0 => "–".to_owned(),
        under if under < 120.0 => format!("{under:.0} s"),
        under if under < 7200.0 => format!("{:.0} min", under / 60.0),
        hours => format!("{:.0} h", hours / 3600.0),
    }
}

/// Bars, and the same as a table for those who cannot see them.
pub(super) fn bars(title: &str, of: &str, values: &[(String, i64)]) -> Markup {
    let highest = values.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let width = 24;
    let total = i64::try_from(values.len()).unwrap_or(1) * width;
    html! {
        svg.chart role="img" aria-label=(title) viewBox={ "0 0 " (total) " 100" } preserveAspectRatio="none" {
            @for (n, (name, count)) in values.iter().enumerate() {
                @let height = (count * 96 + highest - 1) / highest;
                rect x=(i64::try_from(n).unwrap_or(0) * width + 2) y=(100 - height) width=(width - 4) height=(height) {
                    title { (name) ": " (count) }
                }
            }
        }
        details { summary { "As a table" } table {
            thead { tr { th { (of) } th { "Number" } } }
            tbody { @for (name, count) in values { tr { td { (name) } td { (count) } } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 999, 1500, 2_500_000].map(bytes), ["0 B", "999 B", "1 kB", "2 MB"]);
        assert_eq!(bytes(5_000_000_000_000), "5 TB");
        assert_eq!([0.2, 61.0, 600.0, 7200.0].map(seconds), ["–", "61 s", "10 min", "2 h"]);
        assert_eq!((bounded(5), bounded(BOUND)), ("5".to_owned(), "≥ 100000".to_owned()));
    }
}
