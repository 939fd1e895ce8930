//! What a field of a comment may be, where entities do not have the same field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::texts::texts;

texts! {
    /// Of a gif.
    GifText 0..=2048;
}

/// A moving picture from elsewhere. Its texts are the sender's and are not looked into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gif {
    id: GifText,
    url: GifText,
    gif_url: GifText,
    gif_preview_url: GifText,
    alt_text: GifText,
    aspect_ratio: GifText,
}
