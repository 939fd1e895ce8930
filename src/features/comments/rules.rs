//! Validation of the fields that entities do not have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::values::texts::texts;

texts! {
    /// Maximum bytes of a gif.
    GifText 0..=2048;
}

/// An animated image hosted elsewhere, in a comment or a message. Its content is not validated.
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

/// Stored as it was sent: clients disagree about the form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum AspectRatio {
    Number(#[schemars(with = "f64")] Number),
    Text(GifText),
}
