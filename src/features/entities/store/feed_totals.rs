//! How many listed entities each feed has, and how many of them in each space, updated in the transaction
//! that changes it. An entity always counts in the same shard, so a shard never goes below zero.

use std::collections::BTreeMap;

use db::{Builder, Command, Conn, JsonText, Query, Tx, args};

use crate::error::Result;
use crate::features::entities::store::EntityRow;
use crate::features::spaces::store::access::Reader;
use crate::values::ids::{EntityId, ProjectId, SpaceId, UserId};

const SHARDS: u8 = 16;

/// A feed whose size is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    Project,
    Space(SpaceId),
    NoSpace,
    Source(String),
    NoSource,
    /// Without a space and a source.
    Loose,
    Author(UserId),
    Keyword(String),
    /// With the keyword and a source. No feed of its own: the rest of the keyword's feed is one.
    SourcedKeyword(String),
    /// With the keyword and without a source, the default of version 6. Not stored: the difference of the two
    /// above, because few entities have a source.
    UnsourcedKeyword(String),
}

impl Scope {
    pub(in crate::features::entities) fn key(&self) -> String {
        match self {
            Scope::Project => "project".to_owned(),
            Scope::Space(id) => format!("space:{id}"),
            Scope::NoSpace => "no-space".to_owned(),
            Scope::Source(id) => format!("source:{id}"),
            Scope::NoSource => "no-source".to_owned(),
            Scope::Loose => "loose".to_owned(),
            Scope::Author(id) => format!("author:{id}"),
            Scope::Keyword(word) => format!("keyword:{word}"),
            Scope::SourcedKeyword(word) => format!("sourced-keyword:{word}"),
            Scope::UnsourcedKeyword(word) => format!("unsourced-keyword:{word}"),
        }
    }
}

/// The feed and space of a partial count; none for the count of a whole feed.
pub(in crate::features::entities) type Part = Option<(String, SpaceId)>;

/// Counts by their names.
pub(in crate::features::entities) type Counted = BTreeMap<String, Part>;

db::statements! {
    query TOTAL -> i64 =
        "SELECT CAST(COALESCE(sum(total), 0) AS {int}) FROM entity_counts
         WHERE project_id = $1 AND scope = $2";
}

/// The length of a feed whose entities all have the same visibility: one space, or none.
pub fn total(c: &Conn<'_>, project: ProjectId, scope: &Scope) -> Result<i64> {
    Ok(c.one(&TOTAL, args![project, scope.key()])?)
}

db::row! {
    /// The length of a feed, and how much of it the reader may not read.
    #[derive(Debug, Clone, Copy)]
    pub struct Size {
        pub all: i64,
        pub unreadable: i64,
    }
}

impl Size {
    pub fn readable(self) -> i64 {
        self.all - self.unreadable
    }

    /// Whether a scan of the feed skips more entities than it finds.
    pub fn is_sparse(self) -> bool {
        self.unreadable > self.readable()
    }
}

/// The length of the feed for a reader.
pub fn size(c: &Conn<'_>, project: ProjectId, scope: &Scope, reader: Reader) -> Result<Size> {
    if matches!(scope, Scope::Space(_) | Scope::NoSpace | Scope::Loose) {
        return Ok(Size { all: total(c, project, scope)?, unreadable: 0 });
    }
    let mut sql = Builder::list([project.into()]);
    let (feeds, sourced) = match scope {
        Scope::UnsourcedKeyword(word) => {
            let all = sql.bind(Scope::Keyword(word.clone()).key());
            let sourced = sql.bind(Scope::SourcedKeyword(word.clone()).key());
            (format!("IN ({all}, {sourced})"), Some(sourced))
        }
        scope => (format!("= {}", sql.bind(scope.key())), None),
    };
    let sum = |feed: &str, total: &str| match sourced {
        Some(sourced) => {
            format!("COALESCE(sum(CASE {feed} WHEN {sourced} THEN -{total} ELSE {total} END), 0)")
        }
        None => format!("COALESCE(sum({total}), 0)"),
    };
    let parts = match scope {
        // A whole project has many parts, and seldom any unreadable one.
        Scope::Project => format!(
            "({}) shut CROSS JOIN entity_counts k {{indexed_by_entity_counts_within}}
             WHERE k.project_id = $1 AND k.within {feeds} AND k.space_id IS NOT NULL
                AND k.space_id = shut.space_id",
            reader.unreadable(&mut sql)
        ),
        _ => format!(
            "entity_counts k {{indexed_by_entity_counts_within}}
             WHERE k.project_id = $1 AND k.within {feeds} AND k.space_id IS NOT NULL AND NOT {}",
            reader.reads("k.space_id", &mut sql)
        ),
    };
    let (all, unreadable) = (sum("c.scope", "c.total"), sum("k.within", "k.total"));
    let text = format!(
        "SELECT CAST((SELECT {all} FROM entity_counts c
                WHERE c.project_id = $1 AND c.scope {feeds}) AS {{int}}) AS \"all\",
            CAST((SELECT {unreadable} FROM {parts}) AS {{int}}) AS unreadable"
    );
    Ok(c.one(&Query::<Size>::built("entities::feed_totals::size", text), sql.args())?)
}

/// Counts an entity in every feed it has just appeared in.
pub fn add(tx: &Tx<'_>, project: ProjectId, entity: &EntityRow) -> Result<()> {
    let mut changes = Changes::default();
    changes.note(entity.id, counted(entity)?, 1);
    changes.write(tx, project)
}

/// Subtracts entities from every feed they were in.
pub fn remove(tx: &Tx<'_>, project: ProjectId, entities: &[EntityRow]) -> Result<()> {
    let mut changes = Changes::default();
    for entity in entities {
        changes.note(entity.id, counted(entity)?, -1);
    }
    changes.write(tx, project)
}

db::row! {
    /// The fields that decide which feeds list an entity.
    #[derive(Debug)]
    pub struct Listed {
        pub id: EntityId,
        pub space_id: Option<SpaceId>,
        pub source_id: Option<String>,
        pub user_id: Option<UserId>,
        pub keywords: JsonText,
    }
}

/// The same for many entities.
pub fn remove_listed(tx: &Tx<'_>, project: ProjectId, entities: Vec<Listed>) -> Result<()> {
    let mut changes = Changes::default();
    for Listed { id, space_id, source_id, user_id, keywords } in entities {
        changes.note(id, counted_in(space_id, source_id, user_id, &keywords)?, -1);
    }
    changes.write(tx, project)
}

/// Moves a listed entity between feeds after it has changed.
pub fn replace(
    tx: &Tx<'_>,
    project: ProjectId,
    before: &EntityRow,
    after: &EntityRow,
) -> Result<()> {
    let (mut gone, mut come) = (counted(before)?, counted(after)?);
    gone.retain(|scope, _| come.remove(scope).is_none());
    let mut changes = Changes::default();
    changes.note(after.id, gone, -1);
    changes.note(after.id, come, 1);
    changes.write(tx, project)
}

fn counted(entity: &EntityRow) -> Result<Counted> {
    let EntityRow { space_id, source_id, user_id, keywords, .. } = entity;
    counted_in(*space_id, source_id.clone(), *user_id, keywords)
}

/// Every feed that lists such an entity, and its part in the space.
pub(in crate::features::entities) fn counted_in(
    space: Option<SpaceId>,
    source: Option<String>,
    author: Option<UserId>,
    keywords: &JsonText,
) -> Result<Counted> {
    let keywords: Vec<String> =
        serde_json::from_str(&keywords.0).map_err(crate::error::Error::internal)?;
    let is_loose = space.is_none() && source.is_none();
    let mut scopes = Vec::new();
    scopes.extend(author.map(Scope::Author));
    if source.is_some() {
        scopes.extend(keywords.iter().cloned().map(Scope::SourcedKeyword));
    }
    scopes.push(source.map_or(Scope::NoSource, Scope::Source));
    scopes.extend(keywords.into_iter().map(Scope::Keyword));
    let mut counted = Counted::new();
    match space {
        Some(space) => {
            for scope in &scopes {
                let whole = scope.key();
                counted.insert(format!("in:{space}:{whole}"), Some((whole, space)));
            }
            let whole = Scope::Project.key();
            counted.insert(Scope::Space(space).key(), Some((whole, space)));
        }
        None => {
            counted.insert(Scope::NoSpace.key(), None);
        }
    }
    scopes.push(Scope::Project);
    if is_loose {
        scopes.push(Scope::Loose);
    }
    counted.extend(scopes.iter().map(|scope| (scope.key(), None)));
    Ok(counted)
}

/// Where an entity counts.
pub(in crate::features::entities) fn shard(entity: EntityId) -> i64 {
    (entity.0.as_bytes()[15] % SHARDS).into()
}

/// Changed counts by scope and shard: sorted, so that two writers never deadlock.
#[derive(Debug, Default)]
struct Changes(BTreeMap<(String, i64), (Part, i64)>);

/// Rows changed by one statement.
const BATCH_SIZE: usize = 200;

impl Changes {
    fn note(&mut self, entity: EntityId, counted: Counted, by: i64) {
        for (scope, part) in counted {
            let (_, sum) = self.0.entry((scope, shard(entity))).or_insert((part, 0));
            *sum += by;
        }
    }

    fn write(self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let changes: Vec<Change> = self.0.into_iter().collect();
        for some in changes.chunks(BATCH_SIZE) {
            add_up(tx, project, some)?;
        }
        let less = changes.into_iter().filter(|(_, (_, by))| *by < 0).map(|(key, _)| key);
        let less: Vec<(String, i64)> = less.collect();
        less.chunks(BATCH_SIZE).try_for_each(|some| forget_empty(tx, project, some))
    }
}

type Change = ((String, i64), (Part, i64));

fn add_up(tx: &Tx<'_>, project: ProjectId, changes: &[Change]) -> Result<()> {
    let mut rows = Builder::list([project.into()]);
    for ((scope, shard), (part, by)) in changes {
        let (within, space) = part.as_ref().map(|(within, space)| (within, *space)).unzip();
        let row = [scope.into(), (*shard).into(), (*by).into(), within.into(), space.into()];
        let row = rows.bind_all(row);
        rows.add(format_args!("($1, {row})"));
    }
    let text = format!(
        "INSERT INTO entity_counts (project_id, scope, shard, total, within, space_id) VALUES {rows}
         ON CONFLICT (project_id, scope, shard)
         DO UPDATE SET total = entity_counts.total + excluded.total"
    );
    Ok(tx.pipeline(&Command::<()>::built("entities::feed_totals::change", text), rows.args())?)
}

/// The row of an empty feed is deleted: keywords are unlimited.
fn forget_empty(tx: &Tx<'_>, project: ProjectId, keys: &[(String, i64)]) -> Result<()> {
    let mut any = Builder::any([project.into()]);
    for (scope, shard) in keys {
        let (scope, shard) = (any.bind(scope), any.bind(*shard));
        any.add(format_args!("(scope = {scope} AND shard = {shard})"));
    }
    let text = format!("DELETE FROM entity_counts WHERE project_id = $1 AND total = 0 AND ({any})");
    Ok(tx
        .pipeline(&Command::<()>::built("entities::feed_totals::forget_empty", text), any.args())?)
}
