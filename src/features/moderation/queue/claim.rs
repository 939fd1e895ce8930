//! Claims: an operator works on an item, so that two do not decide about it at once.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::features::moderation::appeals::store as appeals;
use crate::features::moderation::decisions::Item;
use crate::features::moderation::queue::model::Claim;
use crate::features::moderation::queue::store;
use crate::features::moderation::{CLAIMED, ITEM_NOT_FOUND};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::OperatorId;
use crate::values::time::Timestamp;

pub const CLAIM_FOR: Duration = Duration::from_secs(120);

/// Claims an item for two minutes, or renews the claim. Refused with `moderation/claimed`, whose key `by` is the name
/// of the operator who holds it, and with `moderation/item-not-found`.
pub async fn claim(
    app: &App,
    project: &Arc<Project>,
    item: impl Into<Item>,
    (operator, name): (OperatorId, &str),
    now: Timestamp,
) -> Result<Claim> {
    let (project, name, until) = (project.id, name.to_owned(), now.plus(CLAIM_FOR));
    let item = item.into();
    let claimed = app.db.write(move |tx| {
        let by = (operator, &*name);
        let is_claimed = match item {
            Item::Report(id) => store::claim(tx, project, id, by, now, until)?,
            Item::Appeal(id) => appeals::claim(tx, project, id, by, now, until)?,
            Item::Target(_) => false,
        };
        if is_claimed {
            return Ok(Claim { operator, name: name.clone(), until });
        }
        let claimant = match item {
            Item::Report(id) => store::claimant(tx, project, id)?,
            Item::Appeal(id) => appeals::claimant(tx, project, id)?,
            Item::Target(_) => None,
        };
        match claimant {
            Some(by) => Err(CLAIMED.with("by", by)),
            None => Err(Error::from(ITEM_NOT_FOUND)),
        }
    });
    claimed.await
}

/// Gives the claim back; false if the operator held none.
pub async fn release(
    app: &App,
    project: &Arc<Project>,
    item: impl Into<Item>,
    operator: OperatorId,
) -> Result<bool> {
    let (project, item) = (project.id, item.into());
    let released = app.db.write(move |tx| match item {
        Item::Report(id) => store::release(tx, project, id, operator),
        Item::Appeal(id) => appeals::release_claim(tx, project, id, operator),
        Item::Target(_) => Ok(false),
    });
    released.await
}
