//! The grammar of `multipart/form-data`, fed chunk by chunk. It buffers no more than a part's head or one
//! boundary, so its memory does not depend on the size of the body.

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memmem::Finder;

use crate::http::multipart::head::{self, PartHead};

const MAX_BOUNDARY: usize = 70;
/// The headers of one part.
const MAX_HEAD: usize = 8 * 1024;
/// Spaces allowed between a boundary and the end of its line.
const MAX_PADDING: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// More input is needed.
    Hungry,
    Begin(PartHead),
    Data(Bytes),
    End,
    /// The last boundary; what follows is ignored.
    Done,
}

#[derive(Debug)]
pub struct Parser {
    boundary: Finder<'static>,
    buffer: BytesMut,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Preamble,
    /// Just behind a boundary.
    Boundary,
    Head,
    Data,
    Done,
}

impl Parser {
    /// `None` for a content type that names no usable boundary.
    pub fn new(content_type: &str) -> Option<Self> {
        let boundary = head::parameter(content_type, "boundary")?;
        if boundary.is_empty() || boundary.len() > MAX_BOUNDARY || !boundary.is_ascii() {
            return None;
        }
        let boundary = Finder::new(&format!("\r\n--{boundary}")).into_owned();
        // The first boundary may be at the very beginning, without a line break before it.
        Some(Parser { boundary, buffer: BytesMut::from("\r\n"), state: State::Preamble })
    }

    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    pub fn next(&mut self) -> Result<Event, &'static str> {
        loop {
            match self.state {
                State::Preamble => match self.boundary.find(&self.buffer) {
                    Some(at) => self.pass(at),
                    None => {
                        self.buffer.advance(self.surely_data());
                        return Ok(Event::Hungry);
                    }
                },
                State::Boundary => match self.line_end()? {
                    Some(event) => return Ok(event),
                    None => self.state = State::Head,
                },
                State::Head => return self.head(),
                State::Data => return Ok(self.data()),
                State::Done => return Ok(Event::Done),
            }
        }
    }

    /// Drops everything up to this boundary, and the boundary itself.
    fn pass(&mut self, at: usize) {
        self.buffer.advance(at + self.boundary.needle().len());
        self.state = State::Boundary;
    }

    /// How many bytes cannot be the beginning of a boundary that is not complete yet.
    fn surely_data(&self) -> usize {
        self.buffer.len().saturating_sub(self.boundary.needle().len() - 1)
    }

    /// What ends the line of a boundary: two dashes end the form, a line break opens a part.
    fn line_end(&mut self) -> Result<Option<Event>, &'static str> {
        let blanks = self.buffer.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if blanks > MAX_PADDING {
            return Err("a boundary is followed by too many blanks");
        }
        let Some(end) = self.buffer.get(blanks..blanks + 2) else {
            return Ok(Some(Event::Hungry));
        };
        match end {
            b"--" if blanks == 0 => {
                self.state = State::Done;
                Ok(Some(Event::Done))
            }
            b"\r\n" => {
                self.buffer.advance(blanks + 2);
                Ok(None)
            }
            _ => Err("a boundary is not at the end of its line"),
        }
    }

    fn head(&mut self) -> Result<Event, &'static str> {
        let length = memchr::memmem::find(&self.buffer, b"\r\n\r\n");
        if length.unwrap_or(self.buffer.len()) > MAX_HEAD {
            return Err("the headers of a part are too large");
        }
        let Some(length) = length else {
            return Ok(Event::Hungry);
        };
        let head = PartHead::parse(&self.buffer[..length])?;
        self.buffer.advance(length + 4);
        self.state = State::Data;
        Ok(Event::Begin(head))
    }

    fn data(&mut self) -> Event {
        match self.boundary.find(&self.buffer) {
            Some(0) => {
                self.pass(0);
                Event::End
            }
            Some(at) => Event::Data(self.buffer.split_to(at).freeze()),
            None => match self.surely_data() {
                0 => Event::Hungry,
                sure => Event::Data(self.buffer.split_to(sure).freeze()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=xYz";

    /// Names and contents of the parts, the text being fed in pieces of this size.
    fn parts(text: &[u8], piece: usize) -> Result<Vec<(String, String)>, &'static str> {
        let mut parser = Parser::new(TYPE).unwrap();
        let (mut pieces, mut parts) = (text.chunks(piece), Vec::new());
        loop {
            match parser.next()? {
                Event::Hungry => parser.push(pieces.next().ok_or("ended early")?),
                Event::Begin(head) => parts.push((head.name, Vec::new())),
                Event::Data(data) => parts.last_mut().unwrap().1.extend_from_slice(&data),
                Event::End => {}
                Event::Done => break,
            }
            assert!(parser.buffer.len() <= piece + MAX_HEAD + 100, "memory is bounded");
        }
        let text = |(name, data)| (name, String::from_utf8(data).unwrap());
        Ok(parts.into_iter().map(text).collect())
    }

    fn part(name: &str, content: &str) -> String {
        format!("--xYz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
    }

    #[test]
    fn parts_are_the_same_however_they_are_cut() {
        let almost = "\r\n--xY\r\n--xY \r\r\n-";
        let text = format!(
            "preamble\r\n{}{}{}--xYz-- epilogue",
            part("a", "1"),
            part("empty", ""),
            part("b", almost)
        );
        let expected = [("a", "1"), ("empty", ""), ("b", almost)];
        let expected = expected.map(|(name, content)| (name.to_owned(), content.to_owned()));
        for piece in 1..text.len() {
            assert_eq!(parts(text.as_bytes(), piece).unwrap(), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn blanks_may_follow_a_boundary() {
        let text = part("a", "1").replace("--xYz", "--xYz \t") + "--xYz--";
        assert_eq!(parts(text.as_bytes(), 7).unwrap().len(), 1);
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let head = |size: usize| {
            part("a", "1").replace("\r\n\r\n", &format!("\r\nX: {}\r\n\r\n", "x".repeat(size)))
        };
        assert!(parts((head(8000) + "--xYz--").as_bytes(), 512).is_ok());
        for text in [
            String::new(),
            part("a", "1"),
            "--xYz".to_owned(),
            part("a", "1").replace("\r\n\r\n", "\r\n"),
            part("a", "1").replace("form-data; name=\"a\"", "form-data") + "--xYz--",
            part("a", "1").replace("Content-Disposition", "Content-Type") + "--xYz--",
            format!("--xYz{}\r\n", " ".repeat(100)),
            "--xYzabc\r\n".to_owned(),
            head(9000) + "--xYz--",
            head(1_000_000) + "--xYz--",
        ] {
            assert!(parts(text.as_bytes(), 512).is_err(), "{:.200}", text.escape_debug());
        }
    }

    #[test]
    fn a_boundary_is_needed_and_short() {
        for wrong in ["multipart/form-data", "multipart/form-data; boundary=", "x; boundary=ü"] {
            assert!(Parser::new(wrong).is_none(), "{wrong}");
        }
        assert!(
            Parser::new(&format!("multipart/form-data; boundary={}", "x".repeat(71))).is_none()
        );
        for right in
            ["multipart/form-data; boundary=\"a b\"", "multipart/form-data;Boundary=x; a=b"]
        {
            assert!(Parser::new(right).is_some(), "{right}");
        }
    }
}
