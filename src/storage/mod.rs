//! Storage of file bytes: a local directory, or an S3 bucket.
//!
//! A key is `<projectId>/<relative path>`. A file is durable once `put` has returned, so a row that names it
//! may be committed after that; a missing object reads as `None`, never as an error.

pub mod blocking;
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
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use db::{Histogram, Latency};
use futures_util::stream::BoxStream;

use crate::error::Error;
use local::Local;
use s3::S3;
pub use s3::VARIABLES as AWS_VARIABLES;

pub type Chunks = BoxStream<'static, io::Result<Bytes>>;

/// The values of `TOWNHALL_STORAGE` and the `AWS_*` variables.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub address: &'a str,
    pub aws: &'a [(String, String)],
    pub path_style: bool,
}

#[derive(Debug)]
pub struct Storage {
    place: Place,
    meters: Meters,
}

#[derive(Debug)]
enum Place {
    Local(Local),
    S3(Box<S3>),
}

/// What the operations of a storage have taken.
#[derive(Debug, Default)]
struct Meters {
    put: Meter,
    read: Meter,
    remove: Meter,
}

#[derive(Debug, Default)]
struct Meter {
    durations: Histogram,
    failures: AtomicU64,
}

/// By the operation's name.
pub type Figures = [(&'static str, OperationFigures); 3];

#[derive(Debug)]
pub struct OperationFigures {
    pub durations: Latency,
    pub failures: u64,
}

impl Meter {
    async fn measure<T>(&self, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let done = self.durations.time(work).await;
        // That an object does not exist is an answer.
        if done.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            self.failures.fetch_add(1, Relaxed);
        }
        done
    }

    fn figures(&self) -> OperationFigures {
        let (durations, failures) = (self.durations.snapshot(), self.failures.load(Relaxed));
        OperationFigures { durations, failures }
    }
}

impl Storage {
    /// Fails, in one line, on an address that is neither `file://…` nor `s3://…`. Makes no request.
    pub fn check_settings(settings: &Settings<'_>) -> Result<(), String> {
        match settings.address.split_once("://") {
            Some(("file", directory)) if !directory.is_empty() => Ok(()),
            Some(("s3", bucket)) => S3::open(bucket, settings.aws, settings.path_style).map(drop),
            _ => Err(unknown_address(settings.address)),
        }
    }

    pub fn open(settings: &Settings<'_>) -> Result<Self, String> {
        if let Some(directory) = settings.address.strip_prefix("file://") {
            return Ok(Storage::at(Place::Local(Local::open(directory))));
        }
        if let Some(bucket) = settings.address.strip_prefix("s3://") {
            let bucket = S3::open(bucket, settings.aws, settings.path_style)?;
            return Ok(Storage::at(Place::S3(Box::new(bucket))));
        }
        Err(unknown_address(settings.address))
    }

    fn at(place: Place) -> Self {
        Storage { place, meters: Meters::default() }
    }

    /// Whether files are on this machine.
    pub fn is_local(&self) -> bool {
        matches!(self.place, Place::Local(_))
    }

    pub fn figures(&self) -> Figures {
        let Meters { put, read, remove } = &self.meters;
        [("put", put.figures()), ("read", read.figures()), ("remove", remove.figures())]
    }

    /// Called once at the start, with whether there are rows of files: see [`Local::claim`]. A lost bucket is
    /// not created again silently, so it needs no marker.
    pub async fn claim(&self, should_hold_files: bool) -> io::Result<bool> {
        match &self.place {
            Place::Local(local) => local.claim(should_hold_files).await,
            Place::S3(_) => Ok(true),
        }
    }

    /// Stores a staged file under a key. The staged file may be moved.
    pub async fn put(&self, key: &str, staged: &Path) -> Result<(), Error> {
        let stored = self.meters.put.measure(async {
            match &self.place {
                Place::Local(local) => local.put(key, staged).await,
                Place::S3(bucket) => bucket.put(key, staged).await,
            }
        });
        stored.await.map_err(unavailable)
    }

    /// The bytes of an object, or of a part of it.
    pub async fn read(
        &self,
        key: &str,
        range: Option<Range<u64>>,
    ) -> Result<Option<Chunks>, Error> {
        let opened = self.meters.read.measure(async {
            match &self.place {
                Place::Local(local) => local.read(key, range).await,
                Place::S3(bucket) => bucket.read(key, range).await,
            }
        });
        match opened.await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).map_err(unavailable),
        }
    }

    /// Removes one object, which exists.
    pub async fn remove(&self, key: &str) -> Result<(), Error> {
        let removed = self.meters.remove.measure(async {
            match &self.place {
                Place::Local(local) => local.remove(key).await,
                Place::S3(bucket) => bucket.remove(key).await,
            }
        });
        removed.await.map_err(unavailable)
    }

    /// Removes everything below a prefix of whole segments. No error if nothing exists.
    pub async fn remove_under(&self, prefix: &str) -> Result<(), Error> {
        let removed = self.meters.remove.measure(async {
            match &self.place {
                Place::Local(local) => local.remove_under(prefix).await,
                Place::S3(bucket) => bucket.remove_under(prefix).await,
            }
        });
        removed.await.map_err(unavailable)
    }

    /// Removes at most this many objects below a prefix of whole segments. Whether there may be more.
    pub async fn remove_some(&self, prefix: &str, most: usize) -> Result<bool, Error> {
        let left = self.meters.remove.measure(async {
            match &self.place {
                Place::Local(local) => local.remove_some(prefix, most).await,
                Place::S3(bucket) => bucket.remove_some(prefix, most).await,
            }
        });
        left.await.map_err(unavailable)
    }

    /// Whether files can be stored and read right now.
    pub async fn check(&self) -> io::Result<()> {
        match &self.place {
            Place::Local(local) => local.check(),
            Place::S3(bucket) => bucket.check().await,
        }
    }
}

fn unknown_address(storage: &str) -> String {
    format!("TOWNHALL_STORAGE: `{storage}` is no file:// or s3:// address")
}

/// The caller may retry; the log has the cause.
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
