//! Stored files on their way out and in: their bytes stay while somebody copies them, and go through staging into the storage.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use db::{Conn, Db};
use tokio::runtime::Handle;

use super::Result;
use crate::features::files::store::audit;
use crate::installation::store as installation;
use crate::storage::Storage;
use crate::storage::staging::Staging;
use crate::values::ids::ProjectId;
use crate::values::random::{Random, hex};
use crate::values::time::Timestamp;

/// How long the bytes of deleted files are kept if the process dies.
const HOLD: Duration = Duration::from_secs(24 * 3600);

/// An object of the storage: its key and size.
pub type Object = (String, u64);

/// Keeps the bytes of files that are deleted meanwhile.
#[derive(Debug)]
pub struct Hold<'a> {
    pub db: &'a Db,
    pub runtime: &'a Handle,
    pub random: &'a Random,
    pub now: Timestamp,
}

impl Hold<'_> {
    /// Bytes of files that are deleted after the snapshot stay until they have been copied.
    pub fn during<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (name, until) = (hex(&self.random.bytes::<8>()), self.now.plus(HOLD));
        let held = name.clone();
        let hold = self.db.write(move |tx| installation::hold_files(tx, &held, until));
        self.runtime.block_on(hold)?;
        let done = work();
        let release = self.db.write(move |tx| installation::release_files(tx, &name));
        self.runtime.block_on(release)?;
        done
    }
}

/// The objects of a project's files.
pub fn objects_of(c: &Conn<'_>, project: ProjectId, objects: &mut Vec<Object>) -> Result<()> {
    each_object(c, project, &mut |object| {
        objects.push(object);
        Ok(())
    })
}

/// The same, one at a time.
pub fn each_object(
    c: &Conn<'_>,
    project: ProjectId,
    each: &mut dyn FnMut(Object) -> Result<()>,
) -> Result<()> {
    let mut last = None;
    loop {
        let page = audit::page(c, project, last)?;
        let Some(row) = page.last() else { return Ok(()) };
        last = Some(row.id);
        for row in &page {
            for object in row.objects()? {
                each((object.key(project), object.size))?;
            }
        }
    }
}

/// The directory of a file that is about to be written.
pub fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Where stored files go.
#[derive(Debug, Clone, Copy)]
pub struct Store<'a> {
    pub storage: &'a Storage,
    pub staging: &'a Staging,
    pub runtime: &'a Handle,
    pub random: &'a Random,
}

impl Store<'_> {
    /// On disk when this returns.
    pub fn put(&self, key: &str, content: &mut dyn Read) -> Result<()> {
        let staged = self.runtime.block_on(self.staging.directory(self.random))?;
        let path = staged.path().join("file");
        let mut file = std::fs::File::create_new(&path)?;
        io::copy(content, &mut file)?;
        file.sync_all()?;
        self.runtime.block_on(self.storage.put(key, &path))?;
        Ok(())
    }
}
