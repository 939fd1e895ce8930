//! Facts about the installation, stored by name.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::installation::Fingerprint;

db::statements! {
    query FIND -> String, unscoped "the installation is no project" =
        "SELECT value FROM installation WHERE name = $1";
    command INSERT, unscoped "the installation is no project" =
        "INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    command REPLACE, unscoped "the installation is no project" =
        "INSERT INTO installation (name, value) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value";
}

const SECRET: &str = "secret";

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
