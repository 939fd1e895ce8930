//! All SQL about identities.

pub mod issuers;

use db::{Conn, Tx, args};

use crate::error::{Error, Result};
use crate::features::users::DUPLICATE_USER_FIELD;
use crate::values::ids::{IdentityId, ProjectId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct IdentityRow {
        pub id: IdentityId,
        pub provider: String,
        pub provider_account_id: String,
        pub email: Option<String>,
        pub name: Option<String>,
        pub avatar: Option<String>,
        pub is_verified: bool,
        pub created_at: Timestamp,
    }
}

db::statements! {
    query LIST -> IdentityRow =
        "SELECT id, provider, provider_account_id, email, name, avatar, is_verified, created_at
         FROM identities WHERE project_id = $1 AND user_id = $2 ORDER BY created_at, id";
    query FIND_USER -> UserId =
        "SELECT user_id FROM identities
         WHERE project_id = $1 AND provider = $2 AND provider_account_id = $3";
    command INSERT =
        "INSERT INTO identities (project_id, id, user_id, provider, provider_account_id, email, name, avatar,
            is_verified, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)";
    /// Apple tells the name only once: what is not told again stays.
    command UPDATE =
        "UPDATE identities SET email = COALESCE($4, email), name = COALESCE($5, name),
            avatar = COALESCE($6, avatar), is_verified = $7, updated_at = $8
         WHERE project_id = $1 AND provider = $2 AND provider_account_id = $3";
    command DELETE =
        "DELETE FROM identities WHERE project_id = $1 AND user_id = $2 AND id = $3";
    command DELETE_ALL = "DELETE FROM identities WHERE project_id = $1 AND user_id = $2";
}

/// Oldest first.
pub fn list(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Vec<IdentityRow>> {
    Ok(c.all(&LIST, args![project, user])?)
}

/// The user of this external account.
pub fn find_user(
    c: &Conn<'_>,
    project: ProjectId,
    provider: &str,
    account: &str,
) -> Result<Option<UserId>> {
    Ok(c.opt(&FIND_USER, args![project, provider, account])?)
}

/// An account elsewhere, as its provider describes it.
#[derive(Debug, Clone, Default)]
pub struct Account {
    pub provider: String,
    /// The provider's own id of it.
    pub id: String,
    pub email: Option<String>,
    pub name: Option<String>,
    pub avatar: Option<String>,
    /// Whether the provider has verified the address.
    pub is_verified: bool,
}

pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    id: IdentityId,
    user: UserId,
    account: &Account,
    now: Timestamp,
) -> Result<()> {
    let Account { provider, id: account, email, name, avatar, is_verified } = account;
    let args = args![project, id, user, provider, account, email, name, avatar, *is_verified, now];
    tx.execute(&INSERT, args).map_err(|error| {
        Error::from(error).on_unique("identities_account", DUPLICATE_USER_FIELD)
    })?;
    Ok(())
}

/// Stores what the provider says of the account now.
pub fn update(tx: &Tx<'_>, project: ProjectId, account: &Account, now: Timestamp) -> Result<()> {
    let Account { provider, id, email, name, avatar, is_verified } = account;
    tx.execute(&UPDATE, args![project, provider, id, email, name, avatar, *is_verified, now])?;
    Ok(())
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, user: UserId, id: IdentityId) -> Result<bool> {
    Ok(tx.execute(&DELETE, args![project, user, id])? > 0)
}

/// All identities of the user.
pub fn delete_all(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&DELETE_ALL, args![project, user])?;
    Ok(())
}
