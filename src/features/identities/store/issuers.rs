//! All SQL about outside JWT issuers.

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct IssuerRow {
        pub issuer: String,
        pub settings: JsonText,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

db::statements! {
    query FIND -> IssuerRow =
        "SELECT issuer, settings, created_at, updated_at FROM jwt_issuers
         WHERE project_id = $1 AND issuer = $2";
    query LIST -> IssuerRow =
        "SELECT issuer, settings, created_at, updated_at FROM jwt_issuers
         WHERE project_id = $1 ORDER BY issuer";
    command REPLACE =
        "INSERT INTO jwt_issuers (project_id, issuer, settings, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $4)
         ON CONFLICT (project_id, issuer) DO UPDATE SET settings = excluded.settings,
            updated_at = excluded.updated_at";
    command DELETE = "DELETE FROM jwt_issuers WHERE project_id = $1 AND issuer = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, issuer: &str) -> Result<Option<IssuerRow>> {
    Ok(c.opt(&FIND, args![project, issuer])?)
}

pub fn list(c: &Conn<'_>, project: ProjectId) -> Result<Vec<IssuerRow>> {
    Ok(c.all(&LIST, args![project])?)
}

pub fn replace(
    tx: &Tx<'_>,
    project: ProjectId,
    issuer: &str,
    settings: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&REPLACE, args![project, issuer, settings, now])?;
    Ok(())
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, issuer: &str) -> Result<bool> {
    Ok(tx.execute(&DELETE, args![project, issuer])? > 0)
}
