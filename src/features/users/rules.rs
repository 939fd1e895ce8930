//! Validation of profile fields. Each rule is a type that can only be built from a valid value, so that
//! sign-up, updates and external sign-in all apply the same one.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Fault;

/// A lower-case address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("format" = "email", "maxLength" = 255))]
pub struct Email(String);

impl Email {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

impl TryFrom<String> for Email {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let email = text.trim().to_lowercase();
        if is_address(&email) { Ok(Email(email)) } else { Err("must be a valid email address") }
    }
}

/// The rule browsers apply to `<input type="email">`.
fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let atom = |b: u8| b.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&b);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    text.len() <= 255
        && !local.is_empty()
        && local.bytes().all(atom)
        && domain.split('.').all(label)
}

/// 6 to 256 characters. Never shown, not even in a debug print.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 6, "maxLength" = 256))]
pub struct Password(String);

impl Password {
    pub fn into_text(self) -> String {
        self.0
    }

    pub fn is(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl TryFrom<String> for Password {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // More bytes than four times the limit are too many characters: no need to count.
        if text.len() <= 1024 && (6..=256).contains(&text.chars().count()) {
            Ok(Password(text))
        } else {
            Err("must have 6 to 256 characters")
        }
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// Lower-case letters, digits, `.` and `_`; every other character is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("maxLength" = 255))]
pub struct Username(String);

impl Username {
    /// What is left of a text: it may be empty or too long.
    fn normalised(text: &str) -> String {
        let kept = |c: &char| matches!(c, 'a'..='z' | '0'..='9' | '.' | '_');
        text.trim().to_lowercase().chars().filter(kept).collect()
    }

    /// `None` if nothing is left, for callers that treat this as no username.
    pub fn if_any(text: String) -> Result<Option<Self>, &'static str> {
        if Username::normalised(&text).is_empty() {
            return Ok(None);
        }
        Username::try_from(text).map(Some)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

impl TryFrom<String> for Username {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let username = Username::normalised(&text);
        match username.len() {
            0 => Err("must contain letters, digits, `.` or `_`"),
            1..=255 => Ok(Username(username)),
            _ => Err("must have at most 255 characters"),
        }
    }
}

macro_rules! trimmed_texts {
    ($($(#[$doc:meta])* $name:ident at most $max:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(inline, extend("maxLength" = $max))]
        pub struct $name(String);

        impl $name {
            pub fn into_text(self) -> String {
                self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                let text = text.trim();
                if text.chars().count() <= $max {
                    Ok($name(text.to_owned()))
                } else {
                    Err(concat!("must have at most ", $max, " characters"))
                }
            }
        }
    )*};
}

trimmed_texts! {
    Name at most 255;
    Bio at most 300;
    /// An address of a picture; it is stored and shown, never fetched.
    Avatar at most 2048;
}

impl Bio {
    /// An empty bio counts as none.
    pub fn into_option(self) -> Option<String> {
        Some(self.0).filter(|bio| !bio.is_empty())
    }
}

/// The application's own id of a user; compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 255))]
pub struct ForeignId(String);

impl ForeignId {
    pub fn into_text(self) -> String {
        self.0
    }
}

impl TryFrom<String> for ForeignId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.chars().count() {
            1..=255 if !text.trim().is_empty() => Ok(ForeignId(text)),
            _ => Err("must have 1 to 255 characters, not all of them blank"),
        }
    }
}

/// Only from an object: an array would leave the order of the two numbers open.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Location {
    pub latitude: f64,
    pub longitude: f64,
}

impl TryFrom<Map<String, Value>> for Location {
    type Error = &'static str;

    fn try_from(map: Map<String, Value>) -> Result<Self, Self::Error> {
        let number = |name: &str, most: f64| {
            map.get(name).and_then(Value::as_f64).filter(|n| (-most..=most).contains(n))
        };
        match (number("latitude", 90.0), number("longitude", 180.0)) {
            (Some(latitude), Some(longitude)) => Ok(Location { latitude, longitude }),
            _ => Err("needs a latitude within -90..90 and a longitude within -180..180"),
        }
    }
}

impl JsonSchema for Location {
    fn schema_name() -> Cow<'static, str> {
        "Location".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["latitude", "longitude"],
            "properties": {
                "latitude": { "type": "number", "minimum": -90, "maximum": 90 },
                "longitude": { "type": "number", "minimum": -180, "maximum": 180 },
            },
        })
    }
}

/// Free-form JSON of at most 512 KiB as text.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Map<String, Value>")]
#[schemars(inline)]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    pub const MAX_BYTES: usize = 512 * 1024;

    /// The `secureMetadata` of a body. Parsed late, because without a key it is ignored even if invalid.
    pub fn secure(given: Option<Value>, invalid: Fault) -> crate::error::Result<Option<Self>> {
        let read = given.map(serde_json::from_value).transpose();
        read.map_err(|error| invalid.because(format!("secureMetadata: {error}")))
    }

    pub fn to_json(&self) -> String {
        // Keys are strings and numbers are finite: a map of JSON values always serialises.
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

impl TryFrom<Map<String, Value>> for Metadata {
    type Error = &'static str;

    fn try_from(map: Map<String, Value>) -> Result<Self, Self::Error> {
        let metadata = Metadata(map);
        if metadata.to_json().len() <= Metadata::MAX_BYTES {
            Ok(metadata)
        } else {
            Err("must be at most 512 KiB of JSON")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_trimmed_lowered_and_checked() {
        let email = |text: &str| Email::try_from(text.to_owned());
        assert_eq!(email("  Ada@Example.ORG ").unwrap().as_str(), "ada@example.org");
        assert!(email("o'neil+tag@mail.example.co.uk").is_ok());
        for wrong in ["", "ada", "@x", "ada@", "a b@x.org", "a@b@c.org", "a@-x.org", "a@x..org"] {
            assert!(email(wrong).is_err(), "{wrong}");
        }
        assert!(email("a@x.org\r\nBcc: b@x.org").is_err());
        assert!(email(&format!("{}@x.org", "a".repeat(250))).is_err());
    }

    #[test]
    fn usernames_keep_only_their_alphabet() {
        let username = |text: &str| Username::try_from(text.to_owned());
        assert_eq!(username(" Ada.Love_Lace-42! ").unwrap().as_str(), "ada.love_lace42");
        assert!(username("ÄÖÜ").is_err());
        assert!(username(&"a".repeat(256)).is_err());
    }

    #[test]
    fn passwords_count_characters_not_bytes() {
        let password = |text: String| Password::try_from(text);
        assert!(password("12345".into()).is_err());
        assert!(password("123456".into()).is_ok());
        assert!(password("ü".repeat(256)).is_ok());
        assert!(password("x".repeat(257)).is_err());
        assert_eq!(format!("{:?}", password("secret".into()).unwrap()), "Password(…)");
    }

    #[test]
    fn metadata_is_bounded() {
        let map = |size: usize| {
            let mut map = Map::new();
            map.insert("a".into(), Value::String("x".repeat(size)));
            Metadata::try_from(map)
        };
        assert!(map(Metadata::MAX_BYTES - 8).is_ok());
        assert!(map(Metadata::MAX_BYTES - 7).is_err());
    }
}
