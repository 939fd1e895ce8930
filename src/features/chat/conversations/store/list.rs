//! The conversations of a user, those with the newest messages first.

use db::{Builder, Conn, Query};

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
    let mut conditions = Builder::all([project.into(), user.into()]);
    conditions.add(
        "m.project_id = $1 AND m.user_id = $2 AND m.is_active
            AND (c.kind <> 'direct' OR c.has_visible)",
    );
    if let Some(kinds) = &asked.kinds {
        let kinds = conditions.bind_all(kinds.iter().map(|kind| (*kind).into()));
        conditions.add(format_args!("c.kind IN ({kinds})"));
    }
    match asked.after {
        None => {}
        Some((None, created)) => {
            let created = conditions.bind(created);
            conditions.add(format_args!("c.last_message_at IS NULL AND c.created_at < {created}"));
        }
        Some((Some(at), created)) => {
            let (at, created) = (conditions.bind(at), conditions.bind(created));
            conditions.add(format_args!(
                "(c.last_message_at IS NULL OR c.last_message_at < {at}
                    OR (c.last_message_at = {at} AND c.created_at < {created}))"
            ));
        }
    }
    let limit = conditions.bind(asked.limit + 1);
    let text = format!(
        "SELECT c.id FROM conversation_members m
            JOIN conversations c ON c.project_id = m.project_id AND c.id = m.conversation_id
         WHERE {conditions}
         ORDER BY c.last_message_at DESC NULLS LAST, c.created_at DESC, c.id DESC LIMIT {limit}"
    );
    Ok(c.all(
        &Query::<ConversationId>::built("chat::conversations::list", text),
        conditions.args(),
    )?)
}
