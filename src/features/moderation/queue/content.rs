//! The content that the items of a page are about, and what is around it.

use std::collections::HashMap;

use db::Conn;
use uuid::Uuid;

use crate::error::Result;
use crate::features::chat::messages::store::{self as messages, MessageRow};
use crate::features::comments::store::{self as comments, CommentRow};
use crate::features::entities::store::{self as entities, EntityRow};
use crate::features::files::store as files;
use crate::features::moderation::queue::model::{Content, ContentState, Parent, Thread};
use crate::features::moderation::queue::show::unique;
use crate::features::moderation::target::{Target, TargetKind};
use crate::features::visibility::moderation::ModerationRow;
use crate::values::ids::{ChatMessageId, CommentId, EntityId, FileId, ProjectId};

/// Comments above a comment that are shown.
const PARENTS: usize = 2;

/// The content of the items, and what is around it.
pub(in crate::features::moderation) struct Contents {
    entities: HashMap<Uuid, EntityRow>,
    comments: HashMap<Uuid, CommentRow>,
    messages: HashMap<Uuid, MessageRow>,
    pub images: HashMap<Uuid, Vec<FileId>>,
}

impl Contents {
    pub fn load(c: &Conn<'_>, project: ProjectId, targets: &[Target]) -> Result<Self> {
        let of = |kind: TargetKind| {
            targets.iter().filter(move |target| target.kind == kind).map(|target| target.id)
        };
        let comment_ids: Vec<CommentId> = of(TargetKind::Comment).map(CommentId).collect();
        let message_ids: Vec<ChatMessageId> = of(TargetKind::Message).map(ChatMessageId).collect();
        let comments = with_parents(c, project, comment_ids.clone())?;
        let around = comments.values().map(|comment| comment.entity_id);
        let entity_ids: Vec<EntityId> = unique(of(TargetKind::Entity).map(EntityId).chain(around));
        let found = entities::find_all_ever(c, project, &entity_ids)?;
        let entities = found.into_iter().map(|row| (row.id.0, row)).collect();
        let found = messages::find_all(c, project, &message_ids)?;
        let messages = found.into_iter().map(|row| (row.id.0, row)).collect();
        let shown: Vec<EntityId> = unique(of(TargetKind::Entity).map(EntityId));
        let mut images: HashMap<Uuid, Vec<FileId>> = HashMap::new();
        let all = files::of_entities(c, project, &shown)?.into_iter();
        let all = all.chain(files::of_comments(c, project, &comment_ids)?);
        for file in all.chain(files::of_messages(c, project, &message_ids)?) {
            let holder = file.entity_id.map(|id| id.0).or(file.comment_id.map(|id| id.0));
            let holder = holder.or(file.chat_message_id.map(|id| id.0));
            if let Some(holder) = holder.filter(|_| file.mime.starts_with("image/")) {
                images.entry(holder).or_default().push(file.id);
            }
        }
        Ok(Contents { entities, comments, messages, images })
    }

    pub fn content(&self, target: Target) -> Option<Content> {
        match target.kind {
            TargetKind::Entity => self.entities.get(&target.id).map(of_entity),
            TargetKind::Comment => self.comments.get(&target.id).map(of_comment),
            TargetKind::Message => self.messages.get(&target.id).map(of_message),
            TargetKind::User => None,
        }
    }

    pub fn thread(&self, target: Target) -> Thread {
        let Some(comment) = self.comments.get(&target.id) else { return Thread::default() };
        let entity = self.entities.get(&comment.entity_id.0);
        let (mut parents, mut above) = (Vec::new(), comment.parent_id);
        while let Some(parent) = above.and_then(|id| self.comments.get(&id.0)) {
            if parents.len() == PARENTS {
                break;
            }
            let text = parent.content.clone();
            parents.push(Parent { comment: parent.id, author: parent.user_id, text });
            above = parent.parent_id;
        }
        Thread { entity_title: entity.and_then(|row| row.title.clone()), parents }
    }
}

/// Comments and those above them.
fn with_parents(
    c: &Conn<'_>,
    project: ProjectId,
    ids: Vec<CommentId>,
) -> Result<HashMap<Uuid, CommentRow>> {
    let (mut all, mut next) = (HashMap::new(), ids);
    for _ in 0..=PARENTS {
        let found = comments::find_all_ever(c, project, &next)?;
        next = unique(found.iter().filter_map(|row| row.parent_id));
        all.extend(found.into_iter().map(|row| (row.id.0, row)));
        next.retain(|id| !all.contains_key(&id.0));
    }
    Ok(all)
}

fn state(is_deleted: bool, moderation: &ModerationRow) -> ContentState {
    match (is_deleted, moderation.is_removed()) {
        (false, true) if moderation.is_held() => ContentState::Held,
        (true, _) => ContentState::Deleted,
        (false, true) => ContentState::Removed,
        (false, false) => ContentState::Visible,
    }
}

fn of_entity(row: &EntityRow) -> Content {
    Content {
        title: row.title.clone(),
        text: row.content.clone(),
        state: state(row.deleted_at.is_some() || row.is_emptied, &row.moderation),
        entity: Some(row.id),
        conversation: None,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

fn of_comment(row: &CommentRow) -> Content {
    let is_deleted = row.deleted_at.is_some() || row.user_deleted_at.is_some();
    Content {
        title: None,
        text: row.content.clone(),
        state: state(is_deleted, &row.moderation),
        entity: Some(row.entity_id),
        conversation: None,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

fn of_message(row: &MessageRow) -> Content {
    let is_deleted = row.user_deleted_at.is_some();
    Content {
        title: None,
        text: row.content.clone(),
        state: state(is_deleted, &row.moderation),
        entity: None,
        conversation: Some(row.conversation_id),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
