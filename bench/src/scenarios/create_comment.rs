//! Create Comment as a user, on entities at random.

use std::sync::Arc;

use db::Db;
use townhall::features::comments::blank;
use townhall::features::comments::model::Comment;
use townhall::features::comments::store::{self as comments, CommentRow};
use townhall::values::ids::{CommentId, UserId, new_id};
use townhall::values::random::Random;

use crate::dice::Dice;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

/// So many users write.
const AUTHORS: usize = 10_000;
/// So many different requests.
const DRAWN: usize = 100_000;
const CONTENT: &str = "It was green before, but another green.";

pub const SCENARIO: Scenario = Scenario {
    name: "create-comment",
    about: "POST /comments on any of the entities, by any of 10,000 users",
    expected_status: &[201],
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let (path, all) = (format!("/v8/{}/comments", fixture.project), fixture.entities);
    let authors = fixture.users.iter().take(AUTHORS);
    let tokens: Vec<String> = authors.map(|user| fixture.token(*user)).collect();
    let mut dice = Dice::new(3);
    let mut request = || {
        let entity = all.id(dice.draw(all.count));
        let body = format!(r#"{{"entityId":"{entity}","content":"{CONTENT}"}}"#);
        send("POST", &path, &tokens[dice.draw(tokens.len())], &body)
    };
    (0..DRAWN).map(|_| request()).collect()
}

/// The comment with its body; no counts, no reputation, no notification.
fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, now, all) = (db.clone(), fixture.project, fixture.now, fixture.entities);
    let authors: Arc<[UserId]> = fixture.users.iter().copied().take(AUTHORS).collect();
    let shown = fixture.shown.clone();
    let write = Bare::new("insert", move |dice| {
        let (db, author) = (db.clone(), authors[dice.draw(authors.len())]);
        let shown = shown.clone();
        let id = CommentId(new_id(now, &Random::System));
        let row = CommentRow {
            user_id: Some(author),
            content: Some(CONTENT.to_owned()),
            ..blank(id, all.id(dice.draw(all.count)), now)
        };
        async move {
            let answer = Comment::new(project, row.clone()).map_err(text)?;
            let user = Some(Some(Box::new(shown)));
            let answer = Comment { user, user_reaction: Some(None), ..answer };
            let written = db.write(move |tx| comments::insert(tx, project, &row, &[]));
            written.await.map_err(text)?;
            serde_json::to_vec(&answer).map_err(|error| error.to_string())
        }
    });
    vec![write]
}
