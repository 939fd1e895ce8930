//! File permissions: only the owner may read the database, which holds password hashes and private messages.
//! SQLite gives the WAL and its index the mode of the database file.

use std::fs::{OpenOptions, Permissions, metadata, set_permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const OWNER_ONLY: u32 = 0o600;
const OF_OTHERS: u32 = 0o077;

/// Creates the file with mode 0600, or restricts an existing one to its owner. Errors are ignored: a process
/// that does not own the file may still be able to open it, and opening reports what is wrong.
pub(super) fn keep(database: &Path) {
    // Never opens an existing file: closing it would drop the locks that SQLite holds in this process.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn locks_of_an_open_connection_are_kept() {
        let name = format!("db-private-{}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (a); BEGIN IMMEDIATE").unwrap();
        let (process, inode) = (std::process::id(), metadata(&path).unwrap().ino());
        let locks = || {
            let all = std::fs::read_to_string("/proc/locks").unwrap();
            let ours = |line: &&str| {
                line.contains(&format!(" {process} ")) && line.contains(&format!(":{inode} "))
            };
            all.lines().filter(ours).count()
        };
        let held = locks();
        assert!(held > 0);
        keep(&path);
        assert_eq!(locks(), held);
        drop(connection);
        std::fs::remove_file(path).unwrap();
    }
}
