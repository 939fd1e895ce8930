//! Directories of the tests, all below one that goes away with the process, however it ends: servers in the
//! pool are never dropped.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Removes the directory when its standard input ends, that is with the process of the tests.
const REMOVER: &str = r#"cat; rm -rf -- "$1""#;

struct Root {
    path: PathBuf,
    /// Holds the other end of the pipe.
    _remover: Child,
}

impl Root {
    fn shared() -> &'static Root {
        static SHARED: OnceLock<Root> = OnceLock::new();
        SHARED.get_or_init(Root::new)
    }

    fn new() -> Root {
        let parent = db::testing::in_memory_if_there_is_room().unwrap_or_else(std::env::temp_dir);
        let path = parent.join(format!("townhall-test-{}", std::process::id()));
        // Left behind by a machine that was switched off.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        let mut remover = Command::new("sh");
        remover.args(["-c", REMOVER, "remover"]).arg(&path);
        // Away from the signals of the terminal: the pipe alone decides.
        remover.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        Root { path, _remover: remover.spawn().unwrap() }
    }
}

pub fn fresh_directory() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = Root::shared().path.join(number.to_string());
    std::fs::create_dir(&path).unwrap();
    path
}

/// Removes the directories and mails in a directory, if it is there, and leaves the markers.
pub(super) fn empty(directory: &Path) {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => panic!("{}: {error}", directory.display()),
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let is_marker = path.file_name().unwrap().as_encoded_bytes().starts_with(b".");
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else if !is_marker {
            std::fs::remove_file(path).unwrap();
        }
    }
}
