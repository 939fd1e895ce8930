//! Create Appeal. Decisions about others, and those that are no decision against the user, are not found.

use db::Tx;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::moderation::appeals::model::{Appeal, AppealState};
use crate::features::moderation::appeals::store::{self, AppealRow};
use crate::features::moderation::appeals::{
    ALREADY_APPEALED, APPEAL_WITHIN, DECISION_NOT_FOUND, INVALID_BODY, TOO_LATE,
};
use crate::features::moderation::decisions::{Decision, DecisionState, store as decisions};
use crate::features::users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::values::ids::{AppealId, DecisionId, ProjectId, UserId, new_id};

const LONGEST_TEXT: usize = 5_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewAppeal {
    /// As the statement of reasons names it.
    decision_id: DecisionId,
    /// Why the decision is wrong.
    text: String,
}

pub(super) async fn create_appeal(
    call: Call<Actor>,
    Body(body): Body<NewAppeal>,
) -> Result<Created<Appeal>> {
    let text = body.text.trim();
    if text.is_empty() || text.chars().count() > LONGEST_TEXT {
        let why = format!("text: must have 1 to {LONGEST_TEXT} characters");
        return Err(INVALID_BODY.because(why));
    }
    let (project, now) = (call.project.id, call.now);
    let new = AppealRow {
        id: AppealId(new_id(now, &call.app.random)),
        decision_id: body.decision_id,
        user_id: call.caller.user,
        text: text.to_owned(),
        state: AppealState::Open,
        answer: None,
        created_at: now,
        decided_at: None,
    };
    let created = call.app.db.write(move |tx| {
        let decision = find(tx, project, new.decision_id, new.user_id)?;
        if now > decision.decided_at.plus(APPEAL_WITHIN) {
            return Err(TOO_LATE.into());
        }
        if !store::insert(tx, project, &new, decision.operator_id)? {
            return Err(ALREADY_APPEALED.into());
        }
        Ok(Appeal::new(new.clone(), &decision))
    });
    // Deleted by a concurrent request.
    created.await.map(Created).map_err(|error: Error| error.on_foreign_key(users::NOT_FOUND))
}

/// A decision against this user that was applied.
fn find(tx: &Tx<'_>, project: ProjectId, id: DecisionId, user: UserId) -> Result<Decision> {
    let found = decisions::find_all(tx, project, &[id])?.pop();
    let found = found.filter(|decision| {
        let was_applied =
            matches!(decision.state, DecisionState::Applied | DecisionState::Reversed);
        was_applied && decision.author_id == Some(user) && decision.action.is_against_author()
    });
    found.ok_or(DECISION_NOT_FOUND.into())
}
