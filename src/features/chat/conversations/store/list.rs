//! The conversations of a user, those with the newest messages first.

use db::{Conn, Query, Value};

use crate::error::Result;
use crate::features::chat::rules::Kind;
use crate::values::ids::{ConversationId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// Which conversations of a user.
#[derive(Debug)]
pub struct Asked {
    pub kinds: Option<Vec<Kind>>,
    /// `last_message_at` and `created_at` of the one before the page.
    pub after: Option<(Option<Timestamp>, Timestamp)>,
    pub limit: i64,
}

/// One more than asked for, to tell whether there are more. A direct conversation is listed once something
/// can be seen in it.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    asked: &Asked,
) -> Result<Vec<ConversationId>> {
    let mut args: Vec<Value<'static>> = vec![project.into(), user.into()];
    let mut bind = |value: Value<'static>| {
        args.push(value);
        format!("${}", args.len())
    };
    let mut text = "SELECT c.id FROM conversation_members m
        JOIN conversations c ON c.project_id = m.project_id AND c.id = m.conversation_id
        WHERE m.project_id = $1 AND m.user_id = $2 AND m.is_active
            AND (c.kind <> 'direct' OR c.has_visible)"
        .to_owned();
    if let Some(kinds) = &asked.kinds {
        let places: Vec<String> = kinds.iter().map(|kind| bind((*kind).into())).collect();
        text += &format!(" AND c.kind IN ({})", places.join(", "));
    }
    match asked.after {
        None => {}
        Some((None, created)) => {
            let created = bind(created.into());
            text += &format!(" AND c.last_message_at IS NULL AND c.created_at < {created}");
        }
        Some((Some(at), created)) => {
            let (at, created) = (bind(at.into()), bind(created.into()));
            text += &format!(
                " AND (c.last_message_at IS NULL OR c.last_message_at < {at}
                    OR (c.last_message_at = {at} AND c.created_at < {created}))"
            );
        }
    }
    let limit = bind((asked.limit + 1).into());
    text += &format!(
        " ORDER BY c.last_message_at DESC NULLS LAST, c.created_at DESC, c.id DESC LIMIT {limit}"
    );
    Ok(c.all(&Query::<ConversationId>::built("chat::conversations::list", text), &args)?)
}
