//! Rows as replies and events, with their authors, files, quotes and reactions: one statement for each kind,
//! however many rows.

use std::collections::HashMap;
use std::sync::Arc;

use db::Conn;

use crate::error::Result;
use crate::features::chat::conversations::store::reading;
use crate::features::chat::conversations::store::{self as conversations, ConversationRow};
use crate::features::chat::members::store::{self as members, MemberRow};
use crate::features::chat::messages::store::{self as messages, MessageRow};
use crate::features::chat::model::{
    ChatMessage, Conversation, ConversationPreview, LastMessage, Member, OtherMember, Speaker,
};
use crate::features::chat::rules::Kind;
use crate::features::files::{self, model::File};
use crate::features::grants;
use crate::features::users::model::{self as users, User, raw};
use crate::features::users::reputation::{self, Bucket};
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{ChatMessageId, ConversationId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// Characters of a message in a preview.
const PREVIEW: usize = 100;

/// How messages are shown.
#[derive(Debug, Clone)]
pub struct View {
    pub links: Links,
    /// Whose reactions are shown.
    pub viewer: Option<UserId>,
    pub with_files: bool,
    /// The project, if what was given for each message is shown.
    pub with_grants: Option<Arc<Project>>,
    pub points: Points,
}

/// Which points of users are shown, and the space they may be of.
pub type Points = Option<(Bucket, Option<SpaceId>)>;

pub fn add_points(
    c: &Conn<'_>,
    project: ProjectId,
    people: &mut HashMap<UserId, User>,
    points: Points,
) -> Result<()> {
    let Some((bucket, space)) = points else { return Ok(()) };
    let shown = people.values_mut().map(|user| user.points_in(bucket.of(space)));
    reputation::add_points(c, project, shown.collect())
}

/// A conversation with its avatar.
pub fn conversation(c: &Conn<'_>, links: &Links, row: &ConversationRow) -> Result<Conversation> {
    let mut metadata = conversations::metadata(c, links.project, &[row.id])?;
    let shown = Conversation::new(links.project, row, metadata.remove(&row.id))?;
    let Some(id) = row.avatar_file_id else { return Ok(shown) };
    let file = files::store::find(c, links.project, id)?;
    let avatar_file = file.map(|row| files::model::show(links, &row)).transpose()?;
    Ok(Conversation { avatar_file, ..shown })
}

/// The same for a user, with the number of members and their own row, if they have one.
pub fn own_conversation(
    c: &Conn<'_>,
    links: &Links,
    row: &ConversationRow,
    member: Option<&MemberRow>,
    now: Timestamp,
) -> Result<Conversation> {
    let own = member.map(|member| Member::own(links.project, member, now));
    Ok(conversation(c, links, row)?.of(row, own))
}

impl View {
    /// As its author sees it.
    pub fn written(links: Links, viewer: Option<UserId>) -> Self {
        View { links, viewer, with_files: true, with_grants: None, points: None }
    }

    pub fn messages(&self, c: &Conn<'_>, rows: Vec<MessageRow>) -> Result<Vec<ChatMessage>> {
        let project = self.links.project;
        let quoted: Vec<ChatMessageId> =
            rows.iter().filter_map(|row| row.quoted_message_id).collect();
        let quoted = messages::find_all(c, project, &quoted)?;
        let all = || rows.iter().chain(&quoted);
        let mut authors =
            users::shown(c, &self.links, all().filter_map(|row| row.user_id).collect())?;
        add_points(c, project, &mut authors, self.points)?;
        let with_files = all().filter(|row| row.has_files).map(|row| row.id).collect::<Vec<_>>();
        let files =
            if self.with_files { files(c, &self.links, &with_files)? } else { HashMap::new() };
        let ids: Vec<ChatMessageId> = all().map(|row| row.id).collect();
        let mut reactions: HashMap<ChatMessageId, Vec<String>> = HashMap::new();
        if let Some(viewer) = self.viewer.filter(|_| !ids.is_empty()) {
            for (id, emoji) in messages::own_reactions(c, project, &ids, viewer)? {
                reactions.entry(id).or_default().push(emoji);
            }
        }
        let given = match &self.with_grants {
            Some(project) => {
                let ids = ids.iter().map(|id| id.0).collect();
                Some(grants::store::summaries(c, project, ids, self.viewer)?)
            }
            None => None,
        };
        // A quoted message may be shown more than once.
        let show = |row: MessageRow| -> Result<ChatMessage> {
            let user = row.user_id.and_then(|user| authors.get(&user)).cloned();
            let files = self.with_files.then(|| files.get(&row.id).cloned().unwrap_or_default());
            let user_reactions = reactions.get(&row.id).cloned().unwrap_or_default();
            let grants =
                given.as_ref().map(|given| given.get(&row.id.0).copied().unwrap_or_default());
            Ok(ChatMessage {
                user,
                files,
                user_reactions,
                grants,
                ..ChatMessage::new(project, row)?
            })
        };
        let quote = |id: ChatMessageId| -> Result<Option<Box<ChatMessage>>> {
            let found = quoted.iter().find(|row| row.id == id && !row.is_removed);
            found.map(|row| show(row.clone()).map(Box::new)).transpose()
        };
        let with_quote = |row: MessageRow| {
            let quoted_message = row.quoted_message_id.map(quote).transpose()?.flatten();
            Ok(ChatMessage { quoted_message: Some(quoted_message), ..show(row)? })
        };
        rows.iter().cloned().map(with_quote).collect()
    }

    pub fn message(&self, c: &Conn<'_>, row: MessageRow) -> Result<ChatMessage> {
        let shown = self.messages(c, vec![row])?.pop();
        shown.ok_or_else(|| crate::error::Error::internal("a message was not shown"))
    }
}

pub fn files(
    c: &Conn<'_>,
    links: &Links,
    ids: &[ChatMessageId],
) -> Result<HashMap<ChatMessageId, Vec<File>>> {
    let mut files: HashMap<ChatMessageId, Vec<File>> = HashMap::new();
    for row in files::store::of_messages(c, links.project, ids)? {
        if let Some(id) = row.chat_message_id {
            files.entry(id).or_default().push(files::model::show(links, &row)?);
        }
    }
    Ok(files)
}

/// Conversations as shown in a user's list, in the order of the ids.
pub fn previews(
    c: &Conn<'_>,
    links: &Links,
    ids: &[ConversationId],
    viewer: UserId,
    now: Timestamp,
) -> Result<Vec<ConversationPreview>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let project = links.project;
    let rows = conversations::find_all(c, project, ids)?;
    let mut metadata = conversations::metadata(c, project, ids)?;
    let own = members::own(c, project, viewer, ids)?;
    let unread: HashMap<_, _> = reading::unread(c, project, viewer, ids)?.into_iter().collect();
    let last = messages::find_all(c, project, &reading::last_messages(c, project, ids)?)?;
    let with_others = rows.iter().filter(|row| row.kind != Kind::Space).map(|row| row.id);
    let others = members::others(c, project, &with_others.collect::<Vec<_>>(), viewer)?;
    let named =
        others.iter().map(|(_, user)| *user).chain(last.iter().filter_map(|row| row.user_id));
    let people = users::shown(c, links, named.collect())?;
    let with_files: Vec<_> = last.iter().filter(|row| row.has_files).map(|row| row.id).collect();
    let mut files = files(c, links, &with_files)?;
    let mut last: HashMap<ConversationId, MessageRow> =
        last.into_iter().map(|row| (row.conversation_id, row)).collect();
    let preview = |id: &ConversationId| -> Option<Result<ConversationPreview>> {
        let row = rows.iter().find(|row| row.id == *id)?;
        let member = own.iter().find(|member| member.conversation_id == *id)?;
        let message = last.remove(id).map(|message| {
            let files = files.remove(&message.id).unwrap_or_default();
            last_message(row, message, files, &people)
        });
        let others = others.iter().filter(|(of, _)| of == id);
        let others =
            others.filter_map(|(_, user)| people.get(user)).map(OtherMember::from).collect();
        let conversation = Conversation::new(project, row, metadata.remove(id));
        let finish = |conversation: Conversation| {
            Ok(ConversationPreview {
                conversation: Conversation { member_count: Some(row.member_count), ..conversation },
                unread_count: unread.get(id).copied().unwrap_or(0),
                muted_until: member.muted_until.filter(|until| *until > now),
                muted_forever: member.muted_forever,
                last_message: message.transpose()?,
                other_members: others,
            })
        };
        Some(conversation.and_then(finish))
    };
    ids.iter().filter_map(preview).collect()
}

fn last_message(
    conversation: &ConversationRow,
    row: MessageRow,
    files: Vec<File>,
    people: &HashMap<UserId, User>,
) -> Result<LastMessage> {
    let author = row.user_id.and_then(|user| people.get(&user)).map(Speaker::from);
    Ok(LastMessage {
        id: row.id,
        conversation_id: row.conversation_id,
        content: row.content.map(|text| text.chars().take(PREVIEW).collect()),
        gif: row.gif.map(|gif| raw(gif.0)).transpose()?,
        user_id: row.user_id,
        user_deleted_at: row.user_deleted_at,
        created_at: row.created_at,
        files,
        user: author.filter(|_| conversation.kind != Kind::Direct),
    })
}
