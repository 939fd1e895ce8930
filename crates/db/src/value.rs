//! Bound values. A value that does not fit the type of its parameter is an error of the statement, never a panic.

use std::borrow::Cow;

use uuid::Uuid;

use crate::JsonText;

/// One bound parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
    Uuid(Uuid),
    Json(Cow<'a, str>),
    /// A list, for `{any}`.
    Uuids(Vec<Uuid>),
    /// A list, for `{any}`.
    Texts(Vec<String>),
    /// A list, for `{any}`.
    Ints(Vec<i64>),
}

impl Value<'_> {
    /// The same, owning its data.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(value),
            Value::Int(value) => Value::Int(value),
            Value::Real(value) => Value::Real(value),
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::Blob(bytes) => Value::Blob(Cow::Owned(bytes.into_owned())),
            Value::Uuid(uuid) => Value::Uuid(uuid),
            Value::Json(text) => Value::Json(Cow::Owned(text.into_owned())),
            Value::Uuids(list) => Value::Uuids(list),
            Value::Texts(list) => Value::Texts(list),
            Value::Ints(list) => Value::Ints(list),
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) => "integer",
            Value::Real(_) => "real",
            Value::Text(_) => "text",
            Value::Blob(_) => "bytes",
            Value::Uuid(_) => "uuid",
            Value::Json(_) => "json",
            Value::Uuids(_) => "list of uuids",
            Value::Texts(_) => "list of texts",
            Value::Ints(_) => "list of integers",
        }
    }
}

macro_rules! from {
    ($($source:ty => |$value:ident| $made:expr;)*) => {$(
        impl<'a> From<$source> for Value<'a> {
            fn from($value: $source) -> Self {
                $made
            }
        }
    )*};
}

from! {
    bool => |value| Value::Bool(value);
    i32 => |value| Value::Int(value.into());
    i64 => |value| Value::Int(value);
    u32 => |value| Value::Int(value.into());
    f64 => |value| Value::Real(value);
    &'a str => |value| Value::Text(Cow::Borrowed(value));
    String => |value| Value::Text(Cow::Owned(value));
    &'a String => |value| Value::Text(Cow::Borrowed(value));
    &'a Option<String> => |value| value.as_deref().into();
    Cow<'a, str> => |value| Value::Text(value);
    &'a [u8] => |value| Value::Blob(Cow::Borrowed(value));
    Vec<u8> => |value| Value::Blob(Cow::Owned(value));
    &'a Vec<u8> => |value| Value::Blob(Cow::Borrowed(value));
    Uuid => |value| Value::Uuid(value);
    &'a Uuid => |value| Value::Uuid(*value);
    Vec<Uuid> => |value| Value::Uuids(value);
    Vec<String> => |value| Value::Texts(value);
    Vec<i64> => |value| Value::Ints(value);
    JsonText => |value| Value::Json(Cow::Owned(value.0));
    &'a JsonText => |value| Value::Json(Cow::Borrowed(&value.0));
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// `args![a, b]` is `&[Value::from(a), Value::from(b)]`.
#[macro_export]
macro_rules! args {
    ($($value:expr),* $(,)?) => {
        &[$($crate::Value::from($value)),*] as &[$crate::Value<'_>]
    };
}
