//! Files in a directory of this machine. A staged file is synced and moved into place, and the
//! directory is synced after it: what `put` has answered survives a loss of power.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};

use crate::storage::Chunks;

/// So much is read at once, and so much of a file is in memory.
const CHUNK: u64 = 128 * 1024;
/// A directory that was just removed as empty may be needed again at the same moment.
const TRIES: usize = 4;

#[derive(Debug)]
pub struct Local {
    pub(super) root: PathBuf,
}

impl Local {
    pub(super) fn open(directory: &str) -> Result<Self, String> {
        let root = PathBuf::from(directory);
        make_directories(&root)
            .map_err(|error| format!("the storage {} cannot be made: {error}", root.display()))?;
        Ok(Local { root })
    }

    pub(super) async fn put(&self, key: &str, staged: &Path) -> io::Result<()> {
        let (root, target, staged) = (self.root.clone(), self.place(key)?, staged.to_owned());
        blocking(move || {
            let mut last = Ok(());
            for _ in 0..TRIES {
                last = put(&root, &staged, &target);
                if !matches!(&last, Err(error) if error.kind() == ErrorKind::NotFound) {
                    break;
                }
            }
            last
        })
        .await
    }

    pub(super) async fn read(&self, key: &str, range: Option<Range<u64>>) -> io::Result<Chunks> {
        let path = self.place(key)?;
        let (file, left) = blocking(move || {
            let mut file = File::open(path)?;
            let range = match range {
                Some(range) => range,
                None => 0..file.metadata()?.len(),
            };
            file.seek(SeekFrom::Start(range.start))?;
            Ok((file, range.end.saturating_sub(range.start)))
        })
        .await?;
        Ok(stream::try_unfold((file, left), next_chunk).boxed())
    }

    pub(super) async fn remove_under(&self, prefix: &str) -> io::Result<()> {
        let (root, directory) = (self.root.clone(), self.place(prefix)?);
        blocking(move || remove_under(&root, &directory)).await
    }

    /// Asks the system and writes nothing, so that it may be asked often.
    pub(super) fn check(&self) -> io::Result<()> {
        use rustix::fs::{Access, access};
        Ok(access(&self.root, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?)
    }

    /// Keys are made here and hold nothing but plain names; this is the last line of defence.
    pub(super) fn place(&self, key: &str) -> io::Result<PathBuf> {
        let mut parts = Path::new(key).components();
        if key.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a key is no plain path"));
        }
        Ok(self.root.join(key))
    }
}

fn put(root: &Path, staged: &Path, target: &Path) -> io::Result<()> {
    let directory = target.parent().unwrap_or(root);
    make_directories(directory)?;
    File::open(staged)?.sync_all()?;
    match fs::rename(staged, target) {
        // The staged files are on another disk than the stored ones.
        Err(error) if error.kind() == ErrorKind::CrossesDevices => copy(staged, target)?,
        moved => moved?,
    }
    sync_directory(directory)
}

/// Whoever looks at the target sees all of it or nothing.
fn copy(staged: &Path, target: &Path) -> io::Result<()> {
    let mut aside = target.as_os_str().to_owned();
    aside.push(".partial");
    fs::copy(staged, &aside)?;
    File::open(&aside)?.sync_all()?;
    fs::rename(&aside, target)
}

/// A new directory lasts only once the one that holds it is synced.
fn make_directories(directory: &Path) -> io::Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let parent = directory.parent().unwrap_or(Path::new(""));
    make_directories(parent)?;
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made?,
    }
    sync_directory(parent)
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    let here = Path::new(".");
    File::open(if directory.as_os_str().is_empty() { here } else { directory })?.sync_all()
}

/// Also the directories above that are empty now, up to the root.
fn remove_under(root: &Path, directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        removed => removed?,
    }
    let above = directory.ancestors().skip(1).take_while(|above| *above != root);
    let kept = above.into_iter().find(|above| fs::remove_dir(above).is_err());
    // One that is gone altogether was removed by somebody else, who syncs it.
    match sync_directory(kept.unwrap_or(root)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        synced => synced,
    }
}

/// A file that is shorter than it should be ends early; the reply notices.
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
        let local = Local::open(&root.join("files").display().to_string()).unwrap();
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
        assert!(!local.root.join("p/a").exists() && local.root.join("p/b/2/x").exists());
        local.remove_under("p/a/1").await.unwrap();
        local.remove_under("p/b/2").await.unwrap();
        assert!(local.root.exists() && !local.root.join("p").exists());
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
}
