//! Toggle Message Reaction and Fetch Reaction Users.

use std::collections::BTreeMap;

use db::JsonText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::chat::messages::store;
use crate::features::chat::model::Speaker;
use crate::features::chat::{
    INVALID_EMOJI, INVALID_QUERY, InMessage, MESSAGE_DELETED, MESSAGE_NOT_FOUND, events,
    membership, show,
};
use crate::features::users::model as users;
use crate::features::users::reputation::ReputationQuery;
use crate::http::input::{Body, LenientPaging, Path, Query};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

/// Maximum bytes of an emoji, and maximum number of different emojis on a message.
const LONGEST: usize = 64;
const MAX_EMOJI: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "MessageReaction")]
pub(super) struct Reaction {
    #[schemars(with = "String")]
    emoji: Option<serde_json::Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessageReactionChange")]
pub(super) struct Reacted {
    reaction_counts: BTreeMap<String, i64>,
    user_reactions: Vec<String>,
    /// 1 if the reaction was added, -1 if it was removed.
    delta: i64,
}

/// One visible character (grapheme).
fn is_emoji(text: &str) -> bool {
    let is_seen = |c: char| !c.is_whitespace() && !c.is_control() && !is_ignorable(c);
    text.len() <= LONGEST && text.graphemes(true).count() == 1 && text.chars().any(is_seen)
}

/// Whether a character is invisible by itself: joiners, variation selectors, tags and other formatting
/// (Unicode's `Default_Ignorable_Code_Point`, and the annotations that are not among them).
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

pub(super) async fn toggle(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<InMessage>, Body<Reaction>),
) -> Result<Json<Reacted>> {
    let emoji = body.emoji.as_ref().and_then(|emoji| emoji.as_str()).filter(|text| is_emoji(text));
    let emoji = emoji.ok_or(INVALID_EMOJI)?.to_owned();
    let (project, actor, now) = (call.project.clone(), call.caller.user, call.now);
    let reacted = call.app.db.write(move |tx| {
        let standing = membership::writer(tx, project.id, path.conversation_id, actor)?;
        let row = membership::lock_message(tx, &project, &standing, path.message_id)?;
        if row.is_removed {
            return Err(MESSAGE_NOT_FOUND.into());
        }
        if row.user_deleted_at.is_some() {
            return Err(MESSAGE_DELETED.into());
        }
        let mut counts: BTreeMap<String, i64> =
            serde_json::from_str(&row.reaction_counts.0).map_err(Error::internal)?;
        let was_there = store::unreact(tx, project.id, row.id, actor, &emoji)?;
        let delta = if was_there { -1 } else { 1 };
        if !was_there {
            if !counts.contains_key(&emoji) && counts.len() >= MAX_EMOJI {
                return Err(INVALID_EMOJI.because("This message has too many reactions"));
            }
            store::react(tx, project.id, row.id, actor, &emoji, now)?;
        }
        let count = counts.entry(emoji.clone()).or_default();
        *count += delta;
        counts.retain(|_, count| *count > 0);
        store::set_reactions(tx, project.id, row.id, &JsonText(to_json(&counts)))?;
        let own = store::own_reactions(tx, project.id, &[row.id], actor)?;
        let payload = json!({
            "messageId": row.id, "conversationId": row.conversation_id, "emoji": emoji,
            "userId": actor, "delta": delta, "reactionCounts": counts,
        });
        events::announce(tx, project.id, row.conversation_id, "message:reaction", &payload)?;
        let user_reactions = own.into_iter().map(|(_, emoji)| emoji).collect();
        Ok(Reacted { reaction_counts: counts, user_reactions, delta })
    });
    reacted.await.map(Json)
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReactorsQuery {
    emoji: Option<String>,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MessageReactionUsers")]
pub(super) struct Reactors {
    data: Vec<Reactor>,
    pagination: ReactorsPagination,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessageReactionUser")]
struct Reactor {
    user: Speaker,
    emoji: String,
    created_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessageReactionPagination")]
struct ReactorsPagination {
    page: u32,
    limit: u32,
    total: i64,
    has_more: bool,
}

pub(super) async fn users(
    call: Call<Actor>,
    (Path(path), LenientPaging(page), Query(query)): (
        Path<InMessage>,
        LenientPaging<50>,
        Query<ReactorsQuery>,
    ),
) -> Result<Json<Reactors>> {
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let emoji = query.emoji.filter(|emoji| !emoji.is_empty());
    let emoji = emoji.ok_or_else(|| INVALID_QUERY.because("emoji: is missing"))?;
    let (links, actor) = (call.links(), call.caller.user);
    let listed = call.app.db.read_slow(move |c| {
        let project = links.project;
        let standing = membership::reader(c, project, path.conversation_id, actor)?;
        let row = membership::message(c, project, &standing, path.message_id)?;
        let (found, total) = store::reactors(c, project, row.id, &emoji, page)?;
        let mut people = users::shown(c, &links, found.iter().map(|(user, _)| *user).collect())?;
        let points = bucket.map(|bucket| (bucket, standing.conversation.space_id));
        show::add_points(c, project, &mut people, points)?;
        let reactor = |(user, created_at): (crate::values::ids::UserId, Timestamp)| {
            let user = people.get(&user).map(Speaker::from)?;
            Some(Reactor { user, emoji: emoji.clone(), created_at })
        };
        let data: Vec<Reactor> = found.into_iter().filter_map(reactor).collect();
        let has_more = page.offset() + i64::from(page.limit) < total;
        let pagination = ReactorsPagination { page: page.page, limit: page.limit, total, has_more };
        Ok::<_, Error>(Reactors { data, pagination })
    });
    listed.await.map(Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_character_however_it_is_put_together() {
        for text in ["👍", "👨‍👩‍👧‍👦", "🇩🇪", "é", "e\u{301}", "a"] {
            assert!(is_emoji(text), "{text}");
        }
        for text in ["", " ", "ab", "👍👍", &format!("a{}", "\u{301}".repeat(40))] {
            assert!(!is_emoji(text), "{text}");
        }
    }
}
