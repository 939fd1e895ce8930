//! Where scheduled backups are kept: a directory, or a bucket.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::runtime::Handle;

use crate::config::{BackupSchedule, Config};
use crate::state::App;
use crate::storage::Storage;
use crate::storage::durable::{make_directories, remove_directory};
use crate::transfer::backup::Backup;
use crate::transfer::{Result, archive};
use crate::values::random::hex;
use crate::values::time::Timestamp;

const BEFORE: &str = "townhall-";
const AFTER: &str = ".tar.zst";
/// Where the archive for a bucket is written first, in the data directory.
const OUTGOING: &str = "backup";

pub(super) enum Destination {
    Directory(PathBuf),
    /// The bucket, and the directory that archives are written in first.
    Bucket(Box<Storage>, PathBuf),
}

impl Destination {
    pub(super) fn open(config: &Config, schedule: &BackupSchedule) -> Result<Self> {
        match schedule.bucket_settings(config) {
            Some(settings) => {
                let bucket = Box::new(Storage::open(&settings)?);
                Ok(Destination::Bucket(bucket, config.data_dir.join(OUTGOING)))
            }
            None => Ok(Destination::Directory(PathBuf::from(&schedule.to))),
        }
    }

    /// Makes a backup, verified where it is kept. Blocks.
    pub(super) fn add(&self, app: &App, runtime: &Handle, now: Timestamp) -> Result<String> {
        let name = name(now);
        let backup = Backup {
            db: &app.db,
            storage: &app.storage,
            runtime,
            random: &app.random,
            now,
            secret: None,
            directory: false,
            project: None,
        };
        match self {
            Destination::Directory(directory) => {
                make_directories(directory)?;
                remove_unfinished(directory)?;
                backup.run(&directory.join(&name), &|_, _| {})?;
            }
            Destination::Bucket(bucket, outgoing) => {
                // What a killed backup has left.
                remove_directory(outgoing)?;
                make_directories(outgoing)?;
                let path = outgoing.join(&name);
                backup.run(&path, &|_, _| {})?;
                runtime.block_on(bucket.put(&name, &path))?;
                let (_, expected) = archive::measure(&path)?;
                let found = runtime.block_on(digest_in(bucket, &name))?;
                remove_directory(outgoing)?;
                if found != Some(expected) {
                    return Err(format!("{name} is not in the bucket as it was written").into());
                }
            }
        }
        Ok(name)
    }

    /// Removes all but the newest ones; other files are left alone.
    pub(super) fn remove_oldest(&self, runtime: &Handle, keep: usize) -> Result<()> {
        let mut names: Vec<String> = match self {
            Destination::Directory(directory) => names(directory)?,
            Destination::Bucket(bucket, _) => runtime.block_on(async {
                let keys = bucket.keys().await?;
                keys.try_collect().await
            })?,
        };
        names.retain(|name| is_backup(name));
        names.sort();
        let old = names.len().saturating_sub(keep);
        for name in &names[..old] {
            match self {
                Destination::Directory(directory) => fs::remove_file(directory.join(name))?,
                Destination::Bucket(bucket, _) => runtime.block_on(bucket.remove(name))?,
            }
        }
        Ok(())
    }
}

/// `townhall-20260801T120000Z.tar.zst`: in the order of time.
fn name(now: Timestamp) -> String {
    let stamp: String = now.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let seconds = stamp.split('.').next().unwrap_or_default();
    format!("{BEFORE}{seconds}Z{AFTER}")
}

fn is_backup(name: &str) -> bool {
    let stamp = name.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(AFTER));
    stamp.is_some_and(|stamp| {
        let fits = |(at, byte): (usize, u8)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        };
        stamp.len() == 16 && stamp.bytes().enumerate().all(fits)
    })
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.file_name()));
    Ok(names
        .collect::<io::Result<Vec<_>>>()?
        .into_iter()
        .filter_map(|n| n.into_string().ok())
        .collect())
}

/// Archives that a killed backup has left under their temporary names: this node holds the lease.
fn remove_unfinished(directory: &Path) -> io::Result<()> {
    for name in names(directory)? {
        let own = name.strip_prefix('.').and_then(|rest| rest.rsplit_once('.'));
        if own.is_some_and(|(archive, _)| is_backup(archive)) {
            fs::remove_file(directory.join(name))?;
        }
    }
    Ok(())
}

async fn digest_in(bucket: &Storage, name: &str) -> Result<Option<String>> {
    let Some(mut chunks) = bucket.read(name, None).await? else { return Ok(None) };
    let mut sum = Context::new(&SHA256);
    while let Some(chunk) = chunks.next().await {
        sum.update(&chunk?);
    }
    Ok(Some(hex(sum.finish().as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_are_backups() {
        let name = name(Timestamp::from_millis(1_785_585_600_000));
        assert_eq!(name, "townhall-20260801T120000Z.tar.zst");
        assert!(is_backup(&name));
        for other in [
            "townhall-monday.tar.zst",
            "townhall-20260801T120000Z.tar.zst.old",
            "my-townhall-20260801T120000Z.tar.zst",
            "sub/townhall-20260801T120000Z.tar.zst",
            "townhall-20260801T120000.tar.zst",
            "townhall-2026080aT120000Z.tar.zst",
        ] {
            assert!(!is_backup(other), "{other}");
        }
    }
}
