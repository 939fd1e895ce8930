//! An export of Townhall: a header, then one document on each line, and a last line that says how many they are.

use std::io::BufRead;

use serde::Deserialize;

use super::custom;
use super::draft::Draft;
use super::source::{Item, Take};
use crate::features::exports::document::{self, Fields};
use crate::features::exports::kinds;
use crate::transfer::Result;
use crate::transfer::export::{CUSTOM_ROW, CUSTOM_TABLE, END, HEADER, check_header};

/// No document is longer: metadata has at most 1 MiB, rows of custom tables 4 MiB.
const LONGEST_LINE: u64 = 16 << 20;

#[derive(Deserialize)]
struct Head {
    r#type: String,
    documents: Option<u64>,
}

pub(super) fn read(mut lines: impl BufRead, take: Take<'_>) -> Result<()> {
    let (mut number, mut documents, mut ended) = (0_u64, 0, false);
    loop {
        let mut bytes = Vec::new();
        let mut line = std::io::Read::take(&mut lines, LONGEST_LINE);
        if std::io::BufRead::read_until(&mut line, b'\n', &mut bytes)? == 0 {
            break;
        }
        number += 1;
        let wrong = |why: &str| format!("line {number}: {why}");
        if bytes.len() as u64 == LONGEST_LINE {
            return Err(wrong("is too long").into());
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| wrong("is not UTF-8"))?.trim();
        if text.is_empty() {
            continue;
        }
        if ended {
            return Err(wrong("is behind the end").into());
        }
        if number == 1 {
            let header = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
            check_header(&header).map_err(wrong)?;
            continue;
        }
        let head: Head = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        match &*head.r#type {
            HEADER => return Err(wrong("is a second header").into()),
            END if head.documents == Some(documents) => ended = true,
            END => return Err(wrong("the number of documents is another one").into()),
            name => {
                documents += 1;
                take(document(name, text).map_err(|why| wrong(&why))?)?;
            }
        }
    }
    if !ended {
        return Err("the file is cut off: its last line is missing".into());
    }
    Ok(())
}

fn document(name: &str, text: &str) -> Result<Item, String> {
    match name {
        CUSTOM_TABLE => {
            Ok(Item::CustomTable(serde_json::from_str(text).map_err(|error| error.to_string())?))
        }
        CUSTOM_ROW => Ok(Item::CustomRow(custom::Row::read(text)?)),
        name => {
            let Some(kind) = kinds::find(name) else {
                let reason = "documents of this type are not known";
                return Ok(Item::left_out("unknown", name.to_owned(), reason));
            };
            let fields: Fields = serde_json::from_str(text).map_err(|error| error.to_string())?;
            let label = fields.get("id").map_or("", |id| id.get()).to_owned();
            Ok(match document::values(kind, &fields) {
                Ok(values) => Item::Document(Box::new(Draft::of(kind, values))),
                Err(reason) => Item::left_out(kind.name, label, &reason),
            })
        }
    }
}
