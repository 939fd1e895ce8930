//! What follows from the decision about an appeal, in the transaction that applies it.

use db::Tx;
use serde_json::json;

use crate::auth::store::suspensions;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::moderation::appeals::model::AppealState;
use crate::features::moderation::appeals::store::{self, AppealRow};
use crate::features::moderation::decisions::{Decision, Verdict, notify, store as decisions};
use crate::features::moderation::reports::handler::Handler;
use crate::features::moderation::restore::restore;
use crate::features::spaces::members::change;
use crate::features::users::store as users;
use crate::values::ids::{AppealId, NotificationId, SpaceBanId, SuspensionId};

/// Upholds or reverses the first decision, and notifies the author of the appeal.
pub(in crate::features::moderation) fn settle(
    tx: &Tx<'_>,
    handler: &Handler,
    (id, outcome): (AppealId, &Decision),
    notice: NotificationId,
) -> Result<()> {
    let project = handler.project.id;
    // Gone with its author, perhaps.
    let Some(appeal) = store::find(tx, project, id)? else { return Ok(()) };
    let is_reversed = outcome.action == Verdict::Reverse;
    if is_reversed {
        let first = decisions::find_all(tx, project, &[appeal.decision_id])?.pop();
        let first = first.ok_or_else(|| Error::internal("an appeal against no decision"))?;
        reverse(tx, handler, &first, outcome)?;
    }
    let state = if is_reversed { AppealState::Reversed } else { AppealState::Upheld };
    store::close(tx, project, id, (state, outcome.reason.as_deref()), handler.now)?;
    let context = Context { app: &handler.app, project: &handler.project, now: handler.now };
    notify::send(tx, context, appeal.user_id, notice, told(&appeal, outcome))
}

/// Takes a decision back: what was removed appears, a suspension or a ban ends. A later decision of its own stays.
fn reverse(tx: &Tx<'_>, handler: &Handler, first: &Decision, outcome: &Decision) -> Result<()> {
    let (project, now) = (handler.project.id, handler.now);
    if !decisions::reverse(tx, project, first.id)? {
        return Ok(());
    }
    match (first.action, first.target_type.content(), first.author_id) {
        (Verdict::Remove, Some(kind), _) => {
            if decisions::is_removed_again(tx, project, first)? {
                return Ok(());
            }
            restore(tx, handler, (kind, first.target_id), outcome.reason.as_deref())
        }
        (Verdict::Suspend, _, Some(user)) => {
            users::find_for_update(tx, project, user)?;
            suspensions::lift_one(tx, project, SuspensionId(first.id.0), now)
        }
        (Verdict::Ban, _, Some(user)) => {
            let Some(space) = first.space_id else { return Ok(()) };
            let context = Context { app: &handler.app, project: &handler.project, now };
            let reason = outcome.reason.as_deref();
            change::take_back(tx, context, (space, user), SpaceBanId(first.id.0), reason)
        }
        _ => Ok(()),
    }
}

fn told(appeal: &AppealRow, outcome: &Decision) -> String {
    let (title, content) = match outcome.action {
        Verdict::Reverse => ("Your appeal was successful", "The decision was taken back."),
        _ => ("Your appeal was rejected", "The decision stands."),
    };
    json!({
        "title": title,
        "content": outcome.reason.as_deref().unwrap_or(content),
        "buttonData": null,
        "moderation": {
            "appealId": appeal.id,
            "decisionId": appeal.decision_id,
            "action": outcome.action,
            "targetType": outcome.target_type,
            "targetId": outcome.target_id,
            "reason": outcome.reason,
        },
    })
    .to_string()
}
