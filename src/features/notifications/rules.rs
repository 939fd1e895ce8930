//! Validation of system notifications: texts of bounded length, and not empty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// 1 to `MAX` characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = MAX))]
pub(super) struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> TryFrom<String> for Text<MAX> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if (1..=MAX).contains(&text.chars().count()) {
            Ok(Text(text))
        } else {
            Err(format!("must have 1 to {MAX} characters"))
        }
    }
}

/// The content of a system notification; stored as its metadata, byte by byte.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Text<255>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Text<10_000>>,
    button_data: Option<Button>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotificationButton")]
pub(super) struct Button {
    text: Text<255>,
    /// Opened by the client, which may have schemes of its own.
    url: Text<2048>,
}

impl Message {
    /// `None` if there is no text: a button alone is not enough.
    pub(super) fn new(
        title: Option<Text<255>>,
        content: Option<Text<10_000>>,
        button_data: Option<Button>,
    ) -> Option<Self> {
        let says_something = title.is_some() || content.is_some();
        says_something.then_some(Message { title, content, button_data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_counted_in_characters() {
        let text = |length: usize| Text::<3>::try_from("é".repeat(length));
        assert!(text(1).is_ok() && text(3).is_ok());
        assert_eq!(text(0), Err("must have 1 to 3 characters".to_owned()));
        assert!(text(4).is_err());
    }

    #[test]
    fn a_message_says_something_and_keeps_only_what_it_says() {
        let title = Text::try_from("Hi".to_owned()).unwrap();
        let message = Message::new(Some(title), None, None).unwrap();
        let metadata = serde_json::to_string(&message).unwrap();
        assert_eq!(metadata, r#"{"title":"Hi","buttonData":null}"#);
        let button = serde_json::from_str(r#"{"text":"Go","url":"app://x"}"#).unwrap();
        assert!(Message::new(None, None, Some(button)).is_none());
    }
}
