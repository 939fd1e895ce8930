//! Users who come to be by signing up or in, for observers.

use crate::domain_events::{Event, EventKind};
use crate::error::Result;
use crate::features::auth::VALIDATION_FAILED;
use crate::features::users::events::{CREATED_NAME, UPDATED_NAME};
use crate::features::users::model::AuthUser;

const CREATED: EventKind<AuthUser> = EventKind::new(CREATED_NAME).refusable(VALIDATION_FAILED);
const UPDATED: EventKind<AuthUser> = EventKind::new(UPDATED_NAME).refusable(VALIDATION_FAILED);

/// The names of the events that a sign-in may be.
pub const NAMES: [&str; 2] = [CREATED_NAME, UPDATED_NAME];

/// What a sign-in did to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Created,
    /// The names of the changed fields; none if it changed nothing.
    Found(Vec<String>),
}

impl Outcome {
    pub fn event(&self, user: &AuthUser) -> Result<Option<Event>> {
        match self {
            Outcome::Created => CREATED.event(user).map(Some),
            Outcome::Found(changed) if changed.is_empty() => Ok(None),
            Outcome::Found(changed) => Ok(Some(UPDATED.event(user)?.changing(changed))),
        }
    }
}
