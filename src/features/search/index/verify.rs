//! Compares the index with the content: for `townhall doctor`.

use std::collections::{HashMap, HashSet};

use db::Conn;
use text_index::Analyzer;
use uuid::Uuid;

use crate::error::Result;
use crate::features::search::index::records::{self, Prepared};
use crate::features::search::store::{self, IndexedRow, TodoRow, words};
use crate::search_queue::Kind;
use crate::tenancy::Project;

/// Those of the records that are not indexed as they are now, and do not wait for it either.
pub fn differing(c: &Conn<'_>, project: &Project, kind: Kind, ids: Vec<Uuid>) -> Result<Vec<Uuid>> {
    let todo = |id: &Uuid| TodoRow { record_id: *id, kind: kind.number(), stamp: 0 };
    let analyzer = Analyzer::new(project.search_language);
    let prepared = records::prepare(c, project.id, &analyzer, ids.iter().map(todo).collect())?;
    let rows = store::indexed(c, project.id, ids.clone())?;
    let packed: Vec<&[u8]> = rows.iter().map(|row| row.words.as_slice()).collect();
    let words = words::unpack(c, project.id, &packed)?;
    let indexed: HashMap<Uuid, (&IndexedRow, Option<Vec<String>>)> =
        rows.iter().zip(words).map(|(row, words)| (row.record_id, (row, words))).collect();
    let waiting: HashSet<Uuid> =
        store::still_todo(c, project.id, ids)?.into_iter().map(|row| row.record_id).collect();
    let differ = prepared.iter().filter(|one| {
        let id = one.todo.record_id;
        !waiting.contains(&id) && !agrees(one, indexed.get(&id))
    });
    Ok(differ.map(|one| one.todo.record_id).collect())
}

fn agrees(one: &Prepared, indexed: Option<&(&IndexedRow, Option<Vec<String>>)>) -> bool {
    match (&one.found, indexed) {
        (None, None) => true,
        (Some(found), Some((row, Some(words)))) => {
            found.doc.class == row.class
                && i64::from(found.document.length) == row.length
                && found.document.words().map(|(word, _)| word).eq(words.iter().map(String::as_str))
        }
        _ => false,
    }
}
