//! Where the bytes of files live: a directory of this machine, or a bucket that speaks S3.
//!
//! A key is `<projectId>/<relative path>`. What `put` has answered is durable, so a row that
//! names an object may be committed after it; what is missing reads as `None`, never as an error.

mod bucket_client;
pub(crate) mod durable;
mod inspect;
mod local;
mod s3;
pub mod signed;
pub mod staging;

use std::io;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::error::Error;
use local::Local;
use s3::S3;
pub use s3::VARIABLES as AWS_VARIABLES;

pub type Chunks = BoxStream<'static, io::Result<Bytes>>;

/// What `TOWNHALL_STORAGE` and the `AWS_*` variables say.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub address: &'a str,
    pub aws: &'a [(String, String)],
    pub path_style: bool,
}

#[derive(Debug)]
pub enum Storage {
    Local(Local),
    S3(Box<S3>),
}

impl Storage {
    /// Fails, in one line, on an address that is neither `file://…` nor `s3://…`. Asks nobody.
    pub fn check_settings(settings: &Settings<'_>) -> Result<(), String> {
        match settings.address.split_once("://") {
            Some(("file", directory)) if !directory.is_empty() => Ok(()),
            Some(("s3", bucket)) => S3::open(bucket, settings.aws, settings.path_style).map(drop),
            _ => Err(unknown_address(settings.address)),
        }
    }

    pub fn open(settings: &Settings<'_>) -> Result<Self, String> {
        if let Some(directory) = settings.address.strip_prefix("file://") {
            return Ok(Storage::Local(Local::open(directory)));
        }
        if let Some(bucket) = settings.address.strip_prefix("s3://") {
            let bucket = S3::open(bucket, settings.aws, settings.path_style)?;
            return Ok(Storage::S3(Box::new(bucket)));
        }
        Err(unknown_address(settings.address))
    }

    /// Asked once at the start, with whether there are rows of files: see [`Local::claim`]. A
    /// bucket that is lost is not silently made anew, and needs no marker.
    pub async fn claim(&self, should_hold_files: bool) -> io::Result<bool> {
        match self {
            Storage::Local(local) => local.claim(should_hold_files).await,
            Storage::S3(_) => Ok(true),
        }
    }

    /// Stores a staged file under a key. The staged file may be gone afterwards.
    pub async fn put(&self, key: &str, staged: &Path) -> Result<(), Error> {
        let stored = match self {
            Storage::Local(local) => local.put(key, staged).await,
            Storage::S3(bucket) => bucket.put(key, staged).await,
        };
        stored.map_err(unavailable)
    }

    /// The bytes of an object, or of a part of it.
    pub async fn read(
        &self,
        key: &str,
        range: Option<Range<u64>>,
    ) -> Result<Option<Chunks>, Error> {
        let opened = match self {
            Storage::Local(local) => local.read(key, range).await,
            Storage::S3(bucket) => bucket.read(key, range).await,
        };
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).map_err(unavailable),
        }
    }

    /// Removes everything below a prefix, which names whole segments. Nothing there is fine.
    pub async fn remove_under(&self, prefix: &str) -> Result<(), Error> {
        let removed = match self {
            Storage::Local(local) => local.remove_under(prefix).await,
            Storage::S3(bucket) => bucket.remove_under(prefix).await,
        };
        removed.map_err(unavailable)
    }

    /// Whether files can be stored and read right now.
    pub async fn check(&self) -> io::Result<()> {
        match self {
            Storage::Local(local) => local.check(),
            Storage::S3(bucket) => bucket.check().await,
        }
    }
}

fn unknown_address(storage: &str) -> String {
    format!("TOWNHALL_STORAGE: `{storage}` is no file:// or s3:// address")
}

/// The caller may come back; the log is told why.
pub(crate) fn unavailable(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::Busy("the server is out of disk space")
        }
        _ => {
            tracing::error!(%error, "the storage failed");
            Error::Busy("the storage cannot be reached")
        }
    }
}
