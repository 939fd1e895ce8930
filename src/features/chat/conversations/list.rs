//! List Conversations, Get Unread Count, Fetch Conversation and Fetch Conversation Preview.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::chat::conversations::store::list::{self as store, Asked};
use crate::features::chat::conversations::store::reading;
use crate::features::chat::model::{Conversation, ConversationPreview};
use crate::features::chat::rules::Kind;
use crate::features::chat::{INVALID_QUERY, InConversation, NOT_FOUND, membership, show};
use crate::http::input::{Path, Query};
use crate::http::operation::Call;
use crate::http::page::{self, PageSize};
use crate::http::reply::Json;
use crate::values::time::Timestamp;

const LIMIT: PageSize = PageSize { default: 20, max: 50 };

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    /// Some of `direct,group,space`.
    types: Option<String>,
    /// `lastMessageAt` of the last one received; only together with the other cursor field.
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
        let mut ids = store::list(c, links.project, actor, &asked)?;
        let most = usize::try_from(asked.limit).unwrap_or(usize::MAX);
        let has_more = ids.len() > most;
        ids.truncate(most);
        let conversations = show::previews(c, &links, &ids, actor, now)?;
        Ok::<_, Error>(Conversations { conversations, has_more })
    });
    listed.await.map(Json)
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
    // Unread messages are counted, which takes time.
    let found = call.app.db.read_slow(move |c| {
        let id = path.conversation_id;
        let standing = membership::seen(c, links.project, id, actor)?.ok_or(NOT_FOUND)?;
        standing.require_active(NOT_FOUND)?;
        let shown = show::previews(c, &links, &[id], actor, now)?.pop();
        shown.ok_or_else(|| Error::from(NOT_FOUND))
    });
    found.await.map(Json)
}
