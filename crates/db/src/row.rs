//! Strict mapping of result columns: names and order are compared when a statement is first prepared,
//! types with every value. Nothing is converted silently.

use std::marker::PhantomData;

use uuid::Uuid;

use crate::{Error, Value};

/// A value as the engine delivered it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ColumnRef<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
    Bool(bool),
    Uuid(Uuid),
    Json(&'a str),
}

impl ColumnRef<'_> {
    fn kind(&self) -> &'static str {
        match self {
            ColumnRef::Null => "null",
            ColumnRef::Int(_) => "integer",
            ColumnRef::Real(_) => "real",
            ColumnRef::Text(_) => "text",
            ColumnRef::Blob(_) => "bytes",
            ColumnRef::Bool(_) => "bool",
            ColumnRef::Uuid(_) => "uuid",
            ColumnRef::Json(_) => "json",
        }
    }
}

/// The value has another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongType {
    pub expected: &'static str,
}

/// JSON as text, on PostgreSQL without the version byte of JSONB.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct JsonText(pub String);

/// A type one column can be read into.
pub trait Column: Sized {
    fn from_column(value: ColumnRef<'_>) -> Result<Self, WrongType>;
}

macro_rules! column {
    ($($target:ty, $expected:literal: $($pattern:pat $(if $guard:expr)? => $made:expr),+;)*) => {$(
        impl Column for $target {
            fn from_column(value: ColumnRef<'_>) -> Result<Self, WrongType> {
                match value {
                    $($pattern $(if $guard)? => Ok($made),)+
                    _ => Err(WrongType { expected: $expected }),
                }
            }
        }
    )*};
}

column! {
    i64, "integer": ColumnRef::Int(value) => value;
    f64, "real": ColumnRef::Real(value) => value;
    bool, "bool": ColumnRef::Bool(value) => value, ColumnRef::Int(0) => false, ColumnRef::Int(1) => true;
    String, "text": ColumnRef::Text(value) => value.to_owned();
    Vec<u8>, "bytes": ColumnRef::Blob(value) => value.to_vec();
    JsonText, "json": ColumnRef::Text(value) | ColumnRef::Json(value) => JsonText(value.to_owned());
}

impl Column for i32 {
    fn from_column(value: ColumnRef<'_>) -> Result<Self, WrongType> {
        let wrong = WrongType { expected: "integer of 32 bits" };
        match value {
            ColumnRef::Int(value) => i32::try_from(value).map_err(|_| wrong),
            _ => Err(wrong),
        }
    }
}

impl Column for Uuid {
    fn from_column(value: ColumnRef<'_>) -> Result<Self, WrongType> {
        let wrong = WrongType { expected: "uuid" };
        match value {
            ColumnRef::Uuid(value) => Ok(value),
            ColumnRef::Blob(bytes) => Uuid::from_slice(bytes).map_err(|_| wrong),
            _ => Err(wrong),
        }
    }
}

/// Any value, for rows whose columns are known only at run time.
impl Column for Value<'static> {
    fn from_column(value: ColumnRef<'_>) -> Result<Self, WrongType> {
        Ok(Value::from(value).into_owned())
    }
}

impl<'a> From<ColumnRef<'a>> for Value<'a> {
    fn from(value: ColumnRef<'a>) -> Self {
        match value {
            ColumnRef::Null => Value::Null,
            ColumnRef::Int(value) => Value::Int(value),
            ColumnRef::Real(value) => Value::Real(value),
            ColumnRef::Text(text) => Value::Text(text.into()),
            ColumnRef::Blob(bytes) => Value::Blob(bytes.into()),
            ColumnRef::Bool(value) => Value::Bool(value),
            ColumnRef::Uuid(value) => Value::Uuid(value),
            ColumnRef::Json(text) => Value::Json(text.into()),
        }
    }
}

impl<T: Column> Column for Option<T> {
    fn from_column(value: ColumnRef<'_>) -> Result<Self, WrongType> {
        match value {
            ColumnRef::Null => Ok(None),
            value => T::from_column(value).map(Some),
        }
    }
}

/// The columns of one result row, taken from left to right.
#[derive(Debug)]
pub struct Columns<'a> {
    statement: &'static str,
    source: &'a dyn Source,
    next: usize,
}

/// One row of an engine.
pub(crate) trait Source: std::fmt::Debug {
    /// The value at `index`, or the type found there.
    fn value(&self, index: usize) -> Result<ColumnRef<'_>, String>;
    fn name(&self, index: usize) -> String;
    fn width(&self) -> usize;
}

impl<'a> Columns<'a> {
    pub(crate) fn new(statement: &'static str, source: &'a dyn Source) -> Self {
        Columns { statement, source, next: 0 }
    }

    /// The next column.
    #[expect(clippy::should_implement_trait, reason = "each call may ask for another type")]
    pub fn next<T: Column>(&mut self) -> Result<T, Error> {
        let index = self.next;
        self.next += 1;
        let error = |expected, found| Error::Row {
            statement: self.statement,
            column: self.source.name(index),
            expected,
            found,
        };
        let value = self.source.value(index).map_err(|found| error("a known type", found))?;
        T::from_column(value).map_err(|wrong| error(wrong.expected, value.kind().to_owned()))
    }

    /// Whether the next column is NULL.
    fn is_null(&self) -> bool {
        matches!(self.source.value(self.next), Ok(ColumnRef::Null))
    }

    /// All columns, not copied.
    pub(crate) fn borrowed(&self) -> Result<Vec<Value<'a>>, Error> {
        let value = |index| match self.source.value(index) {
            Ok(value) => Ok(value.into()),
            Err(found) => Err(Error::Row {
                statement: self.statement,
                column: self.source.name(index),
                expected: "a known type",
                found,
            }),
        };
        (0..self.source.width()).map(value).collect()
    }
}

/// The width of rows with any number of columns.
pub const ANY_WIDTH: usize = usize::MAX;

/// A type one result row can be read into; made with [`row!`](crate::row!).
pub trait Row: Sized {
    /// Names of the columns in order. `None`: any names.
    const COLUMNS: Option<&'static [&'static str]>;
    /// How many columns, or [`ANY_WIDTH`].
    const WIDTH: usize = match Self::COLUMNS {
        Some(columns) => columns.len(),
        None => 1,
    };
    fn read(columns: &mut Columns<'_>) -> Result<Self, Error>;
}

impl<T: Column> Row for T {
    const COLUMNS: Option<&'static [&'static str]> = None;
    fn read(columns: &mut Columns<'_>) -> Result<Self, Error> {
        columns.next()
    }
}

impl Row for () {
    const COLUMNS: Option<&'static [&'static str]> = Some(&[]);
    fn read(_: &mut Columns<'_>) -> Result<Self, Error> {
        Ok(())
    }
}

/// All columns of a statement that is built at run time.
impl Row for Vec<Value<'static>> {
    const COLUMNS: Option<&'static [&'static str]> = None;
    const WIDTH: usize = ANY_WIDTH;
    fn read(columns: &mut Columns<'_>) -> Result<Self, Error> {
        (0..columns.source.width()).map(|_| columns.next()).collect()
    }
}

impl<A: Column, B: Column> Row for (A, B) {
    const COLUMNS: Option<&'static [&'static str]> = None;
    const WIDTH: usize = 2;
    fn read(columns: &mut Columns<'_>) -> Result<Self, Error> {
        Ok((columns.next()?, columns.next()?))
    }
}

impl<A: Column, B: Column, C: Column> Row for (A, B, C) {
    const COLUMNS: Option<&'static [&'static str]> = None;
    const WIDTH: usize = 3;
    fn read(columns: &mut Columns<'_>) -> Result<Self, Error> {
        Ok((columns.next()?, columns.next()?, columns.next()?))
    }
}

/// A row of an outer join: none where its first column is NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maybe<R>(pub Option<R>);

impl<R: Row> Row for Maybe<R> {
    const COLUMNS: Option<&'static [&'static str]> = R::COLUMNS;
    const WIDTH: usize = R::WIDTH;
    fn read(columns: &mut Columns<'_>) -> Result<Self, Error> {
        if columns.is_null() {
            columns.next += R::WIDTH;
            return Ok(Maybe(None));
        }
        R::read(columns).map(|row| Maybe(Some(row)))
    }
}

/// A row and that of an outer join.
impl<A: Row, B: Row> Row for (A, Maybe<B>) {
    const COLUMNS: Option<&'static [&'static str]> = Joined::<A, B>::COLUMNS;
    const WIDTH: usize = A::WIDTH + B::WIDTH;
    fn read(columns: &mut Columns<'_>) -> Result<Self, Error> {
        Ok((A::read(columns)?, Row::read(columns)?))
    }
}

struct Joined<A, B>(PhantomData<(A, B)>);

impl<A: Row, B: Row> Joined<A, B> {
    const FIELDS: &'static [Field] =
        &[("first", A::COLUMNS, A::WIDTH), ("joined", B::COLUMNS, B::WIDTH)];
    /// More than any row has: a constant of generic types cannot be as long as they are wide.
    const NAMES: &'static [&'static str; 128] = &column_names(Self::FIELDS);
    const COLUMNS: Option<&'static [&'static str]> =
        Some(Self::NAMES.split_at(width(Self::FIELDS)).0);
}

/// The column a field is named after: `r#type` reads `type`.
#[doc(hidden)]
pub const fn column_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// A field of a row: its column, and the columns and width of its type.
#[doc(hidden)]
pub type Field = (&'static str, Option<&'static [&'static str]>, usize);

/// How many columns the fields take.
#[doc(hidden)]
pub const fn width(fields: &[Field]) -> usize {
    let (mut sum, mut at) = (0, 0);
    while at < fields.len() {
        let (_, columns, width) = fields[at];
        assert!(
            columns.is_some() || width == 1,
            "a field is one column, or a row with named columns"
        );
        sum += width;
        at += 1;
    }
    sum
}

/// The names of the columns that the fields take.
#[doc(hidden)]
pub const fn column_names<const WIDTH: usize>(fields: &[Field]) -> [&'static str; WIDTH] {
    let mut names = [""; WIDTH];
    let (mut next, mut at) = (0, 0);
    while at < fields.len() {
        let (name, columns, width) = fields[at];
        let mut of_field = 0;
        while of_field < width {
            names[next] = match columns {
                Some(columns) => columns[of_field],
                None => name,
            };
            next += 1;
            of_field += 1;
        }
        at += 1;
    }
    names
}

/// Declares a struct whose fields are the columns of a statement, same names, same order. A field may also be
/// another row, which stands for all of its columns:
///
/// ```
/// db::row! {
///     #[derive(Debug)]
///     struct Marks { is_pinned: bool, is_read: bool }
/// }
/// db::row! {
///     #[derive(Debug)]
///     struct NoteRow { id: i64, marks: Marks, body: String }
/// }
/// assert_eq!(<NoteRow as db::Row>::COLUMNS, Some(&["id", "is_pinned", "is_read", "body"][..]));
/// ```
#[macro_export]
macro_rules! row {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type),*
        }

        impl $crate::Row for $name {
            const COLUMNS: ::core::option::Option<&'static [&'static str]> = {
                const FIELDS: &[$crate::Field] = &[$((
                    $crate::column_name(::core::stringify!($field)),
                    <$type as $crate::Row>::COLUMNS,
                    <$type as $crate::Row>::WIDTH,
                )),*];
                const NAMES: [&str; $crate::width(FIELDS)] = $crate::column_names(FIELDS);
                ::core::option::Option::Some(&NAMES)
            };

            fn read(columns: &mut $crate::Columns<'_>) -> ::core::result::Result<Self, $crate::Error> {
                ::core::result::Result::Ok(Self { $($field: $crate::Row::read(columns)?),* })
            }
        }
    };
}
