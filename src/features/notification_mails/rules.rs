//! Validation of mail preferences.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::timezone::Hour;

/// A language by its tag (BCP 47): `de` or `pt-BR`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("maxLength" = LanguageTag::MAX))]
pub(super) struct LanguageTag(String);

impl LanguageTag {
    const MAX: usize = 35;

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for LanguageTag {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut parts = text.split('-');
        let is_language = |part: &str| {
            (2..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphabetic())
        };
        let is_part = |part: &str| {
            (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let fits = parts.next().is_some_and(is_language) && parts.all(is_part);
        if fits && text.len() <= LanguageTag::MAX {
            Ok(LanguageTag(text))
        } else {
            Err("must be a language tag such as de or pt-BR")
        }
    }
}

/// From one hour of the day to another one, perhaps over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct QuietHours {
    pub(super) from: Hour,
    pub(super) until: Hour,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_a_tag() {
        for good in ["de", "pt-BR", "zh-Hant-TW", "de-1996", "sr-Latn-RS-x-y"] {
            assert!(LanguageTag::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "d", "de-", "-de", "de_AT", "d1", "de-123456789", "<b>", &"de-".repeat(20)]
        {
            assert!(LanguageTag::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
