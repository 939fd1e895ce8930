//! Sign In with a password. Hashing it is meant to be slow, so two ceilings: the hash alone, and
//! the durable write of the new session.

use db::Db;
use townhall::features::auth::session::TokenSeed;
use townhall::features::auth::store as sessions;
use townhall::features::users::store as users;
use townhall::values::ids::{RefreshTokenId, SessionId, new_id};
use townhall::values::random::Random;

use crate::fixture::{Fixture, PASSWORD, text};
use crate::scenario::{Bare, Scenario};

pub const SCENARIO: Scenario = Scenario {
    name: "sign-in",
    about: "POST /auth/sign-in as one of 16 users with a password",
    expected_status: &[200],
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let project = fixture.project;
    let request = |email: &str| {
        let body = serde_json::json!({ "email": email, "password": PASSWORD }).to_string();
        let length = body.len();
        format!(
            "POST /v8/{project}/auth/sign-in HTTP/1.1\r\nhost: localhost\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    };
    fixture.signers.iter().map(|signer| request(&signer.email)).collect()
}

fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    vec![hash(fixture), session(fixture, db)]
}

fn hash(fixture: &Fixture) -> Bare {
    let (passwords, hash) = (fixture.passwords.clone(), fixture.password_hash.clone());
    Bare::new("argon2", move |_| {
        let (passwords, hash) = (passwords.clone(), hash.clone());
        async move {
            let holds = passwords.verify(PASSWORD.to_owned(), hash).await.map_err(text)?;
            if holds { Ok(Vec::new()) } else { Err("the password does not hold".to_owned()) }
        }
    })
}

fn session(fixture: &Fixture, db: &Db) -> Bare {
    let (db, project, now) = (db.clone(), fixture.project, fixture.now);
    let signers = fixture.signers.clone();
    let expires = now.plus(fixture.tokens.refresh_ttl);
    Bare::new("write", move |dice| {
        let (db, user) = (db.clone(), signers[dice.draw(signers.len())].id);
        let id = RefreshTokenId(new_id(now, &Random::System));
        let token = TokenSeed { id, issued: now, expires }.row(user, SessionId(id.0));
        async move {
            let written = db.write(move |tx| {
                users::find_for_update(tx, project, user)?;
                sessions::insert_token(tx, project, &token)?;
                users::touch(tx, project, user, now)
            });
            written.await.map(|()| Vec::new()).map_err(text)
        }
    })
}
