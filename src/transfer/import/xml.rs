//! XML of strangers, element by element. Nothing is fetched and nothing is expanded: a document type declaration is refused,
//! and with it every entity that is not one of XML's own. Elements, their depth and their texts are bounded.

use std::io::{self, BufRead, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::transfer::Result;

/// Bytes of one tag, comment or piece of text, and of all text of an element.
const LONGEST: usize = 16 << 20;
const DEEPEST: usize = 64;

/// The start of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    /// As it is written, with its prefix.
    pub(super) name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }
}

pub(super) enum Node {
    Start(Element),
    End,
    Eof,
}

pub(super) struct Xml<R> {
    reader: Reader<Bounded<R>>,
    buffer: Vec<u8>,
    depth: usize,
}

impl<R: BufRead> Xml<R> {
    pub(super) fn new(from: R) -> Self {
        let mut reader = Reader::from_reader(Bounded { from, read: 0 });
        reader.config_mut().expand_empty_elements = true;
        Xml { reader, buffer: Vec::new(), depth: 0 }
    }

    fn wrong(&self, why: impl std::fmt::Display) -> String {
        format!("byte {}: {why}", self.reader.buffer_position())
    }

    /// The next tag; text between tags is skipped.
    pub(super) fn next(&mut self) -> Result<Node> {
        loop {
            if let Some(node) = self.event(None)? {
                return Ok(node);
            }
        }
    }

    /// One event; text is added to what was read of an element, if that is wanted.
    fn event(&mut self, text: Option<&mut String>) -> Result<Option<Node>> {
        self.buffer.clear();
        self.reader.get_mut().read = 0;
        let position = self.reader.buffer_position();
        let wrong = |why: &dyn std::fmt::Display| format!("byte {position}: {why}");
        let event = self.reader.read_event_into(&mut self.buffer).map_err(|error| wrong(&error))?;
        let not_utf8 = |_| wrong(&"the text is not UTF-8");
        let piece = match &event {
            Event::Start(start) => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(wrong(&"elements are nested too deeply").into());
                }
                return Ok(Some(Node::Start(element(start).map_err(|why| wrong(&why))?)));
            }
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                return Ok(Some(Node::End));
            }
            Event::Eof if self.depth > 0 => return Err(wrong(&"the file is cut off").into()),
            Event::Eof => return Ok(Some(Node::Eof)),
            Event::DocType(_) => {
                let why = "a document type declaration is refused: it could define entities";
                return Err(wrong(&why).into());
            }
            Event::Text(piece) => std::str::from_utf8(piece).map_err(not_utf8)?.to_owned(),
            Event::CData(piece) => std::str::from_utf8(piece).map_err(not_utf8)?.to_owned(),
            Event::GeneralRef(name) => {
                let name = std::str::from_utf8(name).map_err(not_utf8)?;
                referred(name).ok_or_else(|| wrong(&format!("the entity &{name}; is not known")))?
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Empty(_) => String::new(),
        };
        if let Some(text) = text {
            text.push_str(&piece);
            if text.len() > LONGEST {
                return Err(wrong(&"the text of an element is too long").into());
            }
        }
        Ok(None)
    }

    /// The text of the element that has just begun, up to its end; elements in it are skipped.
    pub(super) fn text(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            match self.event(Some(&mut text))? {
                Some(Node::Start(_)) => self.skip()?,
                Some(Node::End) => return Ok(text),
                Some(Node::Eof) => return Err(self.wrong("the file is cut off").into()),
                None => {}
            }
        }
    }

    /// Skips the rest of the element that has just begun.
    pub(super) fn skip(&mut self) -> Result<()> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if matches!(self.next()?, Node::Eof) {
                return Err(self.wrong("the file is cut off").into());
            }
        }
        Ok(())
    }

    /// Passes on each element inside the one that has just begun. `take` reads it to its end.
    pub(super) fn children(
        &mut self,
        take: &mut dyn FnMut(&mut Self, Element) -> Result<()>,
    ) -> Result<()> {
        let inside = self.depth;
        loop {
            match self.next()? {
                Node::Start(element) => {
                    take(self, element)?;
                    while self.depth > inside {
                        self.next()?;
                    }
                }
                Node::End => return Ok(()),
                Node::Eof => return Err(self.wrong("the file is cut off").into()),
            }
        }
    }
}

/// The root element has begun.
pub(super) fn root<R: BufRead>(xml: &mut Xml<R>, name: &str) -> Result<()> {
    match xml.next()? {
        Node::Start(element) if element.name == name => Ok(()),
        _ => Err(format!("the file does not begin with <{name}>").into()),
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, String> {
    let text = |bytes: &[u8]| {
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "a tag is not UTF-8".to_owned())
    };
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = unescaped(&text(&attribute.value)?)?;
        attributes.push((text(attribute.key.as_ref())?, value));
    }
    Ok(Element { name: text(start.name().as_ref())?, attributes })
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';').ok_or("an & stands alone in an attribute")?;
        plain += &referred(name).ok_or_else(|| format!("the entity &{name}; is not known"))?;
        plain += rest;
    }
    Ok(plain)
}

/// The character that XML itself names so, or that is named by its number.
fn referred(name: &str) -> Option<String> {
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        name => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number).filter(|character| *character != '\0')?
        }
    };
    Some(character.to_string())
}

/// Fails when one event takes too many bytes.
struct Bounded<R> {
    from: R,
    /// Since the event began.
    read: usize,
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.read += count;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.read > LONGEST {
            return Err(io::Error::other("a tag or a text is too long"));
        }
        let left = LONGEST + 1 - self.read;
        self.from.fill_buf().map(|bytes| &bytes[..bytes.len().min(left)])
    }

    fn consume(&mut self, count: usize) {
        self.read += count;
        self.from.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(document: &[u8]) -> Result<String, String> {
        let mut xml = Xml::new(document);
        root(&mut xml, "a").and_then(|()| xml.text()).map_err(|failure| failure.0)
    }

    #[test]
    fn text_is_put_together() {
        let document =
            b"<?xml version=\"1.0\"?><!-- c --><a>1 &lt;&#233;&#x41;<b>no</b><![CDATA[&<2>]]></a>";
        assert_eq!(text(document).unwrap(), "1 <\u{e9}A&<2>");
    }

    #[test]
    fn attributes_are_read() {
        let mut xml = Xml::new(&b"<a x:id=\"1&amp;2\"/>"[..]);
        let Node::Start(element) = xml.next().unwrap() else { panic!() };
        assert_eq!(element.attribute("x:id"), Some("1&2"));
        assert!(matches!(xml.next().unwrap(), Node::End));
        assert!(matches!(xml.next().unwrap(), Node::Eof));
    }

    #[test]
    fn nothing_is_expanded_and_nothing_is_fetched() {
        let laughs = b"<!DOCTYPE a [<!ENTITY l \"ha\"><!ENTITY m \"&l;&l;\">]><a>&m;</a>";
        assert!(text(laughs).unwrap_err().contains("document type declaration is refused"));
        let external = b"<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>";
        assert!(text(external).unwrap_err().contains("document type declaration is refused"));
        assert!(text(b"<a>&x;</a>").unwrap_err().contains("the entity &x; is not known"));
        assert!(text(b"<a>&#0;</a>").is_err());
    }

    #[test]
    fn what_is_too_much_or_broken_is_refused() {
        assert!(text(b"<a>\xff</a>").unwrap_err().contains("not UTF-8"));
        assert!(text(b"<a>cut").unwrap_err().contains("cut off"));
        assert!(text(b"<a></b>").is_err());
        let deep = ["<a>".repeat(100), "</a>".repeat(100)].concat();
        assert!(text(deep.as_bytes()).unwrap_err().contains("nested too deeply"));
        let long = ["<a>", &"x".repeat(LONGEST + 1), "</a>"].concat();
        assert!(text(long.as_bytes()).unwrap_err().contains("too long"));
        let tag = ["<a ", &"x".repeat(2 * LONGEST), ">"].concat();
        assert!(text(tag.as_bytes()).unwrap_err().contains("too long"));
    }
}
