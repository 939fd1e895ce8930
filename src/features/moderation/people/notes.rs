//! Notes of operators about a user.

use std::sync::Arc;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::features::moderation::people::store;
use crate::features::moderation::{EMPTY_TEXT, Moderator, TEXT_TOO_LONG, USER_NOT_FOUND};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{NoteId, OperatorId, UserId, new_id};
use crate::values::time::Timestamp;

/// Characters of a note.
pub const LONGEST_NOTE: usize = 10_000;

db::row! {
    #[derive(Debug, Clone, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Note {
        pub id: NoteId,
        pub user_id: UserId,
        pub text: String,
        pub operator_id: Option<OperatorId>,
        pub written_by: String,
        pub created_at: Timestamp,
    }
}

pub async fn add_note(
    app: &App,
    project: &Arc<Project>,
    by: &Moderator,
    user: UserId,
    text: &str,
    now: Timestamp,
) -> Result<Note> {
    let text = text.trim();
    if text.is_empty() {
        return Err(EMPTY_TEXT.into());
    }
    if text.chars().count() > LONGEST_NOTE {
        return Err(TEXT_TOO_LONG.into());
    }
    let note = Note {
        id: NoteId(new_id(now, &app.random)),
        user_id: user,
        text: text.to_owned(),
        operator_id: by.operator,
        written_by: by.name.clone(),
        created_at: now,
    };
    let project = project.id;
    let added = app.db.write(move |tx| {
        store::insert_note(tx, project, &note)?;
        Ok(note.clone())
    });
    added.await.map_err(|error: Error| error.on_foreign_key(USER_NOT_FOUND))
}

/// False if there is no such note.
pub async fn remove_note(app: &App, project: &Arc<Project>, id: NoteId) -> Result<bool> {
    let project = project.id;
    app.db.write(move |tx| store::remove_note(tx, project, id)).await
}
