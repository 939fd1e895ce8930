//! List Messages and Fetch Message.

use db::Conn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::chat::membership;
use crate::features::chat::messages::store::list::{self as store, Asked};
use crate::features::chat::model::ChatMessage;
use crate::features::chat::show::View;
use crate::features::chat::{INVALID_QUERY, InConversation, InMessage};
use crate::features::users::reputation::ReputationQuery;
use crate::http::include::Include;
use crate::http::input::{Path, Query};
use crate::http::operation::Call;
use crate::http::page::{self, PageSize};
use crate::http::reply::Json;
use crate::values::ids::ChatMessageId;
use crate::values::time::Timestamp;

const LIMIT: PageSize = PageSize { default: 50, max: 100 };

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessagesQuery {
    /// The replies to this message instead of the main stream.
    parent_id: Option<ChatMessageId>,
    before: Option<Timestamp>,
    after: Option<Timestamp>,
    #[schemars(with = "Option<u32>")]
    limit: Option<String>,
    sort: Option<Sort>,
    /// `files`, `grants`.
    #[serde(default)]
    include: Include,
    #[serde(rename = "filters[hasReplies]")]
    has_replies: Option<String>,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Sort {
    Asc,
    Desc,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Messages {
    messages: Vec<ChatMessage>,
    has_more: bool,
    oldest_created_at: Option<Timestamp>,
    newest_created_at: Option<Timestamp>,
    /// Set when no message can match the filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<&'static str>,
}

impl MessagesQuery {
    fn read(&self) -> Result<Asked> {
        if self.before.is_some() && self.after.is_some() {
            return Err(INVALID_QUERY.because("before and after: one of them"));
        }
        let has_replies = match self.has_replies.as_deref() {
            None => None,
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(_) => return Err(INVALID_QUERY.because("filters[hasReplies]: true or false")),
        };
        let in_thread = self.parent_id.is_some();
        Ok(Asked {
            parent: self.parent_id,
            before: self.before,
            after: self.after,
            limit: page::limit_or_default(self.limit.as_deref(), LIMIT).into(),
            is_ascending: self.sort.map_or(in_thread, |sort| sort == Sort::Asc),
            has_replies,
        })
    }
}

pub(super) async fn list(
    call: Call<Actor>,
    (Path(path), Query(query)): (Path<InConversation>, Query<MessagesQuery>),
) -> Result<Json<Messages>> {
    let asked = query.read()?;
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let with_files = query.include.has("files");
    let with_grants = query.include.has("grants").then(|| call.project.clone());
    let (links, actor) = (call.links(), call.caller.user);
    // Messages with replies are skipped one by one.
    let is_slow = asked.has_replies == Some(false);
    let work = move |c: &Conn<'_>| {
        let standing = membership::reader(c, links.project, path.conversation_id, actor)?;
        let is_empty = asked.parent.is_some() && asked.has_replies == Some(true);
        let mut rows = match is_empty {
            true => Vec::new(),
            false => store::list(c, links.project, &standing, &asked)?,
        };
        let most = usize::try_from(asked.limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > most;
        rows.truncate(most);
        let times = || rows.iter().map(|row| row.created_at);
        let (oldest_created_at, newest_created_at) = (times().min(), times().max());
        let points = bucket.map(|bucket| (bucket, standing.conversation.space_id));
        let (links, viewer) = (links.clone(), Some(actor));
        let with_grants = with_grants.clone();
        let view = View { links, viewer, with_files, with_grants, points };
        let notice = is_empty.then_some("Replies have no replies of their own");
        let messages = view.messages(c, rows)?;
        Ok::<_, Error>(Messages {
            messages,
            has_more,
            oldest_created_at,
            newest_created_at,
            notice,
        })
    };
    let db = &call.app.db;
    if is_slow { db.read_slow(work).await } else { db.read(work).await }.map(Json)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FetchQuery {
    /// `grants`.
    #[serde(default)]
    include: Include,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

pub(super) async fn fetch(
    call: Call<Actor>,
    (Path(path), Query(query)): (Path<InMessage>, Query<FetchQuery>),
) -> Result<Json<ChatMessage>> {
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let with_grants = query.include.has("grants").then(|| call.project.clone());
    let (links, actor) = (call.links(), call.caller.user);
    let found = call.app.db.read(move |c| {
        let standing = membership::reader(c, links.project, path.conversation_id, actor)?;
        let row = membership::message(c, links.project, &standing, path.message_id)?;
        let points = bucket.map(|bucket| (bucket, standing.conversation.space_id));
        let with_grants = with_grants.clone();
        let view = View { with_grants, points, ..View::written(links.clone(), Some(actor)) };
        view.message(c, row)
    });
    found.await.map(Json)
}
