//! Messages: the newest of a conversation with many, and sending one into any of a hundred groups.

use std::time::Duration;

use db::{Db, Query, args};
use townhall::features::chat::messages::store;
use townhall::features::chat::model::ChatMessage;
use townhall::features::chat::show::View;
use townhall::storage::signed::Signer;

use crate::chat::{CONTENT, message};
use crate::dice::Dice;
use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

const LIMIT: u32 = 50;
/// So many different requests.
const DRAWN: usize = 10_000;

pub const LIST: Scenario = Scenario {
    name: "list-messages",
    about: "GET /chat/conversations/:id/messages, the newest 50 of many, by one of 1,000 members",
    expected_status: &[200],
    requests: |fixture| {
        let (project, hall) = (fixture.project, fixture.chat.hall);
        let path = format!("/v8/{project}/chat/conversations/{hall}/messages?limit={LIMIT}");
        let members = fixture.chat.members.iter();
        members.map(|member| send("GET", &path, &fixture.token(*member), "")).collect()
    },
    bare: bare_list,
};

pub const SEND: Scenario = Scenario {
    name: "send-message",
    about: "POST /chat/conversations/:id/messages by any of 1,000 members into one of 100 groups",
    expected_status: &[201],
    requests: |fixture| {
        let mut dice = Dice::new(7);
        let body = format!(r#"{{"content":"{CONTENT}"}}"#);
        let mut request = || {
            let (group, members) = &fixture.chat.groups[dice.draw(fixture.chat.groups.len())];
            let member = members[dice.draw(members.len())];
            let path = format!("/v8/{}/chat/conversations/{group}/messages", fixture.project);
            send("POST", &path, &fixture.token(member), &body)
        };
        (0..DRAWN).map(|_| request()).collect()
    },
    bare: bare_send,
};

/// The messages along the index, and their authors.
fn bare_list(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, hall) = (db.clone(), fixture.project, fixture.chat.hall);
    let day = Duration::from_hours(24);
    let links = Signer::new(b"secret", "http://localhost", day).links(project, fixture.now);
    let view = View { links, viewer: None, with_files: false, with_grants: None, points: None };
    let statement = format!(
        "{} AND x.conversation_id = $2 AND NOT x.is_removed AND x.parent_message_id IS NULL
         ORDER BY x.created_at DESC LIMIT {LIMIT}",
        store::SELECT
    );
    vec![Bare::new("statements and bytes", move |_| {
        let (db, view, statement) = (db.clone(), view.clone(), statement.clone());
        async move {
            let read = db.read(move |c| {
                let query = Query::built("bench::messages", statement.clone());
                view.messages(c, c.all(&query, args![project, hall])?)
            });
            let shown = read.await.map_err(text)?;
            if shown.is_empty() {
                return Err("an empty page".to_owned());
            }
            serde_json::to_vec(&shown).map_err(|error| error.to_string())
        }
    })]
}

/// The message alone: no permission check, no event.
fn bare_send(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, now) = (db.clone(), fixture.project, fixture.now);
    let (groups, author) = (fixture.chat.groups.clone(), fixture.shown.clone());
    vec![Bare::new("insert", move |dice| {
        let (db, author) = (db.clone(), author.clone());
        let (group, members) = &groups[dice.draw(groups.len())];
        let row = message(*group, members[dice.draw(members.len())], now);
        async move {
            let answer = ChatMessage::new(project, row.clone()).map_err(text)?;
            let answer = ChatMessage { user: Some(author), files: Some(Vec::new()), ..answer };
            let written = db.write(move |tx| store::insert(tx, project, &row));
            written.await.map_err(text)?;
            serde_json::to_vec(&answer).map_err(|error| error.to_string())
        }
    })]
}
