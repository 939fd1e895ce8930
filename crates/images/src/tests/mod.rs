//! Images go in as files and come out as files. All of them are made here, so that each test says
//! what is in its own.

mod formats;
mod geometry;
mod hostile;
mod metadata;
mod options;
mod pool;
mod pyramid;

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::decode::{Header, Kind};
use super::picture::Picture;
use super::plan::Extent;
use super::*;

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("townhall-images-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("out")).unwrap();
        Scratch(path)
    }

    fn source(&self, file: &[u8]) -> PathBuf {
        let path = self.0.join("source");
        fs::write(&path, file).unwrap();
        path
    }

    fn out(&self) -> PathBuf {
        self.0.join("out")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What came of an image, as long as its files exist.
struct Made {
    processed: Processed,
    _scratch: Scratch,
}

impl Made {
    fn variant(&self, name: &str) -> &Output {
        &self.processed.variants.iter().find(|(n, _)| n == name).expect("no such variant").1
    }

    fn outputs(&self) -> impl Iterator<Item = &Output> {
        let variants = self.processed.variants.iter().map(|(_, output)| output);
        std::iter::once(&self.processed.original).chain(variants)
    }
}

fn options(options: Value) -> Options {
    Options::parse(options.as_object().unwrap(), MissingKey::NoVariants).unwrap()
}

async fn process(file: &[u8], wanted: Value) -> Result<Made, Failure> {
    let scratch = Scratch::new();
    let job = Processor::plan(scratch.source(file), options(wanted)).await?;
    Job::check_together([((), &job)].into_iter()).map_err(|((), failure)| failure)?;
    let processed = Processor::new(2).process(job, scratch.out(), 0).await?;
    Ok(Made { processed, _scratch: scratch })
}

async fn made(file: &[u8], wanted: Value) -> Made {
    process(file, wanted).await.unwrap()
}

/// The text of the refusal of a file that must not be accepted.
async fn refused(file: &[u8]) -> String {
    match process(file, json!({"mode": "original-aspect"})).await {
        Err(Failure::Invalid(why)) => why,
        Err(other) => panic!("{other:?}"),
        Ok(made) => panic!("accepted: {:?}", made.processed),
    }
}

fn header(file: &[u8]) -> Header {
    Header::read(Kind::of(file).unwrap(), Cursor::new(file)).unwrap()
}

fn decoded(file: &[u8]) -> Picture {
    header(file).decode(file).unwrap()
}

/// The colour at a place given in parts of width and height, with its alpha.
fn colour(path: &Path, across: f64, down: f64) -> [u8; 4] {
    let picture = decoded(&fs::read(path).unwrap());
    let Extent { width, height } = picture.extent();
    let (x, y) = ((f64::from(width) * across) as usize, (f64::from(height) * down) as usize);
    let channels = if picture.has_alpha() { 4 } else { 3 };
    let at = (y * width as usize + x) * channels;
    let pixel = &picture.data()[at..at + channels];
    [pixel[0], pixel[1], pixel[2], pixel.get(3).copied().unwrap_or(255)]
}

#[track_caller]
fn assert_colour(path: &Path, place: (f64, f64), expected: [u8; 4]) {
    let found = colour(path, place.0, place.1);
    let near = found.iter().zip(&expected).all(|(a, b)| a.abs_diff(*b) <= 12);
    assert!(near, "{found:?} instead of {expected:?} at {place:?}");
}

const RED: [u8; 4] = [230, 20, 20, 255];
const GREEN: [u8; 4] = [20, 200, 20, 255];
const BLUE: [u8; 4] = [20, 20, 220, 255];
const WHITE: [u8; 4] = [240, 240, 240, 255];
const BLACK: [u8; 4] = [0, 0, 0, 255];

/// Four fields: red and green, below them blue and white.
fn fields(width: u32, height: u32) -> Vec<u8> {
    let pixel = |at: u32| match ((at % width) * 2 / width, (at / width) * 2 / height) {
        (0, 0) => RED,
        (_, 0) => GREEN,
        (0, _) => BLUE,
        _ => WHITE,
    };
    (0..width * height).flat_map(|at| pixel(at).into_iter().take(3)).collect()
}

/// The same on every run, and hard to compress.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let step = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(step).take(bytes).collect()
}

fn png(size: (u32, u32), color: png::ColorType, depth: png::BitDepth, data: &[u8]) -> Vec<u8> {
    png_with(size, data, |info| (info.color_type, info.bit_depth) = (color, depth))
}

fn png_with(size: (u32, u32), data: &[u8], set: impl FnOnce(&mut png::Info<'_>)) -> Vec<u8> {
    let mut info = png::Info::with_size(size.0, size.1);
    (info.color_type, info.bit_depth) = (png::ColorType::Rgb, png::BitDepth::Eight);
    set(&mut info);
    let mut file = Vec::new();
    let mut writer = png::Encoder::with_info(&mut file, info).unwrap().write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    file
}

fn png_fields(width: u32, height: u32) -> Vec<u8> {
    png((width, height), png::ColorType::Rgb, png::BitDepth::Eight, &fields(width, height))
}

fn jpeg_with(
    size: (u16, u16),
    color: jpeg_encoder::ColorType,
    data: &[u8],
    set: impl FnOnce(&mut jpeg_encoder::Encoder<&mut Vec<u8>>),
) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut file, 90);
    set(&mut encoder);
    encoder.encode(data, size.0, size.1, color).unwrap();
    file
}

fn jpeg(size: (u16, u16), data: &[u8]) -> Vec<u8> {
    jpeg_with(size, jpeg_encoder::ColorType::Rgb, data, |_| ())
}

fn webp(size: (u32, u32), data: &[u8], config: webpx::EncoderConfig) -> Vec<u8> {
    config.encode_rgb(data, size.0, size.1, webpx::Unstoppable).unwrap()
}

fn lossy() -> webpx::EncoderConfig {
    webpx::EncoderConfig::new().quality(90.0)
}

fn gif(size: (u32, u32), data: &[u8], frames: u32) -> Vec<u8> {
    use image::codecs::gif::GifEncoder;
    let mut file = Vec::new();
    let mut encoder = GifEncoder::new(&mut file);
    for _ in 0..frames {
        encoder.encode(data, size.0, size.1, image::ExtendedColorType::Rgb8).unwrap();
    }
    drop(encoder);
    file
}

fn tiff<C: tiff::encoder::colortype::ColorType>(size: (u32, u32), data: &[C::Inner]) -> Vec<u8>
where
    [C::Inner]: tiff::encoder::TiffValue,
{
    let mut file = Cursor::new(Vec::new());
    let mut encoder = tiff::encoder::TiffEncoder::new(&mut file).unwrap();
    encoder.write_image::<C>(size.0, size.1, data).unwrap();
    file.into_inner()
}

/// One image of every accepted format, all with the same size and content.
fn one_of_each(size: (u32, u32), data: &[u8]) -> [(&'static str, Vec<u8>); 5] {
    use png::{BitDepth, ColorType};
    [
        ("jpeg", jpeg((size.0 as u16, size.1 as u16), data)),
        ("png", png(size, ColorType::Rgb, BitDepth::Eight, data)),
        ("gif", gif(size, data, 1)),
        ("webp", webp(size, data, lossy())),
        ("tiff", tiff::<tiff::encoder::colortype::RGB8>(size, data)),
    ]
}
