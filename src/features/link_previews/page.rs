//! Parses a page in one pass into the few facts that metadata needs. What is kept is bounded, however long
//! the page's lists and texts are.

use std::borrow::Cow;
use std::convert::Infallible;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use serde_json::{Map, Value};

const MAX_METAS: usize = 1000;
const MAX_LINKS: usize = 200;
/// Maximum bytes of one text, before it is cleaned and cut.
const MAX_TEXT: usize = 8 * 1024;
const MAX_JSON_LD: usize = 20;
/// Maximum bytes of all JSON-LD texts of a page.
const MAX_JSON_LD_TEXT: usize = 64 * 1024;
/// How far into a page its charset is searched.
const CHARSET_WINDOW: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Page {
    pub charset: String,
    pub lang: Option<String>,
    pub title: Option<String>,
    pub base: Option<String>,
    /// Key (the `property` or `name`, lower case) and content, in the order of the page.
    pub metas: Vec<(String, String)>,
    /// `rel` (lower case) and `href`.
    pub links: Vec<(String, String)>,
    pub json_ld: Vec<Map<String, Value>>,
}

impl Page {
    /// `declared` is the charset of the `Content-Type`, if it names one.
    pub(super) fn read(bytes: &[u8], declared: Option<&str>) -> Page {
        let (text, encoding) = decode(bytes, declared);
        let mut page = Page { charset: encoding.name().to_ascii_lowercase(), ..Page::default() };
        let mut inside = Inside::Nothing;
        let mut json_room = MAX_JSON_LD_TEXT;
        for token in tokens(&text) {
            match token {
                Token::StartTag(tag) => {
                    inside = page.start(&tag);
                }
                Token::String(text) => match &mut inside {
                    Inside::Nothing => {}
                    Inside::Title(title) => append(title, &text, MAX_TEXT),
                    // One byte more than fits shows whether a text was cut.
                    Inside::JsonLd(json) => append(json, &text, json_room + 1),
                },
                Token::EndTag(_) => match std::mem::take(&mut inside) {
                    Inside::Nothing => {}
                    Inside::Title(title) => page.title = Some(title),
                    Inside::JsonLd(json) if json.len() <= json_room => {
                        json_room -= json.len();
                        page.add_json_ld(&json);
                    }
                    Inside::JsonLd(_) => {}
                },
                _ => {}
            }
        }
        page
    }

    /// Reads a tag's attributes; returns what its text will mean.
    fn start(&mut self, tag: &StartTag<()>) -> Inside {
        let attribute = |name: &str| attribute(tag, name);
        match tag.name.as_slice() {
            b"html" => self.lang = self.lang.take().or(attribute("lang")),
            b"base" => self.base = self.base.take().or(attribute("href")),
            b"meta" if self.metas.len() < MAX_METAS => {
                let key = attribute("property").or_else(|| attribute("name"));
                if let (Some(key), Some(content)) = (key, attribute("content")) {
                    self.metas.push((key.trim().to_ascii_lowercase(), content));
                }
            }
            b"link" if self.links.len() < MAX_LINKS => {
                if let (Some(rel), Some(href)) = (attribute("rel"), attribute("href")) {
                    self.links.push((rel.to_ascii_lowercase(), href));
                }
            }
            b"title" if self.title.is_none() => return Inside::Title(String::new()),
            b"script" => {
                let kind = attribute("type").unwrap_or_default();
                if kind.trim().eq_ignore_ascii_case("application/ld+json") {
                    return Inside::JsonLd(String::new());
                }
            }
            _ => {}
        }
        Inside::Nothing
    }

    /// One document, or a list of them; values that are no objects are dropped.
    fn add_json_ld(&mut self, text: &str) {
        let documents = match serde_json::from_str(text) {
            Ok(Value::Array(items)) => items,
            Ok(other) => vec![other],
            Err(_) => return,
        };
        let objects = documents.into_iter().filter_map(|document| match document {
            Value::Object(object) => Some(object),
            _ => None,
        });
        self.json_ld.extend(objects);
        self.json_ld.truncate(MAX_JSON_LD);
    }
}

/// The element whose text is being read, and the text so far.
#[derive(Debug, Default)]
enum Inside {
    #[default]
    Nothing,
    Title(String),
    JsonLd(String),
}

fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    let mut emitter = DefaultEmitter::default();
    // Scripts and titles hold text, not tags.
    emitter.naively_switch_states(true);
    let tokens = Tokenizer::new_with_emitter(text, emitter);
    tokens.map(|token: Result<Token, Infallible>| match token {
        Ok(token) => token,
        Err(never) => match never {},
    })
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    let mut text = String::new();
    append(&mut text, value, MAX_TEXT);
    Some(text)
}

fn append(text: &mut String, more: &[u8], most: usize) {
    let room = most.saturating_sub(text.len());
    text.push_str(&String::from_utf8_lossy(&more[..more.len().min(room)]));
}

/// The charset: byte order mark, then the server's header, then the page's own; else UTF-8 if valid, and
/// Windows-1252 otherwise.
fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> (Cow<'a, str>, &'static Encoding) {
    let named = declared
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| charset_of(&bytes[..bytes.len().min(CHARSET_WINDOW)]));
    let guessed = || if is_utf8(bytes) { UTF_8 } else { WINDOWS_1252 };
    let (text, encoding, _) = named.unwrap_or_else(guessed).decode(bytes);
    (text, encoding)
}

/// A character cut in half at the very end is due to the limit on the body.
fn is_utf8(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

fn charset_of(head: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(head);
    tokens(&head).find_map(|token| {
        let Token::StartTag(tag) = token else { return None };
        if tag.name.as_slice() != b"meta" {
            return None;
        }
        let label = attribute(&tag, "charset").or_else(|| {
            let header = attribute(&tag, "http-equiv")?;
            let is_type = header.eq_ignore_ascii_case("content-type");
            is_type
                .then(|| charset_parameter(&attribute(&tag, "content")?).map(ToOwned::to_owned))?
        })?;
        // A page whose tags are readable as ASCII is not in UTF-16, whatever it claims.
        let encoding = Encoding::for_label(label.as_bytes())?;
        Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
    })
}

/// `text/html; charset="x"`: x.
pub(super) fn charset_parameter(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_scripts_are_text_and_only_the_first_title_counts() {
        let html = "<html lang=en><title>A <b>&amp; B</title><script>var x = '<title>no</title>'\
                    </script><meta NAME=Author content='x \"y\"'><svg><title>icon</title></svg>";
        let page = Page::read(html.as_bytes(), None);
        assert_eq!(page.title.as_deref(), Some("A <b>& B"));
        assert_eq!(page.lang.as_deref(), Some("en"));
        assert_eq!(page.metas, [("author".to_owned(), "x \"y\"".to_owned())]);
    }

    #[test]
    fn the_charset_is_the_mark_then_the_header_then_the_page_then_a_guess() {
        let title = |bytes: &[u8], declared| {
            let page = Page::read(bytes, declared);
            (page.title.unwrap(), page.charset)
        };
        let expect = |text: &str, charset: &str| (text.to_owned(), charset.to_owned());
        assert_eq!(
            title(b"\xef\xbb\xbf<title>\xc3\xbc</title>", Some("latin1")),
            expect("ü", "utf-8")
        );
        assert_eq!(title(b"<title>\xc1</title>", Some("koi8-r")), expect("а", "koi8-r"));
        let sjis = b"<meta charset=shift_jis><title>\x83\x65\x83\x58\x83\x67</title>";
        assert_eq!(title(sjis, None), expect("テスト", "shift_jis"));
        let old = b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'><title>\xc1</title>";
        assert_eq!(title(old, None), expect("а", "koi8-r"));
        assert_eq!(
            title(b"<meta charset=utf-16><title>\xc3\xbc</title>", None),
            expect("ü", "utf-8")
        );
        assert_eq!(title(b"<title>\xc3\xbc</title>", None), expect("ü", "utf-8"));
        assert_eq!(title(b"<title>\xfc</title>", None), expect("ü", "windows-1252"));
        assert_eq!(title(b"<title>\xc3\xbc</title>\xc3", None), expect("ü", "utf-8"));
        assert_eq!(
            title("<title>\u{fc}</title>".as_bytes(), Some("nonsense")),
            expect("ü", "utf-8")
        );
    }

    #[test]
    fn what_is_kept_of_a_page_is_bounded() {
        let metas = "<meta property=og:image content=/x>".repeat(10_000);
        let links = "<link rel=icon href=/x>".repeat(10_000);
        let json =
            r#"<script type="application/ld+json">[{"a":1},2,{"b":2}]</script>"#.repeat(1000);
        let title = "x".repeat(1_000_000);
        let html = format!("<title>{title}</title>{metas}{links}{json}");
        let page = Page::read(html.as_bytes(), None);
        assert_eq!(page.title.unwrap().len(), MAX_TEXT);
        assert_eq!(page.metas.len(), MAX_METAS);
        assert_eq!(page.links.len(), MAX_LINKS);
        assert_eq!(page.json_ld.len(), MAX_JSON_LD);
    }

    #[test]
    fn json_ld_that_is_broken_too_deep_or_too_long_is_left_out() {
        let script = |json: &str| format!("<script type='Application/LD+JSON'>{json}</script>");
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_JSON_LD_TEXT));
        let parts = ["{", "7", &deep, &long, r#"{"@type":"Event"}"#].map(script).concat();
        let page = Page::read(parts.as_bytes(), None);
        assert_eq!(page.json_ld.len(), 1);
        assert_eq!(page.json_ld[0]["@type"], "Event");
    }
}
