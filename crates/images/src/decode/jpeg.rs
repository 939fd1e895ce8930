//! JPEG of all kinds except arithmetic and lossless ones. A truncated file is refused rather than filled up
//! with grey.

use std::io::{BufRead, Seek};

use zune_core::bytestream::{ZByteReaderTrait, ZCursor};
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::{Found, METADATA_BYTES};
use crate::picture::Picture;
use crate::plan::Extent;

/// A few bytes are enough for a scan over every pixel: files with hundreds of scans exist only to keep
/// decoders busy. Cameras and editors write about ten.
const MAX_SCANS: u64 = 100;
/// Maximum pixels of all scans together.
const MAX_SCANNED: u64 = 2_000_000_000;

fn decoder<T: ZByteReaderTrait>(file: T) -> JpegDecoder<T> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    JpegDecoder::new_with_options(file, options)
}

pub(super) fn header(file: impl BufRead + Seek) -> Option<Found> {
    let mut decoder = decoder(file);
    decoder.decode_headers().ok()?;
    let info = decoder.info()?;
    let mut found = Found::bare((info.width.into(), info.height.into()));
    found.exif = decoder.exif().cloned();
    Some(found)
}

pub(super) fn decode(file: &[u8]) -> Option<Picture> {
    let mut decoder = decoder(ZCursor::new(file));
    decoder.decode_headers().ok()?;
    let info = decoder.info()?;
    let extent = Extent { width: info.width.into(), height: info.height.into() };
    let Scans { count, misread } = Scans::of(file)?;
    if misread || count > MAX_SCANS || count * extent.pixels() > MAX_SCANNED {
        return None;
    }
    let mut picture = Picture::rgb(extent, decoder.decode().ok()?)?;
    // Profiles of other color spaces, CMYK above all, no longer apply after the decoder's conversion.
    if matches!(decoder.input_colorspace(), Some(ColorSpace::YCbCr | ColorSpace::RGB)) {
        let profile = decoder.icc_profile().filter(|profile| profile.len() <= METADATA_BYTES);
        picture.convert_to_srgb(profile.as_deref());
    }
    Some(picture)
}

/// The scans of the image; data after its end is ignored.
#[derive(Default)]
struct Scans {
    count: u64,
    /// Whether they are of the one kind that zune-jpeg 0.5.15 decodes to garbage without an error: baseline,
    /// one scan for each component, with subsampling (its issue 422). Remove with the release that fixes it.
    misread: bool,
}

impl Scans {
    /// None if the file is malformed, or has no end marker.
    fn of(file: &[u8]) -> Option<Scans> {
        let mut scans = Scans::default();
        let (mut components, mut fewer_rows) = (0, false);
        let mut rest = file.get(2..)?;
        loop {
            // Between segments and within the data of a scan alike, a marker is 0xff with
            // something other than 0x00 or another 0xff behind it.
            let at = rest.iter().position(|byte| *byte == 0xff)?;
            let marker = *rest.get(at + 1)?;
            match marker {
                0xff => {
                    rest = rest.get(at + 1..)?;
                    continue;
                }
                0x00 | 0x01 | 0xd0..=0xd8 => {
                    rest = rest.get(at + 2..)?;
                    continue;
                }
                0xd9 => return Some(scans),
                _ => (),
            }
            let segment = rest.get(at + 2..)?;
            let length = usize::from(u16::from_be_bytes([*segment.first()?, *segment.get(1)?]));
            let (segment, behind) = segment.split_at_checked(length)?;
            match marker {
                0xc0 | 0xc1 => {
                    components = *segment.get(7)?;
                    // Three bytes for each component, the second of them its sampling.
                    fewer_rows = segment.iter().skip(9).step_by(3).any(|s| s & 0x0f > 1);
                }
                0xda => {
                    scans.count += 1;
                    scans.misread |= fewer_rows && *segment.get(2)? < components;
                }
                _ => (),
            }
            rest = behind;
        }
    }
}
