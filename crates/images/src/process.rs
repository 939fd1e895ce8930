//! From a staged file to an original and variants: first the header, which all limits use, then, when the
//! pool has a slot, the pixels.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use aws_lc_rs::digest::{SHA256, digest};
use webpx::{Stop, StopReason};

use super::decode::{Header, Kind};
use super::encode::{EXIF_BYTES, Encoder};
use super::picture::Picture;
use super::plan::{self, Recipe};
use super::pool::Pool;
use super::pyramid::Pyramid;
use super::{Encoding, Failure, Options, Output, Processed};

#[derive(Debug)]
pub struct Processor {
    pool: Pool,
}

impl Processor {
    pub fn new(at_once: usize) -> Self {
        Processor { pool: Pool::new(at_once) }
    }

    /// Whether a file with this beginning may be an image.
    pub fn sniff(first_bytes: &[u8]) -> bool {
        Kind::of(first_bytes).is_some()
    }

    /// Reads the header of an image and plans the work. No pixel is decoded.
    pub async fn plan(source: PathBuf, options: Options) -> Result<Job, Failure> {
        // Needs no slot: headers are cheap, and tell the cost of the rest.
        on_a_thread(move || Job::plan(source, options)).await
    }

    /// Writes the original and all variants of an image into the directory `into`; they are on disk when this
    /// returns. On failure, or when the caller stops waiting, the caller removes what was written. Images of
    /// one `owner` take turns with those of others.
    pub async fn process(
        &self,
        job: Job,
        into: PathBuf,
        owner: u128,
    ) -> Result<Processed, Failure> {
        let turn = self.pool.turn(job.work(), job.memory(), owner).await.ok_or(Failure::Busy)?;
        // When the client disconnects, this is dropped, but the thread keeps running, and keeps its slots,
        // until it notices.
        let waiting = Arc::new(());
        let caller = Caller(Arc::downgrade(&waiting));
        on_a_thread(move || {
            let processed = job.run(&into, &caller);
            drop(turn);
            processed
        })
        .await
    }
}

/// Runs work on an untrusted file on a blocking thread. If a decoder panics, the file is refused.
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

/// Whether the result is still wanted.
struct Caller(Weak<()>);

impl Stop for Caller {
    fn check(&self) -> Result<(), StopReason> {
        if self.0.strong_count() > 0 { Ok(()) } else { Err(StopReason::Cancelled) }
    }
}

/// An image with a valid header, and its work plan.
#[derive(Debug)]
pub struct Job {
    source: PathBuf,
    options: Options,
    header: Header,
    encoding: Encoding,
    recipes: Vec<Recipe>,
}

impl Job {
    fn plan(source: PathBuf, options: Options) -> Result<Job, Failure> {
        let mut file = File::open(&source).map_err(Failure::internal)?;
        let mut start = Vec::new();
        (&file).take(16).read_to_end(&mut start).map_err(Failure::internal)?;
        file.rewind().map_err(Failure::internal)?;
        let kind = Kind::of(&start).ok_or_else(|| {
            Failure::Invalid("only JPEG, PNG, WebP, GIF and TIFF are accepted".to_owned())
        })?;
        let mut header = Header::read(kind, BufReader::new(file)).map_err(Failure::Invalid)?;
        // Only what will be written is kept while the image waits for its slot.
        header.exif.take_if(|exif| options.strips_exif() || exif.len() > EXIF_BYTES);
        let encoding = kind.written_as(options.format());
        let recipes =
            plan::recipes(&options, header.extent(), encoding).map_err(Failure::Options)?;
        Ok(Job { source, options, header, encoding, recipes })
    }

    /// The first image that exceeds the limits of all images of a request together, and why.
    pub fn check_together<'a, T>(
        images: impl Iterator<Item = (T, &'a Job)> + Clone,
    ) -> Result<(), (T, Failure)> {
        let sources = images.clone().map(|(image, job)| (image, job.header.extent().pixels()));
        if let Some(image) = plan::first_beyond(sources) {
            let why = "the images of a request have more than 100 megapixels together";
            return Err((image, Failure::Invalid(why.to_owned())));
        }
        if let Some(image) = plan::first_beyond(images.map(|(image, job)| (image, job.output()))) {
            let why =
                "the images of a request and their variants have more than 100 megapixels together";
            return Err((image, Failure::Options(why.to_owned())));
        }
        Ok(())
    }

    /// Pixels written; the original is encoded again.
    fn output(&self) -> u64 {
        let variants = self.recipes.iter().map(|recipe| recipe.canvas.pixels());
        self.header.extent().pixels() + variants.sum::<u64>()
    }

    /// How many pixels are read and written.
    fn work(&self) -> u64 {
        self.header.extent().pixels() + self.output()
    }

    /// Estimated bytes of memory.
    fn memory(&self) -> u64 {
        let per_pixel = if self.header.kind == Kind::Jpeg { 12 } else { 28 };
        self.header.extent().pixels() * per_pixel
    }

    fn run(self, into: &Path, caller: &Caller) -> Result<Processed, Failure> {
        let original = self.decoded()?;
        let exif = self.header.exif.as_deref();
        let writer = Writer {
            encoder: Encoder::new(self.encoding, self.options.quality(), exif),
            encoding: self.encoding,
            into,
            caller,
        };
        self.write_all(original, &writer).map_err(Failure::Internal)
    }

    /// The oriented picture, as the source of all outputs.
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
        let mut source = Pyramid::new(original.premultiplied()?);
        let mut variants = Vec::with_capacity(self.recipes.len());
        for (at, (variant, recipe)) in self.options.variants.iter().zip(&self.recipes).enumerate() {
            let picture = source.variant(recipe, self.encoding == Encoding::Jpeg)?;
            // Not the variant's name: file systems restrict names.
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
            sha256: digest(&SHA256, &encoded).as_ref().to_vec(),
            encoding: self.encoding,
        })
    }
}

#[cfg(test)]
impl Processor {
    pub(super) fn with_patience(self, patience: std::time::Duration) -> Self {
        Processor { pool: self.pool.with_patience(patience) }
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }
}
