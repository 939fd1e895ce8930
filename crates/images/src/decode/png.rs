//! PNG, of every depth and color type, converted to 8 bits while it is read. Text chunks are skipped unread,
//! and data after the last row is ignored: both can hide a decompression bomb.

use std::io::{BufRead, Cursor, Seek};

use png::{ColorType, Decoder, Limits, Transformations};

use super::{Found, METADATA_BYTES};
use crate::picture::Picture;
use crate::plan::{Extent, MAX_PIXELS};

/// For a row, a colour profile and the like.
const BYTES: usize = 64 << 20;

fn decoder<R: BufRead + Seek>(file: R) -> Decoder<R> {
    let mut decoder = Decoder::new_with_limits(file, Limits { bytes: BYTES });
    decoder.set_ignore_text_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder
}

pub(super) fn header(file: impl BufRead + Seek) -> Option<Found> {
    let mut decoder = decoder(file);
    decoder.set_ignore_iccp_chunk(true);
    let size = decoder.read_header_info().ok()?.size();
    // The chunks after the first are read only if the image is not too large.
    if u64::from(size.0) * u64::from(size.1) > MAX_PIXELS {
        return Some(Found::bare(size));
    }
    let reader = decoder.read_info().ok()?;
    let mut found = Found::bare(size);
    found.exif = reader.info().exif_metadata.as_ref().map(|exif| exif.to_vec());
    Some(found)
}

pub(super) fn decode(file: &[u8]) -> Option<Picture> {
    let mut reader = decoder(Cursor::new(file)).read_info().ok()?;
    let (width, height) = reader.info().size();
    let extent = Extent { width, height };
    if extent.pixels() > MAX_PIXELS {
        return None;
    }
    let (color, _) = reader.output_color_type();
    let channels = color.samples();
    let written = if channels % 2 == 0 { 4 } else { 3 };
    let (width, height) = (width as usize, height as usize);
    let mut data = vec![0; width * height * written];
    if reader.info().interlaced {
        let mut packed = vec![0; reader.output_buffer_size()?];
        reader.next_frame(&mut packed).ok()?;
        spread(&packed, channels, &mut data, written);
    } else {
        for row in data.chunks_exact_mut(width * written) {
            let read = reader.next_row().ok()??;
            spread(read.data(), channels, row, written);
        }
    }
    let profile = reader.info().icc_profile.as_ref().filter(|icc| icc.len() <= METADATA_BYTES);
    let profile = profile.map(|icc| icc.to_vec());
    let mut picture = match written {
        4 => Picture::rgba(extent, data),
        _ => Picture::rgb(extent, data),
    }?;
    if matches!(color, ColorType::Rgb | ColorType::Rgba) {
        picture.convert_to_srgb(profile.as_deref());
    }
    Some(picture)
}

/// Grey becomes a colour.
fn spread(from: &[u8], channels: usize, to: &mut [u8], written: usize) {
    match (channels, written) {
        (1, 3) => to.chunks_exact_mut(3).zip(from).for_each(|(to, grey)| to.fill(*grey)),
        (2, 4) => {
            for (to, from) in to.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<2>().0) {
                *to = [from[0], from[0], from[0], from[1]];
            }
        }
        _ => to.copy_from_slice(&from[..to.len()]),
    }
}
