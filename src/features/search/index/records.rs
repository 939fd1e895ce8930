//! From records to documents: which text of a record is searched, who may read it, and what else has to be looked at
//! when it changes.

use std::collections::{HashMap, HashSet};

use db::Conn;
use text_index::{Analyzer, Document};
use uuid::Uuid;

use crate::error::Result;
use crate::features::chat::conversations::store as conversations;
use crate::features::chat::messages::store as messages;
use crate::features::comments::store as comments;
use crate::features::entities::store as entities;
use crate::features::search::class::Class;
use crate::features::search::store::{DocRow, TodoRow};
use crate::features::spaces::rules::{Reading, Visibility};
use crate::features::spaces::store as spaces;
use crate::features::users::store as users;
use crate::search_queue::Kind;
use crate::values::ids::{
    ChatMessageId, CommentId, ConversationId, EntityId, ProjectId, SpaceId, UserId,
};

/// A queued record as it is now.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub todo: TodoRow,
    pub kind: Kind,
    /// None if it is not searched: deleted, removed, a draft, without text.
    pub found: Option<Found>,
    /// A space: whether anybody may read what is in it. A user: true. None if it is deleted.
    pub is_open: Option<bool>,
}

/// What is indexed of a record; its number is not known yet.
#[derive(Debug, Clone)]
pub struct Found {
    pub doc: DocRow,
    pub document: Document,
}

/// How often a word in a title or a name counts.
const TITLE: u32 = 2;

pub fn prepare(
    c: &Conn<'_>,
    project: ProjectId,
    analyzer: &Analyzer,
    todo: Vec<TodoRow>,
) -> Result<Vec<Prepared>> {
    let of = |kind: Kind| -> Vec<Uuid> {
        let those = todo.iter().filter(|row| row.kind == kind.number());
        those.map(|row| row.record_id).collect()
    };
    let mut found = HashMap::new();
    let mut there = load_spaces(c, project, &of(Kind::Space), analyzer, &mut found)?;
    load_entities(c, project, &of(Kind::Entity), analyzer, &mut found)?;
    load_comments(c, project, &of(Kind::Comment), analyzer, &mut found)?;
    load_messages(c, project, &of(Kind::Message), analyzer, &mut found)?;
    there.extend(load_users(c, project, &of(Kind::User), analyzer, &mut found)?);
    let prepared = todo.into_iter().filter_map(|todo| {
        let kind = Kind::from_number(todo.kind)?;
        let found = found.remove(&todo.record_id);
        let is_open = there.get(&todo.record_id).copied();
        Some(Prepared { todo, kind, found, is_open })
    });
    Ok(prepared.collect())
}

type Loaded = HashMap<Uuid, Found>;

fn add(found: &mut Loaded, analyzer: &Analyzer, doc: DocRow, fields: &[(&str, u32)]) {
    let document = Document::new(analyzer, fields);
    if !document.is_empty() {
        found.insert(doc.record_id, Found { doc, document });
    }
}

/// Those of the spaces that exist, and whether anybody may read them.
fn readable(
    c: &Conn<'_>,
    project: ProjectId,
    ids: impl Iterator<Item = SpaceId>,
) -> Result<HashMap<SpaceId, bool>> {
    let ids: HashSet<SpaceId> = ids.collect();
    let rows = spaces::find_all(c, project, &Vec::from_iter(ids))?;
    let is_open = |row: &spaces::SpaceRow| row.reading_permission == Reading::Anyone;
    Ok(rows.iter().map(|row| (row.id, is_open(row))).collect())
}

/// The class of content in a space or in none; none if the space is deleted.
fn class_in(open: &HashMap<SpaceId, bool>, kind: Kind, space: Option<SpaceId>) -> Option<Class> {
    let is_open = match space {
        Some(space) => *open.get(&space)?,
        None => true,
    };
    Some(Class::of(kind, is_open))
}

fn load_entities(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[Uuid],
    analyzer: &Analyzer,
    found: &mut Loaded,
) -> Result<()> {
    let ids: Vec<EntityId> = ids.iter().copied().map(EntityId).collect();
    let mut rows = entities::find_all(c, project, &ids)?;
    rows.retain(|row| row.is_listed);
    let open = readable(c, project, rows.iter().filter_map(|row| row.space_id))?;
    for row in rows {
        let Some(class) = class_in(&open, Kind::Entity, row.space_id) else { continue };
        let keywords: Vec<String> = serde_json::from_str(&row.keywords.0).unwrap_or_default();
        let keywords = keywords.join(" \n ");
        let fields = [
            (row.title.as_deref().unwrap_or_default(), TITLE),
            (row.content.as_deref().unwrap_or_default(), 1),
            (keywords.as_str(), 1),
        ];
        let doc = DocRow {
            space_id: row.space_id,
            author_id: row.user_id,
            ..DocRow::new(class, row.id.0, row.created_at)
        };
        add(found, analyzer, doc, &fields);
    }
    Ok(())
}

fn load_comments(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[Uuid],
    analyzer: &Analyzer,
    found: &mut Loaded,
) -> Result<()> {
    let ids: Vec<CommentId> = ids.iter().copied().map(CommentId).collect();
    let mut rows = comments::find_all(c, project, &ids)?;
    rows.retain(|row| row.is_live() && !row.entity_is_removed && !row.entity_is_draft);
    let open = readable(c, project, rows.iter().filter_map(|row| row.space_id))?;
    for row in rows {
        let Some(class) = class_in(&open, Kind::Comment, row.space_id) else { continue };
        let doc = DocRow {
            parent_id: Some(row.entity_id.0),
            space_id: row.space_id,
            author_id: row.user_id,
            ..DocRow::new(class, row.id.0, row.created_at)
        };
        add(found, analyzer, doc, &[(row.content.as_deref().unwrap_or_default(), 1)]);
    }
    Ok(())
}

fn load_messages(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[Uuid],
    analyzer: &Analyzer,
    found: &mut Loaded,
) -> Result<()> {
    let ids: Vec<ChatMessageId> = ids.iter().copied().map(ChatMessageId).collect();
    let mut rows = messages::find_all(c, project, &ids)?;
    rows.retain(|row| !row.is_removed && row.user_deleted_at.is_none());
    if rows.is_empty() {
        return Ok(());
    }
    let of: HashSet<ConversationId> = rows.iter().map(|row| row.conversation_id).collect();
    let of = conversations::find_all(c, project, &Vec::from_iter(of))?;
    let spaces: HashMap<ConversationId, Option<SpaceId>> =
        of.into_iter().map(|row| (row.id, row.space_id)).collect();
    for row in rows {
        let Some(space) = spaces.get(&row.conversation_id) else { continue };
        let doc = DocRow {
            parent_id: Some(row.conversation_id.0),
            space_id: *space,
            author_id: row.user_id,
            ..DocRow::new(Class::Message, row.id.0, row.created_at)
        };
        add(found, analyzer, doc, &[(row.content.as_deref().unwrap_or_default(), 1)]);
    }
    Ok(())
}

/// Also which of them exist.
fn load_users(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[Uuid],
    analyzer: &Analyzer,
    found: &mut Loaded,
) -> Result<HashMap<Uuid, bool>> {
    let ids: Vec<UserId> = ids.iter().copied().map(UserId).collect();
    let mut there = HashMap::new();
    for row in users::find_all(c, project, &ids)? {
        there.insert(row.id.0, true);
        let fields = [
            (row.name.as_deref().unwrap_or_default(), TITLE),
            (row.username.as_deref().unwrap_or_default(), TITLE),
            (row.bio.as_deref().unwrap_or_default(), 1),
        ];
        let doc = DocRow::new(Class::User, row.id.0, row.created_at);
        add(found, analyzer, doc, &fields);
    }
    Ok(there)
}

/// Also which of them exist, and whether anybody may read what is in them.
fn load_spaces(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[Uuid],
    analyzer: &Analyzer,
    found: &mut Loaded,
) -> Result<HashMap<Uuid, bool>> {
    let ids: Vec<SpaceId> = ids.iter().copied().map(SpaceId).collect();
    let mut open = HashMap::new();
    for row in spaces::find_all(c, project, &ids)? {
        open.insert(row.id.0, row.reading_permission == Reading::Anyone);
        let class = Class::of(Kind::Space, row.visibility == Visibility::Public);
        let fields = [
            (row.name.as_str(), TITLE),
            (row.slug.as_deref().unwrap_or_default(), TITLE),
            (row.description.as_deref().unwrap_or_default(), 1),
        ];
        // Not `space_id`: that is for what is in the space.
        let doc = DocRow::new(class, row.id.0, row.created_at);
        add(found, analyzer, doc, &fields);
    }
    Ok(open)
}
