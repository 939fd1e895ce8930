//! Notifications as clients of version 6 know them. Their number and order stay the same: a type that these
//! clients do not know is sent as it is.

use serde_json::{Map, Value};

const ENTITY: &[&str] =
    &["entityId", "entityForeignId", "entityShortId", "entityTitle", "entityMetadata"];
const COMMENT: &[&str] = &["commentId", "commentForeignId", "commentMetadata"];
const INITIATOR: &[&str] =
    &["initiatorId", "initiatorName", "initiatorUsername", "initiatorAvatar"];

pub(super) fn translate(notification: &mut Value) {
    let kind = notification["type"].as_str().unwrap_or_default().to_owned();
    let Some(metadata) = notification["metadata"].as_object_mut() else { return };
    let is_upvote = metadata.get("reactionType").is_some_and(|kind| kind == "upvote");
    let kind = match kind.as_str() {
        "entity-reaction" if is_upvote => "entity-upvote",
        "comment-reaction" if is_upvote => "comment-upvote",
        "comment-reply" => {
            put_reply_first(metadata);
            "comment-reply"
        }
        other => other,
    };
    complete(kind, metadata);
    notification["type"] = kind.into();
}

/// These clients highlight `commentId`: the new reply. The notification describes its parent, of which only
/// the id remains.
fn put_reply_first(metadata: &mut Map<String, Value>) {
    let mut take = |name: &str| metadata.remove(name).unwrap_or_default();
    let (parent, reply, content) = (take("commentId"), take("replyId"), take("replyContent"));
    for (name, value) in [
        ("commentId", reply),
        ("commentContent", content),
        ("commentForeignId", Value::Null),
        ("commentMetadata", Value::Null),
        ("replyId", parent),
        ("replyContent", "".into()),
    ] {
        metadata.insert(name.to_owned(), value);
    }
}

/// Every key is there, null when it is not known.
fn complete(kind: &str, metadata: &mut Map<String, Value>) {
    let (entity, comment, initiator) = match kind {
        "entity-comment" | "comment-reply" | "comment-mention" | "comment-upvote" => {
            (true, true, true)
        }
        "entity-mention" | "entity-upvote" => (true, false, true),
        "new-follow" | "connection-request" | "connection-accepted" => (false, false, true),
        _ => return,
    };
    let groups = [(entity, ENTITY), (comment, COMMENT), (initiator, INITIATOR)];
    for name in groups.into_iter().filter(|(has, _)| *has).flat_map(|(_, names)| names) {
        metadata.entry(*name).or_insert(Value::Null);
    }
    for (has, name) in [(entity, "entityContent"), (comment, "commentContent")] {
        let content = metadata.get(name).filter(|content| !content.is_null());
        if has && content.is_none() {
            metadata.insert(name.to_owned(), "".into());
        }
    }
}
