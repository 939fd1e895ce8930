//! The connections of a user who has one with everybody: the newest, and those found by a username.
//! The bare work is the statement that finds the users of a page, and their bytes.

use std::time::Duration;

use db::{Db, Query, args};
use townhall::features::users::model::User;
use townhall::features::users::store as users;
use townhall::storage::signed::Signer;
use townhall::values::ids::UserId;

use crate::dice::Dice;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

const LIMIT: u32 = 20;
/// So many different names are looked for.
const NAMES: usize = 1000;

pub const LIST: Scenario = Scenario {
    name: "list-connections",
    about: "GET /connections?limit=20, one page of a user who is connected with everybody",
    expected_status: &[200],
    requests: |fixture| vec![request(fixture, &format!("page={}", fixture.page))],
    bare,
};

pub const SEARCH: Scenario = Scenario {
    name: "search-connections",
    about: "GET /connections?query=…&limit=20, any of 1,000 usernames among all",
    expected_status: &[200],
    requests: |fixture| {
        let mut dice = Dice::new(5);
        let mut named = || {
            let number = 1 + dice.draw(fixture.users.len().saturating_sub(1).max(1));
            request(fixture, &format!("query=member_{number}"))
        };
        (0..NAMES).map(|_| named()).collect()
    },
    bare,
};

fn request(fixture: &Fixture, query: &str) -> Vec<u8> {
    let path = format!("/v8/{}/connections?limit={LIMIT}&{query}", fixture.project);
    send("GET", &path, &fixture.token(fixture.users[0]), "")
}

fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, user) = (db.clone(), fixture.project, fixture.users[0]);
    let day = Duration::from_hours(24);
    let links = Signer::new(b"secret", "http://localhost", day).links(project, fixture.now);
    let statement = Bare::new("statements and bytes", move |_| {
        let (db, links) = (db.clone(), links.clone());
        async move {
            let found = db.read(move |c| {
                let query = Query::<UserId>::built(
                    "bench::connections",
                    format!(
                        "SELECT other_id FROM connection_sides
                         WHERE project_id = $1 AND user_id = $2 AND kind = 'connected'
                         ORDER BY created_at DESC, connection_id DESC LIMIT {LIMIT}"
                    ),
                );
                let ids = c.all(&query, args![project, user])?;
                users::find_all(c, project, &ids)
            });
            let rows = found.await.map_err(text)?;
            let users = rows.iter().map(|row| User::public(&links, row));
            let users = users.collect::<townhall::error::Result<Vec<_>>>().map_err(text)?;
            serde_json::to_vec(&users).map_err(|error| error.to_string())
        }
    });
    vec![statement]
}
