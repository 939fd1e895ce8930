//! Claims: an operator works on an item, so that two do not decide about it at once.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::features::moderation::queue::model::Claim;
use crate::features::moderation::queue::store;
use crate::features::moderation::{CLAIMED, ITEM_NOT_FOUND};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{OperatorId, ReportId};
use crate::values::time::Timestamp;

pub const CLAIM_FOR: Duration = Duration::from_secs(120);

/// Claims an item for two minutes, or renews the claim. Refused with `moderation/claimed`, whose key `by` is the name
/// of the operator who holds it, and with `moderation/item-not-found`.
pub async fn claim(
    app: &App,
    project: &Arc<Project>,
    item: ReportId,
    (operator, name): (OperatorId, &str),
    now: Timestamp,
) -> Result<Claim> {
    let (project, name, until) = (project.id, name.to_owned(), now.plus(CLAIM_FOR));
    let claimed = app.db.write(move |tx| {
        if store::claim(tx, project, item, (operator, &name), now, until)? {
            return Ok(Claim { operator, name: name.clone(), until });
        }
        match store::claimant(tx, project, item)? {
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
    item: ReportId,
    operator: OperatorId,
) -> Result<bool> {
    let project = project.id;
    app.db.write(move |tx| store::release(tx, project, item, operator)).await
}
