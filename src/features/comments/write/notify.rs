//! Notifications about a new comment: to the author of the entity or parent comment and to everybody it
//! mentions. Each user gets one, of the most specific kind.

use db::Tx;
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::features::comments::store::CommentRow;
use crate::features::entities::store::EntityRow;
use crate::features::entities::write::notify::{quoted, small_metadata, subject};
use crate::features::notifications::initiator;
use crate::features::notifications::{About, Notification, Subject};
use crate::features::spaces::store::access;
use crate::features::users::store::UserRow;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{NotificationId, UserId, new_id};
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

pub const OPEN_COMMENT: &str = "open-comment";

/// The comment and the entity that a notification is about.
pub fn about(keys: &mut Map<String, Value>, comment: &CommentRow) {
    keys.insert("commentId".to_owned(), json!(comment.id));
    keys.insert("commentForeignId".to_owned(), comment.foreign_id.clone().into());
    keys.insert("commentContent".to_owned(), quoted(comment.content.as_deref()));
    keys.insert("commentMetadata".to_owned(), small_metadata(&comment.metadata));
}

/// A comment that was just created.
#[derive(Debug, Clone, Copy)]
pub struct News<'a> {
    pub entity: &'a EntityRow,
    pub comment: &'a CommentRow,
    pub parent: Option<&'a CommentRow>,
    pub mentioned: &'a [UserId],
}

/// The notifications to send.
pub fn notifications(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    news: News<'_>,
    author: &UserRow,
    now: Timestamp,
) -> Result<Vec<Notification<'static>>> {
    if !project.has(Bundle::Notifications) {
        return Ok(Vec::new());
    }
    let mut recipients = recipients(author.id, news);
    let users: Vec<UserId> = recipients.iter().map(|(user, _)| *user).collect();
    let shut_out = access::shut_out(tx, project.id, news.entity.space_id, &users)?;
    recipients.retain(|(user, _)| !shut_out.contains(user));
    if recipients.is_empty() {
        return Ok(Vec::new());
    }
    let subject = subject(tx, project.id, news.entity)?;
    let written = Subject::Comment { entity: news.entity.id, comment: news.comment.id };
    let notices = recipients.into_iter().map(|(user, kind)| {
        let mut keys = subject.clone();
        about(&mut keys, news.comment);
        if let Some(parent) = news.parent.filter(|_| kind == REPLY) {
            about(&mut keys, parent);
            keys.insert("replyId".to_owned(), json!(news.comment.id));
            keys.insert("replyContent".to_owned(), quoted(news.comment.content.as_deref()));
        }
        initiator(&mut keys, author);
        Notification {
            id: NotificationId(new_id(now, &app.random)),
            user,
            kind,
            action: OPEN_COMMENT,
            metadata: to_json(&keys).into(),
            about: About { subject: written, space: news.entity.space_id, actor: Some(author.id) },
        }
    });
    Ok(notices.collect())
}

/// The only recipient, if it is the author of the parent: that row is locked, so they are not deleted.
pub fn only_to_author<'a>(notices: &'a [Notification<'a>]) -> Option<&'a Notification<'a>> {
    match notices {
        [one] if one.kind != MENTION => Some(one),
        _ => None,
    }
}

const REPLY: &str = "comment-reply";
const MENTION: &str = "comment-mention";

/// Each recipient once, with the most specific kind; never the comment's author.
fn recipients(author: UserId, news: News<'_>) -> Vec<(UserId, &'static str)> {
    let answered = match news.parent {
        Some(parent) => parent.user_id.map(|user| (user, REPLY)),
        None => news.entity.user_id.map(|user| (user, "entity-comment")),
    };
    let mentioned = news.mentioned.iter().map(|user| (*user, MENTION));
    let mut recipients: Vec<(UserId, &'static str)> = Vec::new();
    for (user, kind) in answered.into_iter().chain(mentioned) {
        if user != author && recipients.iter().all(|(recipient, _)| *recipient != user) {
            recipients.push((user, kind));
        }
    }
    recipients
}
