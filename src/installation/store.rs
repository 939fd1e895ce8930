//! Facts about the installation, stored by name.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::installation::Fingerprint;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

db::statements! {
    query FIND -> String, unscoped "the installation is no project" =
        "SELECT value FROM installation WHERE name = $1";
    command INSERT, unscoped "the installation is no project" =
        "INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    command REPLACE, unscoped "the installation is no project" =
        "INSERT INTO installation (name, value) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    /// Held until $2, unless somebody holds it at $3.
    command LEASE, unscoped "the installation is no project" =
        "INSERT INTO installation (name, value) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value
         WHERE CAST(installation.value AS {int}) <= $3";
    /// Inserts it or locks it.
    command LOCK -> String, unscoped "the installation is no project" =
        "INSERT INTO installation (name, value) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET value = installation.value RETURNING value";
    query HOLDS -> String, unscoped "the installation is no project" =
        "SELECT value FROM installation WHERE name >= 'hold-files:' AND name < 'hold-files;'";
    command RELEASE, unscoped "the installation is no project" =
        "DELETE FROM installation WHERE name = $1";
    command RELEASE_ALL, unscoped "the installation is no project" =
        "DELETE FROM installation WHERE name >= 'hold-files:' AND name < 'hold-files;'";
}

const SECRET: &str = "secret";
const BACKUP_LEASE: &str = "backup-lease";
const LAST_BACKUP: &str = "last-backup";
const BACKUP_ASKED: &str = "backup-asked";
const SEALED_UNTIL: &str = "audit-sealed-until";

/// Whether this is the secret of the installation; the first one is stored.
pub fn claim_secret(tx: &Tx<'_>, fingerprint: &Fingerprint) -> Result<bool> {
    tx.execute(&INSERT, args![SECRET, &fingerprint.0])?;
    is_secret(tx, fingerprint)
}

fn is_secret(c: &Conn<'_>, fingerprint: &Fingerprint) -> Result<bool> {
    Ok(kept_secret(c)?.as_ref() == Some(fingerprint))
}

/// The fingerprint of the installation's secret, if there is one yet.
pub fn kept_secret(c: &Conn<'_>) -> Result<Option<Fingerprint>, db::Error> {
    Ok(c.opt(&FIND, args![SECRET])?.map(Fingerprint))
}

/// Sets the secret of the installation.
pub fn replace_secret(tx: &Tx<'_>, fingerprint: &Fingerprint) -> Result<()> {
    tx.execute(&REPLACE, args![SECRET, &fingerprint.0])?;
    Ok(())
}

/// Until then the bytes of deleted files stay where they are, because a backup reads them.
pub fn hold_files(tx: &Tx<'_>, who: &str, until: Timestamp) -> Result<()> {
    tx.execute(&REPLACE, args![hold(who), until.millis().to_string()])?;
    Ok(())
}

pub fn release_files(tx: &Tx<'_>, who: &str) -> Result<()> {
    tx.execute(&RELEASE, args![hold(who)])?;
    Ok(())
}

/// A restored database holds no files: the backup that did has ended.
pub fn release_all_files(tx: &Tx<'_>) -> Result<()> {
    tx.execute(&RELEASE_ALL, args![])?;
    Ok(())
}

/// How long the bytes of deleted files have to stay.
pub fn files_held_until(c: &Conn<'_>) -> Result<Option<Timestamp>> {
    let until = c.all(&HOLDS, args![])?.into_iter().filter_map(|value| value.parse().ok());
    Ok(until.max().map(Timestamp::from_millis))
}

/// Whether the caller is the one node that makes a backup now.
pub fn lease_backup(tx: &Tx<'_>, now: Timestamp, until: Timestamp) -> Result<bool> {
    Ok(tx.execute(&LEASE, args![BACKUP_LEASE, until.millis().to_string(), now])? > 0)
}

/// Extends the lease while the backup runs, or keeps all nodes from trying again at once.
pub fn renew_backup(tx: &Tx<'_>, until: Timestamp) -> Result<()> {
    tx.execute(&REPLACE, args![BACKUP_LEASE, until.millis().to_string()])?;
    Ok(())
}

pub fn release_backup(tx: &Tx<'_>) -> Result<()> {
    tx.execute(&RELEASE, args![BACKUP_LEASE])?;
    Ok(())
}

/// A backup that began at that time is verified.
pub fn finish_backup(tx: &Tx<'_>, began: Timestamp) -> Result<()> {
    tx.execute(&REPLACE, args![LAST_BACKUP, began.millis().to_string()])?;
    release_backup(tx)
}

/// When the last scheduled backup that succeeded began.
pub fn last_backup(c: &Conn<'_>) -> Result<Option<Timestamp>> {
    find_time(c, LAST_BACKUP)
}

/// An operator wants a backup before the next one is due.
pub fn ask_for_backup(tx: &Tx<'_>, now: Timestamp) -> Result<()> {
    tx.execute(&REPLACE, args![BACKUP_ASKED, now.millis().to_string()])?;
    Ok(())
}

/// When one was asked for last; one that began later has answered it.
pub fn backup_asked(c: &Conn<'_>) -> Result<Option<Timestamp>> {
    find_time(c, BACKUP_ASKED)
}

fn find_time(c: &Conn<'_>, name: &str) -> Result<Option<Timestamp>> {
    let found = c.opt(&FIND, args![name])?;
    Ok(found.and_then(|value| value.parse().ok()).map(Timestamp::from_millis))
}

/// Up to when the audit log is sealed. Locked until the transaction ends, so that nodes take turns.
pub fn lock_sealed_until(tx: &Tx<'_>) -> Result<Timestamp> {
    let value = tx.one(&LOCK, args![SEALED_UNTIL, "0"])?;
    Ok(Timestamp::from_millis(value.parse().unwrap_or(0)))
}

pub fn set_sealed_until(tx: &Tx<'_>, until: Timestamp) -> Result<()> {
    tx.execute(&REPLACE, args![SEALED_UNTIL, until.millis().to_string()])?;
    Ok(())
}

/// From now on the project is being deleted, for good. An earlier call's time is kept.
pub fn begin_deletion(tx: &Tx<'_>, project: ProjectId, now: Timestamp) -> Result<()> {
    tx.execute(&INSERT, args![deletion(project), now.millis().to_string()])?;
    Ok(())
}

/// Since when the project is being deleted.
pub fn deletion_began(c: &Conn<'_>, project: ProjectId) -> Result<Option<Timestamp>> {
    find_time(c, &deletion(project))
}

pub fn end_deletion(tx: &Tx<'_>, project: ProjectId) -> Result<()> {
    tx.execute(&RELEASE, args![deletion(project)])?;
    Ok(())
}

fn deletion(project: ProjectId) -> String {
    format!("delete-project:{project}")
}

fn hold(who: &str) -> String {
    format!("hold-files:{who}")
}
