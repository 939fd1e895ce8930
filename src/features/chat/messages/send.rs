//! Send Message.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::auth::caller::Actor;
use crate::domain_events::{self, Context, EventKind};
use crate::error::{Error, Result};
use crate::features::chat::conversations::store::{self as conversations, ConversationRow};
use crate::features::chat::membership::{self, ConversationMember};
use crate::features::chat::messages::files::{self, FILES};
use crate::features::chat::messages::store::{self, MessageRow};
use crate::features::chat::model::ChatMessage;
use crate::features::chat::rules::{Content, Kind, LocalId, MessageMetadata};
use crate::features::chat::show::View;
use crate::features::chat::{
    EMPTY_MESSAGE, INVALID_PARENT, INVALID_QUERY, INVALID_QUOTE, InConversation, VALIDATION_FAILED,
    events,
};
use crate::features::comments::rules::Gif;
use crate::features::entities::rules::Mentions;
use crate::features::files::uploads::{self, Prepared};
use crate::features::users::reputation::{Bucket, ReputationQuery};
use crate::features::visibility::moderation::ModerationRow;
use crate::features::visibility::screening::{self, ContentKind, Written};
use crate::http::input::{Body, Path, Query};
use crate::http::multipart::Uploads;
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::storage::signed::Links;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{ChatMessageId, SpaceId, UserId, new_id};
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct NewMessage {
    /// Content, a gif or files: at least one of them.
    content: Option<Content>,
    gif: Option<Gif>,
    mentions: Option<Mentions>,
    metadata: Option<MessageMetadata>,
    /// The message of the main stream that this one replies to.
    parent_message_id: Option<ChatMessageId>,
    quoted_message_id: Option<ChatMessageId>,
    /// Returned unchanged.
    local_id: Option<LocalId>,
}

pub(super) async fn send(
    call: Call<Actor>,
    (Path(path), Query(reputation), (Body(new), mut uploads)): (
        Path<InConversation>,
        Query<ReputationQuery>,
        (Body<NewMessage>, Uploads),
    ),
) -> Result<Created<ChatMessage>> {
    let bucket = reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let (app, project, actor, now) =
        (call.app.clone(), call.project.clone(), call.caller.user, call.now);
    let uploads = uploads.take(FILES.name);
    let id = ChatMessageId(new_id(now, &app.random));
    let mentions = new.mentions.unwrap_or_default();
    let row = MessageRow {
        user_id: Some(actor),
        content: new.content.and_then(Content::unless_blank),
        gif: new.gif.map(|gif| JsonText(to_json(&gif))),
        mentions: JsonText(to_json(&mentions)),
        metadata: JsonText(to_json(&new.metadata.unwrap_or_default())),
        parent_message_id: new.parent_message_id,
        quoted_message_id: new.quoted_message_id,
        has_files: !uploads.is_empty(),
        ..store::blank(id, path.conversation_id, now)
    };
    if row.has_files {
        project.require(Bundle::FilesImages)?;
        // Checked before anything is stored, and again in the transaction.
        let (checked, of) = (row.clone(), project.clone());
        app.db.read(move |c| may_send(c, &of, &checked, actor)).await?;
    }
    if row.content.is_none() && row.gif.is_none() && !row.has_files {
        let of = project.clone();
        app.db.read(move |c| may_send(c, &of, &row, actor)).await?;
        return Err(EMPTY_MESSAGE.into());
    }
    let place = (path.conversation_id, id, actor);
    let prepared = files::prepare(&app, project.id, uploads, place, now).await?;
    let sent = Sent {
        row,
        mentions,
        prepared: prepared.clone(),
        local_id: new.local_id.map(LocalId::into_text),
        bucket,
    };
    let (links, project_id) = (call.links(), project.id);
    let state = app.clone();
    let work = move |tx: &Tx<'_>| {
        let context = Context { app: &state, project: &project, now };
        write(tx, context, &links, &sent, actor)
    };
    let event = |message: &ChatMessage| {
        // No event for what a rule hides.
        if message.moderation_status.is_some() {
            return Ok(None);
        }
        CREATED.event(message).map(Some)
    };
    let written = domain_events::write(&app, &call.project, &[CREATED.name()], work, event).await;
    uploads::settle(&app, project_id, &prepared, written, now).await.map(Created)
}

pub const CREATED: EventKind<ChatMessage> =
    EventKind::new("message.created").refusable(VALIDATION_FAILED);

struct Sent {
    row: MessageRow,
    mentions: Mentions,
    prepared: Prepared,
    local_id: Option<String>,
    bucket: Option<Bucket>,
}

/// Whether a user may write into the conversation, checked without a lock.
fn may_send(c: &db::Conn<'_>, project: &Project, row: &MessageRow, actor: UserId) -> Result<()> {
    let standing = membership::participant(c, project.id, row.conversation_id, actor)?;
    standing.require_posting(c, project)
}

fn write(
    tx: &Tx<'_>,
    context: Context<'_>,
    links: &Links,
    sent: &Sent,
    actor: UserId,
) -> Result<ChatMessage> {
    let Context { project, now, .. } = context;
    let standing = membership::writer(tx, project.id, sent.row.conversation_id, actor)?;
    standing.require_posting(tx, project)?;
    let before = &standing.conversation;
    let parent = parent(tx, project, &standing, &sent.row)?;
    check_quote(tx, project, &standing, &sent.row)?;
    let at = before.next_moment(now);
    let row = MessageRow { created_at: at, updated_at: at, ..sent.row.clone() };
    let hidden = screen(tx, context, &row, before.space_id, false)?;
    let is_hidden = hidden.is_some();
    let row = MessageRow { moderation: hidden.unwrap_or_default(), is_removed: is_hidden, ..row };
    if is_hidden {
        store::insert(tx, project.id, &row)?;
        // Inserting stores no decision.
        store::update(tx, project.id, &row)?;
    } else {
        tx.batch(|| {
            store::insert(tx, project.id, &row)?;
            note(tx, project, before, &row)
        })?;
    }
    store::mention(tx, project.id, row.id, sent.mentions.users())?;
    uploads::insert(tx, project.id, &sent.prepared)?;
    let points = sent.bucket.map(|bucket| (bucket, before.space_id));
    let view = View { points, ..View::written(links.clone(), None) };
    let row = MessageRow { is_removed: false, ..row };
    let shown = ChatMessage { local_id: sent.local_id.clone(), ..view.message(tx, row)? };
    if is_hidden {
        return Ok(shown);
    }
    announce(tx, project, links, before, &shown, parent.as_ref(), now)?;
    Ok(shown)
}

/// The conversation and the parent know of a message that others can see.
pub(super) fn note(
    tx: &Tx<'_>,
    project: &Project,
    before: &ConversationRow,
    row: &MessageRow,
) -> Result<()> {
    let is_reply = row.parent_message_id.is_some();
    let at = row.created_at;
    let conversation = ConversationRow {
        last_created_at: Some(at),
        last_message_at: if is_reply { before.last_message_at } else { Some(at) },
        has_visible: before.has_visible || !is_reply,
        ..before.clone()
    };
    conversations::note_message(tx, project.id, &conversation)?;
    row.parent_message_id.map_or(Ok(()), |parent| store::count_reply(tx, project.id, parent))
}

/// How a rule hides the message, if one does.
pub(super) fn screen(
    tx: &Tx<'_>,
    context: Context<'_>,
    row: &MessageRow,
    space: Option<SpaceId>,
    is_edit: bool,
) -> Result<Option<ModerationRow>> {
    let written = Written {
        kind: ContentKind::Message,
        id: row.id.0,
        author: row.user_id,
        space,
        title: None,
        content: row.content.as_deref(),
        is_edit,
    };
    screening::screen(tx, context, &written)
}

/// Locks the parent message: it must be in the main stream.
fn parent(
    tx: &Tx<'_>,
    project: &Project,
    standing: &ConversationMember,
    row: &MessageRow,
) -> Result<Option<MessageRow>> {
    let Some(id) = row.parent_message_id else { return Ok(None) };
    let found = store::lock(tx, project.id, id)?.filter(|parent| {
        parent.conversation_id == standing.conversation.id
            && !parent.is_removed
            && parent.parent_message_id.is_none()
    });
    found.map(Some).ok_or_else(|| INVALID_PARENT.into())
}

fn check_quote(
    tx: &Tx<'_>,
    project: &Project,
    standing: &ConversationMember,
    row: &MessageRow,
) -> Result<()> {
    let Some(id) = row.quoted_message_id else { return Ok(()) };
    let found = store::find(tx, project.id, id)?;
    let fits = found.is_some_and(|quoted| {
        quoted.conversation_id == standing.conversation.id && !quoted.is_removed
    });
    if fits { Ok(()) } else { Err(INVALID_QUOTE.into()) }
}

pub(super) fn announce(
    tx: &Tx<'_>,
    project: &Project,
    links: &Links,
    before: &ConversationRow,
    shown: &ChatMessage,
    parent: Option<&MessageRow>,
    now: Timestamp,
) -> Result<()> {
    // The other user gets a direct conversation with its first message.
    if before.kind == Kind::Direct && before.last_message_at.is_none() && parent.is_none() {
        let other = shown.user_id.and_then(|user| before.other(user));
        events::created(tx, links, before.id, other.as_slice(), now)?;
    }
    events::announce(tx, project.id, before.id, "message:created", shown)?;
    if let Some(parent) = parent {
        let payload = json!({
            "messageId": parent.id,
            "conversationId": before.id,
            "threadReplyCount": parent.thread_reply_count + 1,
        });
        events::announce(tx, project.id, before.id, "thread:reply_count", &payload)?;
    }
    Ok::<_, Error>(())
}
