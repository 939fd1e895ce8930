//! From options and the size of a source to the work plan: pure arithmetic before a pixel is decoded, so that
//! expensive requests are refused at no cost.

use super::Encoding;
use super::fields::Ratio;
use super::options::{Fit, Options, Size};

/// Maximum pixels of a source, of all sources of a request, and of all outputs of a request.
pub(super) const MAX_PIXELS: u64 = 100_000_000;
/// How many times the source's pixels a variant may have.
const MAX_ENLARGED: u64 = 4;

/// Width and height in pixels, neither ever zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub width: u32,
    pub height: u32,
}

impl Extent {
    pub fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    pub fn turned(self) -> Extent {
        Extent { width: self.height, height: self.width }
    }

    fn scaled(self, by: f64) -> Extent {
        Frame { width: f64::from(self.width) * by, height: f64::from(self.height) * by }.rounded()
    }

    pub fn frame(self) -> Frame {
        Frame { width: f64::from(self.width), height: f64::from(self.height) }
    }
}

/// The box of a variant before it is rounded to whole pixels: fitting uses this, since rounding one edge
/// would move the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub width: f64,
    pub height: f64,
}

impl Frame {
    fn rounded(self) -> Extent {
        // Conversions from floats saturate, so that huge values do not wrap.
        let whole = |edge: f64| (edge.round() as u32).max(1);
        Extent { width: whole(self.width), height: whole(self.height) }
    }
}

/// The part of the source that is used. Not rounded, so that nothing is shifted or stretched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Crop {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// How one variant is made: `crop` of the source, resized to `picture`, in the middle of `canvas`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recipe {
    pub crop: Crop,
    pub picture: Extent,
    pub canvas: Extent,
}

/// One recipe for each variant, or the text of a refusal.
pub(super) fn recipes(
    options: &Options,
    source: Extent,
    encoding: Encoding,
) -> Result<Vec<Recipe>, String> {
    holds(encoding, "the image", source)?;
    let mut recipes = Vec::with_capacity(options.variants.len());
    for variant in &options.variants {
        let mut wanted = boxed(variant.size, source);
        if !options.enlarges && wanted.rounded().pixels() > source.pixels() {
            wanted = source.frame();
        }
        let recipe = fitted(options.fit, source, wanted);
        if recipe.canvas.pixels() > source.pixels().saturating_mul(MAX_ENLARGED) {
            return Err(format!(
                "variant {} would have {}x{} pixels, more than {MAX_ENLARGED} times those of the image ({}x{})",
                variant.name,
                recipe.canvas.width,
                recipe.canvas.height,
                source.width,
                source.height
            ));
        }
        holds(encoding, &format!("variant {}", variant.name), recipe.canvas)?;
        recipes.push(recipe);
    }
    Ok(recipes)
}

/// The first image that exceeds the pixel limit of a request.
pub(super) fn first_beyond<T>(images: impl Iterator<Item = (T, u64)>) -> Option<T> {
    let mut total: u64 = 0;
    let mut images = images.map(|(image, pixels)| {
        total = total.saturating_add(pixels);
        (image, total)
    });
    images.find(|(_, total)| *total > MAX_PIXELS).map(|(image, _)| image)
}

/// Whether an encoding supports such a large picture.
fn holds(encoding: Encoding, what: &str, extent: Extent) -> Result<(), String> {
    let longest = encoding.longest_edge();
    if extent.width.max(extent.height) <= longest {
        return Ok(());
    }
    Err(format!(
        "{what} has {}x{} pixels, and {} holds at most {longest} on an edge: choose another format",
        extent.width,
        extent.height,
        encoding.name()
    ))
}

fn boxed(size: Size, source: Extent) -> Frame {
    let own = Ratio { width: f64::from(source.width), height: f64::from(source.height) };
    match size {
        Size::Exact { width, height } => Extent { width, height }.frame(),
        Size::Width(width, ratio) => {
            let (ratio, width) = (ratio.unwrap_or(own), f64::from(width));
            Frame { width, height: width * ratio.height / ratio.width }
        }
        Size::Height(height, ratio) => {
            let (ratio, height) = (ratio.unwrap_or(own), f64::from(height));
            Frame { width: height * ratio.width / ratio.height, height }
        }
        Size::LongestEdge(edge, ratio) => {
            let ratio = ratio.unwrap_or(own);
            let scale = f64::from(edge) / ratio.width.max(ratio.height);
            Frame { width: ratio.width * scale, height: ratio.height * scale }
        }
    }
}

pub(super) fn fitted(fit: Fit, source: Extent, wanted: Frame) -> Recipe {
    let Frame { width, height } = source.frame();
    let (across, down) = (wanted.width / width, wanted.height / height);
    let canvas = wanted.rounded();
    let all = Crop { left: 0.0, top: 0.0, width, height };
    match fit {
        Fit::Cover => {
            let scale = across.max(down);
            // At least one pixel, and never beyond the edge of the source.
            let used_width = (wanted.width / scale).max(1.0).min(width);
            let used_height = (wanted.height / scale).max(1.0).min(height);
            let crop = Crop {
                left: (width - used_width) / 2.0,
                top: (height - used_height) / 2.0,
                width: used_width,
                height: used_height,
            };
            Recipe { crop, picture: canvas, canvas }
        }
        Fit::Contain => {
            let picture = source.scaled(across.min(down));
            let picture = Extent {
                width: picture.width.min(canvas.width),
                height: picture.height.min(canvas.height),
            };
            Recipe { crop: all, picture, canvas }
        }
        Fit::Inside => {
            let picture = source.scaled(across.min(down));
            Recipe { crop: all, picture, canvas: picture }
        }
        Fit::Outside => {
            let picture = source.scaled(across.max(down));
            Recipe { crop: all, picture, canvas: picture }
        }
    }
}
