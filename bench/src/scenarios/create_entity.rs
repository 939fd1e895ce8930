//! Create Entity as a user: the durable write that everything else begins with.

use std::sync::Arc;

use db::{Db, JsonText};
use townhall::features::entities::model::Entity;
use townhall::features::entities::store::feed_totals;
use townhall::features::entities::store::{self as entities, EntityRow};
use townhall::features::entities::terms;
use townhall::values::ids::{EntityId, UserId, new_id};
use townhall::values::random::Random;
use townhall::values::time::Timestamp;

use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

/// So many users write.
const AUTHORS: usize = 10_000;
const TITLE: &str = "A new post about the bench";
const CONTENT: &str = "Somebody has painted it green. It was green before, but another green.";
const KEYWORDS: &str = r#"["bench","paint"]"#;
const METADATA: &str = r#"{"status":"published","colour":"green"}"#;

pub const SCENARIO: Scenario = Scenario {
    name: "create-entity",
    about: "POST /entities with the access token of one of 10,000 users",
    expected_status: &[201],
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let path = format!("/v8/{}/entities", fixture.project);
    let body = format!(
        r#"{{"title":"{TITLE}","content":"{CONTENT}","keywords":{KEYWORDS},"metadata":{METADATA}}}"#
    );
    let authors = fixture.users.iter().take(AUTHORS);
    authors.map(|author| send("POST", &path, &fixture.token(*author), &body)).collect()
}

/// The entity with its body, terms and counts; no reputation, no reply. They are older and colder
/// than all others, so that the lists begin with what was seeded.
fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, now) = (db.clone(), fixture.project, fixture.now);
    let authors: Arc<[UserId]> = fixture.users.iter().copied().take(AUTHORS).collect();
    let write = Bare::new("insert", move |dice| {
        let (db, author) = (db.clone(), authors[dice.draw(authors.len())]);
        let row = EntityRow {
            user_id: Some(author),
            title: Some(TITLE.to_owned()),
            content: Some(CONTENT.to_owned()),
            keywords: JsonText(KEYWORDS.to_owned()),
            metadata: JsonText(METADATA.to_owned()),
            score: 0.0,
            ..EntityRow::blank(EntityId(new_id(now, &Random::System)), Timestamp::from_millis(0))
        };
        async move {
            let terms = terms::of_stored(&row).map_err(|error| error.to_string())?;
            let answer = Entity::new(project, row.clone()).map_err(text)?;
            let written = db.write(move |tx| {
                entities::insert(tx, project, &row, &terms)?;
                feed_totals::add(tx, project, &row)
            });
            written.await.map_err(text)?;
            serde_json::to_vec(&answer).map_err(|error| error.to_string())
        }
    });
    vec![write]
}
