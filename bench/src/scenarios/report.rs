//! Create Report: users at random report entities at random, seldom the same twice.

use std::sync::Arc;

use db::Db;
use townhall::features::moderation::reports::model::{Reason, TargetType};
use townhall::features::moderation::reports::store::{self as reports, NewReport};
use townhall::values::ids::{ReportEntryId, ReportId, UserId, new_id};
use townhall::values::random::Random;

use crate::dice::Dice;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

/// So many users report.
const REPORTERS: usize = 10_000;
/// So many different requests.
const DRAWN: usize = 100_000;
const ANSWER: &str = r#"{"message":"Report created successfully.","code":"report/created"}"#;

pub const SCENARIO: Scenario = Scenario {
    name: "report",
    about: "POST /reports, any of 10,000 users about any of the entities",
    // 200 for those that join an open report.
    expected_status: &[200, 201],
    requests,
    bare,
};

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let (path, all) = (format!("/v8/{}/reports", fixture.project), fixture.entities);
    let reporters = fixture.users.iter().take(REPORTERS);
    let tokens: Vec<String> = reporters.map(|user| fixture.token(*user)).collect();
    let mut dice = Dice::new(4);
    let authors = fixture.users.len();
    let mut request = || {
        let (number, reporter) = (dice.draw(all.count), dice.draw(tokens.len()));
        // Nobody reports what is theirs: entities go round the users.
        let reporter = if number % authors == reporter { 0 } else { reporter };
        let number = if number % authors == reporter { number + 1 } else { number };
        let entity = all.id(number % all.count);
        let body = format!(r#"{{"targetType":"entity","targetId":"{entity}","reason":"spam"}}"#);
        send("POST", &path, &tokens[reporter], &body)
    };
    (0..DRAWN).map(|_| request()).collect()
}

/// The report and who made it; nobody asks whether the entity is there.
fn bare(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, now, all) = (db.clone(), fixture.project, fixture.now, fixture.entities);
    let users: Arc<[UserId]> = fixture.users.iter().copied().take(REPORTERS).collect();
    let write = Bare::new("add", move |dice| {
        let db = db.clone();
        let new = NewReport {
            report: ReportId(new_id(now, &Random::System)),
            entry: ReportEntryId(new_id(now, &Random::System)),
            target_type: TargetType::Entity,
            target: all.id(dice.draw(all.count)).0,
            reporter: users[dice.draw(users.len())],
            reason: Reason::Spam,
            details: None,
        };
        async move {
            let added = db.write(move |tx| reports::add(tx, project, &new, (None, None), now));
            added.await.map_err(text)?;
            Ok(ANSWER.as_bytes().to_vec())
        }
    });
    vec![write]
}
