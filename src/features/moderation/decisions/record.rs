//! Decisions that are made elsewhere than in the queue and take effect at once: by a rule, by the moderators of a space, by
//! the admins of a group, by a key, about a user. Each is stored like any other: it is a strike, the author gets a statement of reasons and may
//! appeal.

use db::Tx;

use crate::auth::caller::ActorOrKey;
use crate::auth::store::suspensions::{self, NewSuspension};
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::moderation::decisions::model::{Decision, Verdict};
use crate::features::moderation::decisions::{notify, store};
use crate::features::moderation::target::{Target, TargetKind};
use crate::features::moderation::{Moderator, USER_NOT_FOUND};
use crate::features::spaces::MEMBER_NOT_FOUND;
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::members::change;
use crate::features::spaces::members::store::{self as members, Ban};
use crate::features::spaces::rules::Status;
use crate::features::users::store as users;
use crate::features::visibility::restrictions::{Restricted, Restriction, RestrictionObserver};
use crate::realtime;
use crate::values::ids::{
    DecisionId, NotificationId, ReportId, SpaceBanId, SpaceId, SuspensionId, UserId, new_id,
};
use crate::values::time::Timestamp;

/// Stores a decision that was applied, and notifies its author; the last write of its transaction.
pub(in crate::features::moderation) fn record(
    tx: &Tx<'_>,
    context: Context<'_>,
    decision: &Decision,
) -> Result<()> {
    store::insert(tx, context.project.id, decision)?;
    let id = NotificationId(new_id(context.now, &context.app.random));
    notify::author(tx, context, decision, id)
}

/// Suspends a user. The decision has the id of the suspension, by which an appeal ends it. Refused with
/// `moderation/user-not-found`.
pub fn suspend_now(
    tx: &Tx<'_>,
    context: Context<'_>,
    by: &Moderator,
    new: &NewSuspension,
) -> Result<()> {
    let Context { project, now, .. } = context;
    users::find_for_update(tx, project.id, new.user)?.ok_or(USER_NOT_FOUND)?;
    suspensions::insert(tx, project.id, new, now)?;
    realtime::suspend(tx, project.id, new.user)?;
    let target = Target { kind: TargetKind::User, id: new.user.0 };
    let what = (Verdict::Suspend, new.reason.clone());
    let decision = Decision {
        author_id: Some(new.user),
        ends_at: new.end_date,
        operator_id: by.operator,
        ..Decision::applied(DecisionId(new.id.0), target, what, by.name.clone(), now)
    };
    record(tx, context, &decision)
}

/// Bans a member from a space, as a moderator of it would. The decision has the id of the ban, by which an appeal ends it.
/// Banning again changes nothing.
pub fn ban_now(
    tx: &Tx<'_>,
    context: Context<'_>,
    by: &Moderator,
    (space, user): (SpaceId, UserId),
    (id, reason): (SpaceBanId, Option<&str>),
) -> Result<()> {
    let Context { app, project, now } = context;
    let key = ActorOrKey::Key { user: None };
    let held = authority::lock(tx, project.id, space, key, Authority::Moderator)?;
    let found = members::find(tx, project.id, space, user)?.ok_or(MEMBER_NOT_FOUND)?;
    if found.status == Status::Banned {
        return Ok(());
    }
    let ban = Ban { id, by: None, reason, report: None, at: now };
    change::ban(tx, app, project.id, &held, found, &ban)?;
    let target = Target { kind: TargetKind::User, id: user.0 };
    let what = (Verdict::Ban, reason.map(ToOwned::to_owned));
    let decision = Decision {
        author_id: Some(user),
        space_id: Some(space),
        operator_id: by.operator,
        ..Decision::applied(DecisionId(id.0), target, what, by.name.clone(), now)
    };
    record(tx, context, &decision)
}

/// Content that was hidden from others.
#[derive(Debug, Clone, Copy)]
pub(in crate::features::moderation) struct Removal {
    pub target: Target,
    pub author: Option<UserId>,
    pub space: Option<SpaceId>,
}

/// A user who was banned from a space.
#[derive(Debug, Clone, Copy)]
pub(in crate::features::moderation) struct Banned {
    pub ban: SpaceBanId,
    pub space: SpaceId,
    pub user: UserId,
}

/// Stores what is taken from users where there is no report: a ban, a message that an admin of its conversation removes.
#[derive(Debug)]
pub struct Restrictions;

impl RestrictionObserver for Restrictions {
    fn restricted(
        &self,
        tx: &Tx<'_>,
        context: Context<'_>,
        restricted: &Restricted<'_>,
    ) -> Result<()> {
        let Restricted { what, user, by, reason } = *restricted;
        let decided = OverApi { context, caller: by, report: None, reason };
        match (what, user) {
            (Restriction::Ban { ban, space }, Some(user)) => {
                decided.banned(tx, Banned { ban, space, user })
            }
            (Restriction::Ban { .. }, None) => Ok(()),
            (Restriction::MessageRemoved { message, moderated }, author) => {
                let target = Target { kind: TargetKind::Message, id: message.0 };
                let removal = Removal { target, author, space: moderated };
                decided.removed_as(tx, removal, moderated.is_some())
            }
        }
    }
}

/// What was decided over the API, by a moderator of a space, an admin of a group or with a key.
#[derive(Debug, Clone, Copy)]
pub(in crate::features::moderation) struct OverApi<'a> {
    pub context: Context<'a>,
    pub caller: ActorOrKey,
    pub report: Option<ReportId>,
    pub reason: Option<&'a str>,
}

impl OverApi<'_> {
    /// Stores a removal, unless the content was the caller's own.
    pub fn removed(&self, tx: &Tx<'_>, removal: Removal) -> Result<()> {
        self.removed_as(tx, removal, true)
    }

    fn removed_as(&self, tx: &Tx<'_>, removal: Removal, is_strike: bool) -> Result<()> {
        let Removal { target, author, space } = removal;
        if author.is_some() && author == self.caller.user() {
            return Ok(());
        }
        let id = DecisionId(new_id(self.context.now, &self.context.app.random));
        let decision = self.decision(id, target, Verdict::Remove);
        let decision = Decision { author_id: author, space_id: space, is_strike, ..decision };
        self.record(tx, &decision)
    }

    pub fn suspended(
        &self,
        tx: &Tx<'_>,
        id: SuspensionId,
        user: UserId,
        ends_at: Option<Timestamp>,
    ) -> Result<()> {
        let target = Target { kind: TargetKind::User, id: user.0 };
        let decision = self.decision(DecisionId(id.0), target, Verdict::Suspend);
        self.record(tx, &Decision { author_id: Some(user), ends_at, ..decision })
    }

    /// Stores a ban. The decision has its id, by which an appeal ends it.
    pub fn banned(&self, tx: &Tx<'_>, banned: Banned) -> Result<()> {
        let Banned { ban, space, user } = banned;
        let target = Target { kind: TargetKind::User, id: user.0 };
        let decision = self.decision(DecisionId(ban.0), target, Verdict::Ban);
        self.record(tx, &Decision { author_id: Some(user), space_id: Some(space), ..decision })
    }

    fn decision(&self, id: DecisionId, target: Target, action: Verdict) -> Decision {
        let what = (action, self.reason.map(ToOwned::to_owned));
        // Not the name of a user, which would outlive them.
        let by =
            self.caller.user().map_or_else(|| "a key".to_owned(), |user| format!("user {user}"));
        let decision = Decision::applied(id, target, what, by, self.context.now);
        Decision { report_id: self.report, ..decision }
    }

    fn record(&self, tx: &Tx<'_>, decision: &Decision) -> Result<()> {
        if self.context.project.statements_over_api {
            return record(tx, self.context, decision);
        }
        store::insert(tx, self.context.project.id, decision)
    }
}
