//! What a field of a comment may be, where entities do not have the same field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moving picture from elsewhere. Its texts are the sender's and are not looked into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gif {
    id: String,
    url: String,
    gif_url: String,
    gif_preview_url: String,
    alt_text: String,
    aspect_ratio: String,
}
