//! A backup: a tar archive compressed with zstd, or a folder with the same entries.
//!
//! | entry | holds |
//! |---|---|
//! | `tables/0001/table.json` | the name of a table and of its columns |
//! | `tables/0001/000001.rows` | its rows in the form of `transfer/rows.rs`; further ones in `000002.rows` and so on |
//! | `files/<projectId>/…` | a stored file |
//! | `secret.json` | the installation's secret, encrypted; only when asked for |
//! | `manifest.json` | the last entry: versions, row counts, and the SHA-256 of every other entry |

mod read;
mod secret;
mod write;

pub use read::{each, verify};
pub use secret::SealedSecret;
pub use write::{Added, Writer, create_private, measure};

use serde::{Deserialize, Serialize};

pub const FORMAT: &str = "townhall-backup";
/// Of the archive itself, not of the schema in it.
pub const VERSION: u32 = 1;

pub const TABLES: &str = "tables/";
pub const TABLE: &str = "/table.json";
pub const FILES: &str = "files/";
pub const SECRET: &str = "secret.json";
pub const MANIFEST: &str = "manifest.json";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub format: String,
    pub version: u32,
    /// Of the program that wrote it.
    pub townhall: String,
    /// How many migrations the database had.
    pub schema: usize,
    pub engine: String,
    pub created_at: String,
    pub tables: Vec<TableFacts>,
    pub files: u64,
    /// Rows of files whose bytes were lost before the backup.
    pub missing_files: Vec<String>,
    pub entries: Vec<Added>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFacts {
    pub name: String,
    pub rows: u64,
    pub checksum: String,
}

/// What `table.json` says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TableHead {
    pub name: String,
    pub columns: Vec<String>,
    /// Which columns the source knew to hold JSON.
    pub json: Vec<bool>,
}
