//! List Conversations, Get Unread Count, Fetch Conversation and Fetch Conversation Preview.

use db::{Conn, Query as Statement, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::chat::conversations::reading;
use crate::features::chat::model::{Conversation, ConversationPreview};
use crate::features::chat::rules::Kind;
use crate::features::chat::{INVALID_QUERY, InConversation, NOT_FOUND, membership, show};
use crate::http::input::{Path, Query};
use crate::http::operation::Call;
use crate::http::page::{self, PageSize};
use crate::http::reply::Json;
use crate::values::ids::{ConversationId, ProjectId, UserId};
use crate::values::time::Timestamp;

const LIMIT: PageSize = PageSize { default: 20, max: 50 };

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    /// Some of `direct,group,space`.
    types: Option<String>,
    /// `lastMessageAt` of the last one received; not without the other.
    cursor: Option<Timestamp>,
    /// `createdAt` of the last one received.
    cursor_created_at: Option<Timestamp>,
    #[schemars(with = "Option<u32>")]
    limit: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Conversations {
    conversations: Vec<ConversationPreview>,
    has_more: bool,
}

struct Asked {
    kinds: Option<Vec<Kind>>,
    after: Option<(Option<Timestamp>, Timestamp)>,
    limit: i64,
}

impl ListQuery {
    fn read(self) -> Result<Asked> {
        let kind = |name: &str| match name {
            "direct" => Ok(Kind::Direct),
            "group" => Ok(Kind::Group),
            "space" => Ok(Kind::Space),
            _ => Err(INVALID_QUERY.because("types: of direct, group and space")),
        };
        let names = self.types.as_deref().filter(|types| !types.is_empty());
        let kinds = names.map(|types| types.split(',').map(kind).collect()).transpose()?;
        let after = match (self.cursor, self.cursor_created_at) {
            (Some(_), None) => {
                return Err(INVALID_QUERY.because("cursor: not without cursorCreatedAt"));
            }
            (at, Some(created)) => Some((at, created)),
            (None, None) => None,
        };
        let limit = page::limit_or_default(self.limit.as_deref(), LIMIT).into();
        Ok(Asked { kinds, after, limit })
    }
}

pub(super) async fn list(
    call: Call<Actor>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Conversations>> {
    let asked = query.read()?;
    let (links, actor, now) = (call.links(), call.caller.user, call.now);
    let listed = call.app.db.read_slow(move |c| {
        let mut ids = listed(c, links.project, actor, &asked)?;
        let most = usize::try_from(asked.limit).unwrap_or(usize::MAX);
        let has_more = ids.len() > most;
        ids.truncate(most);
        let conversations = show::previews(c, &links, &ids, actor, now)?;
        Ok::<_, Error>(Conversations { conversations, has_more })
    });
    listed.await.map(Json)
}

/// One more than asked for, to tell whether there are more. A direct conversation is listed once something
/// can be seen in it.
fn listed(
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
    Ok(c.all(&Statement::<ConversationId>::built("chat::conversations::list", text), &args)?)
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnreadCount {
    total_unread: i64,
    unread_conversation_count: i64,
}

pub(super) async fn unread_count(call: Call<Actor>, (): ()) -> Result<Json<UnreadCount>> {
    let (project, actor) = (call.project.id, call.caller.user);
    let (total_unread, unread_conversation_count) =
        call.app.db.read_slow(move |c| reading::all_unread(c, project, actor)).await?;
    Ok(Json(UnreadCount { total_unread, unread_conversation_count }))
}

pub(super) async fn fetch(
    call: Call<Actor>,
    Path(path): Path<InConversation>,
) -> Result<Json<Conversation>> {
    let (links, actor, now) = (call.links(), call.caller.user, call.now);
    let found = call.app.db.read(move |c| {
        let (row, member) = membership::known(c, links.project, path.conversation_id, actor)?;
        show::own_conversation(c, &links, &row, member.as_ref(), now)
    });
    found.await.map(Json)
}

pub(super) async fn preview(
    call: Call<Actor>,
    Path(path): Path<InConversation>,
) -> Result<Json<ConversationPreview>> {
    let (links, actor, now) = (call.links(), call.caller.user, call.now);
    // What is unread is counted.
    let found = call.app.db.read_slow(move |c| {
        let id = path.conversation_id;
        let standing = membership::seen(c, links.project, id, actor)?.ok_or(NOT_FOUND)?;
        standing.require_active(NOT_FOUND)?;
        let shown = show::previews(c, &links, &[id], actor, now)?.pop();
        shown.ok_or_else(|| Error::from(NOT_FOUND))
    });
    found.await.map(Json)
}
