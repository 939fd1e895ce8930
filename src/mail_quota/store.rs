//! The SQL about the quotas of mails.

use db::{JsonText, Tx, args};

use crate::error::{Error, Result};
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

db::statements! {
    /// Inserts the row or locks it. Writes in either case, so that both take the same time.
    command LOCK -> JsonText =
        "INSERT INTO mail_quotas (project_id, address_hash, sent_at, expires_at)
         VALUES ($1, $2, '[]', $3)
         ON CONFLICT (project_id, address_hash) DO UPDATE SET expires_at = mail_quotas.expires_at
         RETURNING sent_at";
    command SET =
        "UPDATE mail_quotas SET sent_at = $3, expires_at = $4
         WHERE project_id = $1 AND address_hash = $2";

    // The expiry is tested twice: otherwise PostgreSQL scans the whole table for the keys of the subquery.
    command SWEEP, unscoped "expiry is the same for every project" =
        "DELETE FROM mail_quotas WHERE expires_at < $1 AND (project_id, address_hash) IN
            (SELECT project_id, address_hash FROM mail_quotas WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
}

/// The times of mails to an address, oldest first. Locks the row until the transaction ends; a new row gets
/// this expiry.
pub fn lock(
    tx: &Tx<'_>,
    project: ProjectId,
    address_hash: &[u8],
    expires: Timestamp,
) -> Result<Vec<Timestamp>> {
    let JsonText(sent) = tx.one(&LOCK, args![project, address_hash, expires])?;
    let millis: Vec<i64> = serde_json::from_str(&sent).map_err(Error::internal)?;
    Ok(millis.into_iter().map(Timestamp::from_millis).collect())
}

pub fn set(
    tx: &Tx<'_>,
    project: ProjectId,
    address_hash: &[u8],
    sent: &[Timestamp],
    expires: Timestamp,
) -> Result<()> {
    let millis: Vec<i64> = sent.iter().map(|at| at.millis()).collect();
    let millis = serde_json::to_string(&millis).map_err(Error::internal)?;
    tx.execute(&SET, args![project, address_hash, millis.as_str(), expires])?;
    Ok(())
}

/// Deletes expired quotas, at most this many.
pub fn sweep(tx: &Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    Ok(tx.execute(&SWEEP, args![now, most])?)
}
