//! Files in a local directory. A staged file is synced and renamed into place, and the directory is synced
//! after it: a file survives a power loss once `put` has returned.
//!
//! The root holds a marker, created at the first start. Without the marker this is not our directory but,
//! say, the mount point of a missing disk: nothing is stored there, and no file is reported as deleted.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use uuid::Uuid;

use crate::storage::Chunks;
use crate::storage::durable::{make_directories, make_directory, remove_directory, sync_directory};

/// Bytes read at once, and the most of a file in memory.
const CHUNK: u64 = 128 * 1024;
/// Attempts when a directory is removed just before it is used.
const TRIES: usize = 4;
/// Cached names of synced directories; beyond this they are synced again.
const MAX_SYNCED: usize = 10_000;

pub(super) const MARKER: &str = ".townhall";
const MARKER_TEXT: &str =
    "The files of a Townhall server. Without this file nothing is stored here.\n";

#[derive(Debug, Clone)]
pub struct Local(pub(super) Arc<Root>);

#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    /// Directories whose names have been synced since the start. An existing directory need not be durable:
    /// another upload may not have synced it yet.
    synced: Mutex<HashSet<PathBuf>>,
    /// Shared lock to store, exclusive to remove, so that no directory is removed between being synced and
    /// being used.
    removal: RwLock<()>,
    #[cfg(test)]
    syncs: Mutex<Vec<PathBuf>>,
}

impl Local {
    pub(super) fn open(directory: &str) -> Self {
        Local(Arc::new(Root {
            path: PathBuf::from(directory),
            synced: Mutex::default(),
            removal: RwLock::default(),
            #[cfg(test)]
            syncs: Mutex::default(),
        }))
    }

    /// Creates the directory and its marker at the first start, and only the marker where an older version
    /// has stored files. If files are expected and none exist, the directory was lost: it is left alone.
    /// Returns whether it may be used.
    pub(super) async fn claim(&self, should_hold_files: bool) -> io::Result<bool> {
        self.blocking(move |root| root.claim(should_hold_files)).await
    }

    pub(super) async fn put(&self, key: &str, staged: &Path) -> io::Result<()> {
        let (target, staged) = (self.place(key)?, staged.to_owned());
        self.blocking(move |root| root.put(&staged, &target)).await
    }

    pub(super) async fn read(&self, key: &str, range: Option<Range<u64>>) -> io::Result<Chunks> {
        let path = self.place(key)?;
        let opened = self.blocking(move |root| {
            let mut file = match File::open(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return root.check_marker().and(Err(error));
                }
                opened => opened?,
            };
            let range = match range {
                Some(range) => range,
                None => 0..file.metadata()?.len(),
            };
            file.seek(SeekFrom::Start(range.start))?;
            Ok((file, range.end.saturating_sub(range.start)))
        });
        Ok(stream::try_unfold(opened.await?, next_chunk).boxed())
    }

    pub(super) async fn remove(&self, key: &str) -> io::Result<()> {
        let path = self.place(key)?;
        self.blocking(move |root| {
            fs::remove_file(&path)?;
            root.sync(path.parent().unwrap_or(&root.path))
        })
        .await
    }

    pub(super) async fn remove_under(&self, prefix: &str) -> io::Result<()> {
        let directory = self.place(prefix)?;
        self.blocking(move |root| root.remove_under(&directory)).await
    }

    pub(super) async fn remove_some(&self, prefix: &str, most: usize) -> io::Result<bool> {
        let directory = self.place(prefix)?;
        self.blocking(move |root| {
            let _alone = root.removal.write().unwrap_or_else(PoisonError::into_inner);
            root.check_marker()?;
            root.forget_below(&directory);
            let mut most = most;
            match remove_some(&directory, &mut most) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
                emptied => Ok(!emptied?),
            }
        })
        .await
    }

    /// Only asks the system and writes nothing, so it may run often.
    pub(super) fn check(&self) -> io::Result<()> {
        use rustix::fs::{Access, access};
        self.0.check_marker()?;
        Ok(access(&self.0.path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?)
    }

    /// Keys are built by the server and hold only plain names; this is the last line of defense.
    pub(super) fn place(&self, key: &str) -> io::Result<PathBuf> {
        let mut parts = Path::new(key).components();
        if key.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a key is no plain path"));
        }
        Ok(self.0.path.join(key))
    }

    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Root) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let root = self.0.clone();
        blocking(move || work(&root)).await
    }
}

impl Root {
    fn claim(&self, should_hold_files: bool) -> io::Result<bool> {
        let marker = self.path.join(MARKER);
        if !marker.exists() {
            if should_hold_files && !self.holds_projects()? {
                return Ok(false);
            }
            make_directories(&self.path)?;
            let mut file = File::create(&marker)?;
            file.write_all(MARKER_TEXT.as_bytes())?;
            file.sync_all()?;
        }
        sync_directory(&self.path)?;
        Ok(true)
    }

    /// Whether a file exists here in the form that `put` leaves.
    fn holds_projects(&self) -> io::Result<bool> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            entries => entries?,
        };
        let is_project = |name: &str| Uuid::try_parse(name).is_ok();
        let mut names = entries.flatten().map(|entry| entry.file_name());
        Ok(names.any(|name| name.to_str().is_some_and(is_project)))
    }

    fn check_marker(&self) -> io::Result<()> {
        fs::metadata(self.path.join(MARKER)).map(drop).map_err(|error| {
            let path = self.path.display();
            io::Error::other(format!("the storage {path} is lost: no {MARKER} in it ({error})"))
        })
    }

    fn put(&self, staged: &Path, target: &Path) -> io::Result<()> {
        let _no_removal = self.removal.read().unwrap_or_else(PoisonError::into_inner);
        self.check_marker()?;
        let directory = target.parent().unwrap_or(&self.path);
        let mut last = Ok(());
        for _ in 0..TRIES {
            last = self.try_put(staged, target, directory);
            if !matches!(&last, Err(error) if error.kind() == ErrorKind::NotFound) {
                break;
            }
            // Removed by hand.
            self.forget(directory);
        }
        last
    }

    fn try_put(&self, staged: &Path, target: &Path, directory: &Path) -> io::Result<()> {
        self.make_lasting(directory)?;
        File::open(staged)?.sync_all()?;
        match fs::rename(staged, target) {
            // The staging directory is on another disk.
            Err(error) if error.kind() == ErrorKind::CrossesDevices => copy(staged, target)?,
            moved => moved?,
        }
        self.sync(directory)
    }

    /// Makes a directory below the root durable. The root itself is since the start.
    fn make_lasting(&self, directory: &Path) -> io::Result<()> {
        let synced = || self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if directory == self.path || synced().contains(directory) {
            return Ok(());
        }
        let parent = directory.parent().unwrap_or(&self.path);
        self.make_lasting(parent)?;
        make_directory(directory)?;
        self.sync(parent)?;
        let mut synced = synced();
        if synced.len() >= MAX_SYNCED {
            synced.clear();
        }
        synced.insert(directory.to_owned());
        Ok(())
    }

    /// The directory and its parents must be created and synced again.
    fn forget(&self, directory: &Path) {
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        for above in directory.ancestors() {
            synced.remove(above);
        }
    }

    /// The same for the directories below it.
    fn forget_below(&self, directory: &Path) {
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        synced.retain(|known| !known.starts_with(directory));
    }

    /// Also removes parents that are empty now, up to the root.
    fn remove_under(&self, directory: &Path) -> io::Result<()> {
        let _alone = self.removal.write().unwrap_or_else(PoisonError::into_inner);
        self.check_marker()?;
        self.forget(directory);
        remove_directory(directory)?;
        let above = directory.ancestors().skip(1).take_while(|above| *above != self.path);
        let kept = above.into_iter().find(|above| fs::remove_dir(above).is_err());
        // If it does not exist, another call removed it and syncs.
        match self.sync(kept.unwrap_or(&self.path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            synced => synced,
        }
    }

    fn sync(&self, directory: &Path) -> io::Result<()> {
        #[cfg(test)]
        self.syncs.lock().unwrap().push(directory.to_owned());
        sync_directory(directory)
    }
}

/// Removes files, and directories that are empty then; whether the directory itself is gone. Not synced: whoever
/// removes what is left does that.
fn remove_some(directory: &Path, most: &mut usize) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if *most == 0 {
            return Ok(false);
        }
        if !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
            *most -= 1;
        } else if !remove_some(&entry.path(), most)? {
            return Ok(false);
        }
    }
    fs::remove_dir(directory)?;
    Ok(true)
}

/// Atomic: a reader sees the whole file or none.
fn copy(staged: &Path, target: &Path) -> io::Result<()> {
    let mut aside = target.as_os_str().to_owned();
    aside.push(".partial");
    fs::copy(staged, &aside)?;
    File::open(&aside)?.sync_all()?;
    fs::rename(&aside, target)
}

/// A file that is too short ends early; the reply notices.
async fn next_chunk((mut file, left): (File, u64)) -> io::Result<Option<(Bytes, (File, u64))>> {
    if left == 0 {
        return Ok(None);
    }
    blocking(move || {
        let size = usize::try_from(left.min(CHUNK)).unwrap_or(usize::MAX);
        let mut chunk = BytesMut::zeroed(size);
        let read = file.read(&mut chunk)?;
        chunk.truncate(read);
        Ok((read > 0).then(|| (chunk.freeze(), (file, left - read as u64))))
    })
    .await
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::TryStreamExt as _;

    fn fresh(name: &str) -> (Local, PathBuf) {
        let root =
            std::env::temp_dir().join(format!("townhall-local-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let staged = root.join("staged");
        let local = Local::open(&root.join("files").display().to_string());
        assert!(local.0.claim(false).unwrap());
        fs::write(&staged, b"0123456789").unwrap();
        (local, staged)
    }

    async fn text(local: &Local, key: &str, range: Option<Range<u64>>) -> String {
        let chunks: Vec<Bytes> = local.read(key, range).await.unwrap().try_collect().await.unwrap();
        String::from_utf8(chunks.concat()).unwrap()
    }

    #[tokio::test]
    async fn what_is_put_is_read_whole_and_in_parts() {
        let (local, staged) = fresh("read");
        local.put("p/a/b.txt", &staged).await.unwrap();
        assert!(!staged.exists(), "it was moved");
        assert_eq!(text(&local, "p/a/b.txt", None).await, "0123456789");
        assert_eq!(text(&local, "p/a/b.txt", Some(2..5)).await, "234");
    }

    #[tokio::test]
    async fn empty_directories_go_with_the_last_file_in_them() {
        let (local, staged) = fresh("remove");
        fs::copy(&staged, staged.with_extension("2")).unwrap();
        local.put("p/a/1/x", &staged).await.unwrap();
        local.put("p/b/2/x", &staged.with_extension("2")).await.unwrap();
        local.remove_under("p/a/1").await.unwrap();
        assert!(!local.0.path.join("p/a").exists() && local.0.path.join("p/b/2/x").exists());
        local.remove_under("p/a/1").await.unwrap();
        local.remove_under("p/b/2").await.unwrap();
        assert!(local.0.path.exists() && !local.0.path.join("p").exists());
    }

    #[tokio::test]
    async fn files_are_removed_a_few_at_a_time() {
        let (local, staged) = fresh("some");
        for n in 0..5 {
            let copy = staged.with_extension(n.to_string());
            fs::copy(&staged, &copy).unwrap();
            local.put(&format!("p/{n}/x"), &copy).await.unwrap();
        }
        local.put("q/1/x", &staged).await.unwrap();
        let files = |name| fs::read_dir(local.0.path.join(name)).map_or(0, Iterator::count);
        assert!(local.remove_some("p", 2).await.unwrap());
        assert_eq!(files("p"), 3);
        while local.remove_some("p", 2).await.unwrap() {}
        assert!(!local.0.path.join("p").exists());
        assert_eq!(files("q"), 1);
        assert!(!local.remove_some("p", 2).await.unwrap(), "nothing is there any more");
    }

    #[tokio::test]
    async fn a_key_never_leaves_the_root() {
        let (local, staged) = fresh("key");
        for key in ["", "/etc/x", "../x", "a/../../x", "."] {
            let refused = local.put(key, &staged).await.map_err(|error| error.kind());
            assert_eq!(refused, Err(ErrorKind::InvalidInput), "{key}");
        }
        let missing = local.read("p/none", None).await.map(drop).map_err(|error| error.kind());
        assert_eq!(missing, Err(ErrorKind::NotFound));
    }

    #[tokio::test]
    async fn a_directory_that_is_there_lasts_only_once_its_parent_was_synced() {
        let (local, staged) = fresh("sync");
        let root = local.0.path.clone();
        let syncs = || std::mem::take(&mut *local.0.syncs.lock().unwrap());
        // As left by another upload that has not synced them yet.
        fs::create_dir_all(root.join("p/a")).unwrap();
        fs::copy(&staged, staged.with_extension("2")).unwrap();
        fs::copy(&staged, staged.with_extension("3")).unwrap();
        syncs();
        local.put("p/a/1", &staged).await.unwrap();
        assert_eq!(syncs(), [root.clone(), root.join("p"), root.join("p/a")]);
        local.put("p/a/2", &staged.with_extension("2")).await.unwrap();
        assert_eq!(syncs(), [root.join("p/a")], "known by now");

        local.remove_under("p/a").await.unwrap();
        syncs();
        local.put("p/a/3", &staged.with_extension("3")).await.unwrap();
        assert_eq!(syncs(), [root.clone(), root.join("p"), root.join("p/a")], "made anew");
    }

    #[tokio::test]
    async fn directories_removed_by_hand_are_made_again() {
        let (local, staged) = fresh("by-hand");
        fs::copy(&staged, staged.with_extension("2")).unwrap();
        local.put("p/a/1", &staged).await.unwrap();
        fs::remove_dir_all(local.0.path.join("p")).unwrap();
        local.put("p/a/2", &staged.with_extension("2")).await.unwrap();
        assert_eq!(text(&local, "p/a/2", None).await, "0123456789");
    }

    #[tokio::test]
    async fn what_is_remembered_as_synced_is_bounded() {
        let (local, staged) = fresh("bounded");
        for n in 0..MAX_SYNCED {
            local.0.synced.lock().unwrap().insert(PathBuf::from(n.to_string()));
        }
        local.put("p/1", &staged).await.unwrap();
        assert_eq!(local.0.synced.lock().unwrap().len(), 1);
    }
}
