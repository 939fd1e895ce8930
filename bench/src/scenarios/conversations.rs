//! What a client with a thousand conversations asks for at its start: how much is unread, and the list.
//! The bare work is the statements that find it, and the bytes.

use db::{Db, Query, args};
use serde_json::json;
use townhall::features::chat::conversations::store::{self, reading};
use townhall::features::chat::model::Conversation;
use townhall::values::ids::ConversationId;

use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::send;

const LIMIT: u32 = 20;

pub const UNREAD: Scenario = Scenario {
    name: "unread-count",
    about: "GET /chat/conversations/unread-count of a user with 1,000 conversations",
    expected_status: &[200],
    requests: |fixture| vec![request(fixture, "/unread-count")],
    bare: |fixture, db| {
        let (db, project, user) = (db.clone(), fixture.project, fixture.chat.busy);
        vec![Bare::new("statement", move |_| {
            let db = db.clone();
            async move {
                let read = db.read(move |c| reading::all_unread(c, project, user));
                let (messages, conversations) = read.await.map_err(text)?;
                let shown = json!({
                    "totalUnread": messages,
                    "unreadConversationCount": conversations,
                });
                Ok(shown.to_string().into_bytes())
            }
        })]
    },
};

pub const LIST: Scenario = Scenario {
    name: "list-conversations",
    about: "GET /chat/conversations, the first 20 of the same user",
    expected_status: &[200],
    requests: |fixture| vec![request(fixture, &format!("?limit={LIMIT}"))],
    bare: bare_list,
};

fn request(fixture: &Fixture, rest: &str) -> Vec<u8> {
    let path = format!("/v8/{}/chat/conversations{rest}", fixture.project);
    send("GET", &path, &fixture.token(fixture.chat.busy), "")
}

/// The conversations alone; nothing of what is in them.
fn bare_list(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, project, user) = (db.clone(), fixture.project, fixture.chat.busy);
    vec![Bare::new("statements and bytes", move |_| {
        let db = db.clone();
        async move {
            let read = db.read(move |c| {
                let query = Query::<ConversationId>::built(
                    "bench::conversations",
                    format!(
                        "SELECT c.id FROM conversation_members m
                         JOIN conversations c ON c.project_id = m.project_id AND c.id = m.conversation_id
                         WHERE m.project_id = $1 AND m.user_id = $2 AND m.is_active
                         ORDER BY c.last_message_at DESC NULLS LAST LIMIT {LIMIT}"
                    ),
                );
                let ids = c.all(&query, args![project, user])?;
                store::find_all(c, project, &ids)
            });
            let rows = read.await.map_err(text)?;
            let shown = rows.iter().map(|row| Conversation::new(project, row, None));
            let shown = shown.collect::<townhall::error::Result<Vec<_>>>().map_err(text)?;
            serde_json::to_vec(&shown).map_err(|error| error.to_string())
        }
    })]
}
