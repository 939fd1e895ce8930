//! A mipmap pyramid: a picture at full size, half, a quarter, and so on, each made on demand. A small variant
//! is made from a small level, so that twenty variants do not read all pixels of a large source twenty times.

use std::error::Error;

use super::picture::Picture;
use super::plan::{Crop, Recipe};

/// A level has at least this many times the target's size on each edge, so that the final filter decides how
/// a variant looks.
const SPARE: f64 = 2.0;

#[derive(Debug)]
pub(super) struct Pyramid {
    base: Picture,
    /// Each half as wide and high as the one before.
    halved: Vec<Picture>,
}

impl Pyramid {
    /// The picture must be premultiplied.
    pub fn new(base: Picture) -> Self {
        Pyramid { base, halved: Vec::new() }
    }

    pub fn variant(
        &mut self,
        recipe: &Recipe,
        opaque: bool,
    ) -> Result<Picture, Box<dyn Error + Send + Sync>> {
        let depth = depth(recipe);
        while self.halved.len() < depth {
            let halved = self.halved.last().unwrap_or(&self.base).halved()?;
            self.halved.push(halved);
        }
        match depth.checked_sub(1).and_then(|at| self.halved.get(at)) {
            Some(level) => level.variant(&self.on_level(recipe, level), opaque),
            None => self.base.variant(recipe, opaque),
        }
    }

    /// The same crop in a smaller level.
    fn on_level(&self, recipe: &Recipe, level: &Picture) -> Recipe {
        let (base, level) = (self.base.extent().frame(), level.extent().frame());
        let (across, down) = (level.width / base.width, level.height / base.height);
        let Crop { left, top, width, height } = recipe.crop;
        let (left, top) = (left * across, top * down);
        // Rounding must not move the crop over the edge.
        let width = (width * across).min(level.width - left);
        let height = (height * down).min(level.height - top);
        Recipe { crop: Crop { left, top, width, height }, ..*recipe }
    }
}

/// How often the source may be halved for a variant.
fn depth(recipe: &Recipe) -> usize {
    let (crop, wanted) = (recipe.crop, recipe.picture.frame());
    let times = (crop.width / wanted.width).min(crop.height / wanted.height);
    // A negative float converts to zero.
    (times / SPARE).log2().floor() as usize
}

#[cfg(test)]
impl Pyramid {
    pub(super) fn levels(&self) -> usize {
        self.halved.len()
    }
}
