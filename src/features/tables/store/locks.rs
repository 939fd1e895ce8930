//! Locks on table definitions: work on rows takes a shared lock, a change of the table an exclusive one.

use aws_lc_rs::digest::{SHA256, digest};
use db::{Engine, Query, Tx, args};

use crate::error::Result;
use crate::features::tables::sql::Dialect;
use crate::values::ids::ProjectId;

/// Shared lock on the definition of a table, until the transaction ends. SQLite has one writer and needs none.
pub fn lock_shared(tx: &Tx<'_>, dialect: Dialect, project: ProjectId, name: &str) -> Result<()> {
    advisory_lock(tx, dialect, project, name, "SELECT 1 FROM pg_advisory_xact_lock_shared($1)")
}

/// Exclusive lock on a table, for a change of its definition.
pub fn lock_exclusive(tx: &Tx<'_>, dialect: Dialect, project: ProjectId, name: &str) -> Result<()> {
    advisory_lock(tx, dialect, project, name, "SELECT 1 FROM pg_advisory_xact_lock($1)")
}

fn advisory_lock(
    tx: &Tx<'_>,
    dialect: Dialect,
    project: ProjectId,
    name: &str,
    text: &'static str,
) -> Result<()> {
    if dialect.0 == Engine::Postgres {
        let digest = digest(&SHA256, format!("table {project} {name}").as_bytes());
        let bytes = digest.as_ref().first_chunk().copied().unwrap_or_default();
        let key = i64::from_be_bytes(bytes);
        tx.one(&Query::<i64>::built("tables::work::lock", text), args![key])?;
    }
    Ok(())
}
