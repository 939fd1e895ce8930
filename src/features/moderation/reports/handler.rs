//! Carries out what was decided about a report or about content: the one place for all who handle reports and for
//! the decisions of operators.

use std::sync::Arc;

use db::Tx;
use uuid::Uuid;

use crate::auth::caller::ActorOrKey;
use crate::auth::store::suspensions::{self, NewSuspension};
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::chat;
use crate::features::comments::store::CommentRow;
use crate::features::entities::{self, store::EntityRow};
use crate::features::moderation::decisions::{Banned, OverApi, Removal};
use crate::features::moderation::moderate::{
    lock_comment, log, moderate_comment, moderate_entity, remove_message,
};
use crate::features::moderation::reports::handle::Orders;
use crate::features::moderation::reports::model::{Status, TargetType};
use crate::features::moderation::reports::store::{self, ReportRow, Resolution};
use crate::features::moderation::reports::{
    ALREADY_HANDLED, COMMENT_NOT_FOUND, ENTITY_NOT_FOUND, INVALID_ACTIONS, MISSING_FIELDS,
    USER_NOT_FOUND,
};
use crate::features::spaces::MEMBER_NOT_FOUND;
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::members::change;
use crate::features::spaces::members::store::{self as members, Ban};
use crate::features::spaces::moderation_log::LogTarget;
use crate::features::spaces::rules::Status as MemberStatus;
use crate::features::users::store as users;
use crate::features::visibility::moderation::{Decision, Verdict};
use crate::realtime;
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{
    ChatMessageId, CommentId, EntityId, ProjectId, SpaceBanId, SpaceId, SuspensionId, new_id,
};
use crate::values::time::Timestamp;

/// Who handles a report, and ids for the suspension and the ban that may result.
#[derive(Debug, Clone)]
pub struct Handler {
    pub app: App,
    pub project: Arc<Project>,
    pub caller: ActorOrKey,
    pub now: Timestamp,
    suspension: SuspensionId,
    ban: SpaceBanId,
}

/// What handling a report took from its target's author, and from the user who was named.
#[derive(Debug)]
pub(in crate::features::moderation) struct Taken {
    removal: Option<Removal>,
    banned: Option<Banned>,
}

impl Handler {
    pub fn new(app: &App, project: &Arc<Project>, caller: ActorOrKey, now: Timestamp) -> Self {
        let (suspension, ban) = (new_id(now, &app.random), new_id(now, &app.random));
        Handler {
            app: app.clone(),
            project: project.clone(),
            caller,
            now,
            suspension: SuspensionId(suspension),
            ban: SpaceBanId(ban),
        }
    }

    /// A suspension that results has this id.
    pub fn suspending_as(self, suspension: SuspensionId) -> Self {
        Handler { suspension, ..self }
    }

    /// Handles a report over the API: what is decided against somebody is stored as a decision.
    pub fn handle(
        &self,
        tx: &Tx<'_>,
        report: &ReportRow,
        content: Option<Content>,
        orders: &Orders,
    ) -> Result<()> {
        let taken = self.carry_out(tx, report, content, orders)?;
        let decided = OverApi {
            context: Context { app: &self.app, project: &self.project, now: self.now },
            caller: self.caller,
            report: Some(report.id),
            reason: orders.reason.as_deref().or(orders.summary.as_deref()),
        };
        if let Some(removal) = taken.removal {
            decided.removed(tx, removal)?;
        }
        if let Some(banned) = taken.banned {
            decided.banned(tx, banned)?;
        }
        match orders.user_id.filter(|_| orders.suspend) {
            Some(user) => decided.suspended(tx, self.suspension, user, orders.end_date),
            None => Ok(()),
        }
    }

    /// Resolves a report once, and takes the actions. The caller has locked the content if it is to be
    /// removed.
    pub(in crate::features::moderation) fn carry_out(
        &self,
        tx: &Tx<'_>,
        report: &ReportRow,
        content: Option<Content>,
        orders: &Orders,
    ) -> Result<Taken> {
        let project = self.project.id;
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
        let banned = if orders.ban { self.ban(tx, project, report, orders)? } else { None };
        let content = content.filter(|_| orders.concerns_content(report));
        Ok(Taken { banned, removal: self.act(tx, content, orders)? })
    }

    /// Removes or approves the content and suspends its author, as ordered.
    pub(in crate::features::moderation) fn act(
        &self,
        tx: &Tx<'_>,
        content: Option<Content>,
        orders: &Orders,
    ) -> Result<Option<Removal>> {
        let project = self.project.id;
        let verdict = self.verdict(orders);
        let message = match &content {
            Some(Content::Message(id)) => self.moderate_message(tx, *id, &verdict)?,
            _ => None,
        };
        if orders.suspend {
            self.suspend(tx, project, orders)?;
        }
        let place = (&self.app, &self.project);
        match content {
            Some(Content::Entity(row)) => moderate_entity(tx, place, &row, &verdict),
            Some(Content::Comment(row)) => moderate_comment(tx, place, &row, &verdict),
            Some(Content::Message(_)) | None => Ok(message),
        }
    }

    fn moderate_message(
        &self,
        tx: &Tx<'_>,
        id: ChatMessageId,
        verdict: &Decision<'_>,
    ) -> Result<Option<Removal>> {
        let (row, space) = chat::messages::moderation::lock(tx, self.project.id, id, None)?;
        if verdict.verdict == Verdict::Removed {
            return remove_message(tx, (&self.app, &self.project), (row, space), verdict);
        }
        let context = Context { app: &self.app, project: &self.project, now: self.now };
        chat::messages::moderation::approve(tx, context, id, verdict)?;
        let place = (self.project.id, space);
        log(tx, &self.app, place, (LogTarget::Message, id.0), verdict)?;
        Ok(None)
    }

    fn verdict<'a>(&self, orders: &'a Orders) -> Decision<'a> {
        let verdict = if orders.remove { Verdict::Removed } else { Verdict::Approved };
        let reason = orders.reason.as_deref().or(orders.summary.as_deref());
        Decision { verdict, by: self.caller.user(), reason, at: self.now }
    }

    /// None if the user was banned before.
    fn ban(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        report: &ReportRow,
        orders: &Orders,
    ) -> Result<Option<Banned>> {
        let user = orders.user_id.ok_or(MISSING_FIELDS)?;
        let space = report.space_id.ok_or(INVALID_ACTIONS)?;
        users::find(tx, project, user)?.ok_or(USER_NOT_FOUND)?;
        let held = authority::lock(tx, project, space, self.caller, Authority::Moderator)?;
        let member = members::find(tx, project, space, user)?.ok_or(MEMBER_NOT_FOUND)?;
        let is_new = member.status != MemberStatus::Banned;
        let (by, reason) = (self.caller.user(), orders.reason.as_deref());
        let ban = Ban { id: self.ban, by, reason, report: Some(report.id), at: self.now };
        change::ban(tx, &self.app, project, &held, member, &ban)?;
        Ok(is_new.then_some(Banned { ban: self.ban, space, user }))
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
pub enum Content {
    Entity(Box<EntityRow>),
    Comment(Box<CommentRow>),
    Message(ChatMessageId),
}

pub fn lock(tx: &Tx<'_>, project: ProjectId, kind: TargetType, id: Uuid) -> Result<Content> {
    match kind {
        TargetType::Entity => {
            let entity = entities::store::find_for_update(tx, project, EntityId(id))?;
            entity.map(|row| Content::Entity(Box::new(row))).ok_or(ENTITY_NOT_FOUND.into())
        }
        TargetType::Comment => {
            let comment = lock_comment(tx, project, CommentId(id))?;
            comment.map(|row| Content::Comment(Box::new(row))).ok_or(COMMENT_NOT_FOUND.into())
        }
        TargetType::Message => Ok(Content::Message(ChatMessageId(id))),
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
