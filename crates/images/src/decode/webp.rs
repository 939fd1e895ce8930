//! WebP, lossy and lossless, decoded in Rust: the C library only encodes.

use std::io::{BufRead, Cursor, Seek};

use image_webp::WebPDecoder;

use super::{Found, METADATA_BYTES};
use crate::picture::Picture;
use crate::plan::{Extent, MAX_PIXELS};

fn decoder<R: BufRead + Seek>(file: R) -> Option<WebPDecoder<R>> {
    let mut decoder = WebPDecoder::new(file).ok()?;
    decoder.set_memory_limit(METADATA_BYTES);
    Some(decoder)
}

pub(super) fn header(file: impl BufRead + Seek) -> Option<Found> {
    let mut decoder = decoder(file)?;
    let mut found = Found::bare(decoder.dimensions());
    found.exif = decoder.exif_metadata().ok().flatten();
    Some(found)
}

pub(super) fn decode(file: &[u8]) -> Option<Picture> {
    let mut decoder = decoder(Cursor::new(file))?;
    let (width, height) = decoder.dimensions();
    let extent = Extent { width, height };
    if extent.pixels() > MAX_PIXELS {
        return None;
    }
    let mut data = vec![0; decoder.output_buffer_size()?];
    decoder.read_image(&mut data).ok()?;
    let mut picture = match decoder.has_alpha() {
        true => Picture::rgba(extent, data),
        false => Picture::rgb(extent, data),
    }?;
    picture.convert_to_srgb(decoder.icc_profile().ok().flatten().as_deref());
    Some(picture)
}
