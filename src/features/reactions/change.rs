//! The only place where reactions are added, changed and removed: the row, the counts, the author's
//! reputation and the notifications, all in the caller's transaction.

use std::marker::PhantomData;
use std::sync::Arc;

use db::{Later, Tx};

use crate::auth::caller::{Actor, Initiator};
use crate::auth::deferred::Deferred;
use crate::auth::perspective::Perspective;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::notifications;
use crate::features::reactions::events;
use crate::features::reactions::notify::{self, Announce};
use crate::features::reactions::store::hidden::{VotesByTarget, by_target, votes_later};
use crate::features::reactions::target::{Target, TargetId};
use crate::features::reactions::{ReactionCounts, ReactionType, store};
use crate::features::spaces::store::access::KnownSpace;
use crate::features::users::reputation;
use crate::features::users::store::{self as users, UserRow};
use crate::http::operation::Call;
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{ReactionId, UserId, new_id};
use crate::values::time::Timestamp;

/// The user who reacts, and the target.
#[derive(Debug)]
pub struct Change<T> {
    pub app: App,
    pub project: Arc<Project>,
    caller: Deferred<Actor>,
    perspective: Perspective,
    pub(super) target: TargetId,
    id: ReactionId,
    pub now: Timestamp,
    /// Whether the reply lists the voters.
    lists_voters: bool,
    kind: PhantomData<fn() -> T>,
}

/// The result of a change.
#[derive(Debug)]
pub struct Changed<T> {
    /// With the counts after the change.
    pub target: T,
    pub before: Option<ReactionType>,
    /// The target's author after the change, if anything changed. There when the transaction is committed.
    pub author: Option<Later<UserRow>>,
    /// The voters after the change, if they are listed.
    pub votes: Option<VotesByTarget>,
    /// The target's space, if it is in one.
    pub space: Option<KnownSpace>,
}

/// A locked target, and what was asked for with it.
struct Locked<T, R> {
    actor: Initiator,
    target: T,
    change: Later<R>,
    votes: Option<VotesByTarget>,
    space: Option<KnownSpace>,
}

impl<T: Target> Change<T> {
    pub fn new(call: &Call<Deferred<Actor>>, path: &T::Path, view: &T::View) -> Self {
        Change {
            app: call.app.clone(),
            project: call.project.clone(),
            caller: call.caller.clone(),
            perspective: Perspective::from(&*call.caller),
            target: T::named(path),
            id: ReactionId(new_id(call.now, &call.app.random)),
            now: call.now,
            lists_voters: T::lists_voters(view),
            kind: PhantomData,
        }
    }

    /// Sets the reaction, replacing any earlier one.
    pub fn put(&self, tx: &Tx<'_>, kind: ReactionType, announce: Announce) -> Result<Changed<T>> {
        let (project, now) = (self.project.id, self.now);
        let Locked { actor, mut target, change, votes, space } = self.locking(tx, || {
            store::put(tx, project, self.target, self.caller.user, self.id, kind, now)
        })?;
        let before = change.one()?;
        let mut author = None;
        if before != Some(kind) {
            let after = Some((kind, announce));
            author = self.count(tx, &actor, (&mut target, space.as_ref()), before, after)?;
        }
        Ok(Changed { target, before, author, votes, space })
    }

    /// Removes the reaction; does nothing if there is none.
    pub fn take(&self, tx: &Tx<'_>) -> Result<Changed<T>> {
        let Locked { actor, mut target, change, votes, space } =
            self.locking(tx, || store::take(tx, self.project.id, self.target, self.caller.user))?;
        let before = change.opt()?;
        let mut author = None;
        if before.is_some() {
            author = self.count(tx, &actor, (&mut target, space.as_ref()), before, None)?;
        }
        Ok(Changed { target, before, author, votes, space })
    }

    /// Checks the user, locks the target until the transaction ends, changes the reaction and reads the voters, in one round
    /// trip: an error undoes the change. Lock order: the target before its reactions, as in deletion. The counts read here
    /// include all earlier reactions.
    fn locking<R>(
        &self,
        tx: &Tx<'_>,
        change: impl FnOnce() -> Result<Later<R>>,
    ) -> Result<Locked<T, R>> {
        let project = &*self.project;
        let checking = self.caller.begin(tx)?;
        let locking = T::lock(tx, project, self.target, self.perspective)?;
        let change = change()?;
        let (viewer, targets) = (Some(self.caller.user), vec![self.target.uuid()]);
        let votes = self.lists_voters.then(|| votes_later(tx, project, viewer, targets));
        let votes = votes.transpose()?;
        let actor = checking.settle(tx).map_err(store::refused)?;
        let actor = actor.ok_or_else(|| Error::internal("no user reacts"))?;
        let found = locking.opt()?.ok_or(T::FAULTS.not_found)?;
        let space = found.space().map(|space| {
            let users: Vec<UserId> = found.author().into_iter().chain([actor.id]).collect();
            KnownSpace::load(tx, project.id, space, &users)
        });
        let space = space.transpose()?;
        let target = T::locked(tx, project, (found, space.as_ref()), self.perspective)?;
        let target = target.ok_or(T::FAULTS.not_found)?;
        let votes = votes.map(Later::all).transpose()?.map(by_target);
        Ok(Locked { actor, target, change, votes, space })
    }

    /// Updates the counts, awards the author's points and notifies them. The target is locked: nobody else
    /// changes its counts meanwhile, and its author is not deleted.
    fn count(
        &self,
        tx: &Tx<'_>,
        actor: &Initiator,
        (target, space): (&mut T, Option<&KnownSpace>),
        before: Option<ReactionType>,
        after: Option<(ReactionType, Announce)>,
    ) -> Result<Option<Later<UserRow>>> {
        let (mut counts, mut by) = (target.reactions(), ReactionCounts::default());
        let mut points = 0;
        for (kind, one) in [(before, -1), (after.map(|(kind, _)| kind), 1)] {
            let Some(kind) = kind else { continue };
            *by.of_mut(kind) += one;
            *counts.of_mut(kind) += one;
            points += one * kind.points();
        }
        target.set_reactions(counts);
        let notices = match after {
            Some((kind, announce)) => {
                let reaction = (kind, before, announce);
                notify::notifications(tx, (self, actor), (target, space), reaction)?
            }
            None => Vec::new(),
        };
        let project = &*self.project;
        let author = tx.batch(|| {
            let author = target.author().map(|author| match points {
                0 => users::find_later(tx, project.id, author),
                _ => reputation::awarded(tx, project, author, target.space(), points),
            });
            target.change_reactions(tx, project.id, by)?;
            if let [one] = &*notices {
                notifications::store::insert::insert_kept(tx, project.id, self.now, one)?;
            }
            author.transpose()
        })?;
        // Lock order: notification_counts last.
        let context = Context { app: &self.app, project, now: self.now };
        if notices.len() > 1 {
            notifications::add(tx, context, &notices)?;
        } else {
            notifications::created(tx, context, &notices)?;
        }
        let subject = target.notified_of();
        events::reacted(tx, context, subject, target.author(), counts, actor.id)?;
        Ok(author)
    }
}
