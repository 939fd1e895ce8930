//! The only place where reactions are added, changed and removed: the row, the counts, the author's
//! reputation and the notifications, all in the caller's transaction.

use std::marker::PhantomData;
use std::sync::Arc;

use db::Tx;

use crate::auth::caller::Actor;
use crate::auth::caller::Initiator;
use crate::auth::perspective::Perspective;
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::notifications;
use crate::features::reactions::notify::{self, Announce};
use crate::features::reactions::target::{Target, TargetId};
use crate::features::reactions::{ReactionCounts, ReactionType, store};
use crate::features::users::reputation;
use crate::features::users::store::{self as users, UserRow};
use crate::http::operation::Call;
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{ReactionId, new_id};
use crate::values::time::Timestamp;

/// The user who reacts, and the target.
#[derive(Debug)]
pub struct Change<T> {
    pub app: App,
    pub project: Arc<Project>,
    pub actor: Initiator,
    perspective: Perspective,
    pub(super) target: TargetId,
    id: ReactionId,
    pub now: Timestamp,
    kind: PhantomData<fn() -> T>,
}

/// The result of a change.
#[derive(Debug)]
pub struct Changed<T> {
    /// With the counts after the change.
    pub target: T,
    pub before: Option<ReactionType>,
    /// The target's author after the change, if anything changed.
    pub author: Option<UserRow>,
}

impl<T: Target> Change<T> {
    pub fn new(call: &Call<Actor>, path: &T::Path) -> Self {
        Change {
            app: call.app.clone(),
            project: call.project.clone(),
            actor: call.caller.named.clone(),
            perspective: Perspective::from(&call.caller),
            target: T::named(path),
            id: ReactionId(new_id(call.now, &call.app.random)),
            now: call.now,
            kind: PhantomData,
        }
    }

    /// Sets the reaction, replacing any earlier one.
    pub fn put(&self, tx: &Tx<'_>, kind: ReactionType, announce: Announce) -> Result<Changed<T>> {
        let (project, now) = (self.project.id, self.now);
        let mut target = self.lock(tx)?;
        let before = store::put(tx, project, self.target, self.actor.id, self.id, kind, now)?;
        let mut author = None;
        if before != Some(kind) {
            author = self.count(tx, &mut target, before, Some((kind, announce)))?;
        }
        Ok(Changed { target, before, author })
    }

    /// Removes the reaction; does nothing if there is none.
    pub fn take(&self, tx: &Tx<'_>) -> Result<Changed<T>> {
        let mut target = self.lock(tx)?;
        let before = store::take(tx, self.project.id, self.target, self.actor.id)?;
        let mut author = None;
        if before.is_some() {
            author = self.count(tx, &mut target, before, None)?;
        }
        Ok(Changed { target, before, author })
    }

    /// Locks the target until the transaction ends. Lock order: the target before its reactions, as in
    /// deletion. The counts read here include all earlier reactions.
    fn lock(&self, tx: &Tx<'_>) -> Result<T> {
        let held = T::lock(tx, &self.project, self.target, self.perspective)?;
        held.ok_or(T::FAULTS.not_found.into())
    }

    /// Updates the counts, awards the author's points and notifies them. The target is locked: nobody else
    /// changes its counts meanwhile, and its author is not deleted.
    fn count(
        &self,
        tx: &Tx<'_>,
        target: &mut T,
        before: Option<ReactionType>,
        after: Option<(ReactionType, Announce)>,
    ) -> Result<Option<UserRow>> {
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
                notify::notifications(tx, self, target, kind, before, announce)?
            }
            None => Vec::new(),
        };
        let project = &*self.project;
        let author = tx.batch(|| {
            target.change_reactions(tx, project.id, by)?;
            if let [one] = &*notices {
                notifications::store::insert::insert_kept(tx, project.id, self.now, one)?;
            }
            match target.author() {
                Some(author) if points == 0 => users::find(tx, project.id, author),
                Some(author) => reputation::awarded(tx, project, author, target.space(), points),
                None => Ok(None),
            }
        })?;
        // Lock order: notification_counts last.
        let context = Context { app: &self.app, project, now: self.now };
        if notices.len() > 1 {
            notifications::add(tx, context, &notices)?;
        } else {
            notifications::created(tx, context, &notices)?;
        }
        Ok(author)
    }
}
