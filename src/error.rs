//! Errors of handlers. Errors are values: a feature declares its faults as constants, a refusal is a fault
//! with its text and extra keys, and everything unforeseen is `Internal`, whose source is logged and never
//! sent to the client.

use std::fmt;

use serde_json::{Map, Value};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a transaction was given up that others came before on every try.
const CONFLICT: &str = "others changed the same at the same time";

/// One documented error of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub status: u16,
    pub code: &'static str,
    pub message: &'static str,
}

impl Fault {
    pub const fn new(status: u16, code: &'static str, message: &'static str) -> Self {
        Fault { status, code, message }
    }

    /// The same fault with a more specific text.
    pub fn because(self, message: impl Into<String>) -> Error {
        Error::Refused(Box::new(Refusal {
            fault: self,
            message: Some(message.into()),
            extra: Map::new(),
        }))
    }

    /// The same fault for an upload: clients read its text from `error` and `message`.
    pub fn about_upload(self, message: impl Into<String>) -> Error {
        let message = message.into();
        let mut extra = Map::new();
        extra.insert("message".to_owned(), Value::String(message.clone()));
        Error::Refused(Box::new(Refusal { fault: self, message: Some(message), extra }))
    }

    /// The same fault with one more key in its body.
    pub fn with(self, key: &str, value: impl Into<Value>) -> Error {
        let mut extra = Map::new();
        extra.insert(key.to_owned(), value.into());
        Error::Refused(Box::new(Refusal { fault: self, message: None, extra }))
    }
}

/// Declares faults as constants, each with its visibility: `NAME = status "code": "message";`.
macro_rules! faults {
    ($(
        $(#[$meta:meta])*
        $vis:vis $name:ident = $status:literal $code:literal: $message:literal;
    )*) => {$(
        $(#[$meta])*
        $vis const $name: $crate::error::Fault =
            $crate::error::Fault::new($status, $code, $message);
    )*};
}
pub(crate) use faults;

#[derive(Debug)]
pub struct Refusal {
    pub fault: Fault,
    pub message: Option<String>,
    pub extra: Map<String, Value>,
}

/// The state of a rate limit's window; sent as the `X-RateLimit-*` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowState {
    pub limit: u32,
    pub remaining: u32,
    /// Seconds until the window ends, at least one.
    pub reset: u64,
}

/// The refusal of a request beyond its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    pub window: WindowState,
    pub text: &'static str,
}

#[derive(Debug)]
pub enum Error {
    Refused(Box<Refusal>),
    /// No `Authorization` where one is required. Its form depends on the version.
    NoCredential,
    /// An invalid token or key. Its form depends on the version.
    BadCredential,
    RateLimited(Exceeded),
    /// The server is overloaded; the same request may succeed in a moment.
    Busy(&'static str),
    Internal(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Error::Internal(source.into())
    }

    /// What is logged for a failure that is not the caller's: the error and all its causes.
    pub fn chain(&self) -> Option<String> {
        let source = match self {
            Error::Busy(why) => return Some((*why).to_owned()),
            Error::Internal(source) => source,
            _ => return None,
        };
        let mut text = source.to_string();
        let mut cause = source.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Some(text)
    }

    /// What the refusal or failure is called where there is no text.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Refused(refusal) => refusal.fault.code,
            Error::NoCredential => "no credential",
            Error::BadCredential => "bad credential",
            Error::RateLimited(_) => "rate limited",
            Error::Busy(_) => "busy",
            Error::Internal(_) => "internal",
        }
    }

    pub fn is(&self, fault: Fault) -> bool {
        matches!(self, Error::Refused(refusal) if refusal.fault == fault)
    }

    /// Maps the violation of one unique index to a fault.
    pub fn on_unique(self, index: &str, fault: impl Into<Error>) -> Self {
        match &self {
            Error::Internal(source)
                if source.downcast_ref::<db::Error>().is_some_and(|e| e.is_unique(index)) =>
            {
                fault.into()
            }
            _ => self,
        }
    }

    /// Maps the loss against other transactions to a fault; without one it is a 503.
    pub fn on_conflict(self, fault: impl Into<Error>) -> Self {
        if matches!(self, Error::Busy(CONFLICT)) { fault.into() } else { self }
    }

    /// Maps the violation of a foreign key to a fault.
    pub fn on_foreign_key(self, fault: impl Into<Error>) -> Self {
        match &self {
            Error::Internal(source)
                if source.downcast_ref::<db::Error>() == Some(&db::Error::ForeignKey) =>
            {
                fault.into()
            }
            _ => self,
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Refused(Box::new(Refusal { fault, message: None, extra: Map::new() }))
    }
}

impl From<db::Error> for Error {
    fn from(error: db::Error) -> Self {
        match error {
            db::Error::Busy => Error::Busy("the server is busy"),
            db::Error::Conflict => Error::Busy(CONFLICT),
            db::Error::Full => Error::Busy("the server is out of disk space"),
            db::Error::Deadline { .. } => Error::Busy("the request took too long"),
            db::Error::Unreachable(_) => Error::Busy("the database cannot be reached"),
            db::Error::OutcomeUnknown => {
                Error::Busy("the connection to the database broke; the change may have been made")
            }
            other => Error::Internal(Box::new(other)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => {
                let text = refusal.message.as_deref().unwrap_or(refusal.fault.message);
                write!(f, "{}: {text}", refusal.fault.code)
            }
            Error::NoCredential => f.write_str("no credential"),
            Error::BadCredential => f.write_str("unusable credential"),
            Error::RateLimited(_) => f.write_str("rate limited"),
            Error::Busy(why) => f.write_str(why),
            Error::Internal(source) => source.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
