//! TIFF, the first image of the file. The format lists the position, number and size of its strips or tiles,
//! none of which need match the image, so they are checked first.

use std::io::{BufRead, Cursor, Seek};

use image::codecs::tiff::TiffDecoder;
use image::metadata::Orientation;
use tiff::decoder::{ChunkType, Decoder};
use tiff::tags::{CompressionMethod, Tag};

use super::{Found, generic};
use crate::picture::Picture;
use crate::plan::MAX_PIXELS;

/// One for each row of the tallest image that other formats allow.
const MAX_PIECES: u64 = 65_535;

pub(super) fn header(file: impl BufRead + Seek) -> Option<Found> {
    let mut decoder = Decoder::new(file).ok()?;
    let mut found = Found::bare(decoder.dimensions().ok()?);
    let turned = decoder.find_tag_unsigned::<u8>(Tag::Orientation).ok().flatten();
    found.orientation = turned.and_then(Orientation::from_exif);
    Some(found)
}

pub(super) fn decode(file: &[u8]) -> Option<Picture> {
    check(file)?;
    generic(TiffDecoder::new(Cursor::new(file)).ok()?)
}

fn check(file: &[u8]) -> Option<()> {
    let mut decoder = Decoder::new(Cursor::new(file)).ok()?;
    let method = decoder.find_tag_unsigned::<u16>(Tag::Compression).ok()?.unwrap_or(1);
    // Each strip would be a JPEG with a size of its own, which nothing bounds.
    let jpeg = [CompressionMethod::JPEG, CompressionMethod::ModernJPEG];
    if jpeg.contains(&CompressionMethod::from_u16_exhaustive(method)) {
        return None;
    }
    let pieces = match decoder.get_chunk_type() {
        ChunkType::Strip => decoder.strip_count(),
        ChunkType::Tile => decoder.tile_count(),
    };
    let pieces = u64::from(pieces.ok()?);
    let (width, height) = decoder.chunk_dimensions();
    let decoded = u64::from(width).checked_mul(u64::from(height))?.checked_mul(pieces)?;
    // Tiles may extend beyond the edges, and planes are counted separately.
    (pieces <= MAX_PIECES && decoded <= 8 * MAX_PIXELS).then_some(())
}
