//! All SQL about refresh tokens, password resets, e-mail verifications and account deletions.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, RefreshTokenId, SessionId, UserId, VerificationId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct TokenRow {
        pub id: RefreshTokenId,
        pub user_id: UserId,
        pub family_id: SessionId,
        pub successor_id: Option<RefreshTokenId>,
        pub revoked_at: Option<Timestamp>,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

db::row! {
    #[derive(Debug)]
    pub struct DeletionRow {
        pub code_hash: Vec<u8>,
        pub wrong_tries: i64,
    }
}

db::row! {
    /// A session, as an operator sees it.
    #[derive(Debug)]
    pub struct LiveSession {
        pub family_id: SessionId,
        pub renewed_at: Timestamp,
        pub expires_at: Timestamp,
    }
}

db::statements! {
    query SESSIONS -> LiveSession =
        "SELECT family_id, created_at AS renewed_at, expires_at FROM refresh_tokens
         WHERE project_id = $1 AND user_id = $2 AND revoked_at IS NULL AND expires_at > $3
         ORDER BY created_at, id";
    query FIND_TOKEN -> TokenRow =
        "SELECT id, user_id, family_id, successor_id, revoked_at, expires_at, created_at
         FROM refresh_tokens WHERE project_id = $1 AND id = $2 {for_update}";
    command INSERT_TOKEN =
        "INSERT INTO refresh_tokens (project_id, id, user_id, family_id, expires_at, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)";
    command REVOKE_TOKEN =
        "UPDATE refresh_tokens SET revoked_at = $3, successor_id = $4, updated_at = $3
         WHERE project_id = $1 AND id = $2 AND revoked_at IS NULL";
    command DELETE_FAMILY = "DELETE FROM refresh_tokens WHERE project_id = $1 AND family_id = $2";
    command DELETE_FAMILIES = "DELETE FROM refresh_tokens WHERE project_id = $1 AND user_id = $2";
    command DELETE_OTHER_FAMILIES =
        "DELETE FROM refresh_tokens WHERE project_id = $1 AND user_id = $2 AND family_id <> $3";

    command REPLACE_RESET =
        "INSERT INTO password_resets (project_id, user_id, token_hash, expires_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (project_id, user_id)
         DO UPDATE SET token_hash = excluded.token_hash, expires_at = excluded.expires_at";
    query RESET_IS_LIVE -> i64 =
        "SELECT count(*) FROM password_resets
         WHERE project_id = $1 AND token_hash = $2 AND expires_at > $3";
    command TAKE_RESET -> UserId =
        "DELETE FROM password_resets
         WHERE project_id = $1 AND token_hash = $2 AND expires_at > $3 RETURNING user_id";

    command INSERT_VERIFICATION =
        "INSERT INTO email_verifications
            (project_id, id, user_id, token_hash, guessable, wrong_tries, expires_at)
         VALUES ($1, $2, $3, $4, $5, 0, $6) ON CONFLICT DO NOTHING";
    /// $4: the signed-in user, who may use only their own codes; null for anonymous callers.
    command TAKE_VERIFICATION -> UserId =
        "DELETE FROM email_verifications
         WHERE project_id = $1 AND token_hash = $2 AND expires_at > $3
            AND (user_id = $4 OR $4 IS NULL OR NOT guessable)
         RETURNING user_id";
    command DELETE_VERIFICATIONS =
        "DELETE FROM email_verifications WHERE project_id = $1 AND user_id = $2";
    /// Sorted, so that concurrent guesses never deadlock.
    query LOCK_CODES -> VerificationId =
        "SELECT id FROM email_verifications
         WHERE project_id = $1 AND user_id = $2 AND guessable ORDER BY id {for_update}";
    command COUNT_WRONG_TRY =
        "UPDATE email_verifications SET wrong_tries = wrong_tries + 1
         WHERE project_id = $1 AND user_id = $2 AND guessable";
    command DELETE_GUESSED_AT =
        "DELETE FROM email_verifications
         WHERE project_id = $1 AND user_id = $2 AND wrong_tries >= $3";

    command REPLACE_DELETION =
        "INSERT INTO account_deletions (project_id, user_id, code_hash, wrong_tries, expires_at)
         VALUES ($1, $2, $3, 0, $4)
         ON CONFLICT (project_id, user_id)
         DO UPDATE SET code_hash = excluded.code_hash, wrong_tries = 0, expires_at = excluded.expires_at";
    query FIND_DELETION -> DeletionRow =
        "SELECT code_hash, wrong_tries FROM account_deletions
         WHERE project_id = $1 AND user_id = $2 AND expires_at > $3 {for_update}";
    command COUNT_WRONG_CODE =
        "UPDATE account_deletions SET wrong_tries = wrong_tries + 1
         WHERE project_id = $1 AND user_id = $2";
    command DELETE_DELETION = "DELETE FROM account_deletions WHERE project_id = $1 AND user_id = $2";

    // The expiry is tested twice: otherwise PostgreSQL scans the whole table for the keys of the subquery.
    command SWEEP_TOKENS, unscoped "expiry is the same for every project" =
        "DELETE FROM refresh_tokens WHERE expires_at < $1 AND (project_id, id) IN
            (SELECT project_id, id FROM refresh_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
    command SWEEP_RESETS, unscoped "expiry is the same for every project" =
        "DELETE FROM password_resets WHERE expires_at < $1 AND (project_id, user_id) IN
            (SELECT project_id, user_id FROM password_resets WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
    command SWEEP_VERIFICATIONS, unscoped "expiry is the same for every project" =
        "DELETE FROM email_verifications WHERE expires_at < $1 AND (project_id, id) IN
            (SELECT project_id, id FROM email_verifications WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
    command SWEEP_DELETIONS, unscoped "expiry is the same for every project" =
        "DELETE FROM account_deletions WHERE expires_at < $1 AND (project_id, user_id) IN
            (SELECT project_id, user_id FROM account_deletions WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
}

/// Locks the row until the transaction ends.
pub fn find_token(tx: &Tx<'_>, project: ProjectId, id: RefreshTokenId) -> Result<Option<TokenRow>> {
    Ok(tx.opt(&FIND_TOKEN, args![project, id])?)
}

pub fn insert_token(tx: &Tx<'_>, project: ProjectId, token: &TokenRow) -> Result<()> {
    let TokenRow { id, user_id, family_id, expires_at, created_at, .. } = token;
    tx.execute(&INSERT_TOKEN, args![project, *id, *user_id, *family_id, *expires_at, *created_at])?;
    Ok(())
}

/// Retires a live token in favour of its successor, in the same family.
pub fn rotate_token(
    tx: &Tx<'_>,
    project: ProjectId,
    old: RefreshTokenId,
    new: &TokenRow,
) -> Result<()> {
    tx.execute(&REVOKE_TOKEN, args![project, old, new.created_at, new.id])?;
    insert_token(tx, project, new)
}

/// The live sessions of a user, the one renewed last at the end.
pub fn sessions(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    now: Timestamp,
) -> Result<Vec<LiveSession>> {
    Ok(c.all(&SESSIONS, args![project, user, now])?)
}

pub fn delete_family(tx: &Tx<'_>, project: ProjectId, family: SessionId) -> Result<()> {
    tx.execute(&DELETE_FAMILY, args![project, family])?;
    Ok(())
}

/// Ends every session of the user except one.
pub fn delete_families(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    spare: Option<SessionId>,
) -> Result<()> {
    match spare {
        None => tx.execute(&DELETE_FAMILIES, args![project, user])?,
        Some(spare) => tx.execute(&DELETE_OTHER_FAMILIES, args![project, user, spare])?,
    };
    Ok(())
}

pub fn replace_reset(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    token_hash: &[u8],
    expires: Timestamp,
) -> Result<()> {
    tx.execute(&REPLACE_RESET, args![project, user, token_hash, expires])?;
    Ok(())
}

pub fn is_reset_live(
    c: &Conn<'_>,
    project: ProjectId,
    token_hash: &[u8],
    now: Timestamp,
) -> Result<bool> {
    Ok(c.one(&RESET_IS_LIVE, args![project, token_hash, now])? > 0)
}

/// Uses up a live reset; of several callers exactly one gets the user.
pub fn take_reset(
    tx: &Tx<'_>,
    project: ProjectId,
    token_hash: &[u8],
    now: Timestamp,
) -> Result<Option<UserId>> {
    Ok(tx.opt(&TAKE_RESET, args![project, token_hash, now])?)
}

#[derive(Debug, Clone)]
pub struct NewVerification {
    pub id: VerificationId,
    pub user: UserId,
    pub token_hash: Vec<u8>,
    pub guessable: bool,
    pub expires: Timestamp,
}

/// False if another live token of the project has the same text.
pub fn insert_verification(tx: &Tx<'_>, project: ProjectId, new: &NewVerification) -> Result<bool> {
    let NewVerification { id, user, token_hash, guessable, expires } = new;
    let inserted = tx.execute(
        &INSERT_VERIFICATION,
        args![project, *id, *user, token_hash.as_slice(), *guessable, *expires],
    )?;
    Ok(inserted > 0)
}

/// Uses up a live verification token.
pub fn take_verification(
    tx: &Tx<'_>,
    project: ProjectId,
    token_hash: &[u8],
    viewer: Option<UserId>,
    now: Timestamp,
) -> Result<Option<UserId>> {
    Ok(tx.opt(&TAKE_VERIFICATION, args![project, token_hash, now, viewer])?)
}

pub fn delete_verifications(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&DELETE_VERIFICATIONS, args![project, user])?;
    Ok(())
}

/// Locks the user's codes, so that each guess is counted before the next is compared.
pub fn lock_codes(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK_CODES, args![project, user])?;
    Ok(())
}

/// Counts a user's wrong guess against all of their codes, and voids those guessed at too often.
pub fn count_wrong_try(tx: &Tx<'_>, project: ProjectId, user: UserId, most: i64) -> Result<()> {
    tx.execute(&COUNT_WRONG_TRY, args![project, user])?;
    tx.execute(&DELETE_GUESSED_AT, args![project, user, most])?;
    Ok(())
}

pub fn replace_deletion(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    code_hash: &[u8],
    expires: Timestamp,
) -> Result<()> {
    tx.execute(&REPLACE_DELETION, args![project, user, code_hash, expires])?;
    Ok(())
}

/// Locks the pending deletion until the transaction ends.
pub fn find_deletion(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    now: Timestamp,
) -> Result<Option<DeletionRow>> {
    Ok(tx.opt(&FIND_DELETION, args![project, user, now])?)
}

pub fn count_wrong_code(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&COUNT_WRONG_CODE, args![project, user])?;
    Ok(())
}

pub fn delete_deletion(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&DELETE_DELETION, args![project, user])?;
    Ok(())
}

/// Deletes expired tokens and codes, at most `most` of each kind.
pub fn sweep(tx: &Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    let codes = [&SWEEP_RESETS, &SWEEP_VERIFICATIONS, &SWEEP_DELETIONS];
    let mut swept = 0;
    for statement in codes.into_iter().chain([&SWEEP_TOKENS]) {
        swept += tx.execute(statement, args![now, most])?;
    }
    Ok(swept)
}
