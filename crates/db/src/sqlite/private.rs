//! The database is for its owner alone, wherever it lies: it holds password hashes and what people wrote in
//! confidence. SQLite gives the WAL and its index the mode of the database file.

use std::fs::{OpenOptions, Permissions, metadata, set_permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const OWNER_ONLY: u32 = 0o600;
const OF_OTHERS: u32 = 0o077;

/// Makes the file if it is not there, and takes rights of others away from what is. Whoever may not do that,
/// because the file is somebody else's, may still be able to open it: opening it tells.
pub(super) fn keep(database: &Path) {
    let made = OpenOptions::new().create(true).append(true).mode(OWNER_ONLY).open(database);
    drop(made);
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
