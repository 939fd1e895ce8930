//! What a field of a comment may be, where entities do not have the same field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::values::texts::texts;

texts! {
    /// Of a gif.
    GifText 0..=2048;
}

/// A moving picture from elsewhere, in a comment or a message. What it says is the sender's and is not looked
/// into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gif {
    id: GifText,
    url: GifText,
    gif_url: GifText,
    gif_preview_url: GifText,
    #[serde(skip_serializing_if = "Option::is_none")]
    alt_text: Option<GifText>,
    aspect_ratio: AspectRatio,
}

/// Kept as it was sent: clients disagree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum AspectRatio {
    Number(#[schemars(with = "f64")] Number),
    Text(GifText),
}
