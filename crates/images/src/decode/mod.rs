//! Decoding untrusted images. The header is read first, so that images that are too large are refused before
//! a pixel is decoded. Decoding is bounded in memory and time: what a decoder does not bound itself is
//! checked before it starts. Only the first frame of an animation is read.

mod jpeg;
mod png;
mod tiff;
mod webp;

use std::io::{BufRead, Cursor, Seek};

use image::ImageDecoder;
use image::codecs::gif::GifDecoder;
use image::metadata::Orientation;

use super::picture::Picture;
use super::plan::{Extent, MAX_PIXELS};
use super::{Encoding, Format};

/// What a decoder may allocate besides the picture and its input.
const DECODER_BYTES: u64 = 512 << 20;
/// Larger metadata is ignored. No JPEG carries a larger EXIF block, and color profiles of this size do not
/// occur.
const METADATA_BYTES: usize = 4 << 20;

/// The formats that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Jpeg,
    Png,
    Gif,
    Webp,
    Tiff,
}

impl Kind {
    /// By the first bytes of the file; its name is ignored.
    pub fn of(first_bytes: &[u8]) -> Option<Kind> {
        match first_bytes {
            [0xff, 0xd8, 0xff, ..] => Some(Kind::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Kind::Png),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Kind::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Kind::Webp),
            [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => Some(Kind::Tiff),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Jpeg => "jpeg",
            Kind::Png => "png",
            Kind::Gif => "gif",
            Kind::Webp => "webp",
            Kind::Tiff => "tiff",
        }
    }

    /// The output format for a source of this kind.
    pub fn written_as(self, format: Format) -> Encoding {
        match (format, self) {
            (Format::Webp, _) | (Format::Original, Kind::Webp) => Encoding::Webp,
            (Format::Jpeg, _) | (Format::Original, Kind::Jpeg) => Encoding::Jpeg,
            (Format::Png, _) | (Format::Original, Kind::Png | Kind::Gif | Kind::Tiff) => {
                Encoding::Png
            }
        }
    }
}

/// The facts of an image before it is decoded.
#[derive(Debug)]
pub(super) struct Header {
    pub kind: Kind,
    /// As stored, before the orientation is applied.
    stored: Extent,
    pub orientation: Orientation,
    /// Starts like a TIFF file, with an orientation of "not rotated".
    pub exif: Option<Vec<u8>>,
}

impl Header {
    pub fn read(kind: Kind, file: impl BufRead + Seek) -> Result<Header, String> {
        let found = match kind {
            Kind::Jpeg => jpeg::header(file),
            Kind::Png => png::header(file),
            Kind::Gif => GifDecoder::new(file).ok().map(|gif| Found::bare(gif.dimensions())),
            Kind::Webp => webp::header(file),
            Kind::Tiff => tiff::header(file),
        };
        let Found { width, height, exif, orientation } = found.ok_or_else(|| damaged(kind))?;
        let stored = Extent { width, height };
        if stored.pixels() == 0 {
            return Err("it has no pixels".to_owned());
        }
        if stored.pixels() > MAX_PIXELS {
            return Err(format!("it has {width}x{height} pixels, more than 100 megapixels"));
        }
        let mut exif = exif.and_then(|block| {
            // In WebP it sometimes comes with the prefix it has in JPEG.
            let bare = block.strip_prefix(b"Exif\0\0").unwrap_or(&block);
            matches!(Kind::of(bare), Some(Kind::Tiff)).then(|| bare.to_vec())
        });
        let tag = exif.as_mut().and_then(|exif| Orientation::remove_from_exif_chunk(exif));
        let orientation = orientation.or(tag).unwrap_or(Orientation::NoTransforms);
        Ok(Header { kind, stored, orientation, exif })
    }

    /// The size of the image after its orientation is applied.
    pub fn extent(&self) -> Extent {
        match self.orientation {
            Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH => self.stored.turned(),
            _ => self.stored,
        }
    }

    /// Decodes the whole file that this is the header of, as stored and in sRGB.
    pub fn decode(&self, file: &[u8]) -> Result<Picture, String> {
        let decoded = match self.kind {
            Kind::Jpeg => jpeg::decode(file),
            Kind::Png => png::decode(file),
            Kind::Gif => GifDecoder::new(Cursor::new(file)).ok().and_then(generic),
            Kind::Webp => webp::decode(file),
            Kind::Tiff => tiff::decode(file),
        };
        let picture = decoded.ok_or_else(|| damaged(self.kind))?;
        // The file is read a second time: it must be what was checked.
        if picture.extent() == self.stored { Ok(picture) } else { Err(damaged(self.kind)) }
    }
}

/// The facts in the header of a format.
struct Found {
    width: u32,
    height: u32,
    exif: Option<Vec<u8>>,
    /// If the format stores it outside of EXIF.
    orientation: Option<Orientation>,
}

impl Found {
    fn bare((width, height): (u32, u32)) -> Found {
        Found { width, height, exif: None, orientation: None }
    }
}

/// The decoders' own messages would not help the uploader.
fn damaged(kind: Kind) -> String {
    format!("its {} data is damaged, incomplete or of a kind that is not supported", kind.name())
}

/// Decodes with one of the decoders of `image`.
fn generic(mut decoder: impl ImageDecoder) -> Option<Picture> {
    let (width, height) = decoder.dimensions();
    let extent = Extent { width, height };
    let mut limits = image::Limits::no_limits();
    limits.max_alloc = Some(DECODER_BYTES + decoder.total_bytes());
    decoder.set_limits(limits).ok()?;
    if extent.pixels() > MAX_PIXELS || decoder.total_bytes() > DECODER_BYTES {
        return None;
    }
    let profile = decoder.icc_profile().ok().flatten();
    let decoded = image::DynamicImage::from_decoder(decoder).ok()?;
    let mut picture = if decoded.color().has_alpha() {
        Picture::rgba(extent, decoded.into_rgba8().into_raw())
    } else {
        Picture::rgb(extent, decoded.into_rgb8().into_raw())
    }?;
    picture.convert_to_srgb(profile.as_deref());
    Some(picture)
}
