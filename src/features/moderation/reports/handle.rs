//! Handle Report: dismisses a report, or acts on it. Here by the project with a key; `in_space.rs` is for the
//! moderators of a space.

use std::collections::BTreeSet;

use db::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{ActorOrKey, KeyHolder};
use crate::auth::store::suspensions::{self, NewSuspension};
use crate::error::Result;
use crate::features::chat;
use crate::features::comments::{self, store::CommentRow};
use crate::features::entities::{self, store::EntityRow};
use crate::features::moderation::reports::model::{Status, TargetType};
use crate::features::moderation::reports::store::{self, ReportRow, Resolution};
use crate::features::moderation::reports::{
    ALREADY_HANDLED, COMMENT_NOT_FOUND, ENTITY_NOT_FOUND, INVALID_ACTIONS, INVALID_BODY,
    MISSING_FIELDS, NOT_FOUND, ReportPath, USER_NOT_FOUND,
};
use crate::features::moderation::store::{comment, entity};
use crate::features::spaces::MEMBER_NOT_FOUND;
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::members::change;
use crate::features::spaces::members::store::{self as members, Ban};
use crate::features::users::store as users;
use crate::features::visibility::moderation::{Decision, Verdict};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::realtime;
use crate::state::App;
use crate::values::ids::{
    ChatMessageId, CommentId, EntityId, ProjectId, SpaceBanId, SpaceId, SuspensionId, UserId,
    new_id,
};
use crate::values::time::Timestamp;

const LONGEST_TEXT: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ReportAction")]
enum Action {
    RemoveContent,
    BanUser,
    SuspendUser,
    Dismiss,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReportHandling")]
pub(super) struct Handling {
    /// `dismiss` alone, or any of the other actions.
    actions: BTreeSet<Action>,
    /// A summary of the action; required.
    summary: Option<String>,
    /// The user to suspend, with a reason.
    user_id: Option<UserId>,
    reason: Option<String>,
    /// Until when; for ever without it.
    end_date: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReportHandled")]
pub(super) struct Handled {
    pub message: &'static str,
    pub code: &'static str,
}

/// The actions to take, from any of the requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Orders {
    pub dismiss: bool,
    pub remove: bool,
    pub ban: bool,
    pub suspend: bool,
    pub summary: Option<String>,
    /// The summary is optional.
    pub is_brief: bool,
    /// The content to remove was named.
    pub names_target: bool,
    /// The user to ban or suspend, with a reason.
    pub user_id: Option<UserId>,
    pub reason: Option<String>,
    pub end_date: Option<Timestamp>,
}

impl Orders {
    /// Contradictory actions are refused before anything is loaded.
    pub fn check(&self) -> Result<()> {
        let acts = self.remove || self.ban || self.suspend;
        if !self.dismiss && !acts {
            return Err(INVALID_BODY.because("actions: must not be empty"));
        }
        if self.dismiss && acts {
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
        if !self.is_brief && is_blank(&self.summary) {
            return Err(MISSING_FIELDS.because("summary is required"));
        }
        if self.remove && !self.names_target {
            return Err(MISSING_FIELDS.because("the id of the content is required"));
        }
        if (self.suspend || self.ban) && (self.user_id.is_none() || is_blank(&self.reason)) {
            return Err(MISSING_FIELDS.because("userId and reason are required"));
        }
        Ok(())
    }
}

pub(super) async fn handle_report(
    call: Call<KeyHolder>,
    (Path(path), Body(handling)): (Path<ReportPath>, Body<Handling>),
) -> Result<Json<Handled>> {
    let has = |action| handling.actions.contains(&action);
    let orders = Orders {
        dismiss: has(Action::Dismiss),
        remove: has(Action::RemoveContent),
        ban: has(Action::BanUser),
        suspend: has(Action::SuspendUser),
        summary: handling.summary,
        user_id: handling.user_id,
        reason: handling.reason,
        end_date: handling.end_date,
        is_brief: false,
        names_target: true,
    };
    orders.check()?;
    let (project, handler) = (call.project.id, Handler::new(&call, ActorOrKey::Key { user: None }));
    let handled = call.app.db.write(move |tx| {
        let report = store::find(tx, project, path.report_id)?.ok_or(NOT_FOUND)?;
        if orders.ban && report.space_id.is_none() {
            return Err(INVALID_ACTIONS.because("the report belongs to no space"));
        }
        // Lock order: the content before the report.
        let content = orders.remove.then(|| lock(tx, project, &report)).transpose()?;
        handler.carry_out(tx, project, &report, content, &orders)
    });
    handled.await?;
    Ok(Json(Handled { message: "Report handled successfully.", code: "report/handled" }))
}

/// The caller who handles a report, and ids for the suspension and the ban that may result.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    app: App,
    pub caller: ActorOrKey,
    pub now: Timestamp,
    suspension: SuspensionId,
    ban: SpaceBanId,
}

impl Handler {
    pub fn new<A>(call: &Call<A>, caller: ActorOrKey) -> Self {
        let (now, random) = (call.now, &call.app.random);
        let (suspension, ban) = (new_id(now, random), new_id(now, random));
        Handler {
            app: call.app.clone(),
            caller,
            now,
            suspension: SuspensionId(suspension),
            ban: SpaceBanId(ban),
        }
    }

    /// Resolves a report once, and takes the actions. The caller has locked the content if it is to be
    /// removed.
    pub fn carry_out(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        report: &ReportRow,
        content: Option<Content>,
        orders: &Orders,
    ) -> Result<()> {
        let resolution = Resolution {
            status: if orders.dismiss { Status::Dismissed } else { Status::Actioned },
            action_taken: orders.summary.as_deref(),
            by: self.caller.user(),
            at: self.now,
        };
        // Of two concurrent requests, the second finds it handled.
        if report.status != Status::Open || !store::resolve(tx, project, report.id, &resolution)? {
            return Err(ALREADY_HANDLED.into());
        }
        // Lock order: space, conversation, users, feed totals.
        if orders.ban {
            self.ban(tx, project, report, orders)?;
        }
        let content = content.filter(|_| orders.remove);
        if let Some(Content::Message(id)) = &content {
            let row = chat::messages::moderation::lock(tx, project, *id, None)?;
            chat::messages::moderation::remove(tx, project, row, &self.removal(orders))?;
        }
        if orders.suspend {
            self.suspend(tx, project, orders)?;
        }
        match content {
            Some(Content::Entity(row)) => {
                entity::moderate(tx, project, &row, &self.removal(orders))
            }
            Some(Content::Comment(row)) => {
                comment::moderate(tx, project, &row, &self.removal(orders))
            }
            Some(Content::Message(_)) | None => Ok(()),
        }
    }

    fn removal<'a>(&self, orders: &'a Orders) -> Decision<'a> {
        let reason = orders.reason.as_deref().or(orders.summary.as_deref());
        Decision { verdict: Verdict::Removed, by: self.caller.user(), reason, at: self.now }
    }

    fn ban(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        report: &ReportRow,
        orders: &Orders,
    ) -> Result<()> {
        let user = orders.user_id.ok_or(MISSING_FIELDS)?;
        let space = report.space_id.ok_or(INVALID_ACTIONS)?;
        users::find(tx, project, user)?.ok_or(USER_NOT_FOUND)?;
        let held = authority::lock(tx, project, space, self.caller, Authority::Moderator)?;
        let member = members::find(tx, project, space, user)?.ok_or(MEMBER_NOT_FOUND)?;
        let (by, reason) = (self.caller.user(), orders.reason.as_deref());
        let ban = Ban { id: self.ban, by, reason, report: Some(report.id), at: self.now };
        change::ban(tx, &self.app, project, &held, member, &ban).map(drop)
    }

    fn suspend(&self, tx: &Tx<'_>, project: ProjectId, orders: &Orders) -> Result<()> {
        let user = orders.user_id.ok_or(MISSING_FIELDS)?;
        users::find_for_update(tx, project, user)?.ok_or(USER_NOT_FOUND)?;
        let (reason, end_date) = (orders.reason.clone(), orders.end_date);
        let id = self.suspension;
        let new = NewSuspension { id, user, reason, end_date, created_by: "report" };
        suspensions::insert(tx, project, &new, self.now)?;
        realtime::suspend(tx, project, user)
    }
}

/// Locks the target of a report; a message only if it is removed, after its space.
#[derive(Debug)]
pub(super) enum Content {
    Entity(Box<EntityRow>),
    Comment(Box<CommentRow>),
    Message(ChatMessageId),
}

pub(super) fn lock(tx: &Tx<'_>, project: ProjectId, report: &ReportRow) -> Result<Content> {
    match report.target_type {
        TargetType::Entity => {
            let id = EntityId(report.target_id);
            let entity = entities::store::find_for_update(tx, project, id)?;
            entity.map(|row| Content::Entity(Box::new(row))).ok_or(ENTITY_NOT_FOUND.into())
        }
        TargetType::Comment => {
            let id = CommentId(report.target_id);
            let comment = comments::store::find_for_update(tx, project, id)?;
            comment.map(|row| Content::Comment(Box::new(row))).ok_or(COMMENT_NOT_FOUND.into())
        }
        TargetType::Message => Ok(Content::Message(ChatMessageId(report.target_id))),
    }
}

impl Content {
    /// Whether the target moved to another space before it was locked; a message never moves.
    pub fn is_elsewhere(&self, space: SpaceId) -> bool {
        match self {
            Content::Entity(row) => row.space_id != Some(space),
            Content::Comment(row) => row.space_id != Some(space),
            Content::Message(_) => false,
        }
    }
}
