//! Fetch User by its id, anonymously: the plainest read there is, over all users at random.

use db::Db;
use townhall::features::users::store as users;

use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::get;

pub const SCENARIO: Scenario = Scenario {
    name: "fetch-user",
    about: "GET /users/:id, any of the users",
    expected_status: 200,
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let project = fixture.project;
    fixture.users.iter().map(|user| get(&format!("/v8/{project}/users/{user}"))).collect()
}

fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, ids) = (db.clone(), fixture.project, fixture.users.clone());
    let find = Bare::new("statement", move |dice| {
        let (db, id) = (db.clone(), ids[dice.draw(ids.len())]);
        async move {
            let found = db.read(move |c| users::find(c, project, id)).await.map_err(text)?;
            found.map(drop).ok_or_else(|| "no such user".to_owned())
        }
    });
    vec![find]
}
