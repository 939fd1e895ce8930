//! The export of a project as a download: an archive (tar, compressed with gzip) that is made while it is sent. What makes it
//! is above, in `transfer`; `app.rs` registers it. Documents go through a file first, so that a slow client does not keep a
//! snapshot of the database open.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};

use crate::config::free_space;
use crate::error::{Error, Result, faults};
use crate::state::App;
use crate::values::ids::ProjectId;

faults! {
    pub UNDER_WAY = 409 "export/under-way": "Another export is being made: try again when it is done";
}

/// Bytes in one part, and parts that wait for the client.
const PART: usize = 64 * 1024;
const PARTS: usize = 8;
/// Disk space that documents on their way must leave free for the database.
const RESERVE: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One document on each line.
    Jsonl,
    /// A folder with a file for each type.
    Csv,
}

#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub project: ProjectId,
    pub format: Format,
}

/// Asked now and then; an error ends the work.
pub type Going<'a> = &'a (dyn Fn() -> Result<(), String> + Sync);

/// Makes the archive of a project, with a folder for pieces of it. Blocks.
#[derive(Debug, Clone, Copy)]
pub struct Archiver(pub Pack);

type Pack = fn(&App, Wanted, &Path, &mut (dyn Write + Send), Going<'_>) -> Result<(), String>;

/// One on each node: an export reads everything.
struct Turn(Arc<Semaphore>);

impl Default for Turn {
    fn default() -> Self {
        Turn(Arc::new(Semaphore::new(1)))
    }
}

/// Begins an export. The parts end with an error if it fails, so that nobody takes half of it for all.
pub async fn begin(app: &App, wanted: Wanted) -> Result<mpsc::Receiver<io::Result<Bytes>>> {
    let turn = app.features.get::<Turn>().0.clone();
    let turn = turn.try_acquire_owned().map_err(|_| UNDER_WAY)?;
    let archiver = app.lists.of::<Archiver>().first().copied();
    let Archiver(pack) = archiver.ok_or_else(|| Error::internal("nothing makes exports"))?;
    let staged = app.staging.directory(&app.random).await?;
    let (sender, parts) = mpsc::channel(PARTS);
    let app = app.clone();
    tokio::task::spawn_blocking(move || {
        let going = || match free_space(staged.path()) {
            _ if sender.is_closed() => Err("the client is gone".to_owned()),
            Ok(free) if free < RESERVE => Err("the disk is almost full".to_owned()),
            _ => Ok(()),
        };
        let mut out = BufWriter::with_capacity(PART, Parts(&sender));
        let packed = pack(&app, wanted, staged.path(), &mut out, &going);
        let packed = packed.and_then(|()| out.flush().map_err(|error| error.to_string()));
        if let Err(error) = packed {
            tracing::error!(%error, project = %wanted.project, "an export has failed");
            // What is left in the buffer is part of a broken archive.
            drop(out.into_parts());
            let _ = sender.blocking_send(Err(io::Error::other(error)));
        }
        drop(turn);
    });
    Ok(parts)
}

/// Waits while the client is slow, and fails when it is gone.
struct Parts<'a>(&'a mpsc::Sender<io::Result<Bytes>>);

impl Write for Parts<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
