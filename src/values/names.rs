//! Enums whose names are stored and shown alike.

/// Declares one.
macro_rules! names {
    ($($(#[$doc:meta])* $type:ident { $($(#[$about:meta])* $variant:ident $name:literal,)* })*) => {$(
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        $(#[$doc])*
        pub enum $type {
            $($(#[$about])* #[serde(rename = $name)] $variant,)*
        }

        impl $type {
            /// All names, in the order of the declaration.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                }
            }
        }

        impl db::Column for $type {
            fn from_column(value: db::ColumnRef<'_>) -> Result<Self, db::WrongType> {
                match value {
                    $(db::ColumnRef::Text($name) => Ok($type::$variant),)*
                    _ => Err(db::WrongType { expected: stringify!($type) }),
                }
            }
        }

        impl From<$type> for db::Value<'_> {
            fn from(value: $type) -> Self {
                value.name().into()
            }
        }
    )*};
}
pub(crate) use names;
