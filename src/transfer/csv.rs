//! CSV as RFC 4180 describes it. As in PostgreSQL an empty cell is null, and `""` an empty text.

use std::io::{self, BufRead, Write};

/// The longest cell.
const LONGEST: usize = 16 << 20;

/// `None` if nothing stands in it.
pub type Cell = Option<String>;

pub fn write(to: &mut dyn Write, cells: &[Cell]) -> io::Result<()> {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            to.write_all(b",")?;
        }
        match cell {
            None => {}
            Some(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
                write!(to, "\"{}\"", text.replace('"', "\"\""))?;
            }
            Some(text) => to.write_all(text.as_bytes())?,
        }
    }
    to.write_all(b"\r\n")
}

/// The rows of a file, one at a time.
#[derive(Debug)]
pub struct Rows<R> {
    from: R,
    /// A byte that was read too far.
    ahead: Option<u8>,
    /// The number of the last line that was read.
    pub line: u64,
    begun: bool,
}

impl<R: BufRead> Rows<R> {
    pub fn new(from: R) -> Self {
        Rows { from, ahead: None, line: 0, begun: false }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        if let Some(byte) = self.ahead.take() {
            return Ok(Some(byte));
        }
        let byte = self.from.fill_buf()?.first().copied();
        self.from.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    /// None at the end. An empty line is no row.
    pub fn next_row(&mut self) -> Result<Option<Vec<Cell>>, String> {
        loop {
            match self.one_line()? {
                Some(cells) if cells == [None] => {}
                row => return Ok(row),
            }
        }
    }

    fn one_line(&mut self) -> Result<Option<Vec<Cell>>, String> {
        let (mut cells, mut cell, mut quoted, mut any) = (Vec::new(), Vec::new(), false, false);
        let mut was_quoted = false;
        self.line += 1;
        let line = self.line;
        let wrong = |why: &str| format!("line {line}: {why}");
        let end = |cell: Vec<u8>, was_quoted: bool| match String::from_utf8(cell) {
            Ok(text) => Ok(Some(text).filter(|text| was_quoted || !text.is_empty())),
            Err(_) => Err(wrong("is not UTF-8")),
        };
        while let Some(byte) = self.byte().map_err(|error| error.to_string())? {
            any = true;
            if cell.len() >= LONGEST {
                return Err(wrong("a cell is too long"));
            }
            match byte {
                b'"' if quoted => match self.byte().map_err(|error| error.to_string())? {
                    Some(b'"') => cell.push(b'"'),
                    next => {
                        quoted = false;
                        self.ahead = next;
                    }
                },
                b'"' if cell.is_empty() && !was_quoted => (quoted, was_quoted) = (true, true),
                byte if quoted => {
                    self.line += u64::from(byte == b'\n');
                    cell.push(byte);
                }
                b',' => {
                    cells.push(end(std::mem::take(&mut cell), was_quoted)?);
                    was_quoted = false;
                }
                b'\n' => break,
                b'\r' => {}
                byte => cell.push(byte),
            }
        }
        if quoted {
            return Err(wrong("a quote is never closed"));
        }
        if !any {
            return Ok(None);
        }
        cells.push(end(cell, was_quoted)?);
        if !std::mem::replace(&mut self.begun, true)
            && let Some(first) = &mut cells[0]
        {
            // What spreadsheets write before the first letter.
            *first = first.trim_start_matches('\u{feff}').to_owned();
        }
        Ok(Some(cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[u8]) -> Result<Vec<Vec<Cell>>, String> {
        let mut rows = Rows::new(text);
        std::iter::from_fn(|| rows.next_row().transpose()).collect()
    }

    fn cell(text: &str) -> Cell {
        Some(text.to_owned())
    }

    #[test]
    fn rows_are_read_as_the_rfc_says() {
        let text = b"\xef\xbb\xbfa,b\r\n\"x, \"\"y\"\"\r\nz\",\r\n\r\n,\"\"\nlast,1";
        let expected = [
            [cell("a"), cell("b")],
            [cell("x, \"y\"\r\nz"), None],
            [None, cell("")],
            [cell("last"), cell("1")],
        ];
        assert_eq!(rows(text).unwrap(), expected);
        assert!(rows(b"\"open").unwrap_err().contains("never closed"));
        assert!(rows(b"a\n\xff").unwrap_err().starts_with("line 2: is not UTF-8"));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let cells = [cell("plain"), None, cell(""), cell("a,b"), cell("\"q\"\n\r x"), cell("é")];
        let mut bytes = Vec::new();
        write(&mut bytes, &cells).unwrap();
        assert_eq!(rows(&bytes).unwrap(), [cells]);
    }
}
