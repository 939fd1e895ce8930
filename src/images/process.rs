//! The pool that images are worked on: so many at once, so much memory, and nobody waits long.
//!
//! One image takes, at its peak, up to 12 bytes for each of its pixels, or 28 if it is transparent:
//! the picture, what a decoder collects before it, and what an encoder makes of it. A photo of 12
//! megapixels was measured at 110 MB, the worst that 100 megapixels can be at 1.7 GB. So that
//! several large images do not meet, a place in the pool stands for 300 MB, and an image takes as
//! many as it may need.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use tokio::sync::Semaphore;
use webpx::{Stop, StopReason};

use super::decode::{Header, Kind};
use super::encode::Encoder;
use super::picture::Picture;
use super::plan::{self, Recipe};
use super::{Encoding, Failure, Options, Output, Processed};
use crate::random::hex;

/// How long an image may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(3);
/// What one place in the pool is good for.
const BYTES_PER_PLACE: u64 = 300_000_000;

#[derive(Debug, Clone)]
pub struct Processor {
    places: Arc<Semaphore>,
    at_once: usize,
    patience: Duration,
}

impl Processor {
    pub fn new(at_once: usize) -> Self {
        let at_once = at_once.clamp(1, 1024);
        Processor { places: Arc::new(Semaphore::new(at_once)), at_once, patience: PATIENCE }
    }

    /// Whether a file that begins so may be an image.
    pub fn sniff(first_bytes: &[u8]) -> bool {
        Kind::of(first_bytes).is_some()
    }

    /// Writes the original and all variants of an image into the directory `into`, on disk when
    /// this returns. What was written when it fails, or when the caller stops waiting, is the
    /// caller's to remove.
    pub async fn process(
        &self,
        source: PathBuf,
        options: Options,
        into: PathBuf,
    ) -> Result<Processed, Failure> {
        // Headers are read without a place: they take little, and say how many places it takes.
        let job = on_a_thread(move || Job::prepare(source, options, into)).await?;
        let places = job.memory().div_ceil(BYTES_PER_PLACE) as usize;
        let places = places.clamp(1, self.at_once) as u32;
        let turn = self.places.clone().acquire_many_owned(places);
        let Ok(Ok(turn)) = tokio::time::timeout(self.patience, turn).await else {
            return Err(Failure::Busy);
        };
        // When the caller hangs up, this is dropped, but the thread works on until it notices,
        // and keeps its places until then.
        let waiting = Arc::new(());
        let caller = Caller(Arc::downgrade(&waiting));
        on_a_thread(move || {
            let processed = job.run(&caller);
            drop(turn);
            processed
        })
        .await
    }
}

/// Work on a stranger's file, on a thread that may block. Should a decoder panic after all, the
/// file is to blame.
async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let guarded = move || {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            tracing::error!("an image made a decoder panic");
            Err(Failure::Invalid("it cannot be read".to_owned()))
        })
    };
    tokio::task::spawn_blocking(guarded).await.map_err(Failure::internal)?
}

/// Whether somebody still waits for the result.
struct Caller(Weak<()>);

impl Stop for Caller {
    fn check(&self) -> Result<(), StopReason> {
        if self.0.strong_count() > 0 { Ok(()) } else { Err(StopReason::Cancelled) }
    }
}

/// An image whose header was found to be good, and what is to be made of it.
struct Job {
    source: PathBuf,
    into: PathBuf,
    options: Options,
    header: Header,
    encoding: Encoding,
    recipes: Vec<Recipe>,
}

impl Job {
    fn prepare(source: PathBuf, options: Options, into: PathBuf) -> Result<Job, Failure> {
        let mut file = File::open(&source).map_err(Failure::internal)?;
        let mut start = Vec::new();
        (&file).take(16).read_to_end(&mut start).map_err(Failure::internal)?;
        file.rewind().map_err(Failure::internal)?;
        let kind = Kind::of(&start).ok_or_else(|| {
            Failure::Invalid("only JPEG, PNG, WebP, GIF and TIFF are accepted".to_owned())
        })?;
        let header = Header::read(kind, BufReader::new(file)).map_err(Failure::Invalid)?;
        let encoding = kind.written_as(options.format());
        let recipes =
            plan::recipes(&options, header.extent(), encoding).map_err(Failure::Options)?;
        Ok(Job { source, into, options, header, encoding, recipes })
    }

    /// About as many bytes as this may take.
    fn memory(&self) -> u64 {
        let per_pixel = if self.header.kind == Kind::Jpeg { 12 } else { 28 };
        self.header.extent().pixels() * per_pixel
    }

    fn run(self, caller: &Caller) -> Result<Processed, Failure> {
        let original = self.decoded()?;
        let exif = self.header.exif.as_deref().filter(|_| !self.options.strips_exif());
        let writer = Writer {
            encoder: Encoder::new(self.encoding, self.options.quality(), exif),
            encoding: self.encoding,
            into: &self.into,
            caller,
        };
        self.write_all(original, &writer).map_err(Failure::Internal)
    }

    /// The picture as it is to be seen, in the form that everything is made from.
    fn decoded(&self) -> Result<Picture, Failure> {
        let file = fs::read(&self.source).map_err(Failure::internal)?;
        let picture = self.header.decode(&file).map_err(Failure::Invalid)?;
        drop(file);
        let picture = match self.encoding {
            Encoding::Jpeg => picture.flattened(),
            Encoding::Webp | Encoding::Png => picture.simplified(),
        };
        Ok(picture.turned(self.header.orientation))
    }

    fn write_all(
        &self,
        original: Picture,
        writer: &Writer<'_>,
    ) -> Result<Processed, Box<dyn Error + Send + Sync>> {
        let extent = original.extent();
        let written = writer.write("original", &original)?;
        let source = original.premultiplied()?;
        let mut variants = Vec::with_capacity(self.recipes.len());
        for (at, (variant, recipe)) in self.options.variants.iter().zip(&self.recipes).enumerate() {
            let picture = source.variant(recipe, self.encoding == Encoding::Jpeg)?;
            // Names are the caller's choice, and file systems have opinions about names.
            let output = writer.write(&format!("variant-{at}"), &picture)?;
            variants.push((variant.name.clone(), output));
        }
        Ok(Processed {
            width: extent.width,
            height: extent.height,
            source_format: self.header.kind.name(),
            original: written,
            variants,
        })
    }
}

struct Writer<'a> {
    encoder: Encoder<'a>,
    encoding: Encoding,
    into: &'a Path,
    caller: &'a Caller,
}

impl Writer<'_> {
    fn write(&self, name: &str, picture: &Picture) -> Result<Output, Box<dyn Error + Send + Sync>> {
        let encoded = self.encoder.encode(picture, self.caller)?;
        let path = self.into.join(format!("{name}.{}", self.encoding.extension()));
        let mut file = File::create(&path)?;
        file.write_all(&encoded)?;
        file.sync_all()?;
        let extent = picture.extent();
        Ok(Output {
            file: path,
            width: extent.width,
            height: extent.height,
            size: encoded.len() as u64,
            sha256: hex(digest(&SHA256, &encoded).as_ref()),
            encoding: self.encoding,
        })
    }
}

#[cfg(test)]
impl Processor {
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Processor { patience, ..self }
    }

    pub(super) fn places(&self) -> &Semaphore {
        &self.places
    }
}
