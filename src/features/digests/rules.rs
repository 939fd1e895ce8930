//! Validation of a digest's settings.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::outbound::Target;
use crate::values::texts::texts;

/// Shown in place of the secret; sent back, it leaves the secret as it is.
pub(super) const MASK: &str = "••••••••";

texts! {
    Secret 1..=255;
}

/// An address that this server may call, as far as its text tells.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline)]
pub(super) struct WebhookUrl(String);

impl WebhookUrl {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for WebhookUrl {
    type Error = String;

    fn try_from(url: String) -> Result<Self, Self::Error> {
        Target::parse(&url).map_err(|failure| failure.to_string())?;
        Ok(WebhookUrl(url))
    }
}
