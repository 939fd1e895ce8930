//! Sanitizes text from web pages: plain, on one line, of bounded length, and only addresses that are safe to
//! follow.

use serde_json::{Map, Value};
use url::Url;

const MAX_URL: usize = 2048;

/// A text without markup, control characters and direction overrides, with collapsed white space, cut at
/// `most` characters; `None` if nothing is left.
pub(super) fn plain(text: &str, most: usize) -> Option<String> {
    // Removing markup can only shorten a text, so text far beyond the cut need not be read.
    let head: String = text.chars().take(most.saturating_mul(4)).collect();
    let cleaned: String = without_tags(head)
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !is_unprintable(*c))
        .collect();
    let mut words = String::new();
    for word in cleaned.split(' ').filter(|word| !word.is_empty()) {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    let cut: String = words.chars().take(most).collect();
    let cut = cut.trim_end();
    (!cut.is_empty()).then(|| cut.to_owned())
}

/// Removes tags until none is left: removing one may join two halves into another.
fn without_tags(mut text: String) -> String {
    loop {
        let Some(start) = tag_start(&text) else { return text };
        let end = text[start..].find('>').map_or(text.len(), |length| start + length + 1);
        text.replace_range(start..end, " ");
    }
}

/// Where a `<` begins what a browser would parse as a tag.
fn tag_start(text: &str) -> Option<usize> {
    text.match_indices('<').map(|(at, _)| at).find(|at| {
        let next = text[at + 1..].chars().next();
        next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
    })
}

/// Control characters and direction overrides.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// A web address, resolved against the page's own.
pub(super) fn web_url(base: &Url, text: &str) -> Option<String> {
    let url = base.join(bounded(text)?).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    (is_web && url.as_str().len() <= MAX_URL).then(|| url.into())
}

/// An address of an app's scheme, such as `notes://42`; never a scheme that runs or embeds something.
pub(super) fn app_url(text: &str) -> Option<String> {
    let url = Url::parse(bounded(text)?).ok()?;
    let active = ["javascript", "vbscript", "data", "blob", "file", "filesystem", "about"];
    (!active.contains(&url.scheme()) && url.as_str().len() <= MAX_URL).then(|| url.into())
}

fn bounded(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && text.len() <= MAX_URL).then_some(text)
}

/// A JSON document without control characters in its texts and keys.
pub(super) fn clean_object(object: Map<String, Value>) -> Map<String, Value> {
    object.into_iter().map(|(key, value)| (clean(&key), clean_value(value))).collect()
}

fn clean_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(items) => items.into_iter().map(clean_value).collect(),
        Value::Object(object) => Value::Object(clean_object(object)),
        other => other,
    }
}

fn clean(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_unprintable(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_plain() {
        for (text, expected) in [
            ("  Two \n\t words ", Some("Two words")),
            ("<b>Bold</b> &amp; 1 < 2 > 0", Some("Bold &amp; 1 < 2 > 0")),
            ("<script>alert(1)</script>", Some("alert(1)")),
            ("<<b>script>alert(1)<</b>/script>", Some("< script>alert(1)< /script>")),
            ("<img src=x onerror=alert(1)", None),
            ("\u{1b}[31mred\u{1b}[0m\u{7}", Some("[31mred[0m")),
            ("abc\u{202e}txt.exe", Some("abctxt.exe")),
            ("\u{0}\u{0}", None),
            ("👩\u{200d}🚀", Some("👩\u{200d}🚀")),
        ] {
            assert_eq!(plain(text, 100).as_deref(), expected, "{text:?}");
        }
        assert_eq!(plain(&"é".repeat(1_000_000), 300).unwrap().chars().count(), 300);
    }

    #[test]
    fn only_addresses_that_are_safe_to_follow_are_kept() {
        let base = Url::parse("https://example.com/a/b").unwrap();
        assert_eq!(web_url(&base, " c.png ").unwrap(), "https://example.com/a/c.png");
        assert_eq!(web_url(&base, "//cdn.example/x").unwrap(), "https://cdn.example/x");
        for wrong in ["", "javascript:alert(1)", "data:image/png;base64,x", "file:///x", "mailto:x"]
        {
            assert_eq!(web_url(&base, wrong), None, "{wrong}");
        }
        assert_eq!(web_url(&base, &"x".repeat(3000)), None);
        assert_eq!(app_url("notes://42").unwrap(), "notes://42");
        for wrong in ["", "42", "JavaScript:alert(1)", "data:text/html,x", "file:///x"] {
            assert_eq!(app_url(wrong), None, "{wrong}");
        }
    }
}
