//! Conversations as tests make them, and every request that can be made about one.

use http::Method;
use serde_json::{Value, json};
use townhall::values::ids::UserId;

use super::{Actor, Reply, User};

pub const NOBODY: &str = "01234567-89ab-4def-8123-456789abcdef";

/// The keys of a conversation, and of one in a list beside them.
pub const CONVERSATION: &str = "avatarFileId createdAt createdById description id lastMessageAt \
    memberCount metadata name postingPermission projectId spaceId type updatedAt";
pub const PREVIEW: &str = "lastMessage mutedForever mutedUntil otherMembers unreadCount";

/// The keys of a message with its files.
pub const MESSAGE: &str = "content conversationId createdAt editedAt files gif id mentions metadata \
    moderatedAt moderatedById moderatedByType moderationReason moderationStatus parentMessageId \
    projectId quotedMessage quotedMessageId reactionCounts threadReplyCount updatedAt user userDeletedAt userId \
    userReactions";

pub fn gif() -> Value {
    json!({
        "id": "g", "url": "https://gif.example/g", "gifUrl": "https://gif.example/g.gif",
        "gifPreviewUrl": "https://gif.example/p.gif", "altText": "a cat", "aspectRatio": "1.5",
    })
}

/// The words of a text, sorted.
pub fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

pub async fn direct(one: &Actor<'_>, other: &User<'_>) -> String {
    let made = one.post("/chat/conversations/direct", json!({ "userId": other.id })).await;
    assert!([200, 201].contains(&made.status), "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

pub async fn group(admin: &Actor<'_>, others: &[&User<'_>]) -> String {
    let ids: Vec<_> = others.iter().map(|user| user.id).collect();
    let body = json!({ "type": "group", "name": "Crew", "memberIds": ids });
    let made = admin.post("/chat/conversations", body).await.expect(201);
    made["id"].as_str().unwrap().to_owned()
}

/// The address of a conversation, or of something in it.
pub fn of(conversation: &str, rest: &str) -> String {
    format!("/chat/conversations/{conversation}{rest}")
}

pub async fn send(actor: &Actor<'_>, conversation: &str, text: &str) -> Value {
    say(actor, conversation, json!({ "content": text })).await
}

/// Sends a message that is more than a text.
pub async fn say(actor: &Actor<'_>, conversation: &str, body: Value) -> Value {
    actor.post(&of(conversation, "/messages"), body).await.expect(201)
}

/// Answers a message in its thread.
pub async fn reply(actor: &Actor<'_>, conversation: &str, parent: &Value, text: &str) -> Value {
    let body = json!({ "content": text, "parentMessageId": parent["id"] });
    say(actor, conversation, body).await
}

pub fn at(conversation: &str, message: &Value) -> String {
    of(conversation, &format!("/messages/{}", message["id"].as_str().unwrap()))
}

pub async fn react(
    actor: &Actor<'_>,
    conversation: &str,
    message: &Value,
    emoji: impl Into<Value>,
) -> Reply {
    let path = format!("{}/reactions", at(conversation, message));
    actor.post(&path, json!({ "emoji": emoji.into() })).await
}

pub async fn read_up_to(actor: &Actor<'_>, conversation: &str, message: &Value) {
    let body = json!({ "messageId": message["id"] });
    actor.post(&of(conversation, "/read"), body).await.expect(200);
}

/// What a user has not read: messages, and conversations that they are in.
pub async fn unread(actor: &Actor<'_>) -> (i64, i64) {
    let counted = actor.get("/chat/conversations/unread-count").await.expect(200);
    let number = |key: &str| counted[key].as_i64().unwrap();
    (number("totalUnread"), number("unreadConversationCount"))
}

/// A page of messages.
pub async fn messages(actor: &Actor<'_>, conversation: &str, query: &str) -> Value {
    actor.get(&of(conversation, &format!("/messages{query}"))).await.expect(200)
}

/// What the messages of a page say.
pub fn texts(page: &Value) -> Vec<&str> {
    let all = page["messages"].as_array().unwrap();
    all.iter().map(|message| message["content"].as_str().unwrap_or("(none)")).collect()
}

/// The ids of the conversations in somebody's list.
pub async fn listed(actor: &Actor<'_>, query: &str) -> Vec<String> {
    let page = actor.get(&format!("/chat/conversations{query}")).await.expect(200);
    let all = page["conversations"].as_array().unwrap();
    all.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

pub async fn leave(actor: &Actor<'_>, conversation: &str) {
    actor.delete(&of(conversation, "/leave")).await.expect(200);
}

pub async fn add(admin: &Actor<'_>, conversation: &str, user: &User<'_>) -> Reply {
    admin.post(&of(conversation, "/members"), json!({ "userId": user.id })).await
}

pub async fn remove(admin: &Actor<'_>, conversation: &str, user: &User<'_>) -> Reply {
    admin.delete(&of(conversation, &format!("/members/{}", user.id))).await
}

pub async fn set_role(admin: &Actor<'_>, conversation: &str, user: &User<'_>, role: &str) -> Reply {
    let path = of(conversation, &format!("/members/{}/role", user.id));
    admin.patch(&path, json!({ "role": role })).await
}

pub async fn block(actor: &Actor<'_>, other: &User<'_>) {
    actor.post(&format!("/users/{}/block", other.id), json!({})).await.expect(201);
}

/// A request, and where a key names the acting user.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    pub path: String,
    pub body: Option<Value>,
    pub names: &'static str,
}

impl Request {
    fn new(method: Method, path: String, body: Value, names: &'static str) -> Self {
        Request { method, path, body: Some(body).filter(|body| !body.is_null()), names }
    }

    pub fn is_read(&self) -> bool {
        self.method == Method::GET
    }

    pub async fn by(&self, actor: &Actor<'_>) -> Reply {
        actor.send(self.method.clone(), &self.path, self.body.clone()).await
    }

    /// With somebody named as the one who acts.
    pub async fn naming(&self, actor: &Actor<'_>, user: impl ToString) -> Reply {
        let mut request = self.clone();
        match &mut request.body {
            Some(body) => body[self.names] = user.to_string().into(),
            None => {
                let joint = if self.path.contains('?') { '&' } else { '?' };
                request.path += &format!("{joint}{}={}", self.names, user.to_string());
            }
        }
        request.by(actor).await
    }
}

/// What is asked without a conversation.
pub fn requests_of_a_user(other: UserId) -> Vec<Request> {
    let all = "/chat/conversations";
    let new = Request::new;
    vec![
        new(Method::POST, format!("{all}/direct"), json!({ "userId": other }), "actingUserId"),
        new(Method::POST, all.to_owned(), json!({ "type": "group" }), "userId"),
        new(Method::GET, all.to_owned(), Value::Null, "userId"),
        new(Method::GET, format!("{all}/unread-count"), Value::Null, "userId"),
    ]
}

/// What is asked about a conversation, a message of it and another user. What ends something comes last.
pub fn requests_about(conversation: &str, message: &str, other: UserId) -> Vec<Request> {
    let on = |method: Method, rest: &str, body: Value, names: &'static str| {
        Request::new(method, of(conversation, rest), body, names)
    };
    let (message_path, member) = (format!("/messages/{message}"), format!("/members/{other}"));
    let reactions = format!("{message_path}/reactions");
    let (get, post, patch, delete) = (Method::GET, Method::POST, Method::PATCH, Method::DELETE);
    vec![
        on(get.clone(), "", Value::Null, "userId"),
        on(get.clone(), "/preview", Value::Null, "userId"),
        on(patch.clone(), "", json!({ "name": "Other" }), "userId"),
        on(post.clone(), "/mute", json!({ "duration": "8h" }), "userId"),
        on(get.clone(), "/members", Value::Null, "userId"),
        on(post.clone(), "/members", json!({ "userId": other }), "actingUserId"),
        on(patch.clone(), &format!("{member}/role"), json!({ "role": "member" }), "actingUserId"),
        on(get.clone(), "/messages", Value::Null, "userId"),
        on(post.clone(), "/messages", json!({ "content": "x" }), "userId"),
        on(get.clone(), &message_path, Value::Null, "userId"),
        on(patch, &message_path, json!({ "content": "y" }), "userId"),
        on(post.clone(), &reactions, json!({ "emoji": "a" }), "userId"),
        on(get, &format!("{reactions}?emoji=a"), Value::Null, "userId"),
        on(post, "/read", json!({ "messageId": message }), "userId"),
        on(delete.clone(), &message_path, Value::Null, "userId"),
        on(delete.clone(), &member, Value::Null, "actingUserId"),
        on(delete.clone(), "/leave", Value::Null, "userId"),
        on(delete, "", Value::Null, "userId"),
    ]
}
