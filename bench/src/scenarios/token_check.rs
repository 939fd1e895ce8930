//! List OAuth Identities with a user's token: of the operations that require a user the cheapest,
//! so it shows what checking a token and its user's status costs.

use std::sync::Arc;

use db::Db;
use townhall::auth::store::suspensions;
use townhall::features::identities::store as identities;
use townhall::features::users::store as users;
use townhall::values::ids::UserId;

use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};

/// So many users are signed in.
const SESSIONS: usize = 10_000;

pub const SCENARIO: Scenario = Scenario {
    name: "token-check",
    about: "GET /oauth/identities with the access token of one of 10,000 users",
    expected_status: &[200],
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let project = fixture.project;
    let request = |user: &UserId| {
        let token = fixture.token(*user);
        format!(
            "GET /v8/{project}/oauth/identities HTTP/1.1\r\nhost: localhost\r\n\
             authorization: Bearer {token}\r\n\r\n"
        )
        .into_bytes()
    };
    fixture.users.iter().take(SESSIONS).map(request).collect()
}

/// The statements of the caller's check and of the handler, in their two units of work.
fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, now) = (db.clone(), fixture.project, fixture.now);
    let ids: Arc<[UserId]> = fixture.users.iter().copied().take(SESSIONS).collect();
    let statements = Bare::new("statements", move |dice| {
        let (db, id) = (db.clone(), ids[dice.draw(ids.len())]);
        async move {
            let status = db.read(move |c| suspensions::status(c, project, id, now));
            status.await.map_err(text)?.ok_or("no such user")?;
            let listed = db.read(move |c| {
                users::has_password(c, project, id)?;
                identities::list(c, project, id)
            });
            listed.await.map(|_| Vec::new()).map_err(text)
        }
    });
    vec![statements]
}
