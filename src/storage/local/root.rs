//! The directory itself: what is made durable, and in which order.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

use uuid::Uuid;

use crate::storage::durable::{make_directories, make_directory, remove_directory, sync_directory};

/// Attempts when a directory is removed just before it is used.
const TRIES: usize = 4;
/// Cached names of synced directories; beyond this they are synced again.
pub(super) const MAX_SYNCED: usize = 10_000;

pub(in crate::storage) const MARKER: &str = ".townhall";
const MARKER_TEXT: &str =
    "The files of a Townhall server. Without this file nothing is stored here.\n";

#[derive(Debug)]
pub(in crate::storage) struct Root {
    pub(in crate::storage) path: PathBuf,
    /// Directories whose names have been synced since the start. An existing directory need not be durable:
    /// another upload may not have synced it yet.
    pub(super) synced: Mutex<HashSet<PathBuf>>,
    /// Shared lock to store, exclusive to remove, so that no directory is removed between being synced and
    /// being used.
    removal: RwLock<()>,
    #[cfg(test)]
    pub(super) syncs: Mutex<Vec<PathBuf>>,
}

impl Root {
    pub(super) fn at(path: PathBuf) -> Self {
        Root {
            path,
            synced: Mutex::default(),
            removal: RwLock::default(),
            #[cfg(test)]
            syncs: Mutex::default(),
        }
    }

    pub(super) fn claim(&self, should_hold_files: bool) -> io::Result<bool> {
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

    pub(super) fn check_marker(&self) -> io::Result<()> {
        fs::metadata(self.path.join(MARKER)).map(drop).map_err(|error| {
            let path = self.path.display();
            io::Error::other(format!("the storage {path} is lost: no {MARKER} in it ({error})"))
        })
    }

    pub(super) fn put(&self, staged: &Path, target: &Path) -> io::Result<()> {
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
    pub(super) fn remove_under(&self, directory: &Path) -> io::Result<()> {
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

    /// Removes so many files, and directories that are empty then; whether more are left.
    pub(super) fn remove_some(&self, directory: &Path, most: usize) -> io::Result<bool> {
        let _alone = self.removal.write().unwrap_or_else(PoisonError::into_inner);
        self.check_marker()?;
        self.forget_below(directory);
        let mut most = most;
        match remove_some(directory, &mut most) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            emptied => Ok(!emptied?),
        }
    }

    pub(super) fn sync(&self, directory: &Path) -> io::Result<()> {
        #[cfg(test)]
        self.syncs.lock().unwrap().push(directory.to_owned());
        sync_directory(directory)
    }
}

/// Removes files, and directories that are empty then; whether the directory itself is gone. Not synced: the call
/// that removes what is left does that.
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
