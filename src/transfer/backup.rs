//! A backup while the server runs: a snapshot of the database, then the files that its rows name. Deleted files
//! keep their bytes meanwhile.

use std::path::Path;

use bytes::Bytes;
use db::{Conn, Db, Engine};
use tokio::runtime::Handle;

use super::archive::{
    self, FILES, FORMAT, MANIFEST, Manifest, SECRET, SealedSecret, TABLES, TableFacts, TableHead,
    VERSION, Writer,
};
use super::files::{Hold, Object, objects_of, parent};
use super::tables::{self, Part};
use super::{Checksum, Progress, Result, rows, store};
use crate::schema::MIGRATIONS;
use crate::storage::Storage;
use crate::storage::blocking::Blocking;
use crate::storage::durable::sync_directory;
use crate::tenancy::{NOT_FOUND, store as projects};
use crate::values::ids::ProjectId;
use crate::values::random::{Random, hex};
use crate::values::time::Timestamp;

/// About the size of one entry with rows.
const CHUNK: usize = 8 << 20;

#[derive(Debug)]
pub struct Backup<'a> {
    pub db: &'a Db,
    pub storage: &'a Storage,
    pub runtime: &'a Handle,
    pub random: &'a Random,
    pub now: Timestamp,
    /// The secret, and the passphrase to encrypt it with.
    pub secret: Option<(Vec<u8>, String)>,
    pub directory: bool,
    /// Of this project alone.
    pub project: Option<ProjectId>,
}

impl Backup<'_> {
    /// Writes the archive beside its place, verifies it, and moves it there.
    pub fn run(&self, path: &Path, progress: Progress<'_>) -> Result<Manifest> {
        if path.exists() {
            return Err(format!("{} exists already", path.display()).into());
        }
        let name = path.file_name().ok_or("the path names no file")?.to_string_lossy();
        let aside = path.with_file_name(format!(".{name}.{}", hex(&self.random.bytes::<4>())));
        let hold = Hold { db: self.db, runtime: self.runtime, random: self.random, now: self.now };
        let made = hold.during(|| self.write(&aside, progress));
        let finished = made.and_then(|()| {
            progress("verifying", 0);
            let manifest = archive::verify(&aside)?;
            std::fs::rename(&aside, path)?;
            sync_directory(&parent(path))?;
            Ok(manifest)
        });
        if finished.is_err() {
            let _ = std::fs::remove_file(&aside);
            let _ = std::fs::remove_dir_all(&aside);
        }
        finished
    }

    fn write(&self, path: &Path, progress: Progress<'_>) -> Result<()> {
        let pending = self.db.pending_migrations(MIGRATIONS)?;
        if pending > 0 {
            return Err("the schema is older than this program: townhall migrate up".into());
        }
        let mut writer = Writer::create(path, self.directory)?;
        let mut manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            townhall: env!("CARGO_PKG_VERSION").to_owned(),
            schema: MIGRATIONS.len(),
            engine: if self.db.engine() == Engine::Sqlite { "sqlite" } else { "postgres" }
                .to_owned(),
            created_at: self.now.to_string(),
            tables: Vec::new(),
            files: 0,
            missing_files: Vec::new(),
            entries: Vec::new(),
        };
        let (engine, project) = (self.db.engine(), self.project);
        let mut tables = Tables { writer: &mut writer, manifest: &mut manifest, project, progress };
        let objects = self.db.snapshot(|c| {
            let parts = match project {
                None => tables::all(c, engine)?,
                Some(project) => {
                    projects::find(c, project)?.ok_or(NOT_FOUND.message)?;
                    tables::of(c, engine, project)?
                }
            };
            for (number, part) in (1..).zip(parts) {
                tables.add(c, number, &part)?;
            }
            objects(c, project)
        })?;
        self.add_files(&mut writer, &mut manifest, objects, progress)?;
        if let Some((secret, passphrase)) = &self.secret {
            let sealed = SealedSecret::seal(secret, passphrase, self.random)?;
            let text = serde_json::to_vec_pretty(&sealed)?;
            manifest.entries.push(writer.add(SECRET, text.len() as u64, &mut &text[..])?);
        }
        let text = serde_json::to_vec_pretty(&manifest)?;
        writer.add(MANIFEST, text.len() as u64, &mut &text[..])?;
        writer.finish()?;
        Ok(())
    }

    fn add_files(
        &self,
        writer: &mut Writer,
        manifest: &mut Manifest,
        objects: Vec<Object>,
        progress: Progress<'_>,
    ) -> Result<()> {
        for (key, bytes) in objects {
            let Some(chunks) = self.runtime.block_on(self.storage.read(&key, None))? else {
                manifest.missing_files.push(key);
                continue;
            };
            let mut content = Blocking { runtime: self.runtime, chunks, rest: Bytes::new() };
            manifest.entries.push(writer.add(&format!("{FILES}{key}"), bytes, &mut content)?);
            manifest.files += 1;
            progress("files", manifest.files);
        }
        Ok(())
    }
}

/// What the rows of files name.
fn objects(c: &Conn<'_>, of: Option<ProjectId>) -> Result<Vec<Object>> {
    let mut objects = Vec::new();
    for project in projects::list(c)?.iter().map(|row| row.id) {
        if of.is_none_or(|of| of == project) {
            objects_of(c, project, &mut objects)?;
        }
    }
    Ok(objects)
}

struct Tables<'a> {
    writer: &'a mut Writer,
    manifest: &'a mut Manifest,
    project: Option<ProjectId>,
    progress: Progress<'a>,
}

impl Tables<'_> {
    fn add(&mut self, c: &Conn<'_>, number: u32, part: &Part) -> Result<()> {
        let (name, columns, json) = (part.name.clone(), part.columns.clone(), part.json());
        let prefix = format!("{TABLES}{number:04}");
        let head = serde_json::to_vec(&TableHead { name, columns, json: json.clone() })?;
        self.entry(&format!("{prefix}{}", archive::TABLE), &head)?;
        let (mut sum, mut bytes, mut chunks) = (Checksum::default(), Vec::new(), 0);
        let mut failure = None;
        store::each(c, part, &part.shape, self.project, &mut |row| {
            sum.add(&row, &json);
            rows::encode(&row, &mut bytes);
            if bytes.len() >= CHUNK {
                chunks += 1;
                (self.progress)(&part.name, sum.rows);
                let added = self.entry(&format!("{prefix}/{chunks:06}.rows"), &bytes);
                bytes.clear();
                failure = added.err();
            }
            if failure.is_some() { Err(db::Error::Aborted) } else { Ok(()) }
        })
        .map_err(|error| failure.take().unwrap_or(error.into()))?;
        if !bytes.is_empty() {
            self.entry(&format!("{prefix}/{:06}.rows", chunks + 1), &bytes)?;
        }
        (self.progress)(&part.name, sum.rows);
        let (rows, checksum) = (sum.rows, sum.to_string());
        self.manifest.tables.push(TableFacts { name: part.name.clone(), rows, checksum });
        Ok(())
    }

    fn entry(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let added = self.writer.add(name, bytes.len() as u64, &mut &bytes[..])?;
        self.manifest.entries.push(added);
        Ok(())
    }
}
