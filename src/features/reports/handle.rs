//! Handle Report: the project itself, with a key, dismisses a report or acts on it.

use std::collections::BTreeSet;

use db::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::KeyHolder;
use crate::error::Result;
use crate::features::comments;
use crate::features::entities;
use crate::features::entities::moderation::{Decision, Verdict};
use crate::features::entities::store::EntityRow;
use crate::features::reports::model::{Status, TargetType};
use crate::features::reports::store::{self, ReportRow, Resolution};
use crate::features::reports::{
    ALREADY_HANDLED, COMMENT_NOT_FOUND, ENTITY_NOT_FOUND, INVALID_ACTIONS, INVALID_BODY,
    MISSING_FIELDS, NOT_FOUND, ReportPath, USER_NOT_FOUND,
};
use crate::features::users::store as users;
use crate::features::users::suspensions::{self, NewSuspension};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::ids::{CommentId, EntityId, ProjectId, SuspensionId, UserId, new_id};
use crate::time::Timestamp;

const LONGEST_TEXT: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Action {
    RemoveContent,
    BanUser,
    SuspendUser,
    Dismiss,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Handling {
    /// `dismiss` alone, or any of the others.
    actions: BTreeSet<Action>,
    /// What was done, in words; required.
    summary: Option<String>,
    /// Whom to suspend, and why.
    user_id: Option<UserId>,
    reason: Option<String>,
    /// Until when; for good without it.
    end_date: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Handled {
    message: &'static str,
    code: &'static str,
}

impl Handling {
    /// What does not fit together is refused before anything is looked at.
    fn check(&self) -> Result<()> {
        let has = |action| self.actions.contains(&action);
        if self.actions.is_empty() {
            return Err(INVALID_BODY.because("actions: must not be empty"));
        }
        if has(Action::Dismiss) && self.actions.len() > 1 {
            return Err(INVALID_ACTIONS.because("dismiss goes with no other action"));
        }
        for (name, text) in [("summary", &self.summary), ("reason", &self.reason)] {
            if text.as_ref().is_some_and(|text| text.chars().count() > LONGEST_TEXT) {
                let why = format!("{name}: must have at most {LONGEST_TEXT} characters");
                return Err(INVALID_BODY.because(why));
            }
        }
        let is_blank =
            |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
        if is_blank(&self.summary) {
            return Err(MISSING_FIELDS.because("summary is required"));
        }
        let concerns_user = has(Action::SuspendUser) || has(Action::BanUser);
        if concerns_user && (self.user_id.is_none() || is_blank(&self.reason)) {
            return Err(MISSING_FIELDS.because("userId and reason are required"));
        }
        Ok(())
    }
}

pub(super) async fn handle_report(
    call: Call<KeyHolder>,
    (Path(path), Body(handling)): (Path<ReportPath>, Body<Handling>),
) -> Result<Json<Handled>> {
    handling.check()?;
    let (project, now) = (call.project.id, call.now);
    let suspension = SuspensionId(new_id(now, &call.app.random));
    let handled = call.app.db.write(move |tx| {
        let report = store::find(tx, project, path.report_id)?.ok_or(NOT_FOUND)?;
        if report.status != Status::Open {
            return Err(ALREADY_HANDLED.into());
        }
        let has = |action| handling.actions.contains(&action);
        // There are no spaces to be banned from yet.
        if has(Action::BanUser) {
            return Err(INVALID_ACTIONS.because("the report belongs to no space"));
        }
        // The content before the report, as all who hold both do.
        let content = has(Action::RemoveContent).then(|| hold(tx, project, &report)).transpose()?;
        let dismissed = has(Action::Dismiss);
        let resolution = Resolution {
            status: if dismissed { Status::Dismissed } else { Status::Actioned },
            action_taken: handling.summary.as_deref(),
            by: None,
            at: now,
        };
        // Of two who handle it at once, the second finds it handled.
        if !store::resolve(tx, project, report.id, &resolution)? {
            return Err(ALREADY_HANDLED.into());
        }
        // The user before the counts of feeds, as all who hold both do.
        if has(Action::SuspendUser) {
            suspend(tx, project, &handling, suspension, now)?;
        }
        match content {
            Some(content) => content.remove(tx, project, &handling, now),
            None => Ok(()),
        }
    });
    handled.await?;
    Ok(Json(Handled { message: "Report handled successfully.", code: "report/handled" }))
}

/// What a report is about, held.
enum Content {
    Entity(Box<EntityRow>),
    Comment(CommentId),
}

fn hold(tx: &Tx<'_>, project: ProjectId, report: &ReportRow) -> Result<Content> {
    match report.target_type {
        TargetType::Entity => {
            let id = EntityId(report.target_id);
            let entity = entities::store::find_for_update(tx, project, id)?;
            entity.map(|row| Content::Entity(Box::new(row))).ok_or(ENTITY_NOT_FOUND.into())
        }
        TargetType::Comment => {
            let id = CommentId(report.target_id);
            let comment = comments::store::find_for_update(tx, project, id)?;
            comment.map(|row| Content::Comment(row.id)).ok_or(COMMENT_NOT_FOUND.into())
        }
        // There are no messages yet.
        TargetType::Message => Err(NOT_FOUND.into()),
    }
}

impl Content {
    fn remove(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        handling: &Handling,
        now: Timestamp,
    ) -> Result<()> {
        let reason = handling.reason.as_deref().or(handling.summary.as_deref());
        let decision = Decision { verdict: Verdict::Removed, by: None, reason, at: now };
        match self {
            Content::Entity(row) => entities::moderation::moderate(tx, project, row, &decision),
            Content::Comment(id) => comments::moderation::moderate(tx, project, *id, &decision),
        }
    }
}

fn suspend(
    tx: &Tx<'_>,
    project: ProjectId,
    handling: &Handling,
    id: SuspensionId,
    now: Timestamp,
) -> Result<()> {
    let user = handling.user_id.ok_or(MISSING_FIELDS)?;
    users::find_for_update(tx, project, user)?.ok_or(USER_NOT_FOUND)?;
    let (reason, end_date) = (handling.reason.clone(), handling.end_date);
    let new = NewSuspension { id, user, reason, end_date, created_by: "report" };
    suspensions::insert(tx, project, &new, now)
}
