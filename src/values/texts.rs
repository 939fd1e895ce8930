//! Texts with a maximum length: types that can only be built from a valid text.

/// Declares them, by their lengths in characters.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident $least:literal..=$most:literal;)*) => {$(
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(try_from = "String")]
        #[schemars(inline, extend("minLength" = $least, "maxLength" = $most))]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub fn into_text(self) -> String {
                self.0
            }

            /// None if it is blank.
            pub fn unless_blank(self) -> Option<String> {
                Some(self.0).filter(|text| !text.trim().is_empty())
            }
        }

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                if ($least..=$most).contains(&text.chars().count()) {
                    Ok($name(text))
                } else {
                    Err(concat!("must have ", $least, " to ", $most, " characters"))
                }
            }
        }
    )*};
}
pub(crate) use texts;
