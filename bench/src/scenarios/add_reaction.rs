//! Add Entity Reaction: users at random react to entities at random, seldom twice to the same.

use std::sync::Arc;

use db::Db;
use townhall::features::entities::model::Entity;
use townhall::features::entities::store::EntityRow;
use townhall::features::reactions::{ReactionType, store as reactions};
use townhall::ids::{ReactionId, UserId, new_id};
use townhall::random::Random;

use crate::dice::Dice;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

/// So many users react.
const REACTORS: usize = 10_000;
/// So many different requests.
const DRAWN: usize = 100_000;

pub const SCENARIO: Scenario = Scenario {
    name: "add-reaction",
    about: "POST /entities/:id/reactions, any of 10,000 users to any of the entities",
    expected_status: 200,
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let (project, all) = (fixture.project, fixture.entities);
    let reactors = fixture.users.iter().take(REACTORS);
    let tokens: Vec<String> = reactors.map(|user| fixture.token(*user)).collect();
    let mut dice = Dice::new(2);
    let mut request = || {
        let entity = all.id(dice.draw(all.count));
        let path = format!("/v8/{project}/entities/{entity}/reactions");
        let body = format!(r#"{{"reactionType":"{}"}}"#, kind(&mut dice).name());
        send("POST", &path, &tokens[dice.draw(tokens.len())], &body)
    };
    (0..DRAWN).map(|_| request()).collect()
}

fn kind(dice: &mut Dice) -> ReactionType {
    ReactionType::ALL[dice.draw(ReactionType::ALL.len())]
}

/// The reaction alone; no counts, no reputation, no notification.
fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, now, all) = (db.clone(), fixture.project, fixture.now, fixture.entities);
    let reactors: Arc<[UserId]> = fixture.users.iter().copied().take(REACTORS).collect();
    let write = Bare::new("put", move |dice| {
        let (db, user) = (db.clone(), reactors[dice.draw(reactors.len())]);
        let (entity, kind) = (all.id(dice.draw(all.count)), kind(dice));
        let id = ReactionId(new_id(now, &Random::System));
        async move {
            let put = db.write(move |tx| reactions::put(tx, project, entity, user, id, kind, now));
            put.await.map_err(text)?;
            let row = EntityRow::blank(entity, now);
            let answer = Entity::new(project, row).map_err(text)?;
            serde_json::to_vec(&answer).map_err(|error| error.to_string())
        }
    });
    vec![write]
}
