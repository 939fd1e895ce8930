//! Files in a local directory. A staged file is synced and renamed into place, and the directory is synced
//! after it: a file survives a power loss once `put` has returned.
//!
//! The root holds a marker, created at the first start. Without the marker this is not our directory but,
//! say, the mount point of a missing disk: nothing is stored there, and no file is reported as deleted.

mod root;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};

pub(super) use self::root::{MARKER, Root};
use crate::storage::Chunks;

/// Bytes read at once, and the most of a file in memory.
const CHUNK: u64 = 128 * 1024;
#[derive(Debug, Clone)]
pub struct Local(pub(super) Arc<Root>);

impl Local {
    pub(super) fn open(directory: &str) -> Self {
        Local(Arc::new(Root::at(PathBuf::from(directory))))
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
        self.blocking(move |root| root.remove_some(&directory, most)).await
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
    use super::root::MAX_SYNCED;
    use super::*;
    use crate::values::scratch::Scratch;
    use futures_util::TryStreamExt as _;

    /// A store, a file that waits to be put into it, and the directory of both.
    fn fresh() -> (Local, PathBuf, Scratch) {
        let scratch = Scratch::fresh();
        let local = Local::open(&scratch.path().join("files").display().to_string());
        assert!(local.0.claim(false).unwrap());
        let staged = scratch.file("staged", "0123456789").into();
        (local, staged, scratch)
    }

    async fn text(local: &Local, key: &str, range: Option<Range<u64>>) -> String {
        let chunks: Vec<Bytes> = local.read(key, range).await.unwrap().try_collect().await.unwrap();
        String::from_utf8(chunks.concat()).unwrap()
    }

    #[tokio::test]
    async fn what_is_put_is_read_whole_and_in_parts() {
        let (local, staged, _scratch) = fresh();
        local.put("p/a/b.txt", &staged).await.unwrap();
        assert!(!staged.exists(), "it was moved");
        assert_eq!(text(&local, "p/a/b.txt", None).await, "0123456789");
        assert_eq!(text(&local, "p/a/b.txt", Some(2..5)).await, "234");
    }

    #[tokio::test]
    async fn empty_directories_go_with_the_last_file_in_them() {
        let (local, staged, _scratch) = fresh();
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
        let (local, staged, _scratch) = fresh();
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
        let (local, staged, _scratch) = fresh();
        for key in ["", "/etc/x", "../x", "a/../../x", "."] {
            let refused = local.put(key, &staged).await.map_err(|error| error.kind());
            assert_eq!(refused, Err(ErrorKind::InvalidInput), "{key}");
        }
        let missing = local.read("p/none", None).await.map(drop).map_err(|error| error.kind());
        assert_eq!(missing, Err(ErrorKind::NotFound));
    }

    #[tokio::test]
    async fn a_directory_that_is_there_lasts_only_once_its_parent_was_synced() {
        let (local, staged, _scratch) = fresh();
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
        let (local, staged, _scratch) = fresh();
        fs::copy(&staged, staged.with_extension("2")).unwrap();
        local.put("p/a/1", &staged).await.unwrap();
        fs::remove_dir_all(local.0.path.join("p")).unwrap();
        local.put("p/a/2", &staged.with_extension("2")).await.unwrap();
        assert_eq!(text(&local, "p/a/2", None).await, "0123456789");
    }

    #[tokio::test]
    async fn what_is_remembered_as_synced_is_bounded() {
        let (local, staged, _scratch) = fresh();
        for n in 0..MAX_SYNCED {
            local.0.synced.lock().unwrap().insert(PathBuf::from(n.to_string()));
        }
        local.put("p/1", &staged).await.unwrap();
        assert_eq!(local.0.synced.lock().unwrap().len(), 1);
    }
}
