//! The statements of lists of grants. Everybody sees what was given; what was given for a message only those who are or
//! were in its conversation, as long as no moderator has removed it.

use db::{Builder, Conn, Query, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::grants::rules::TargetKind;
use crate::features::grants::store::GrantRow;
use crate::http::page::Page;
use crate::values::ids::{ProjectId, UserId};

/// Which grants are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Recipient(UserId),
    Sender(UserId),
    Target(TargetKind, Uuid),
}

/// The columns of a grant `g`.
const COLUMNS: &str = "g.id, g.source_type, g.sender_id, g.recipient_id, g.amount, g.space_id,
    g.target_type, g.target_id, g.conversation_id, g.note, g.metadata, g.created_at";
const NEWEST: &str = "g.created_at DESC, g.id DESC";

/// A page of what was given, newest first, and its total. Without a viewer everything is seen.
pub fn page(
    c: &Conn<'_>,
    project: ProjectId,
    of: Of,
    viewer: Option<UserId>,
    page: Page,
) -> Result<(Vec<GrantRow>, i64)> {
    let mut sql = Builder::all([project.into()]);
    sql.add("g.project_id = $1");
    match of {
        Of::Recipient(user) => sql.equal("g.recipient_id", user),
        Of::Sender(user) => sql.equal("g.sender_id", user),
        Of::Target(kind, id) => {
            sql.equal("g.target_id", id);
            sql.equal("g.target_type", kind);
        }
    }
    sql.add("g.amount > 0");
    if let Some(viewer) = viewer {
        let viewer = sql.bind(viewer);
        sql.add(format_args!(
            "(g.conversation_id IS NULL OR EXISTS (SELECT 1 FROM chat_messages x
                JOIN conversations k ON k.project_id = x.project_id AND k.id = x.conversation_id
                JOIN conversation_members m
                    ON m.project_id = x.project_id AND m.conversation_id = x.conversation_id
                WHERE x.project_id = $1 AND x.id = g.target_id AND NOT x.is_removed
                    AND k.deleted_at IS NULL AND m.user_id = {viewer}))"
        ));
    }
    let count = format!("SELECT count(*) FROM reputation_grants g WHERE {sql}");
    let total = c.one(&Query::<i64>::built("grants::list::count", count), sql.args())?;
    let (limit, offset) = (sql.bind(page.limit), sql.bind(page.offset()));
    let text = format!(
        "SELECT {COLUMNS} FROM reputation_grants g WHERE {sql} ORDER BY {NEWEST}
         LIMIT {limit} OFFSET {offset}"
    );
    Ok((c.all(&Query::<GrantRow>::built("grants::list::page", text), sql.args())?, total))
}

/// Everything that a user received or gave, or that was taken from them, newest first; and how much there is.
pub fn history(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    (received, sent): (bool, bool),
    page: Page,
) -> Result<(Vec<GrantRow>, i64)> {
    let sides = [(received, "recipient_id"), (sent, "sender_id")];
    let sides: Vec<&str> =
        sides.iter().filter(|(is_asked, _)| *is_asked).map(|(_, side)| *side).collect();
    let mut total = 0;
    for side in &sides {
        let count = format!(
            "SELECT count(*) FROM reputation_grants g WHERE g.project_id = $1 AND g.{side} = $2"
        );
        let count = Query::<i64>::built("grants::history::count", count);
        total += c.one(&count, args![project, user])?;
    }
    // Nobody gives to themselves, so no grant is on both sides.
    let parts: Vec<String> = sides
        .iter()
        .map(|side| {
            format!(
                "SELECT * FROM (SELECT {COLUMNS} FROM reputation_grants g
                    WHERE g.project_id = $1 AND g.{side} = $2 ORDER BY {NEWEST} LIMIT $3) AS {side}"
            )
        })
        .collect();
    let text = format!(
        "SELECT {COLUMNS} FROM ({}) AS g ORDER BY {NEWEST} LIMIT $4 OFFSET $5",
        parts.join(" UNION ALL ")
    );
    let most = page.offset() + i64::from(page.limit);
    let args = args![project, user, most, page.limit, page.offset()];
    Ok((c.all(&Query::<GrantRow>::built("grants::history::page", text), args)?, total))
}
