//! Erasing a user with a receipt: what there was, counted in the transaction that deletes it.

use std::collections::BTreeMap;

use db::Tx;
use serde::Serialize;

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::auth::store as auth;
use crate::features::deletion::user::erase;
use crate::features::exports::{kinds, store};
use crate::features::files::store as files;
use crate::features::users::{NOT_FOUND, store as users};
use crate::values::ids::{ProjectId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    pub project_id: ProjectId,
    pub user_id: UserId,
    pub erased_at: Timestamp,
    pub member_since: Timestamp,
    pub files: i64,
    pub sessions: usize,
    /// How many documents of each kind the user had.
    pub documents: BTreeMap<&'static str, u64>,
}

/// Deletes everything of the user. What others have built on stays, anonymized; a job removes the bytes of files.
pub fn erase_with_receipt(tx: &Tx<'_>, context: Context<'_>, user: UserId) -> Result<Receipt> {
    let (project, now) = (context.project.id, context.now);
    let row = users::find(tx, project, user)?.ok_or(NOT_FOUND)?;
    let mut documents = BTreeMap::new();
    for kind in kinds::of_user() {
        let count = store::count_of_user(tx, project, user, kind)?;
        if count > 0 {
            documents.insert(kind.name, count);
        }
    }
    let receipt = Receipt {
        project_id: project,
        user_id: user,
        erased_at: now,
        member_since: row.created_at,
        files: files::count_of_user(tx, project, user)?,
        sessions: auth::sessions(tx, project, user, now)?.len(),
        documents,
    };
    erase(tx, context, user)?;
    Ok(receipt)
}
