//! The staging directory: holds the files of a form until their request is decided.
//!
//! The total of all requests is bounded, a part of the disk always stays free, and a request's directory is
//! removed with the request. Leftovers of a crash are removed at the next start.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, Result};
use crate::storage::durable::remove_directory;
use crate::storage::unavailable;
use crate::values::random::{Random, hex};

const MIB: u64 = 1024 * 1024;
/// Disk space that uploads must leave free for the database.
const RESERVE: u64 = 256 * MIB;

#[derive(Debug)]
pub struct Staging {
    root: PathBuf,
    /// One permit for each mebibyte.
    budget: Arc<Semaphore>,
}

impl Staging {
    /// Empties the directory: its content belongs to requests of an earlier process.
    pub fn open(data_dir: &Path, mebibytes: usize) -> Result<Self, String> {
        let root = data_dir.join("staging");
        remove_directory(&root)
            .and_then(|()| DirBuilder::new().recursive(true).mode(0o700).create(&root))
            .map_err(|error| format!("the directory {} cannot be made: {error}", root.display()))?;
        Ok(Staging { root, budget: Arc::new(Semaphore::new(mebibytes)) })
    }

    /// A new directory, removed with its last handle.
    pub async fn directory(&self, random: &Random) -> Result<Arc<Staged>> {
        let path = self.root.join(hex(&random.bytes::<16>()));
        let made = path.clone();
        let made = tokio::task::spawn_blocking(move || {
            DirBuilder::new().recursive(true).mode(0o700).create(made)
        });
        made.await.map_err(Error::internal)?.map_err(unavailable)?;
        let account = Mutex::new(Account::default());
        Ok(Arc::new(Staged { path, budget: self.budget.clone(), account }))
    }
}

/// One request's directory.
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    budget: Arc<Semaphore>,
    account: Mutex<Account>,
}

#[derive(Debug, Default)]
struct Account {
    used: u64,
    held: Option<OwnedSemaphorePermit>,
}

impl Staged {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reserves space before it is used, or accounts for what has been written already.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.used += bytes;
        let held = account.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let wanted = usize::try_from(account.used.div_ceil(MIB)).unwrap_or(usize::MAX);
        let Some(missing) = wanted.checked_sub(held).filter(|missing| *missing > 0) else {
            return Ok(());
        };
        let space = rustix::fs::statvfs(&self.path).map_err(|error| unavailable(error.into()))?;
        if space.f_bavail.saturating_mul(space.f_frsize) < RESERVE {
            return Err(Error::Busy("the server is out of disk space"));
        }
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        let more = self.budget.clone().try_acquire_many_owned(missing);
        let more = more.map_err(|_| Error::Busy("too many uploads are under way"))?;
        match &mut account.held {
            Some(held) => held.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        let held = self.account.get_mut().unwrap_or_else(PoisonError::into_inner).held.take();
        let remove = move || {
            if let Err(error) = fs::remove_dir_all(&path)
                && error.kind() != ErrorKind::NotFound
            {
                tracing::warn!(%error, "staged files could not be removed");
            }
            // Releases the space only after the removal.
            drop(held);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::scratch::Scratch;

    #[tokio::test]
    async fn room_is_bounded_over_all_requests_and_comes_back() {
        let scratch = Scratch::fresh();
        let root = scratch.path();
        fs::create_dir_all(root.join("staging/left behind")).unwrap();
        let staging = Staging::open(root, 3).unwrap();
        assert_eq!(fs::read_dir(root.join("staging")).unwrap().count(), 0);

        let random = Random::seeded(1);
        let one = staging.directory(&random).await.unwrap();
        let two = staging.directory(&random).await.unwrap();
        one.reserve(MIB).unwrap();
        one.reserve(1).unwrap();
        assert_eq!(staging.budget.available_permits(), 1);
        two.reserve(MIB).unwrap();
        assert!(matches!(two.reserve(1), Err(Error::Busy(_))));
        let path = one.path().to_owned();
        drop(one);
        let _room = staging.budget.acquire_many(2).await.unwrap();
        assert!(!path.exists(), "room comes back once the files are gone");
    }
}
