//! Suspending a user at once, found elsewhere than in the queue. It is a decision like any other: the user gets a
//! statement of reasons and may appeal.

use db::Tx;

use crate::auth::store::suspensions::{self, NewSuspension};
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::moderation::decisions::model::{Decision, DecisionState, Verdict};
use crate::features::moderation::decisions::{notify, store};
use crate::features::moderation::target::TargetKind;
use crate::features::moderation::{Moderator, USER_NOT_FOUND};
use crate::features::users::store as users;
use crate::realtime;
use crate::values::ids::{DecisionId, NotificationId, new_id};

/// The decision has the id of the suspension. Refused with `moderation/user-not-found`.
pub fn suspend_now(
    tx: &Tx<'_>,
    context: Context<'_>,
    by: &Moderator,
    new: &NewSuspension,
) -> Result<()> {
    let Context { app, project, now } = context;
    users::find_for_update(tx, project.id, new.user)?.ok_or(USER_NOT_FOUND)?;
    suspensions::insert(tx, project.id, new, now)?;
    realtime::suspend(tx, project.id, new.user)?;
    let decision = Decision {
        id: DecisionId(new.id.0),
        report_id: None,
        target_type: TargetKind::User,
        target_id: new.user.0,
        author_id: Some(new.user),
        space_id: None,
        action: Verdict::Suspend,
        ends_at: new.end_date,
        reason: new.reason.clone(),
        rule_id: None,
        operator_id: by.operator,
        decided_by: by.name.clone(),
        decided_at: now,
        apply_at: now,
        state: DecisionState::Applied,
        error: None,
        appeal_id: None,
    };
    store::insert(tx, project.id, &decision)?;
    notify::author(tx, context, &decision, NotificationId(new_id(now, &app.random)))
}
