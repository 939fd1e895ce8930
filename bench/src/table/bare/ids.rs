//! Ids of a recorded request that are other ones each time it is sent again: those of the rows that it creates, and
//! entities that are drawn.

use std::collections::{HashMap, HashSet};

use townhall::values::clock::Clock;
use townhall::values::random::Random;
use uuid::Uuid;

use crate::dice::Dice;
use crate::entities::Entities;

/// Tells the ids of recorded requests apart.
#[derive(Debug)]
pub struct Kinds<'a> {
    entities: Option<Entities>,
    known: &'a HashSet<Uuid>,
    /// How many requests name an id.
    seen: HashMap<Uuid, usize>,
}

/// Those of one request.
#[derive(Debug)]
pub struct Ids {
    created: Vec<Uuid>,
    drawn: Vec<Uuid>,
}

impl<'a> Kinds<'a> {
    /// `entities`: their ids are drawn anew each time. `known`: ids that stay as they are.
    pub fn new(
        requests: impl Iterator<Item = HashSet<Uuid>>,
        entities: Option<Entities>,
        known: &'a HashSet<Uuid>,
    ) -> Self {
        let mut seen: HashMap<Uuid, usize> = HashMap::new();
        for id in requests.flatten() {
            *seen.entry(id).or_default() += 1;
        }
        Kinds { entities, known, seen }
    }

    /// An id that no other request names is that of a new row, if the request writes.
    pub fn of(&self, ids: HashSet<Uuid>, writes: bool) -> Ids {
        let is_drawn = |id: &Uuid| self.entities.is_some_and(|entities| entities.contain(*id));
        let is_created =
            |id: &Uuid| writes && self.seen.get(id) == Some(&1) && !self.known.contains(id);
        let (drawn, others): (Vec<Uuid>, Vec<Uuid>) = ids.into_iter().partition(is_drawn);
        Ids { created: others.into_iter().filter(is_created).collect(), drawn }
    }
}

impl Ids {
    /// What stands for them this time. New rows are created now, so they stand at the end of an index, as those of a server do.
    pub fn others(&self, entities: Option<Entities>, dice: &mut Dice) -> HashMap<Uuid, Uuid> {
        let drawn = entities.map(|entities| entities.id(dice.draw(entities.count)).0);
        let drawn = self.drawn.iter().filter_map(|id| Some((*id, drawn?)));
        let now = Clock::system().now().millis().to_be_bytes();
        let created = self.created.iter().map(|id| {
            let mut bytes: [u8; 16] = Random::System.bytes();
            bytes[..6].copy_from_slice(&now[2..]);
            bytes[6..8].copy_from_slice(&id.as_bytes()[6..8]);
            (*id, Uuid::from_bytes(bytes))
        });
        drawn.chain(created).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_that_one_writing_request_names_are_created() {
        let [shared, known, new] = [1, 2, 3].map(Uuid::from_u128);
        let first = HashSet::from([shared, known, new]);
        let names = HashSet::from([known]);
        let requests = [first.clone(), HashSet::from([shared])];
        let kinds = Kinds::new(requests.into_iter(), None, &names);
        let mut dice = Dice::new(1);
        assert!(kinds.of(first.clone(), false).others(None, &mut dice).is_empty());
        let ids = kinds.of(first, true);
        let (once, again) = (ids.others(None, &mut dice), ids.others(None, &mut dice));
        assert_eq!(once.keys().collect::<Vec<_>>(), [&new]);
        assert_ne!(once, again);
    }
}
