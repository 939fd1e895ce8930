//! Facts about the whole installation, kept in the database that its nodes share.
//!
//! Tokens and addresses of files are signed with one secret. A node with another one would refuse what
//! the others have signed, so the first start leaves a fingerprint that every later one is held against.

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::random::hex;

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

/// Tells secrets apart and nothing about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub fn of(secret: &[u8]) -> Self {
        let tag = sign(&Key::new(HMAC_SHA256, secret), b"townhall: fingerprint of the secret key");
        Fingerprint(hex(&tag.as_ref()[..16]))
    }
}

/// Whether this is the secret of the installation; the first one becomes it.
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

/// From now on this is the secret of the installation.
pub fn replace_secret(tx: &Tx<'_>, fingerprint: &Fingerprint) -> Result<()> {
    tx.execute(&REPLACE, args![SECRET, &fingerprint.0])?;
    Ok(())
}
