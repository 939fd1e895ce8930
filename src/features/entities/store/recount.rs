//! Stored counts of feeds and of reactions against what they count, for the operator's check-up.
//! Both may be examined and repaired while a server is at work.

use std::collections::BTreeMap;

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::entities::store::{self, feed_totals};
use crate::features::reactions;
use crate::features::reactions::store::miscounted::miscounted_reactions;
use crate::features::reactions::target::TargetId;
use crate::values::ids::{EntityId, ProjectId, SpaceId, UserId};

db::row! {
    /// A listed entity, or a stored count.
    #[derive(Debug)]
    pub struct FeedRow {
        pub id: Option<EntityId>,
        pub space_id: Option<SpaceId>,
        pub source_id: Option<String>,
        pub user_id: Option<UserId>,
        pub keywords: Option<JsonText>,
        pub scope: Option<String>,
        pub shard: Option<i64>,
        pub total: Option<i64>,
    }
}

db::statements! {
    query PROJECTS -> ProjectId, unscoped "the operator examines every project" =
        "SELECT id FROM projects ORDER BY id";
    /// Both sides in one statement, so that they are of one moment.
    query FEEDS -> FeedRow =
        "SELECT e.id, e.space_id, e.source_id, e.user_id, b.keywords, NULL AS scope, NULL AS shard,
            NULL AS total
         FROM entities e JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id
         WHERE e.project_id = $1 AND e.is_listed
         UNION ALL
         SELECT NULL, NULL, NULL, NULL, NULL, c.scope, c.shard, c.total
         FROM entity_counts c WHERE c.project_id = $1";
    command LOCK =
        "INSERT INTO entity_counts (project_id, scope, shard, total, within, space_id)
         VALUES ($1, $2, $3, 0, $4, $5)
         ON CONFLICT (project_id, scope, shard) DO UPDATE SET total = entity_counts.total";
    command SET =
        "UPDATE entity_counts SET total = $4 WHERE project_id = $1 AND scope = $2 AND shard = $3";
    command FORGET_EMPTY = "DELETE FROM entity_counts WHERE project_id = $1 AND total = 0";
    query MISCOUNTED -> (ProjectId, EntityId), unscoped "the operator examines every project" =
        miscounted_reactions!("entities");
}

/// Scope and shard.
type Key = (String, i64);

/// A count as it is stored and as it should be.
#[derive(Debug, Default)]
struct Compared {
    part: feed_totals::Part,
    stored: i64,
    found: i64,
}

pub fn projects(c: &Conn<'_>) -> Result<Vec<ProjectId>> {
    Ok(c.all(&PROJECTS, args![])?)
}

/// The counts of feeds that are not what they should be.
pub fn drifted_feeds(c: &Conn<'_>, project: ProjectId) -> Result<Vec<Key>> {
    let feeds = feeds(c, project)?.into_iter();
    Ok(feeds.filter(|(_, one)| one.stored != one.found).map(|(key, _)| key).collect())
}

/// Repairs the feed totals; how many were wrong. A listed entity and its totals change in one transaction, so
/// once a total is locked all entities it counts are committed.
pub fn repair_feeds(tx: &Tx<'_>, project: ProjectId) -> Result<u64> {
    let mut wrong = feeds(tx, project)?;
    wrong.retain(|_, one| one.stored != one.found);
    for ((scope, shard), one) in &wrong {
        let (within, space) = one.part.clone().unzip();
        tx.execute(&LOCK, args![project, scope, *shard, &within, space])?;
    }
    let feeds = feeds(tx, project)?;
    for key in wrong.keys() {
        let found = feeds.get(key).map_or(0, |one| one.found);
        tx.execute(&SET, args![project, &key.0, key.1, found])?;
    }
    tx.execute(&FORGET_EMPTY, args![project])?;
    Ok(wrong.len() as u64)
}

/// Every count of a project.
fn feeds(c: &Conn<'_>, project: ProjectId) -> Result<BTreeMap<Key, Compared>> {
    let mut feeds: BTreeMap<Key, Compared> = BTreeMap::new();
    let mut unreadable = None;
    c.each(&FEEDS, args![project], |row| match row {
        FeedRow {
            id: Some(id), space_id, source_id, user_id, keywords: Some(keywords), ..
        } => match feed_totals::counted_in(space_id, source_id, user_id, &keywords) {
            Ok(counted) => {
                for (scope, part) in counted {
                    let one = feeds.entry((scope, feed_totals::shard(id))).or_default();
                    (one.part, one.found) = (part, one.found + 1);
                }
            }
            Err(error) => unreadable = Some(error),
        },
        FeedRow { scope: Some(scope), shard: Some(shard), total: Some(total), .. } => {
            feeds.entry((scope, shard)).or_default().stored = total;
        }
        _ => {}
    })?;
    unreadable.map_or(Ok(feeds), Err)
}

/// The entities whose counts of reactions are not what they should be.
pub fn miscounted(c: &Conn<'_>) -> Result<Vec<(ProjectId, EntityId)>> {
    Ok(c.all(&MISCOUNTED, args![])?)
}

/// A reaction updates its entity in the same transaction, so once the entity is locked all reactions are committed.
pub fn repair_reactions(tx: &Tx<'_>, project: ProjectId, id: EntityId) -> Result<()> {
    let Some(entity) = store::find_for_update(tx, project, id)? else { return Ok(()) };
    let found = reactions::store::counts(tx, project, TargetId::Entity(id))?;
    store::change_reactions(tx, project, id, found.less(entity.reactions))
}
