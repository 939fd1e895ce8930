//! The SQL about entities saved in collections. Counting, and sorting by anything but the time of saving,
//! reads everything saved in the collection, so it runs under the statement deadline. A page in the order of
//! saving is read off an index.

use std::collections::HashSet;

use db::{Builder, Conn, Query, Tx, args};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::spaces::store::access::Reader;
use crate::features::visibility::store::blocks::Hidden;
use crate::http::input::Direction;
use crate::http::page::Page;
use crate::values::ids::{CollectionEntityId, CollectionId, EntityId, ProjectId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SortBy {
    #[default]
    New,
    Top,
    Hot,
    /// By the time of saving.
    Added,
}

/// The entities in collection `$2` that user `$3` may see; `rules::is_shown` in SQL. SQLite keeps the order
/// of a CROSS JOIN.
const SHOWN: &str = "FROM collection_entities l CROSS JOIN entities e
    WHERE l.project_id = $1 AND l.collection_id = $2
        AND e.project_id = $1 AND e.id = l.entity_id
        AND (e.is_listed OR (e.is_draft AND e.user_id = $3 AND e.deleted_at IS NULL
            AND COALESCE(e.moderation_status, '') <> 'removed'))";

db::statements! {
    query IN_ORDER -> (CollectionId, EntityId) =
        "SELECT collection_id, entity_id FROM collection_entities
         WHERE project_id = $1 AND collection_id {any}($2) ORDER BY created_at, id LIMIT $3";
    query HOLDERS -> (CollectionId, String) =
        "SELECT c.id, c.name FROM collection_entities l
            JOIN collections c ON c.project_id = l.project_id AND c.id = l.collection_id
         WHERE l.project_id = $1 AND l.entity_id = $2 AND l.user_id = $3 ORDER BY c.name, c.id";
    query SAVED -> EntityId =
        "SELECT DISTINCT entity_id FROM collection_entities
         WHERE project_id = $1 AND user_id = $2 AND entity_id {any}($3)";
    command INSERT =
        "INSERT INTO collection_entities (project_id, collection_id, entity_id, id, user_id, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    command DELETE =
        "DELETE FROM collection_entities
         WHERE project_id = $1 AND collection_id = $2 AND entity_id = $3";
}

impl SortBy {
    const fn order(self, direction: Direction) -> &'static str {
        match (self, direction) {
            (SortBy::New, Direction::Desc) => "e.created_at DESC, e.id DESC",
            (SortBy::New, Direction::Asc) => "e.created_at ASC, e.id DESC",
            (SortBy::Top, Direction::Desc) => "e.upvote_count DESC, e.created_at DESC, e.id DESC",
            (SortBy::Top, Direction::Asc) => "e.upvote_count ASC, e.created_at DESC, e.id DESC",
            (SortBy::Hot, Direction::Desc) => "e.score DESC, e.created_at DESC, e.id DESC",
            (SortBy::Hot, Direction::Asc) => "e.score ASC, e.created_at DESC, e.id DESC",
            (SortBy::Added, Direction::Desc) => "l.created_at DESC, l.id DESC",
            (SortBy::Added, Direction::Asc) => "l.created_at ASC, l.id ASC",
        }
    }
}

/// What is shown of a collection: no authors that are blocked for its owner, no spaces the owner may not
/// read.
fn shown(
    project: ProjectId,
    collection: CollectionId,
    owner: UserId,
    hidden: &Hidden,
) -> Builder<'static> {
    let mut conditions = Builder::all([project.into(), collection.into(), owner.into()]);
    conditions.add(hidden.condition("e.user_id", "$3"));
    let reads = Reader::from(Perspective::User(owner)).reads("e.space_id", &mut conditions);
    let own = Reader::AUTHOR.reads("e.space_id", &mut conditions);
    conditions.add(format_args!("({reads} OR (e.user_id = $3 AND {own}))"));
    conditions
}

pub fn count_shown(
    c: &Conn<'_>,
    project: ProjectId,
    collection: CollectionId,
    owner: UserId,
    hidden: &Hidden,
) -> Result<i64> {
    let conditions = shown(project, collection, owner, hidden);
    let text = format!("SELECT count(*) {SHOWN} AND {conditions}");
    Ok(c.one(&Query::<i64>::built("collections::links::count", text), conditions.args())?)
}

/// The ids of a page of the visible entities, in order.
pub fn page(
    c: &Conn<'_>,
    project: ProjectId,
    collection: CollectionId,
    owner: UserId,
    (sort, direction): (SortBy, Direction),
    page: Page,
    hidden: &Hidden,
) -> Result<Vec<EntityId>> {
    let (mut conditions, order) =
        (shown(project, collection, owner, hidden), sort.order(direction));
    let (limit, offset) = (conditions.bind(page.limit), conditions.bind(page.offset()));
    let text = format!(
        "SELECT e.id {SHOWN} AND {conditions} ORDER BY {order} LIMIT {limit} OFFSET {offset}"
    );
    Ok(c.all(&Query::<EntityId>::built("collections::links::page", text), conditions.args())?)
}

/// Entities saved in any of the collections, oldest first, up to a limit.
pub fn in_order(
    c: &Conn<'_>,
    project: ProjectId,
    collections: &[CollectionId],
    most: usize,
) -> Result<Vec<(CollectionId, EntityId)>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    Ok(c.all(&IN_ORDER, args![project, CollectionId::list(collections), most])?)
}

/// The user's collections that hold the entity, by name.
pub fn holders(
    c: &Conn<'_>,
    project: ProjectId,
    entity: EntityId,
    user: UserId,
) -> Result<Vec<(CollectionId, String)>> {
    Ok(c.all(&HOLDERS, args![project, entity, user])?)
}

/// Those of the entities that the user has saved anywhere.
pub fn saved(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    entities: &[EntityId],
) -> Result<HashSet<EntityId>> {
    if entities.is_empty() {
        return Ok(HashSet::new());
    }
    let saved = c.all(&SAVED, args![project, user, EntityId::list(entities)])?;
    Ok(saved.into_iter().collect())
}

/// An entity in a collection.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    pub id: CollectionEntityId,
    pub user: UserId,
    pub collection: CollectionId,
    pub entity: EntityId,
}

/// False if it was there already. The caller has locked the collection and, shared, the entity.
pub fn insert(tx: &Tx<'_>, project: ProjectId, new: Link, now: Timestamp) -> Result<bool> {
    let Link { id, user, collection, entity } = new;
    Ok(tx.execute(&INSERT, args![project, collection, entity, id, user, now])? > 0)
}

/// False if it was not there. The caller has locked the collection.
pub fn delete(
    tx: &Tx<'_>,
    project: ProjectId,
    collection: CollectionId,
    entity: EntityId,
) -> Result<bool> {
    Ok(tx.execute(&DELETE, args![project, collection, entity])? > 0)
}
