//! Mentions in an entity. A new mention is dropped if there is a block between the user and the author, as if
//! the user did not exist; earlier mentions stay.

use db::{Conn, JsonText};

use crate::error::{Error, Result};
use crate::features::entities::rules::Mentions;
use crate::features::entities::store::EntityRow;
use crate::features::visibility::store::blocks;
use crate::tenancy::Project;
use crate::values::ids::UserId;
use crate::values::metadata::to_json;

/// Drops the mentions that the author may not make; returns whether there were any.
pub fn drop_blocked(
    c: &Conn<'_>,
    project: &Project,
    row: &mut EntityRow,
    before: Option<&EntityRow>,
) -> Result<bool> {
    let mut mentioned = users(row)?;
    let old = before.map(users).transpose()?.unwrap_or_default();
    mentioned.retain(|user| !old.contains(user));
    let hidden = blocks::blocked_among(c, project, row.user_id, &mentioned)?;
    if hidden.is_empty() {
        return Ok(false);
    }
    let mut mentions = read(row)?;
    for user in hidden {
        mentions = mentions.without(user);
    }
    row.mentions = JsonText(to_json(&mentions));
    Ok(true)
}

/// Every mentioned user, once.
pub fn users(row: &EntityRow) -> Result<Vec<UserId>> {
    if row.mentions.0 == "[]" {
        return Ok(Vec::new());
    }
    let mut users: Vec<UserId> = read(row)?.users().collect();
    users.sort_unstable();
    users.dedup();
    Ok(users)
}

fn read(row: &EntityRow) -> Result<Mentions> {
    serde_json::from_str(&row.mentions.0).map_err(Error::internal)
}
