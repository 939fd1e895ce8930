//! All SQL about identities.

use db::{Conn, Tx, args};

use crate::error::Result;
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
        "INSERT INTO identities (project_id, id, user_id, provider, provider_account_id, is_verified,
            created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, FALSE, $6, $6)";
    command DELETE =
        "DELETE FROM identities WHERE project_id = $1 AND user_id = $2 AND id = $3";
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

/// Links the account to the user, unless it is linked already.
pub fn ensure(
    tx: &Tx<'_>,
    project: ProjectId,
    id: IdentityId,
    user: UserId,
    provider: &str,
    account: &str,
    now: Timestamp,
) -> Result<()> {
    if find_user(tx, project, provider, account)?.is_none() {
        tx.execute(&INSERT, args![project, id, user, provider, account, now]).map_err(|error| {
            crate::error::Error::from(error).on_unique("identities_account", DUPLICATE_USER_FIELD)
        })?;
    }
    Ok(())
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, user: UserId, id: IdentityId) -> Result<bool> {
    Ok(tx.execute(&DELETE, args![project, user, id])? > 0)
}
