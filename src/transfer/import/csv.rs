//! CSV files: a plain one of users or posts, one of a custom table, or the folder of an export.
//!
//! | file | columns |
//! |---|---|
//! | users | `foreignId`, `username`, `email`, `name`, `bio`, `avatar`, `createdAt`, … |
//! | posts | `foreignId`, `title`, `content`, `author` (the foreign id of a user), `keywords` (separated by `;`, or JSON), `createdAt`, … |
//! | comments | `foreignId`, `post` and `parent` (foreign ids), `author`, `content`, `createdAt`, … |
//! | `custom-NAME.csv` | `id`, and the columns of the custom table |

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use db::Value;

use super::custom;
use super::draft::Draft;
use super::source::{Item, Take};
use crate::features::exports::document::{plain, wanted};
use crate::features::exports::kinds::{self, Kind};
use crate::transfer::Result;
use crate::transfer::csv::{Cell, Rows};
use crate::transfer::export::{self, ABOUT, CUSTOM_FILE, CUSTOM_ROW};
use crate::values::metadata::to_json;

const TYPE: &str = "type";
/// Columns that name a document by its foreign id: the type, the column, the field, the table.
const REFERENCES: &[(&str, &str, &str, &str)] = &[
    ("entity", "author", "user_id", "users"),
    ("comment", "author", "user_id", "users"),
    ("comment", "post", "entity_id", "entities"),
    ("comment", "parent", "parent_id", "comments"),
];

/// What the rows of a file are.
#[derive(Debug, Clone, Copy)]
enum Of<'a> {
    /// Said by the columns, or by a column `type`.
    Any,
    Kind(&'static Kind),
    Custom(&'a str),
}

/// Types under the names that people give them.
fn kind_of(name: &str) -> Option<&'static Kind> {
    kinds::find(match name {
        "users" => "user",
        "post" | "posts" | "entities" => "entity",
        "comments" => "comment",
        name => name,
    })
}

/// The table of a file `custom-NAME.csv`.
fn custom_table(stem: &str) -> Option<&str> {
    stem.strip_prefix(CUSTOM_FILE).filter(|name| !name.is_empty())
}

/// Every CSV file of a folder: documents in the order of the types, then rows of custom tables. `export.json` of an export
/// defines these tables.
pub(super) fn read_folder(path: &Path, take: Take<'_>) -> Result<()> {
    let about = about(&path.join(ABOUT))?;
    let (mut documents, mut tables) = (Vec::new(), BTreeMap::new());
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        let stem = stem(&path);
        match (kind_of(&stem), custom_table(&stem)) {
            (Some(kind), _) => {
                let place = kinds::all().iter().position(|one| one.name == kind.name);
                documents.push((place, kind, path));
            }
            (None, Some(table)) => {
                tables.insert(table.to_owned(), path);
            }
            (None, None) => {
                take(Item::left_out("unknown", stem, "files of this name are not read"))?;
            }
        }
    }
    documents.sort_by_key(|(place, ..)| *place);
    let is_export = about.is_some();
    for (_, kind, path) in documents {
        read(&path, Of::Kind(kind), is_export, take)?;
    }
    let definitions =
        about.and_then(|mut about| about["customTables"].as_array_mut().map(std::mem::take));
    for definition in definitions.unwrap_or_default() {
        take(Item::CustomTable(definition))?;
    }
    tables.iter().try_for_each(|(table, path)| read(path, Of::Custom(table), is_export, take))
}

/// One file, of users or of posts by its columns, of both with a column `type`, or of a custom table by its name.
pub(super) fn read_file(path: &Path, take: Take<'_>) -> Result<()> {
    let stem = stem(path);
    read(path, custom_table(&stem).map_or(Of::Any, Of::Custom), false, take)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What an export says of itself; none in a folder that somebody else has made.
fn about(path: &PathBuf) -> Result<Option<serde_json::Value>> {
    let wrong = |why: String| format!("{}: {why}", path.display());
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error.to_string()).into()),
    };
    let about: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    export::check_header(&about).map_err(|why| wrong(why.to_owned()))?;
    Ok(Some(about))
}

/// `is_export`: `""` is an empty text. Spreadsheets write it for nothing at all.
fn read(path: &Path, of: Of<'_>, is_export: bool, take: Take<'_>) -> Result<()> {
    let name = path.display().to_string();
    let wrong = |why: String| format!("{name}: {why}");
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut rows = Rows::new(BufReader::with_capacity(1 << 16, file));
    let Some(head) = rows.next_row().map_err(wrong)? else { return Ok(()) };
    let head: Vec<String> = head.into_iter().map(Option::unwrap_or_default).collect();
    let typed = head.iter().position(|column| column == TYPE);
    let has = |column: &str| head.iter().any(|name| name == column);
    let guess = if has("post") || has("entityId") {
        "comment"
    } else if has("title") || has("content") {
        "entity"
    } else {
        "user"
    };
    while let Some(mut cells) = rows.next_row().map_err(wrong)? {
        let label = format!("{name}:{}", rows.line);
        if cells.len() != head.len() {
            let kind = if matches!(of, Of::Custom(_)) { CUSTOM_ROW } else { "unknown" };
            let reason = "the row has another number of cells than the header";
            take(Item::left_out(kind, label, reason))?;
            continue;
        }
        if !is_export {
            cells.iter_mut().for_each(|cell| *cell = cell.take().filter(|text| !text.is_empty()));
        }
        let kind = match (of, typed) {
            (Of::Custom(table), _) => {
                take(Item::CustomRow(custom::Row::of_cells(table, label, &head, cells)))?;
                continue;
            }
            // In an export `type` is a field of some documents.
            (Of::Kind(kind), _) => Some(kind),
            (Of::Any, None) => kinds::find(guess),
            (Of::Any, Some(at)) => kind_of(cells[at].as_deref().unwrap_or_default()),
        };
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

fn draft(kind: &'static Kind, head: &[String], cells: Vec<Cell>) -> Result<Draft, String> {
    let values = vec![Value::Null; kind.fields.len()];
    let mut draft = Draft { kind, values, foreign: Vec::new(), label: String::new() };
    for (column, cell) in head.iter().zip(cells) {
        let Some(cell) = cell else { continue };
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
