//! The database is for its owner alone, wherever it lies: it holds password hashes and what people wrote in
//! confidence. SQLite gives the WAL and its index the mode of the database file.

use std::fs::{OpenOptions, Permissions, metadata, set_permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const OWNER_ONLY: u32 = 0o600;
const OF_OTHERS: u32 = 0o077;

/// Creates the file with mode 0600, or restricts an existing one to its owner. Errors are ignored: a process
/// that does not own the file may still be able to open it, and opening reports what is wrong.
pub(super) fn keep(database: &Path) {
    // Never opens a file that is there: closing it would drop the locks that SQLite holds in this process.
    drop(OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(database));
    for suffix in ["", "-wal", "-shm"] {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        let path = PathBuf::from(name);
        let is_open = metadata(&path).is_ok_and(|file| file.permissions().mode() & OF_OTHERS != 0);
        if is_open {
            let _ = set_permissions(&path, Permissions::from_mode(OWNER_ONLY));
        }
    }
}
