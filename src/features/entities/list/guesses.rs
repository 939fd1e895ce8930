//! Guesses at how a page is found, so that its statement is sent together with the question for the size of the feed.
//! The size decides; after a wrong guess the right statement follows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use crate::values::ids::ProjectId;

/// Maximum keywords that are remembered.
const MAX_KEYWORDS: usize = 10_000;

/// Whether a keyword had few entities when its feed was last read.
#[derive(Debug, Default)]
pub struct Guesses(Mutex<HashMap<(ProjectId, Uuid), bool>>);

impl Guesses {
    /// None for a keyword that nobody has asked for: a wrong guess reads a whole feed.
    pub fn is_rare(&self, project: ProjectId, term: Uuid) -> Option<bool> {
        self.known().get(&(project, term)).copied()
    }

    pub fn note(&self, project: ProjectId, term: Uuid, is_rare: bool) {
        let mut known = self.known();
        if known.len() >= MAX_KEYWORDS && !known.contains_key(&(project, term)) {
            known.clear();
        }
        known.insert((project, term), is_rare);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(ProjectId, Uuid), bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_last_seen_is_guessed_and_memory_is_bounded() {
        let (guesses, project) = (Guesses::default(), ProjectId(Uuid::from_u128(1)));
        let term = |number: usize| Uuid::from_u128(number as u128);
        assert_eq!(guesses.is_rare(project, term(0)), None);
        guesses.note(project, term(0), true);
        guesses.note(project, term(0), false);
        assert_eq!(guesses.is_rare(project, term(0)), Some(false));
        (0..=MAX_KEYWORDS).for_each(|number| guesses.note(project, term(number), true));
        assert_eq!(guesses.known().len(), 1);
    }
}
