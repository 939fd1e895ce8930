//! Encodes pictures as WebP, JPEG or PNG. Only pixels and the given EXIF block are written.

use std::error::Error;

use webpx::{EncoderConfig, Stop};

use super::Encoding;
use super::picture::Picture;

/// The largest EXIF block that every format can carry.
pub(super) const EXIF_BYTES: usize = 65_000;

/// Larger pictures are encoded with less effort: a photo of 12 megapixels takes half the time as WebP and a
/// tenth as PNG, and a few percent more bytes.
const LARGE: u64 = 4_000_000;

/// Compressing the alpha channel of WebP takes more memory than everything else, so the largest pictures
/// store it uncompressed, at a byte for each pixel.
const LARGEST_ALPHA: u64 = 50_000_000;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Debug)]
pub(super) struct Encoder<'a> {
    encoding: Encoding,
    quality: u8,
    exif: Option<&'a [u8]>,
}

impl<'a> Encoder<'a> {
    pub fn new(encoding: Encoding, quality: u8, exif: Option<&'a [u8]>) -> Self {
        Encoder { encoding, quality, exif }
    }

    /// Fails when `stop` is set.
    pub fn encode(&self, picture: &Picture, stop: &impl Stop) -> Result<Vec<u8>> {
        stop.check().map_err(|reason| reason.to_string())?;
        match self.encoding {
            Encoding::Webp => self.webp(picture, stop),
            Encoding::Jpeg => self.jpeg(picture),
            Encoding::Png => self.png(picture),
        }
    }

    fn webp(&self, picture: &Picture, stop: &impl Stop) -> Result<Vec<u8>> {
        let pixels = picture.extent().pixels();
        let mut config = EncoderConfig::new()
            .quality(f32::from(self.quality))
            .method(if pixels > LARGE { 2 } else { 4 })
            .alpha_compression(pixels <= LARGEST_ALPHA);
        if let Some(exif) = self.exif {
            config = config.exif(exif);
        }
        let (extent, data) = (picture.extent(), picture.data());
        let encoded = match picture.has_alpha() {
            true => config.encode_rgba(data, extent.width, extent.height, stop),
            false => config.encode_rgb(data, extent.width, extent.height, stop),
        };
        encoded.map_err(|error| error.to_string().into())
    }

    fn jpeg(&self, picture: &Picture) -> Result<Vec<u8>> {
        let extent = picture.extent();
        let mut file = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut file, self.quality);
        if let Some(exif) = self.exif {
            encoder.add_exif_metadata(exif)?;
        }
        let (width, height) = (u16::try_from(extent.width)?, u16::try_from(extent.height)?);
        encoder.encode(picture.data(), width, height, jpeg_encoder::ColorType::Rgb)?;
        Ok(file)
    }

    fn png(&self, picture: &Picture) -> Result<Vec<u8>> {
        let extent = picture.extent();
        let mut info = png::Info::with_size(extent.width, extent.height);
        info.bit_depth = png::BitDepth::Eight;
        info.color_type = match picture.has_alpha() {
            true => png::ColorType::Rgba,
            false => png::ColorType::Rgb,
        };
        info.exif_metadata = self.exif.map(Into::into);
        let mut file = Vec::new();
        let mut encoder = png::Encoder::with_info(&mut file, info)?;
        encoder.set_compression(match extent.pixels() > LARGE {
            true => png::Compression::Fast,
            false => png::Compression::Balanced,
        });
        let mut writer = encoder.write_header()?;
        writer.write_image_data(picture.data())?;
        writer.finish()?;
        Ok(file)
    }
}
