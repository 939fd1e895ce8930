//! CSV as RFC 4180 describes it: a plain file of users or posts, or the folder of an export.
//!
//! | file | columns |
//! |---|---|
//! | users | `foreignId`, `username`, `email`, `name`, `bio`, `avatar`, `createdAt`, … |
//! | posts | `foreignId`, `title`, `content`, `author` (the foreign id of a user), `keywords` (separated by `;`, or JSON), `createdAt`, … |
//! | comments | `foreignId`, `post` and `parent` (foreign ids), `author`, `content`, `createdAt`, … |

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use db::Value;

use super::draft::Draft;
use super::source::{Item, Take};
use crate::features::exports::document::{plain, wanted};
use crate::features::exports::kinds::{self, Kind};
use crate::transfer::Result;
use crate::values::metadata::to_json;

/// The longest cell.
const LONGEST: usize = 16 << 20;
const TYPE: &str = "type";
/// Columns that name a document by its foreign id: the type, the column, the field, the table.
const REFERENCES: &[(&str, &str, &str, &str)] = &[
    ("entity", "author", "user_id", "users"),
    ("comment", "author", "user_id", "users"),
    ("comment", "post", "entity_id", "entities"),
    ("comment", "parent", "parent_id", "comments"),
];

/// Types under the names that people give them.
fn kind_of(name: &str) -> Option<&'static Kind> {
    kinds::find(match name {
        "users" => "user",
        "post" | "posts" | "entities" => "entity",
        "comments" => "comment",
        name => name,
    })
}

/// Every CSV file of a folder, in the order of the types.
pub(super) fn read_folder(path: &Path, take: Take<'_>) -> Result<()> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match kind_of(&stem) {
            Some(kind) => {
                found.push((kinds::all().iter().position(|one| one.name == kind.name), kind, path));
            }
            None => take(Item::left_out("unknown", stem, "files of this name are not read"))?,
        }
    }
    found.sort_by_key(|(place, ..)| *place);
    found.into_iter().try_for_each(|(_, kind, path)| read(&path, Some(kind), take))
}

/// One file, of users or of posts by its columns, or of both with a column `type`.
pub(super) fn read_file(path: &Path, take: Take<'_>) -> Result<()> {
    read(path, None, take)
}

fn read(path: &Path, kind: Option<&'static Kind>, take: Take<'_>) -> Result<()> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
    let mut rows = Rows::new(BufReader::with_capacity(1 << 16, file));
    let Some(head) = rows.next_row().map_err(|error| format!("{name}: {error}"))? else {
        return Ok(());
    };
    let typed = head.iter().position(|column| column == TYPE);
    let has = |column: &str| head.iter().any(|name| name == column);
    let guess = if has("post") || has("entityId") {
        "comment"
    } else if has("title") || has("content") {
        "entity"
    } else {
        "user"
    };
    // In an export `type` is a field of some documents.
    let fixed = kind.or_else(|| kinds::find(guess).filter(|_| typed.is_none()));
    while let Some(cells) = rows.next_row().map_err(|error| format!("{name}: {error}"))? {
        let label = format!("{name}:{}", rows.line);
        if cells.len() != head.len() {
            let reason = "the row has another number of cells than the header";
            take(Item::left_out("unknown", label, reason))?;
            continue;
        }
        let kind = fixed.or_else(|| kind_of(&cells[typed?]));
        take(match kind {
            None => Item::left_out("unknown", label, "rows of this type are not known"),
            Some(kind) => match draft(kind, &head, cells) {
                Ok(draft) => Item::Document(Box::new(draft)),
                Err(reason) => Item::LeftOut { kind: kind.name, label, reason },
            },
        })?;
    }
    Ok(())
}

fn draft(kind: &'static Kind, head: &[String], cells: Vec<String>) -> Result<Draft, String> {
    let values = vec![Value::Null; kind.fields.len()];
    let mut draft = Draft { kind, values, foreign: Vec::new(), label: String::new() };
    for (column, cell) in head.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
        let reference = REFERENCES.iter().find(|(of, name, ..)| *of == kind.name && name == column);
        if let Some((_, _, field, table)) = reference {
            draft.refer(field, table, cell);
            continue;
        }
        let Some(at) = kind.fields.iter().position(|field| field.name == *column) else { continue };
        let words = || cell.split(';').map(str::trim).collect::<Vec<_>>();
        let value = match column.as_str() {
            "keywords" if !cell.starts_with('[') => Some(Value::Json(to_json(&words()).into())),
            _ => plain(kind.fields[at].kind, cell),
        };
        let wrong = || format!("{column}: {}", wanted(kind.fields[at].kind));
        draft.values[at] = value.ok_or_else(wrong)?;
    }
    Ok(draft)
}

/// Writes a row.
pub(in crate::transfer) fn write(to: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            to.write_all(b",")?;
        }
        if cell.contains(['"', ',', '\n', '\r']) {
            write!(to, "\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            to.write_all(cell.as_bytes())?;
        }
    }
    to.write_all(b"\r\n")
}

/// The rows of a file, one at a time.
struct Rows<R> {
    from: R,
    /// A byte that was read too far.
    ahead: Option<u8>,
    line: u64,
    begun: bool,
}

impl<R: BufRead> Rows<R> {
    fn new(from: R) -> Self {
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
    fn next_row(&mut self) -> Result<Option<Vec<String>>, String> {
        loop {
            match self.one_line()? {
                Some(cells) if cells.len() == 1 && cells[0].is_empty() => {}
                row => return Ok(row),
            }
        }
    }

    fn one_line(&mut self) -> Result<Option<Vec<String>>, String> {
        let (mut cells, mut cell, mut quoted, mut any) = (Vec::new(), Vec::new(), false, false);
        let mut was_quoted = false;
        self.line += 1;
        let line = self.line;
        let wrong = |why: &str| format!("line {line}: {why}");
        let text = |cell: Vec<u8>| String::from_utf8(cell).map_err(|_| wrong("is not UTF-8"));
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
                    cells.push(text(std::mem::take(&mut cell))?);
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
        cells.push(text(cell)?);
        if !std::mem::replace(&mut self.begun, true) {
            // What spreadsheets write before the first letter.
            let first = cells[0].trim_start_matches('\u{feff}').to_owned();
            cells[0] = first;
        }
        Ok(Some(cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[u8]) -> Result<Vec<Vec<String>>, String> {
        let mut rows = Rows::new(text);
        std::iter::from_fn(|| rows.next_row().transpose()).collect()
    }

    #[test]
    fn rows_are_read_as_the_rfc_says() {
        let text = b"\xef\xbb\xbfa,b\r\n\"x, \"\"y\"\"\r\nz\",\r\n\r\n,\"\"\nlast,1";
        let expected = [["a", "b"], ["x, \"y\"\r\nz", ""], ["", ""], ["last", "1"]];
        assert_eq!(rows(text).unwrap(), expected);
        assert!(rows(b"\"open").unwrap_err().contains("never closed"));
        assert!(rows(b"a\n\xff").unwrap_err().starts_with("line 2: is not UTF-8"));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let cells = ["plain", "", "a,b", "\"q\"\n\r x", "é"].map(str::to_owned);
        let mut bytes = Vec::new();
        write(&mut bytes, &cells).unwrap();
        assert_eq!(rows(&bytes).unwrap(), [cells]);
    }
}
