//! A decoded picture: 8 bits each for red, green, blue and, if it is not opaque, alpha. All pixel operations
//! between decoding and encoding.

use std::error::Error;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8x3, U8x4};
use fast_image_resize::{FilterType, MulDiv, PixelTrait, ResizeAlg, ResizeOptions, Resizer};
use image::metadata::Orientation;
use moxcms::{ColorProfile, DataColorSpace, Layout, TransformOptions};

use super::plan::{Extent, Recipe};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    extent: Extent,
    alpha: bool,
    /// Row by row, without padding.
    data: Vec<u8>,
}

impl Picture {
    /// None if the number of bytes does not match.
    pub fn rgb(extent: Extent, data: Vec<u8>) -> Option<Picture> {
        Picture { extent, alpha: false, data }.checked()
    }

    pub fn rgba(extent: Extent, data: Vec<u8>) -> Option<Picture> {
        Picture { extent, alpha: true, data }.checked()
    }

    fn checked(self) -> Option<Picture> {
        let bytes = self.extent.pixels() * self.channels() as u64;
        (self.data.len() as u64 == bytes).then_some(self)
    }

    pub fn extent(&self) -> Extent {
        self.extent
    }

    pub fn has_alpha(&self) -> bool {
        self.alpha
    }

    pub fn data(&self) -> &[u8] {
        &self.data
    }

    fn channels(&self) -> usize {
        if self.alpha { 4 } else { 3 }
    }

    /// Converts from a color profile to sRGB. An invalid profile is ignored, as in browsers.
    pub fn convert_to_srgb(&mut self, profile: Option<&[u8]>) {
        let Some(profile) = profile.and_then(|bytes| ColorProfile::new_from_slice(bytes).ok())
        else {
            return;
        };
        if profile.color_space != DataColorSpace::Rgb {
            return;
        }
        let layout = if self.alpha { Layout::Rgba } else { Layout::Rgb };
        let (srgb, options) = (ColorProfile::new_srgb(), TransformOptions::default());
        let Ok(transform) = profile.create_transform_8bit(layout, &srgb, layout, options) else {
            return;
        };
        let stride = self.extent.width as usize * self.channels();
        let mut converted = vec![0; stride];
        for row in self.data.chunks_exact_mut(stride) {
            if transform.transform(row, &mut converted).is_ok() {
                row.copy_from_slice(&converted);
            }
        }
    }

    /// Drops the alpha channel if every pixel is opaque.
    pub fn simplified(mut self) -> Picture {
        if self.alpha && self.data.as_chunks::<4>().0.iter().all(|pixel| pixel[3] == 255) {
            self.drop_alpha(|pixel| [pixel[0], pixel[1], pixel[2]]);
        }
        self
    }

    /// Blended over black.
    pub fn flattened(mut self) -> Picture {
        if self.alpha {
            self.drop_alpha(|[red, green, blue, alpha]| {
                let part = |colour| ((u16::from(colour) * u16::from(alpha) + 127) / 255) as u8;
                [part(red), part(green), part(blue)]
            });
        }
        self
    }

    /// In place: a second copy of the largest picture would take too much memory.
    fn drop_alpha(&mut self, colour: impl Fn([u8; 4]) -> [u8; 3]) {
        let pixels = self.data.len() / 4;
        for at in 0..pixels {
            let [red, green, blue] = match self.data[at * 4..] {
                [red, green, blue, alpha, ..] => colour([red, green, blue, alpha]),
                _ => return,
            };
            self.data[at * 3..at * 3 + 3].copy_from_slice(&[red, green, blue]);
        }
        self.data.truncate(pixels * 3);
        self.alpha = false;
    }

    /// Applies the orientation tag.
    pub fn turned(self, orientation: Orientation) -> Picture {
        if orientation == Orientation::NoTransforms {
            return self;
        }
        if self.alpha { turn::<4>(self, orientation) } else { turn::<3>(self, orientation) }
    }

    /// Premultiplies alpha for resizing: otherwise invisible colors would bleed into visible ones.
    pub fn premultiplied(mut self) -> Result<Picture, Box<dyn Error + Send + Sync>> {
        if self.alpha {
            let Extent { width, height } = self.extent;
            let mut image = TypedImage::<U8x4>::from_buffer(width, height, &mut self.data)?;
            MulDiv::new().multiply_alpha_inplace_typed(&mut image)?;
        }
        Ok(self)
    }

    /// Half as wide and high, each pixel the mean of its four.
    pub fn halved(&self) -> Result<Picture, Box<dyn Error + Send + Sync>> {
        let half = |edge: u32| (edge / 2).max(1);
        let Extent { width, height } = self.extent;
        let extent = Extent { width: half(width), height: half(height) };
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Box))
            .use_alpha(false);
        Ok(Picture { extent, alpha: self.alpha, data: self.resized(extent, &options)? })
    }

    /// A variant of this picture, which must be premultiplied. Free space on the canvas is black, and
    /// transparent unless the variant must be `opaque`.
    pub fn variant(
        &self,
        recipe: &Recipe,
        opaque: bool,
    ) -> Result<Picture, Box<dyn Error + Send + Sync>> {
        let crop = recipe.crop;
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
            .crop(crop.left, crop.top, crop.width, crop.height)
            .use_alpha(false);
        let Extent { width, height } = recipe.picture;
        let mut data = self.resized(recipe.picture, &options)?;
        if self.alpha {
            let mut image = TypedImage::<U8x4>::from_buffer(width, height, &mut data)?;
            MulDiv::new().divide_alpha_inplace_typed(&mut image)?;
        }
        let resized = Picture { extent: recipe.picture, alpha: self.alpha, data };
        Ok(if recipe.canvas == recipe.picture {
            resized
        } else {
            resized.on_canvas(recipe.canvas, opaque)
        })
    }

    fn resized(
        &self,
        to: Extent,
        options: &ResizeOptions,
    ) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        if self.alpha {
            self.resized_as::<U8x4>(to, options)
        } else {
            self.resized_as::<U8x3>(to, options)
        }
    }

    /// The type of the pixels is known here: the library compiles its code for these two types only,
    /// not for all thirteen.
    fn resized_as<P: PixelTrait>(
        &self,
        to: Extent,
        options: &ResizeOptions,
    ) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        let Extent { width, height } = self.extent;
        let source = TypedImageRef::<P>::from_buffer(width, height, &self.data)?;
        let mut data = vec![0; to.width as usize * to.height as usize * self.channels()];
        let mut resized = TypedImage::<P>::from_buffer(to.width, to.height, &mut data)?;
        // Not reused: its working memory is as large as the picture.
        Resizer::new().resize_typed(&source, &mut resized, options)?;
        Ok(data)
    }

    fn on_canvas(self, canvas: Extent, opaque: bool) -> Picture {
        let channels = if opaque { 3 } else { 4 };
        let mut data = vec![0; canvas.width as usize * canvas.height as usize * channels];
        let left = ((canvas.width - self.extent.width) / 2) as usize * channels;
        let top = (canvas.height - self.extent.height) / 2;
        let rows = self.data.chunks_exact(self.extent.width as usize * self.channels());
        let places = data.chunks_exact_mut(canvas.width as usize * channels).skip(top as usize);
        for (row, place) in rows.zip(places) {
            let place = &mut place[left..];
            if self.channels() == channels {
                place[..row.len()].copy_from_slice(row);
            } else {
                let pixels = place.as_chunks_mut::<4>().0.iter_mut();
                for (pixel, [red, green, blue]) in pixels.zip(row.as_chunks::<3>().0) {
                    *pixel = [*red, *green, *blue, 255];
                }
            }
        }
        Picture { extent: canvas, alpha: !opaque, data }
    }
}

/// The side of the blocks that are rotated one by one, so that reads and writes both stay in the processor's
/// cache.
const SQUARE: usize = 64;

fn turn<const CHANNELS: usize>(picture: Picture, orientation: Orientation) -> Picture {
    use Orientation::{
        FlipHorizontal, FlipVertical, NoTransforms, Rotate90, Rotate90FlipH, Rotate180, Rotate270,
        Rotate270FlipH,
    };
    let (width, height) = (picture.extent.width as usize, picture.extent.height as usize);
    let swaps = matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH);
    let extent = if swaps { picture.extent.turned() } else { picture.extent };
    let across = extent.width as usize;
    let mut data = vec![0; picture.data.len()];
    let from = picture.data.as_chunks::<CHANNELS>().0;
    let to = data.as_chunks_mut::<CHANNELS>().0;
    for top in (0..height).step_by(SQUARE) {
        for left in (0..width).step_by(SQUARE) {
            for y in top..(top + SQUARE).min(height) {
                for x in left..(left + SQUARE).min(width) {
                    let (flipped_x, flipped_y) = (width - 1 - x, height - 1 - y);
                    let (to_x, to_y) = match orientation {
                        NoTransforms => (x, y),
                        FlipHorizontal => (flipped_x, y),
                        Rotate180 => (flipped_x, flipped_y),
                        FlipVertical => (x, flipped_y),
                        Rotate90FlipH => (y, x),
                        Rotate90 => (flipped_y, x),
                        Rotate270FlipH => (flipped_y, flipped_x),
                        Rotate270 => (y, flipped_x),
                    };
                    to[to_y * across + to_x] = from[y * width + x];
                }
            }
        }
    }
    Picture { extent, alpha: picture.alpha, data }
}
