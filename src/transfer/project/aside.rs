//! The rows of the project, put aside in a file for each table, under the id that the project gets.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use db::Value;
use uuid::Uuid;

use super::super::archive::{self, FILES, TABLE, TABLES, TableHead};
use super::super::rows::{self, Row};
use super::super::tables::{self, Part};
use super::super::{Progress, Result};
use super::{PROJECTS, RestoreProject};
use crate::features::exports::document;

/// What a copy under another id does not take along: the original does its jobs, and its audit log is sealed under its id.
const OF_THE_ORIGINAL: [&str; 3] = ["jobs", "audit_log", "audit_seals"];
/// Columns with ids of custom tables.
const TABLE_IDS: &[(&str, &str)] =
    &[("custom_tables", "id"), ("custom_columns", "table_id"), ("custom_columns", "references_id")];
/// The column that every other table has.
const SCOPE: &str = "project_id";

/// Rows of a table that were put aside.
#[derive(Debug)]
pub(super) struct Aside {
    pub(super) head: TableHead,
    pub(super) path: PathBuf,
}

impl RestoreProject<'_> {
    /// The rows of the project, under its new id, in a file for each table; its files go into the storage at once.
    pub(super) fn put_aside(
        &self,
        path: &Path,
        progress: Progress<'_>,
    ) -> Result<(Vec<Aside>, u64)> {
        let (mut aside, mut files): (Vec<Aside>, u64) = (Vec::new(), 0);
        let mut open: Option<BufWriter<File>> = None;
        let prefix = format!("{FILES}{}/", self.project);
        archive::each(path, &mut |name, content| {
            if let Some(below) = name.strip_prefix(&prefix) {
                self.store.put(&format!("{}/{below}", self.id), content)?;
                files += 1;
                progress("files", files);
                return Ok(());
            }
            if !name.starts_with(TABLES) {
                return Ok(());
            }
            if name.ends_with(TABLE) {
                finish(open.take())?;
                let head: TableHead = serde_json::from_reader(content)?;
                if self.takes(&head) {
                    let path = self.scratch.join(format!("{:04}", aside.len()));
                    open = Some(BufWriter::new(archive::create_private(&path)?));
                    aside.push(Aside { head: self.renamed(head), path });
                }
                return Ok(());
            }
            let (Some(file), Some(one)) = (&mut open, aside.last()) else { return Ok(()) };
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            let found = rows::decode(&bytes, one.head.columns.len()).ok_or("these are no rows")?;
            let mut own = Vec::new();
            for row in found {
                if let Some(row) = self.own(&one.head, row) {
                    rows::encode(&row, &mut own);
                }
            }
            if !own.is_empty() {
                file.write_all(&(own.len() as u64).to_le_bytes())?;
                file.write_all(&own)?;
            }
            Ok(())
        })?;
        finish(open)?;
        aside.retain(|one| fs::metadata(&one.path).is_ok_and(|found| found.len() > 0));
        Ok((aside, files))
    }

    /// Whether the table may have rows of the project.
    fn takes(&self, head: &TableHead) -> bool {
        match Part::custom(&head.name) {
            Some((project, _)) => project == self.project,
            None if OF_THE_ORIGINAL.contains(&&*head.name) => self.id == self.project,
            None => head.name == PROJECTS || head.columns.iter().any(|column| column == SCOPE),
        }
    }

    /// A custom table has the project in its name.
    fn renamed(&self, head: TableHead) -> TableHead {
        match Part::custom(&head.name) {
            Some((_, name)) => TableHead { name: tables::custom_name(self.id, name), ..head },
            None => head,
        }
    }

    /// The row under the new id, if it is of the project.
    fn own(&self, head: &TableHead, mut row: Row) -> Option<Row> {
        if Part::custom(&head.name).is_some() {
            return Some(row);
        }
        let column = if head.name == PROJECTS { "id" } else { SCOPE };
        let at = head.columns.iter().position(|name| name == column)?;
        if document::uuid(&row[at]) != Some(self.project.0) {
            return None;
        }
        row[at] = blob(self.id.0);
        // SQLite names indexes of custom tables by the ids of the tables: those of a copy are others.
        for (_, column) in TABLE_IDS.iter().filter(|(table, _)| *table == head.name) {
            let at = head.columns.iter().position(|name| name == column)?;
            if let Some(id) = document::uuid(&row[at]) {
                row[at] = blob(self.table_id(id));
            }
        }
        Some(row)
    }

    /// Another id for each pair of projects, and the same one if the project keeps its id.
    fn table_id(&self, id: Uuid) -> Uuid {
        Uuid::from_u128(id.as_u128() ^ self.project.0.as_u128() ^ self.id.0.as_u128())
    }
}

fn blob(id: Uuid) -> Value<'static> {
    Value::from(id.as_bytes().to_vec())
}

fn finish(open: Option<BufWriter<File>>) -> Result<()> {
    match open {
        Some(mut file) => Ok(file.flush()?),
        None => Ok(()),
    }
}

/// The rows that were put aside, some at a time.
pub(super) fn each_piece(
    path: &Path,
    width: usize,
    take: &mut dyn FnMut(Vec<Row>) -> Result<()>,
) -> Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    let mut length = [0; 8];
    while file.read_exact(&mut length).is_ok() {
        let mut bytes = Vec::new();
        (&mut file).take(u64::from_le_bytes(length)).read_to_end(&mut bytes)?;
        take(rows::decode(&bytes, width).ok_or("rows that were put aside are damaged")?)?;
    }
    Ok(())
}
