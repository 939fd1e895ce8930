//! Everything from an archive into an empty database and an empty storage.

use std::io;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};

use db::Db;
use futures_util::StreamExt as _;
use tokio::runtime::Runtime;

use super::archive::{self, FILES, Manifest, SECRET, SealedSecret, TABLE, TABLES, TableHead};
use super::files::Store;
use super::load::{self, Filled, Message};
use super::{Failure, Progress, Result, rows};
use crate::installation::store as installation;
use crate::storage::Storage;
use crate::storage::staging::Staging;
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// Pieces of a table that wait for the database.
const AHEAD: usize = 2;

#[derive(Debug)]
pub struct Restore<'a> {
    pub db: &'a Db,
    pub storage: &'a Storage,
    pub staging: &'a Staging,
    pub runtime: &'a Runtime,
    pub random: &'a Random,
    pub now: Timestamp,
}

/// What was restored.
#[derive(Debug)]
pub struct Restored {
    pub manifest: Manifest,
    pub tables: Vec<Filled>,
    pub files: u64,
}

/// The secret in an archive, if there is one.
pub fn secret(path: &Path, passphrase: &str) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    archive::each(path, &mut |name, content| {
        if name == SECRET {
            let sealed: SealedSecret = serde_json::from_reader(content)?;
            found = Some(sealed.open(passphrase)?);
        }
        Ok(())
    })?;
    Ok(found)
}

impl Restore<'_> {
    /// Verifies the archive, fills database and storage, and compares what is there with what was sent.
    pub fn run(&self, path: &Path, progress: Progress<'_>) -> Result<Restored> {
        progress("verifying", 0);
        let manifest = archive::verify(path)?;
        self.check_storage()?;
        load::prepare(self.db, manifest.schema, self.now)?;
        let (sender, receiver) = sync_channel(AHEAD);
        let (files, tables) = std::thread::scope(|scope| {
            let reading = scope.spawn(move || self.send(path, sender, progress));
            let tables = load::run(self.db, receiver, progress);
            (reading.join().unwrap_or_else(|_| Err(Failure("reading failed".into()))), tables)
        });
        // The database's error comes first: the reader then only says that nobody takes its rows.
        let (tables, files) = (tables?, files?);
        load::finish(self.db, progress)?;
        self.runtime.block_on(self.db.write(installation::release_all_files))?;
        Ok(Restored { manifest, tables, files })
    }

    fn check_storage(&self) -> Result<()> {
        let is_empty = self.runtime.block_on(async {
            let mut keys = self.storage.keys().await?;
            io::Result::Ok(keys.next().await.is_none())
        });
        match is_empty {
            Ok(true) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(false) if load::is_unfinished(self.db)? => {}
            Ok(false) => return Err("the storage is not empty".into()),
            Err(error) => return Err(error.into()),
        }
        self.runtime.block_on(self.storage.claim(false))?;
        Ok(())
    }

    fn send(&self, path: &Path, to: SyncSender<Message>, progress: Progress<'_>) -> Result<u64> {
        let gone = |_| db::Error::Busy;
        let Restore { storage, staging, runtime, random, .. } = *self;
        let store = Store { storage, staging, runtime: runtime.handle(), random };
        let (mut width, mut files) = (None, 0);
        let mut to = Some(to);
        archive::each(path, &mut |name, content| {
            if name.starts_with(TABLES) {
                let Some(to) = &to else { return Err("a table behind the files".into()) };
                if name.ends_with(TABLE) {
                    let head: TableHead = serde_json::from_reader(content)?;
                    if width.replace(head.columns.len()).is_some() {
                        to.send(Message::End).map_err(gone)?;
                    }
                    let TableHead { name, columns, json } = head;
                    to.send(Message::Table { name, columns, json }).map_err(gone)?;
                    return Ok(());
                }
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes)?;
                let rows = rows::decode(&bytes, width.unwrap_or_default());
                let rows = rows.ok_or("these are no rows")?;
                to.send(Message::Rows(rows)).map_err(gone)?;
                return Ok(());
            }
            // The last table has ended: the database can finish while files are stored.
            if let Some(to) = to.take() {
                to.send(Message::End).map_err(gone)?;
            }
            if let Some(key) = name.strip_prefix(FILES) {
                store.put(key, content)?;
                files += 1;
                progress("files", files);
            }
            Ok(())
        })?;
        Ok(files)
    }
}
