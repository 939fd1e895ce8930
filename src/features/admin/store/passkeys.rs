//! The SQL about passkeys of operators, and challenges that they have not signed yet.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{OperatorId, OperatorPasskeyId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct PasskeyRow {
        pub id: OperatorPasskeyId,
        pub operator_id: OperatorId,
        pub credential_id: Vec<u8>,
        pub public_key: Vec<u8>,
        pub sign_count: i64,
        pub name: String,
        pub created_at: Timestamp,
        pub used_at: Option<Timestamp>,
    }
}

db::statements! {
    query LIST -> PasskeyRow, unscoped "operators belong to no project" =
        "SELECT id, operator_id, credential_id, public_key, sign_count, name, created_at, used_at
         FROM operator_passkeys WHERE operator_id = $1 ORDER BY created_at, id";
    query FIND -> PasskeyRow, unscoped "operators belong to no project" =
        "SELECT id, operator_id, credential_id, public_key, sign_count, name, created_at, used_at
         FROM operator_passkeys WHERE credential_id = $1";
    command INSERT, unscoped "operators belong to no project" =
        "INSERT INTO operator_passkeys (id, operator_id, credential_id, public_key, sign_count, name, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    /// A counter that does not grow is that of a copy; authenticators without one send 0.
    command USE, unscoped "operators belong to no project" =
        "UPDATE operator_passkeys SET sign_count = $2, used_at = $3
         WHERE id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0))";
    command DELETE, unscoped "operators belong to no project" =
        "DELETE FROM operator_passkeys WHERE operator_id = $1 AND id = $2";
    command DELETE_ALL, unscoped "operators belong to no project" =
        "DELETE FROM operator_passkeys WHERE operator_id = $1";

    command INSERT_CHALLENGE, unscoped "operators belong to no project" =
        "INSERT INTO operator_challenges (challenge, operator_id, expires_at) VALUES ($1, $2, $3)";
    command TAKE_CHALLENGE -> Option<OperatorId>, unscoped "operators belong to no project" =
        "DELETE FROM operator_challenges WHERE challenge = $1 AND expires_at > $2 RETURNING operator_id";
    command SWEEP_CHALLENGES, unscoped "operators belong to no project" =
        "DELETE FROM operator_challenges WHERE expires_at < $1 AND challenge IN
            (SELECT challenge FROM operator_challenges WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
}

/// The unique index on credentials.
pub const CREDENTIAL: &str = "operator_passkeys_credential";

pub fn list(c: &Conn<'_>, operator: OperatorId) -> Result<Vec<PasskeyRow>> {
    Ok(c.all(&LIST, args![operator])?)
}

pub fn find(c: &Conn<'_>, credential_id: &[u8]) -> Result<Option<PasskeyRow>> {
    Ok(c.opt(&FIND, args![credential_id])?)
}

pub fn insert(tx: &Tx<'_>, row: &PasskeyRow) -> Result<()> {
    let PasskeyRow { id, operator_id, sign_count, created_at, .. } = row;
    let (credential, key, name) = (&*row.credential_id, &*row.public_key, row.name.as_str());
    tx.execute(&INSERT, args![*id, *operator_id, credential, key, *sign_count, name, *created_at])?;
    Ok(())
}

/// Whether the counter has grown since the last sign-in.
pub fn use_passkey(
    tx: &Tx<'_>,
    id: OperatorPasskeyId,
    sign_count: i64,
    now: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(&USE, args![id, sign_count, now])? > 0)
}

pub fn delete(tx: &Tx<'_>, operator: OperatorId, id: OperatorPasskeyId) -> Result<bool> {
    Ok(tx.execute(&DELETE, args![operator, id])? > 0)
}

pub fn delete_all(tx: &Tx<'_>, operator: OperatorId) -> Result<()> {
    tx.execute(&DELETE_ALL, args![operator])?;
    Ok(())
}

pub fn insert_challenge(
    tx: &Tx<'_>,
    challenge: &[u8],
    operator: Option<OperatorId>,
    expires: Timestamp,
) -> Result<()> {
    tx.execute(&INSERT_CHALLENGE, args![challenge, operator, expires])?;
    Ok(())
}

/// The operator that a challenge was made for. Deletes the challenge. None if there is no such challenge.
pub fn take_challenge(
    tx: &Tx<'_>,
    challenge: &[u8],
    now: Timestamp,
) -> Result<Option<Option<OperatorId>>> {
    Ok(tx.opt(&TAKE_CHALLENGE, args![challenge, now])?)
}

pub fn sweep(tx: &Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    Ok(tx.execute(&SWEEP_CHALLENGES, args![now, most])?)
}
