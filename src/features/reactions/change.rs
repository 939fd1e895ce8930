//! The one way a reaction to an entity comes, changes and goes: the row, the counts, the author's
//! reputation and the notifications, all in the caller's transaction.

use std::sync::Arc;

use db::Tx;

use crate::app::App;
use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::entities::store as entities;
use crate::features::entities::store::EntityRow;
use crate::features::entities::visibility::Eyes;
use crate::features::projects::Project;
use crate::features::reactions::notices::{self, Announce};
use crate::features::reactions::{NOT_FOUND, ReactionCounts, ReactionType, store};
use crate::features::users::reputation;
use crate::http::operation::Call;
use crate::ids::{EntityId, ReactionId, UserId, new_id};
use crate::time::Timestamp;

/// Who reacts to what.
#[derive(Debug, Clone)]
pub struct Change {
    pub app: App,
    pub project: Arc<Project>,
    pub actor: UserId,
    eyes: Eyes,
    entity: EntityId,
    id: ReactionId,
    pub now: Timestamp,
}

/// What a change has come to.
#[derive(Debug)]
pub struct Changed {
    /// With the counts as they are now.
    pub entity: EntityRow,
    pub before: Option<ReactionType>,
}

impl Change {
    pub fn new(call: &Call<Actor>, entity: EntityId) -> Self {
        Change {
            app: call.app.clone(),
            project: call.project.clone(),
            actor: call.caller.user,
            eyes: Eyes::from(&call.caller),
            entity,
            id: ReactionId(new_id(call.now, &call.app.random)),
            now: call.now,
        }
    }

    /// Reacts, in place of whatever reaction there was.
    pub fn put(&self, tx: &Tx<'_>, kind: ReactionType, announce: Announce) -> Result<Changed> {
        let (project, now) = (self.project.id, self.now);
        let mut entity = self.target(tx)?;
        let before = store::put(tx, project, entity.id, self.actor, self.id, kind, now)?;
        if before != Some(kind) {
            self.count(tx, &mut entity, before, Some(kind))?;
            notices::reacted(tx, self, &entity, kind, before, announce)?;
        }
        Ok(Changed { entity, before })
    }

    /// Takes the reaction back; nothing happens where there is none.
    pub fn take(&self, tx: &Tx<'_>) -> Result<Changed> {
        let mut entity = self.target(tx)?;
        let before = store::take(tx, self.project.id, entity.id, self.actor)?;
        if before.is_some() {
            self.count(tx, &mut entity, before, None)?;
        }
        Ok(Changed { entity, before })
    }

    /// Held until the transaction ends. Whoever deletes an entity with its reactions holds it first
    /// too: the other way round they would wait for each other. And its counts are those that all
    /// earlier reactions have left.
    fn target(&self, tx: &Tx<'_>) -> Result<EntityRow> {
        let found = entities::find_for_update(tx, self.project.id, self.entity)?;
        found.filter(|entity| self.eyes.see(entity)).ok_or(NOT_FOUND.into())
    }

    fn count(
        &self,
        tx: &Tx<'_>,
        entity: &mut EntityRow,
        before: Option<ReactionType>,
        after: Option<ReactionType>,
    ) -> Result<()> {
        let (mut counts, mut by) = (entity.reactions(), ReactionCounts::default());
        let mut points = 0;
        for (kind, one) in [(before, -1), (after, 1)] {
            let Some(kind) = kind else { continue };
            *by.of_mut(kind) += one;
            *counts.of_mut(kind) += one;
            points += one * kind.points();
        }
        entities::change_reactions(tx, self.project.id, entity.id, by)?;
        // The entity is held: nobody else has changed them meanwhile.
        entity.set_reactions(counts);
        match entity.user_id {
            Some(author) => reputation::award(tx, &self.project, author, entity.space_id, points),
            None => Ok(()),
        }
    }
}
