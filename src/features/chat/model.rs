//! Chat as the API shows it.

use db::JsonText;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::features::chat::conversations::store::ConversationRow;
use crate::features::chat::members::store::MemberRow;
use crate::features::chat::messages::store::MessageRow;
use crate::features::chat::rules::{Kind, Posting, Role};
use crate::features::comments::rules::Gif;
use crate::features::entities::rules::Mention;
use crate::features::files::model::File;
use crate::features::grants::model::Grants;
use crate::features::users::model::{User, raw};
use crate::values::ids::{
    ChatMessageId, ConversationId, ConversationMemberId, FileId, ProjectId, SpaceId, UserId,
};
use crate::values::time::Timestamp;

/// Fields documented so may be absent: the outer `Option` is the key, an inner one its null.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    pub id: ConversationId,
    pub project_id: ProjectId,
    pub r#type: Kind,
    pub name: Option<String>,
    pub description: Option<String>,
    pub space_id: Option<SpaceId>,
    pub created_by_id: Option<UserId>,
    pub avatar_file_id: Option<FileId>,
    /// If there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_file: Option<File>,
    pub last_message_at: Option<Timestamp>,
    pub posting_permission: Option<Posting>,
    #[schemars(with = "Map<String, Value>")]
    pub metadata: Box<RawValue>,
    /// The number of active members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_count: Option<i64>,
    /// The caller's own row, when a single conversation is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_member: Option<Option<Member>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Conversation {
    pub fn new(
        project_id: ProjectId,
        row: &ConversationRow,
        metadata: Option<JsonText>,
    ) -> Result<Self> {
        Ok(Conversation {
            id: row.id,
            project_id,
            r#type: row.kind,
            name: row.name.clone(),
            description: row.description.clone(),
            space_id: row.space_id,
            created_by_id: row.created_by_id,
            avatar_file_id: row.avatar_file_id,
            avatar_file: None,
            last_message_at: row.last_message_at,
            posting_permission: row.posting_permission,
            metadata: raw(metadata.map_or_else(|| "{}".to_owned(), |metadata| metadata.0))?,
            member_count: None,
            current_member: None,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }

    /// As its creator sees it.
    pub fn of(self, row: &ConversationRow, own: Option<Member>) -> Self {
        Conversation { member_count: Some(row.member_count), current_member: Some(own), ..self }
    }
}

/// A conversation in a user's list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationPreview {
    #[serde(flatten)]
    pub conversation: Conversation,
    pub unread_count: i64,
    pub muted_until: Option<Timestamp>,
    pub muted_forever: bool,
    pub last_message: Option<LastMessage>,
    pub other_members: Vec<OtherMember>,
}

/// A group that was just created, as clients add it to their list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewConversation {
    #[serde(flatten)]
    pub conversation: Conversation,
    pub unread_count: i64,
    pub last_message: Option<LastMessage>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastMessage {
    pub id: ChatMessageId,
    pub conversation_id: ConversationId,
    /// Its first 100 characters.
    pub content: Option<String>,
    #[schemars(with = "Option<Gif>")]
    pub gif: Option<Box<RawValue>>,
    pub user_id: Option<UserId>,
    pub user_deleted_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub files: Vec<File>,
    /// Null in a direct conversation.
    pub user: Option<Speaker>,
}

/// The author of a message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessageUser")]
pub struct Speaker {
    pub id: UserId,
    pub name: Option<String>,
    pub username: Option<String>,
    pub avatar: Option<String>,
    pub reputation: i64,
    /// Only when a space is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space_reputation: Option<i64>,
}

impl From<&User> for Speaker {
    fn from(user: &User) -> Self {
        Speaker {
            id: user.id,
            name: user.name.clone(),
            username: user.username.clone(),
            avatar: user.avatar.clone(),
            reputation: user.reputation,
            space_reputation: user.space_reputation,
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OtherMember {
    pub id: UserId,
    pub name: Option<String>,
    pub username: Option<String>,
    pub avatar: Option<String>,
}

impl From<&User> for OtherMember {
    fn from(user: &User) -> Self {
        OtherMember {
            id: user.id,
            name: user.name.clone(),
            username: user.username.clone(),
            avatar: user.avatar.clone(),
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConversationMember")]
pub struct Member {
    pub id: ConversationMemberId,
    pub project_id: ProjectId,
    pub conversation_id: ConversationId,
    pub user_id: UserId,
    pub role: Option<Role>,
    pub last_read_at: Option<Timestamp>,
    /// Only on the caller's own row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub muted_until: Option<Option<Timestamp>>,
    /// Only on the caller's own row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub muted_forever: Option<bool>,
    pub is_active: bool,
    pub left_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// In lists and events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<MemberUser>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConversationMemberUser")]
pub struct MemberUser {
    #[serde(flatten)]
    pub speaker: Speaker,
    #[schemars(with = "Map<String, Value>")]
    pub metadata: Box<RawValue>,
}

impl From<&User> for MemberUser {
    fn from(user: &User) -> Self {
        MemberUser { speaker: user.into(), metadata: user.metadata.clone() }
    }
}

impl Member {
    /// As other members see it.
    pub fn new(project_id: ProjectId, row: &MemberRow) -> Self {
        Member {
            id: row.id,
            project_id,
            conversation_id: row.conversation_id,
            user_id: row.user_id,
            role: row.role,
            last_read_at: row.last_read_at,
            muted_until: None,
            muted_forever: None,
            is_active: row.is_active,
            left_at: row.left_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
            user: None,
        }
    }

    /// As the member sees it.
    pub fn own(project_id: ProjectId, row: &MemberRow, now: Timestamp) -> Self {
        Member {
            muted_until: Some(row.muted_until.filter(|until| *until > now)),
            muted_forever: Some(row.muted_forever),
            ..Member::new(project_id, row)
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    pub id: ChatMessageId,
    /// The id that the sender's client chose; only in the reply to the sender, and in its event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_id: Option<String>,
    pub project_id: ProjectId,
    pub conversation_id: ConversationId,
    pub user_id: Option<UserId>,
    pub user: Option<User>,
    pub content: Option<String>,
    #[schemars(with = "Option<Gif>")]
    pub gif: Option<Box<RawValue>>,
    #[schemars(with = "Vec<Mention>")]
    pub mentions: Box<RawValue>,
    /// In lists only with `include=files`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<File>>,
    #[schemars(with = "Map<String, Value>")]
    pub metadata: Box<RawValue>,
    pub parent_message_id: Option<ChatMessageId>,
    pub quoted_message_id: Option<ChatMessageId>,
    /// One level deep; null if nothing is quoted, or what was quoted is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quoted_message: Option<Option<Box<ChatMessage>>>,
    pub thread_reply_count: i64,
    #[schemars(with = "std::collections::BTreeMap<String, i64>")]
    pub reaction_counts: Box<RawValue>,
    pub user_reactions: Vec<String>,
    /// With `include=grants`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<Grants>,
    pub edited_at: Option<Timestamp>,
    pub user_deleted_at: Option<Timestamp>,
    pub moderation_status: Option<String>,
    pub moderated_at: Option<Timestamp>,
    pub moderated_by_id: Option<UserId>,
    pub moderated_by_type: Option<String>,
    pub moderation_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl ChatMessage {
    /// Without what other tables hold: author, quoted message, files, the viewer's reactions.
    pub fn new(project_id: ProjectId, row: MessageRow) -> Result<Self> {
        Ok(ChatMessage {
            id: row.id,
            local_id: None,
            project_id,
            conversation_id: row.conversation_id,
            user_id: row.user_id,
            user: None,
            content: row.content,
            gif: row.gif.map(|gif| raw(gif.0)).transpose()?,
            mentions: raw(row.mentions.0)?,
            files: None,
            metadata: raw(row.metadata.0)?,
            parent_message_id: row.parent_message_id,
            quoted_message_id: row.quoted_message_id,
            quoted_message: None,
            thread_reply_count: row.thread_reply_count,
            reaction_counts: raw(row.reaction_counts.0)?,
            user_reactions: Vec::new(),
            grants: None,
            edited_at: row.edited_at,
            user_deleted_at: row.user_deleted_at,
            moderation_status: row.moderation.shown_status(),
            moderated_at: row.moderation.moderated_at,
            moderated_by_id: row.moderation.moderated_by_id,
            moderated_by_type: row.moderation.shown_by_type(),
            moderation_reason: row.moderation.moderation_reason,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}
