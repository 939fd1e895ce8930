//! Where documents are written: one file with a line for each, or a folder with a CSV file for each type.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use db::Value;
use serde_json::json;

use super::{ABOUT, CUSTOM_FILE, CUSTOM_ROW, CUSTOM_TABLE, END, Format};
use crate::features::exports::document;
use crate::features::exports::kinds::{Field, Kind};
use crate::features::tables::model::{Column, Table};
use crate::features::tables::rows::json::Row;
use crate::storage::durable::{make_directories, sync_directory};
use crate::transfer::Result;
pub(super) use crate::transfer::archive::create_private;
use crate::transfer::csv::{self, Cell};
use crate::values::metadata::to_json;

pub(super) enum Sink {
    Lines(BufWriter<File>),
    Folder {
        path: PathBuf,
        /// What stands in [`ABOUT`].
        about: serde_json::Value,
        /// The file that is open, with its header still to be written.
        open: Option<(BufWriter<File>, PathBuf)>,
        /// The next file, which is created with its first row.
        next: Option<(PathBuf, Vec<String>)>,
    },
}

impl Sink {
    pub(super) fn create(path: &Path, format: Format) -> Result<Sink> {
        Ok(match format {
            Format::Jsonl => Sink::Lines(BufWriter::new(create_private(path)?)),
            Format::Csv => {
                make_directories(path)?;
                let about = serde_json::Value::Null;
                Sink::Folder { path: path.to_owned(), about, open: None, next: None }
            }
        })
    }

    pub(super) fn header(&mut self, header: &serde_json::Value) -> Result<()> {
        match self {
            Sink::Lines(lines) => writeln!(lines, "{header}")?,
            Sink::Folder { about, .. } => *about = header.clone(),
        }
        Ok(())
    }

    /// Documents of this type follow, if there are any.
    pub(super) fn begin(&mut self, kind: &Kind) -> Result<()> {
        let names = kind.fields.iter().map(|field| field.name.clone());
        self.begin_file(kind.name, names.collect())
    }

    pub(super) fn begin_custom(&mut self, table: &Table) -> Result<()> {
        let names = table.columns.iter().map(|column| column.name.clone());
        self.begin_file(&format!("{CUSTOM_FILE}{}", table.name), names.collect())
    }

    fn begin_file(&mut self, name: &str, columns: Vec<String>) -> Result<()> {
        let Sink::Folder { path, open, next, .. } = self else { return Ok(()) };
        close(open.take())?;
        *next = Some((path.join(format!("{name}.csv")), columns));
        Ok(())
    }

    pub(super) fn document(&mut self, kind: &Kind, values: &[Value<'static>]) -> Result<()> {
        match self {
            Sink::Lines(lines) => writeln!(lines, "{}", document::line(kind, values, &[]))?,
            Sink::Folder { .. } => {
                let cells = kind.fields.iter().zip(values);
                let cell = |(field, value): (&Field, &Value<'static>)| match value {
                    Value::Null => None,
                    value => Some(document::cell(field, value)),
                };
                self.row(&cells.map(cell).collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    pub(super) fn custom_table(&mut self, table: &Table) -> Result<()> {
        let shown = definition(table);
        match self {
            Sink::Lines(lines) => writeln!(lines, "{shown}")?,
            Sink::Folder { about, .. } => {
                if let Some(list) = about["customTables"].as_array_mut() {
                    list.push(shown);
                } else {
                    about["customTables"] = json!([shown]);
                }
            }
        }
        Ok(())
    }

    pub(super) fn custom_row(&mut self, row: &Row) -> Result<()> {
        match self {
            Sink::Lines(lines) => {
                let (kind, table) = (to_json(&CUSTOM_ROW), to_json(&row.table.name));
                let row = serde_json::to_string(row)?;
                writeln!(lines, "{{\"type\":{kind},\"table\":{table},\"row\":{row}}}")?;
            }
            Sink::Folder { .. } => {
                self.row(&row.texts()?)?;
            }
        }
        Ok(())
    }

    fn row(&mut self, cells: &[Cell]) -> Result<()> {
        let Sink::Folder { open, next, .. } = self else { return Ok(()) };
        if let Some((path, columns)) = next.take() {
            let mut file = BufWriter::new(create_private(&path)?);
            let head: Vec<Cell> = columns.into_iter().map(Some).collect();
            csv::write(&mut file, &head)?;
            *open = Some((file, path));
        }
        match open {
            Some((file, _)) => Ok(csv::write(file, cells)?),
            None => Ok(()),
        }
    }

    /// On disk when this returns.
    pub(super) fn finish(self, documents: u64) -> Result<()> {
        match self {
            Sink::Lines(mut lines) => {
                writeln!(lines, "{}", json!({ "type": END, "documents": documents }))?;
                lines.into_inner().map_err(|error| error.to_string())?.sync_all()?;
            }
            Sink::Folder { path, mut about, open, .. } => {
                close(open)?;
                about["documents"] = documents.into();
                let mut file = create_private(&path.join(ABOUT))?;
                writeln!(file, "{about:#}")?;
                file.sync_all()?;
                sync_directory(&path)?;
            }
        }
        Ok(())
    }
}

fn close(open: Option<(BufWriter<File>, PathBuf)>) -> Result<()> {
    let Some((file, _)) = open else { return Ok(()) };
    Ok(file.into_inner().map_err(|error| error.to_string())?.sync_all()?)
}

/// A custom table as Create Table takes it.
fn definition(table: &Table) -> serde_json::Value {
    let column = |column: &Column| {
        let mut shown = json!({
            "columnName": column.name,
            "dataType": column.data_type.name(),
            "nullable": column.nullable,
            "indexed": column.indexed,
        });
        if let Some(value) = &column.default_value {
            shown["defaultValue"] = value.as_str().into();
        }
        if let Some(reference) = &column.references {
            shown["references"] =
                json!({ "table": reference.name, "onDelete": reference.on_delete.name() });
        }
        shown
    };
    json!({
        "type": CUSTOM_TABLE,
        "tableName": table.name,
        "timestamps": table.timestamps,
        "paranoid": table.paranoid,
        "access": table.access.name(),
        "columns": table.own_columns().map(column).collect::<Vec<_>>(),
    })
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Sink::Lines(_) => "Lines",
            Sink::Folder { .. } => "Folder",
        })
    }
}
