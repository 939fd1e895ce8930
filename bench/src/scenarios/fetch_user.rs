//! Fetch User by its id, anonymously: the plainest read there is, over all users at random.

use std::time::Duration;

use db::Db;
use townhall::features::users::model::User;
use townhall::features::users::store as users;
use townhall::storage::signed::Signer;

use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::get;

pub const SCENARIO: Scenario = Scenario {
    name: "fetch-user",
    about: "GET /users/:id, any of the users",
    expected_status: &[200],
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let project = fixture.project;
    fixture.users.iter().map(|user| get(&format!("/v8/{project}/users/{user}"))).collect()
}

fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, ids) = (db.clone(), fixture.project, fixture.users.clone());
    let day = Duration::from_hours(24);
    let links = Signer::new(b"secret", "http://localhost", day).links(project, fixture.now);
    let find = Bare::new("statement and bytes", move |dice| {
        let (db, id, links) = (db.clone(), ids[dice.draw(ids.len())], links.clone());
        async move {
            let found = db.read(move |c| users::find(c, project, id)).await.map_err(text)?;
            let row = found.ok_or_else(|| "no such user".to_owned())?;
            let user = User::public(&links, &row).map_err(text)?;
            serde_json::to_vec(&user).map_err(|error| error.to_string())
        }
    });
    vec![find]
}
