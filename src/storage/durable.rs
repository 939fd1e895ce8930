//! Directories that survive a loss of power: a name lasts only once the directory that holds it was
//! synced.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Makes a directory and those above it, for nobody else to read, durably.
pub fn make_directories(directory: &Path) -> io::Result<()> {
    let Some(parent) = directory.parent() else { return Ok(()) };
    if directory.is_dir() {
        // It may have been made by a process that was killed before it could sync it. Where that
        // is not allowed it was made by somebody else, long ago.
        let _ = sync_directory(parent);
        return Ok(());
    }
    make_directories(parent)?;
    make_directory(directory)?;
    sync_directory(parent)
}

/// Somebody else may have made it.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

pub fn sync_directory(directory: &Path) -> io::Result<()> {
    let here = Path::new(".");
    File::open(if directory.as_os_str().is_empty() { here } else { directory })?.sync_all()
}
