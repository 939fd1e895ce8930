//! From records to documents: which text of a record is searched, who may read it, and what else has to be looked at
//! when it changes.

use std::collections::{HashMap, HashSet};

use db::Conn;
use text_index::{Analyzer, Document};
use uuid::Uuid;

use crate::error::Result;
use crate::features::search::class::Class;
use crate::features::search::store::texts::{self, TextRow};
use crate::features::search::store::{DocRow, TodoRow};
use crate::features::spaces::rules::{Reading, Visibility};
use crate::search_queue::Kind;
use crate::values::ids::{ProjectId, SpaceId};

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
    let mut there = load_spaces(c, project, of(Kind::Space), analyzer, &mut found)?;
    for (kind, rows) in [
        (Kind::Entity, texts::entities(c, project, of(Kind::Entity))?),
        (Kind::Comment, texts::comments(c, project, of(Kind::Comment))?),
        (Kind::Message, texts::messages(c, project, of(Kind::Message))?),
    ] {
        add_written(c, project, (kind, rows), analyzer, &mut found)?;
    }
    there.extend(load_users(c, project, of(Kind::User), analyzer, &mut found)?);
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
    let ids: HashSet<Uuid> = ids.map(|id| id.0).collect();
    let rows = texts::spaces(c, project, Vec::from_iter(ids))?;
    Ok(rows.iter().map(|row| (row.id, row.reading_permission == Reading::Anyone)).collect())
}

/// The class of content in a space or in none; none if the space is deleted. Messages are for the members of their
/// conversation.
fn class_in(open: &HashMap<SpaceId, bool>, kind: Kind, space: Option<SpaceId>) -> Option<Class> {
    let is_open = match space {
        Some(space) if kind != Kind::Message => *open.get(&space)?,
        _ => true,
    };
    Some(Class::of(kind, is_open))
}

/// Entities, comments or messages.
fn add_written(
    c: &Conn<'_>,
    project: ProjectId,
    (kind, rows): (Kind, Vec<TextRow>),
    analyzer: &Analyzer,
    found: &mut Loaded,
) -> Result<()> {
    let open = readable(c, project, rows.iter().filter_map(|row| row.space_id))?;
    for row in rows {
        let Some(class) = class_in(&open, kind, row.space_id) else { continue };
        let keywords = row.keywords.map(|keywords| serde_json::from_str(&keywords.0));
        let keywords: Vec<String> = keywords.and_then(Result::ok).unwrap_or_default();
        let keywords = keywords.join(" \n ");
        let fields = [
            (row.title.as_deref().unwrap_or_default(), TITLE),
            (row.content.as_deref().unwrap_or_default(), 1),
            (keywords.as_str(), 1),
        ];
        let doc = DocRow {
            parent_id: row.parent_id,
            space_id: row.space_id,
            author_id: row.author_id,
            ..DocRow::new(class, row.id, row.created_at)
        };
        add(found, analyzer, doc, &fields);
    }
    Ok(())
}

/// Also which of them exist.
fn load_users(
    c: &Conn<'_>,
    project: ProjectId,
    ids: Vec<Uuid>,
    analyzer: &Analyzer,
    found: &mut Loaded,
) -> Result<HashMap<Uuid, bool>> {
    let mut there = HashMap::new();
    for row in texts::profiles(c, project, ids)? {
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
    ids: Vec<Uuid>,
    analyzer: &Analyzer,
    found: &mut Loaded,
) -> Result<HashMap<Uuid, bool>> {
    let mut open = HashMap::new();
    for row in texts::spaces(c, project, ids)? {
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
