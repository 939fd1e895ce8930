//! All SQL about OAuth providers and sign-ins that have begun.

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct ProviderRow {
        pub provider: String,
        pub client_secret: Option<Vec<u8>>,
        pub settings: JsonText,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

db::row! {
    /// A sign-in that has begun.
    #[derive(Debug, Clone)]
    pub struct StateRow {
        pub provider: String,
        pub redirect_after_auth: String,
        pub code_verifier: String,
        pub nonce: String,
        pub link_to_user_id: Option<UserId>,
    }
}

db::statements! {
    query FIND_PROVIDER -> ProviderRow =
        "SELECT provider, client_secret, settings, created_at, updated_at FROM oauth_providers
         WHERE project_id = $1 AND provider = $2";
    query LIST_PROVIDERS -> ProviderRow =
        "SELECT provider, client_secret, settings, created_at, updated_at FROM oauth_providers
         WHERE project_id = $1 ORDER BY provider";
    command REPLACE_PROVIDER =
        "INSERT INTO oauth_providers (project_id, provider, client_secret, settings, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $5)
         ON CONFLICT (project_id, provider) DO UPDATE SET client_secret = excluded.client_secret,
            settings = excluded.settings, updated_at = excluded.updated_at";
    command RENEW_SECRET =
        "UPDATE oauth_providers SET client_secret = $4
         WHERE project_id = $1 AND provider = $2 AND client_secret = $3";
    command DELETE_PROVIDER = "DELETE FROM oauth_providers WHERE project_id = $1 AND provider = $2";
    command INSERT_STATE =
        "INSERT INTO oauth_states (project_id, state_hash, provider, redirect_after_auth, code_verifier, nonce,
            browser_hash, link_to_user_id, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    /// $4: what the browser has; $5: what it must have from then on.
    command BIND_STATE -> StateRow =
        "UPDATE oauth_states SET browser_hash = $5
         WHERE project_id = $1 AND state_hash = $2 AND expires_at > $3 AND browser_hash = $4
         RETURNING provider, redirect_after_auth, code_verifier, nonce, link_to_user_id";
    /// $4: the hash of the browser's cookie, if it has one.
    command TAKE_STATE -> StateRow =
        "DELETE FROM oauth_states
         WHERE project_id = $1 AND state_hash = $2 AND expires_at > $3
            AND (browser_hash IS NULL OR browser_hash = $4)
         RETURNING provider, redirect_after_auth, code_verifier, nonce, link_to_user_id";
    // The expiry is tested twice: otherwise PostgreSQL scans the whole table for the keys of the subquery.
    command SWEEP_STATES, unscoped "expiry is the same for every project" =
        "DELETE FROM oauth_states WHERE expires_at < $1 AND (project_id, state_hash) IN
            (SELECT project_id, state_hash FROM oauth_states WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
}

pub fn find_provider(
    c: &Conn<'_>,
    project: ProjectId,
    provider: &str,
) -> Result<Option<ProviderRow>> {
    Ok(c.opt(&FIND_PROVIDER, args![project, provider])?)
}

pub fn list_providers(c: &Conn<'_>, project: ProjectId) -> Result<Vec<ProviderRow>> {
    Ok(c.all(&LIST_PROVIDERS, args![project])?)
}

pub fn replace_provider(
    tx: &Tx<'_>,
    project: ProjectId,
    provider: &str,
    client_secret: Option<&[u8]>,
    settings: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&REPLACE_PROVIDER, args![project, provider, client_secret, settings, now])?;
    Ok(())
}

/// Unless it was set anew meanwhile.
pub fn renew_secret(
    tx: &Tx<'_>,
    project: ProjectId,
    provider: &str,
    (old, new): (&[u8], &[u8]),
) -> Result<()> {
    tx.execute(&RENEW_SECRET, args![project, provider, old, new])?;
    Ok(())
}

pub fn delete_provider(tx: &Tx<'_>, project: ProjectId, provider: &str) -> Result<bool> {
    Ok(tx.execute(&DELETE_PROVIDER, args![project, provider])? > 0)
}

pub fn insert_state(
    tx: &Tx<'_>,
    project: ProjectId,
    (state_hash, browser_hash): (&[u8], Option<&[u8]>),
    state: &StateRow,
    expires: Timestamp,
) -> Result<()> {
    let StateRow { provider, redirect_after_auth, code_verifier, nonce, link_to_user_id } = state;
    let args = args![
        project,
        state_hash,
        provider,
        redirect_after_auth,
        code_verifier,
        nonce,
        browser_hash,
        *link_to_user_id,
        expires
    ];
    tx.execute(&INSERT_STATE, args)?;
    Ok(())
}

/// Binds a sign-in to a browser; of several callers exactly one gets it.
pub fn bind_state(
    tx: &Tx<'_>,
    project: ProjectId,
    state_hash: &[u8],
    (old, new): (&[u8], &[u8]),
    now: Timestamp,
) -> Result<Option<StateRow>> {
    Ok(tx.opt(&BIND_STATE, args![project, state_hash, now, old, new])?)
}

/// Uses up a sign-in; of several callers exactly one gets it. One that is bound to another browser stays.
pub fn take_state(
    tx: &Tx<'_>,
    project: ProjectId,
    state_hash: &[u8],
    browser_hash: Option<&[u8]>,
    now: Timestamp,
) -> Result<Option<StateRow>> {
    Ok(tx.opt(&TAKE_STATE, args![project, state_hash, now, browser_hash])?)
}

/// Deletes sign-ins that nobody has come back from.
pub fn sweep(tx: &Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    Ok(tx.execute(&SWEEP_STATES, args![now, most])?)
}
