//! Directories that survive a power loss: a name is durable only after its parent directory was synced.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Creates a directory and its parents durably, readable only by the owner.
pub fn make_directories(directory: &Path) -> io::Result<()> {
    let Some(parent) = directory.parent() else { return Ok(()) };
    if directory.is_dir() {
        // It may have been created by a process that was killed before it could sync it. If syncing is not
        // permitted, somebody else created it long ago.
        let _ = sync_directory(parent);
        return Ok(());
    }
    make_directories(parent)?;
    make_directory(directory)?;
    sync_directory(parent)
}

/// A concurrent call may have created it.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// With everything in it, if it is there.
pub fn remove_directory(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

pub fn sync_directory(directory: &Path) -> io::Result<()> {
    let here = Path::new(".");
    File::open(if directory.as_os_str().is_empty() { here } else { directory })?.sync_all()
}
