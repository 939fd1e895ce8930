//! Exports: what a project or a user has, as documents that other programs can read. `transfer` writes and reads those of a
//! project; users get their own by an operation and a job.

pub mod document;
pub mod download;
pub mod kinds;
mod receipt;
mod request;
pub mod store;
pub mod uploads;
pub mod user;

pub use receipt::{Receipt, erase_with_receipt};
pub use request::{ExportUser, RemoveExport};

use http::Method;

use crate::error::faults;
use crate::features::users::{INVALID, NOT_FOUND};
use crate::http::operation::Operation;
use crate::http::version::Version;
use crate::rate_limits::RateLimit;

faults! {
    NOT_AUTHORIZED = 403 "user/not-authorized": "Only the user themself or a key may do this";
    NO_EMAIL = 400 "user/no-email": "The account has no e-mail address to send the export to";
}

/// Each one reads everything that the user has.
const RATE: RateLimit = RateLimit::per_5_minutes(3)
    .window_minutes(24 * 60)
    .text("Too many exports, please try again tomorrow");

pub fn operations() -> Vec<Operation> {
    let path = "/users/{userId}/export";
    vec![
        Operation::new(Method::POST, path, "Export User", "user", INVALID, request::export_user)
            .since(Version::V7)
            .rate(RATE)
            .open_to_suspended()
            .no_store()
            .errors(&[NOT_FOUND, NOT_AUTHORIZED, NO_EMAIL]),
    ]
}
