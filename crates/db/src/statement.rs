//! Statements are static values with a name; [`statements!`](crate::statements!) also lists them,
//! so that one test can prepare, explain and inspect every statement of a program.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::row::ANY_WIDTH;
use crate::{Engine, Error, Row, dialect};

/// A statement with more arguments than this is prepared each time.
pub const MAX_CACHED_ARGUMENTS: usize = 128;

/// Name, text and what was learned when it was first prepared.
#[derive(Debug)]
pub struct Text {
    pub(crate) name: &'static str,
    text: Cow<'static, str>,
    unscoped: Option<&'static str>,
    /// Expected column names, `None` for any.
    pub(crate) columns: Option<&'static [&'static str]>,
    pub(crate) width: usize,
    writes: bool,
    engines: [ForEngine; 2],
}

#[derive(Debug)]
struct ForEngine {
    text: OnceLock<Result<String, String>>,
    checked: AtomicBool,
}

impl ForEngine {
    const fn new() -> Self {
        ForEngine { text: OnceLock::new(), checked: AtomicBool::new(false) }
    }
}

impl Text {
    const fn new<R: Row>(
        name: &'static str,
        text: Cow<'static, str>,
        unscoped: Option<&'static str>,
        writes: bool,
    ) -> Self {
        Text {
            name,
            text,
            unscoped,
            columns: R::COLUMNS,
            width: R::WIDTH,
            writes,
            engines: [ForEngine::new(), ForEngine::new()],
        }
    }

    pub(crate) fn writes(&self) -> bool {
        self.writes
    }

    /// The text as the engine understands it, made once.
    pub(crate) fn on(&self, engine: Engine) -> Result<&str, Error> {
        self.engines[engine as usize]
            .text
            .get_or_init(|| dialect::statement(&self.text, engine))
            .as_deref()
            .map_err(|message| Error::statement(self.name, message))
    }

    /// Compares the columns with those of the row type; the names only the first time.
    pub(crate) fn check<'n>(
        &self,
        engine: Engine,
        count: usize,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<(), Error> {
        let checked = &self.engines[engine as usize].checked;
        if self.width == ANY_WIDTH || (count == self.width && checked.load(Relaxed)) {
            return Ok(());
        }
        self.compare(names)?;
        checked.store(true, Relaxed);
        Ok(())
    }

    pub(crate) fn compare<'n>(
        &self,
        mut names: impl Iterator<Item = &'n str>,
    ) -> Result<(), Error> {
        if self.width == ANY_WIDTH {
            return Ok(());
        }
        let wrong = |column: &str, expected, found: &str| {
            Err(Error::Row {
                statement: self.name,
                column: column.to_owned(),
                expected,
                found: found.to_owned(),
            })
        };
        for index in 0..self.width {
            let expected = self.columns.and_then(|columns| columns.get(index).copied());
            match (expected, names.next()) {
                (Some(expected), Some(found)) if expected == found => {}
                (None, Some(_)) => {}
                (expected, Some(found)) => return wrong(found, expected.unwrap_or("?"), found),
                (expected, None) => {
                    let column = expected.unwrap_or("?");
                    return wrong(column, expected.unwrap_or("one more column"), "no column");
                }
            }
        }
        match names.next() {
            Some(more) => wrong(more, "no more columns", more),
            None => Ok(()),
        }
    }
}

/// A statement that only reads.
pub struct Query<R> {
    text: Text,
    row: PhantomData<fn() -> R>,
}

/// A statement that writes; with a row type it ends in `RETURNING`.
pub struct Command<R = ()> {
    text: Text,
    row: PhantomData<fn() -> R>,
}

macro_rules! constructors {
    ($type:ident, $writes:literal) => {
        impl<R: Row> $type<R> {
            /// For [`statements!`](crate::statements!).
            #[doc(hidden)]
            pub const fn declared(
                name: &'static str,
                text: &'static str,
                unscoped: Option<&'static str>,
            ) -> Self {
                $type {
                    text: Text::new::<R>(name, Cow::Borrowed(text), unscoped, $writes),
                    row: PhantomData,
                }
            }

            /// A statement whose text is built at run time (filters, lists of ids). Values are still bound;
            /// the caller checks identifiers. `name` is for errors and logs.
            pub fn built(name: &'static str, text: impl Into<String>) -> Self {
                $type {
                    text: Text::new::<R>(name, Cow::Owned(text.into()), None, $writes),
                    row: PhantomData,
                }
            }
        }

        impl<R> fmt::Debug for $type<R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($type)).field(&self.text.name).finish()
            }
        }

        impl<R: Row> Statement for $type<R> {
            type Row = R;
        }

        impl<R> AnyStatement for $type<R> {
            fn name(&self) -> &'static str {
                self.text.name
            }
            fn text(&self) -> &str {
                &self.text.text
            }
            fn columns(&self) -> &'static [&'static str] {
                self.text.columns.unwrap_or(&[])
            }
            fn unscoped(&self) -> Option<&'static str> {
                self.text.unscoped
            }
            fn writes(&self) -> bool {
                self.text.writes
            }
            fn inner(&self) -> &Text {
                &self.text
            }
        }
    };
}

constructors!(Query, false);
constructors!(Command, true);

/// A [`Query`] or a [`Command`], with the row it yields.
pub trait Statement: AnyStatement {
    type Row: Row;
}

/// What every statement can tell about itself.
pub trait AnyStatement: Sync {
    /// Module path and name.
    fn name(&self) -> &'static str;
    /// As written: `$n` parameters and dialect tokens.
    fn text(&self) -> &str;
    /// Expected column names; empty for any.
    fn columns(&self) -> &'static [&'static str];
    /// Why the statement has no tenant predicate.
    fn unscoped(&self) -> Option<&'static str>;
    fn writes(&self) -> bool;
    #[doc(hidden)]
    fn inner(&self) -> &Text;
}

/// Declares the statements of a module as `pub(crate)` statics, and `ALL`, the list of them.
///
/// ```
/// mod store {
///     db::row! {
///         #[derive(Debug)]
///         pub(crate) struct NoteRow { pub(crate) id: i64, pub(crate) body: Option<String> }
///     }
///     db::statements! {
///         /// One note by id.
///         query FIND_NOTE -> NoteRow = "SELECT id, body FROM notes WHERE box_id = $1 AND id = $2";
///         command DELETE_NOTE = "DELETE FROM notes WHERE box_id = $1 AND id = $2";
///         command INSERT_NOTE -> i64 = "INSERT INTO notes (box_id, body) VALUES ($1, $2) RETURNING id";
///         query COUNT_NOTES -> i64, unscoped "a figure over all boxes" = "SELECT count(*) FROM notes";
///     }
/// }
/// # use db::AnyStatement;
/// assert_eq!(store::ALL.len(), 4);
/// assert!(store::FIND_NOTE.name().ends_with("store::FIND_NOTE"));
/// ```
#[macro_export]
macro_rules! statements {
    (@type query [$row:ty]) => { $crate::Query<$row> };
    (@type command [$row:ty]) => { $crate::Command<$row> };
    (@type command []) => { $crate::Command<()> };
    (@new query) => { $crate::Query::declared };
    (@new command) => { $crate::Command::declared };
    (@why) => { ::core::option::Option::None };
    (@why $why:literal) => { ::core::option::Option::Some($why) };
    ($(
        $(#[$meta:meta])*
        $kind:ident $name:ident $(-> $row:ty)? $(, unscoped $why:literal)? = $text:expr;
    )*) => {
        $(
            $(#[$meta])*
            pub(crate) static $name: $crate::statements!(@type $kind [$($row)?]) =
                $crate::statements!(@new $kind)(
                    ::core::concat!(::core::module_path!(), "::", ::core::stringify!($name)),
                    $text,
                    $crate::statements!(@why $($why)?),
                );
        )*
        /// Every statement of this module.
        pub(crate) static ALL: &[&dyn $crate::AnyStatement] = &[$(&$name),*];
    };
}
