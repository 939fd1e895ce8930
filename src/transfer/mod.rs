//! Everything of an installation, out of one database and into another: `copy` from one engine to the other,
//! `backup` into an archive and `restore` from one.
//!
//! Rows travel in a form that both engines read (`rows`). A table's checksum does not depend on the order of its
//! rows, nor on how an engine spells JSON, so both sides of a transfer can be compared.

pub mod archive;
pub mod backup;
mod checksum;
pub mod copy;
pub mod counts;
mod csv;
pub mod export;
mod files;
pub mod import;
pub mod load;
pub mod online;
pub mod project;
pub mod restore;
mod rows;
pub mod schedule;
mod store;
mod tables;

use std::fmt;

pub use checksum::Checksum;
pub use files::Store;
pub use tables::Part;

/// One line for the operator.
#[derive(Debug)]
pub struct Failure(pub String);

impl<E: fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.to_string())
    }
}

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Where the transfer is; called after each batch of rows and each file.
pub type Progress<'a> = &'a (dyn Fn(&str, u64) + Sync);
