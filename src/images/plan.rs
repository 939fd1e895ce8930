//! From options and the size of a source to what has to be done: pure arithmetic, made before a
//! single pixel is decoded, so that what costs too much is refused for nothing.

use super::Encoding;
use super::fields::Ratio;
use super::options::{Fit, Options, Size};

/// Largest source, and most pixels of all variants of one image together.
pub(super) const MOST_PIXELS: u64 = 100_000_000;
/// How many times the source's pixels a variant may have.
const MOST_ENLARGED: u64 = 4;

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

    fn rounded(width: f64, height: f64) -> Extent {
        // Conversions from floats saturate, so that nothing absurd wraps into something small.
        Extent { width: (width.round() as u32).max(1), height: (height.round() as u32).max(1) }
    }

    fn scaled(self, by: f64) -> Extent {
        Extent::rounded(f64::from(self.width) * by, f64::from(self.height) * by)
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
    let mut total = 0;
    for variant in &options.variants {
        let mut wanted = boxed(variant.size, source);
        if !options.enlarges && wanted.pixels() > source.pixels() {
            wanted = source;
        }
        let recipe = fitted(options.fit, source, wanted);
        if recipe.canvas.pixels() > source.pixels().saturating_mul(MOST_ENLARGED) {
            return Err(format!(
                "variant {} would have {}x{} pixels, more than {MOST_ENLARGED} times those of the image ({}x{})",
                variant.name,
                recipe.canvas.width,
                recipe.canvas.height,
                source.width,
                source.height
            ));
        }
        holds(encoding, &format!("variant {}", variant.name), recipe.canvas)?;
        total += recipe.canvas.pixels();
        recipes.push(recipe);
    }
    if total > MOST_PIXELS {
        return Err("the variants of an image can have at most 100 megapixels together".to_owned());
    }
    Ok(recipes)
}

/// Whether an encoding can hold so large a picture.
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

fn boxed(size: Size, source: Extent) -> Extent {
    let own = Ratio { width: f64::from(source.width), height: f64::from(source.height) };
    match size {
        Size::Exact { width, height } => Extent { width, height },
        Size::Width(width, ratio) => {
            let (ratio, width) = (ratio.unwrap_or(own), f64::from(width));
            Extent::rounded(width, width * ratio.height / ratio.width)
        }
        Size::Height(height, ratio) => {
            let (ratio, height) = (ratio.unwrap_or(own), f64::from(height));
            Extent::rounded(height * ratio.width / ratio.height, height)
        }
        Size::LongestEdge(edge, ratio) => {
            let ratio = ratio.unwrap_or(own);
            let scale = f64::from(edge) / ratio.width.max(ratio.height);
            Extent::rounded(ratio.width * scale, ratio.height * scale)
        }
    }
}

pub(super) fn fitted(fit: Fit, source: Extent, wanted: Extent) -> Recipe {
    let (width, height) = (f64::from(source.width), f64::from(source.height));
    let across = f64::from(wanted.width) / width;
    let down = f64::from(wanted.height) / height;
    let all = Crop { left: 0.0, top: 0.0, width, height };
    match fit {
        Fit::Cover => {
            let scale = across.max(down);
            // Rounding must not carry the crop over the edge of the source.
            let used_width = (f64::from(wanted.width) / scale).min(width);
            let used_height = (f64::from(wanted.height) / scale).min(height);
            let crop = Crop {
                left: (width - used_width) / 2.0,
                top: (height - used_height) / 2.0,
                width: used_width,
                height: used_height,
            };
            Recipe { crop, picture: wanted, canvas: wanted }
        }
        Fit::Contain => {
            let picture = source.scaled(across.min(down));
            Recipe { crop: all, picture, canvas: wanted }
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
