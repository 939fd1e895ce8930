//! Takes links and images out of an answer unless a source has them word for word: otherwise what somebody wrote could make
//! a model send the reader, or the reader's browser, and what it knows, anywhere. Works on the answer piece by piece.

use std::collections::HashSet;

/// A bracket or tag that is not closed within so many bytes is text.
const LONGEST: usize = 2_000;

#[derive(Debug)]
pub struct LinkFilter {
    allowed: HashSet<String>,
    /// What may yet become a link.
    held: String,
}

impl LinkFilter {
    pub fn new<'a>(sources: impl Iterator<Item = &'a str>) -> Self {
        LinkFilter { allowed: sources.flat_map(addresses).collect(), held: String::new() }
    }

    /// What can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let (shown, taken) = self.clean(&self.held, false);
        self.held.drain(..taken);
        shown
    }

    /// The rest.
    pub fn finish(mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.clean(&held, true).0
    }

    /// The text without forbidden links, and how much of it is decided.
    fn clean(&self, text: &str, is_end: bool) -> (String, usize) {
        let mut shown = String::new();
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            let rest = &text[at..];
            let step = match next {
                '[' | '!' => self.bracket(rest, is_end),
                '<' => self.tag(rest, is_end),
                _ if next.is_whitespace() => Step::text(&rest[..next.len_utf8()]),
                _ => self.word(rest, is_end),
            };
            let Step::Taken(length, replaced) = step else { break };
            shown.push_str(&replaced);
            at += length;
        }
        (shown, at)
    }

    /// `[text](address)` or `![text](address)`; any other bracket is text.
    fn bracket(&self, rest: &str, is_end: bool) -> Step {
        let mark = usize::from(rest.starts_with('!'));
        let is_open = |text: &str| !is_end && text.len() < LONGEST;
        match rest[mark..].chars().next() {
            None if is_open(rest) => return Step::Open,
            Some('[') => {}
            _ => return Step::text(&rest[..1]),
        }
        let Some(close) = closing(&rest[mark..], '[', ']') else {
            return if is_open(rest) { Step::Open } else { Step::text(&rest[..=mark]) };
        };
        let (label, after) = (&rest[mark + 1..mark + close], &rest[mark + close + 1..]);
        match after.chars().next() {
            None if is_open(rest) => Step::Open,
            Some('(') => match closing(after, '(', ')') {
                None if is_open(rest) => Step::Open,
                None => Step::text(&rest[..=mark]),
                Some(end) => {
                    let length = mark + close + 1 + end + 1;
                    let address = after[1..end].split_whitespace().next().unwrap_or_default();
                    let address = address.trim_start_matches('<').trim_end_matches('>');
                    match self.allowed.contains(address) {
                        true => Step::text(&rest[..length]),
                        false => Step::Taken(length, self.clean(label, true).0),
                    }
                }
            },
            _ => {
                let label = self.clean(label, true).0;
                Step::Taken(mark + close + 1, format!("{}[{label}]", &rest[..mark]))
            }
        }
    }

    /// `<address>` is a link; HTML goes.
    fn tag(&self, rest: &str, is_end: bool) -> Step {
        let is_tag = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?');
        match rest[1..].chars().next() {
            None if !is_end => return Step::Open,
            Some(c) if is_tag(c) => {}
            _ => return Step::text(&rest[..1]),
        }
        match rest.find('>') {
            Some(end) if self.allowed.contains(&rest[1..end]) => Step::text(&rest[..=end]),
            Some(end) => Step::Taken(end + 1, String::new()),
            None if !is_end && rest.len() < LONGEST => Step::Open,
            // Without its end it may still be taken for a tag.
            None => Step::Taken(1, String::new()),
        }
    }

    fn word(&self, rest: &str, is_end: bool) -> Step {
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '[' | '<' | '!'));
        let end = match end {
            Some(end) => end,
            None if is_end || rest.len() >= LONGEST => rest.len(),
            None => return Step::Open,
        };
        let word = &rest[..end];
        match address_in(word) {
            Some(address) if !self.allowed.contains(address) => {
                Step::Taken(end, word.replace(address, ""))
            }
            _ => Step::text(word),
        }
    }
}

enum Step {
    /// More of the text is needed.
    Open,
    /// So many bytes, and what stands for them.
    Taken(usize, String),
}

impl Step {
    fn text(text: &str) -> Step {
        Step::Taken(text.len(), text.to_owned())
    }
}

/// Where the bracket at the beginning is closed.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// The address in a word, without the punctuation around it.
fn address_in(word: &str) -> Option<&str> {
    let is_around = |c: char| !c.is_alphanumeric() && !matches!(c, '/' | '#' | '=' | '&' | '%');
    let start = word.find(|c: char| c.is_alphanumeric() || c == '/')?;
    let word = word[start..].trim_end_matches(is_around);
    let lower = word.to_lowercase();
    let has_host = || {
        let (host, _) = lower.split_once(['/', '?', '#'])?;
        let (_, end) = host.rsplit_once('.')?;
        (end.len() > 1 && end.chars().all(char::is_alphabetic)).then_some(())
    };
    let schemes = ["//", "www.", "mailto:", "javascript:", "data:"];
    let is_address = lower.contains("://")
        || schemes.iter().any(|scheme| lower.starts_with(scheme))
        || has_host().is_some();
    is_address.then_some(word)
}

/// All addresses of a text, as they are written.
fn addresses(text: &str) -> Vec<String> {
    let is_between = |c: char| c.is_whitespace() || "<>[]()\"".contains(c);
    text.split(is_between).filter_map(address_in).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "See https://good.example/a?b=1, [ours](https://ours.example/) and www.plain.example.";

    /// In one piece, and letter by letter.
    fn filtered(text: &str) -> String {
        let mut whole = LinkFilter::new([SOURCE].into_iter());
        let mut shown = whole.push(text);
        shown.push_str(&whole.finish());
        let mut slow = LinkFilter::new([SOURCE].into_iter());
        let mut pieces: String = text.chars().map(|c| slow.push(&c.to_string())).collect();
        pieces.push_str(&slow.finish());
        assert_eq!(pieces, shown, "{text}");
        shown
    }

    #[test]
    fn plain_text_stays() {
        for text in [
            "Water them [1] in the morning [2]. Never at noon!",
            "a < b, 3 > 2 & c; e.g. this/that (and so on), 3.50/kg, metadata:x",
            "Costs 3.50! [sic] and [a [nested] one]",
            "**bold** `code` - list\n\n1. one\n2. two",
            "größer 你好 🍅 !",
        ] {
            assert_eq!(filtered(text), text);
        }
    }

    #[test]
    fn links_of_the_sources_stay() {
        for text in [
            "Read https://good.example/a?b=1.",
            "Read [this](https://good.example/a?b=1) and <https://ours.example/>",
            "![picture](https://ours.example/) or (www.plain.example)",
            "[this](https://ours.example/ \"title\")",
        ] {
            assert_eq!(filtered(text), text);
        }
    }

    #[test]
    fn other_links_go() {
        for (text, expected) in [
            ("See https://evil.example/?d=secret now", "See  now"),
            ("See https://good.example/a?b=1&d=secret now", "See  now"),
            ("[click](https://evil.example) here", "click here"),
            ("![x](https://evil.example/p.png?d=secret) end", "x end"),
            ("[![x](https://evil.example/p.png)](https://evil.example)", "x"),
            ("<img src=https://evil.example/p.png> end", " end"),
            ("<https://evil.example/> end", " end"),
            ("<script>alert(1)</script>", "alert(1)"),
            ("<img src=x onerror=", "img src=x onerror="),
            ("evil.example/path?x www.evil.example //evil.example/x", "  "),
            ("[a]: https://evil.example", "[a]: "),
            ("[go](javascript:alert(1)) or [go](data:text/html,x)", "go or go"),
            ("HTTPS://EVIL.example/x", ""),
        ] {
            assert_eq!(filtered(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_never_closed_is_shown_in_the_end() {
        let long = format!("[{}", "word ".repeat(1_000));
        assert_eq!(filtered(&long), long);
    }
}
