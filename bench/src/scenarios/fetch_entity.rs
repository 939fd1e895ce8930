//! Fetch Entity by its id, anonymously, over all entities at random.

use db::Db;
use townhall::features::entities::model::Entity;
use townhall::features::entities::store as entities;

use crate::dice::Dice;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::get;

/// So many different requests.
const DRAWN: usize = 100_000;

pub const SCENARIO: Scenario = Scenario {
    name: "fetch-entity",
    about: "GET /entities/:id, any of the entities",
    expected_status: &[200],
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let (project, all) = (fixture.project, fixture.entities);
    let mut dice = Dice::new(1);
    let mut request = || get(&format!("/v8/{project}/entities/{}", all.id(dice.draw(all.count))));
    (0..DRAWN).map(|_| request()).collect()
}

fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, all) = (db.clone(), fixture.project, fixture.entities);
    let find = Bare::new("statement and bytes", move |dice| {
        let (db, id) = (db.clone(), all.id(dice.draw(all.count)));
        async move {
            let found = db.read(move |c| entities::find(c, project, id)).await.map_err(text)?;
            let row = found.ok_or_else(|| "no such entity".to_owned())?;
            let entity = Entity::new(project, row).map_err(text)?;
            serde_json::to_vec(&entity).map_err(|error| error.to_string())
        }
    });
    vec![find]
}
