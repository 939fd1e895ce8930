//! How many listed entities each feed has, and how many of them in each space, kept exact in the
//! transaction that changes it. An entity always counts in the same shard, so a shard never goes
//! below zero.

use std::collections::BTreeMap;

use db::{Command, Conn, JsonText, Query, Tx, Value, args};

use crate::error::Result;
use crate::features::entities::store::EntityRow;
use crate::features::spaces::access::Reader;
use crate::ids::{EntityId, ProjectId, SpaceId, UserId};

const SHARDS: u8 = 16;

/// A feed whose size is known without counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    Project,
    Space(SpaceId),
    NoSpace,
    Source(String),
    NoSource,
    /// In neither a space nor a source.
    Loose,
    Author(UserId),
    Keyword(String),
}

impl Scope {
    pub(super) fn key(&self) -> String {
        match self {
            Scope::Project => "project".to_owned(),
            Scope::Space(id) => format!("space:{id}"),
            Scope::NoSpace => "no-space".to_owned(),
            Scope::Source(id) => format!("source:{id}"),
            Scope::NoSource => "no-source".to_owned(),
            Scope::Loose => "loose".to_owned(),
            Scope::Author(id) => format!("author:{id}"),
            Scope::Keyword(word) => format!("keyword:{word}"),
        }
    }
}

/// Of which feed, and in which space, a count tells a part; of one that tells a whole nothing.
pub(super) type Part = Option<(String, SpaceId)>;

/// Counts by their names.
pub(super) type Counted = BTreeMap<String, Part>;

db::statements! {
    query TOTAL -> i64 =
        "SELECT CAST(COALESCE(sum(total), 0) AS {int}) FROM entity_counts
         WHERE project_id = $1 AND scope = $2";
}

/// How long the feed is for somebody who may read everything in it: one space, or none.
pub fn total(c: &Conn<'_>, project: ProjectId, scope: &Scope) -> Result<i64> {
    Ok(c.one(&TOTAL, args![project, scope.key()])?)
}

/// How long the feed is without what the reader may not read.
pub fn readable(c: &Conn<'_>, project: ProjectId, scope: &Scope, reader: Reader) -> Result<i64> {
    let parts = match scope {
        Scope::Space(_) | Scope::NoSpace | Scope::Loose => return total(c, project, scope),
        // Of the whole project there are many parts, and seldom any that may not be read.
        Scope::Project => format!(
            "({}) u CROSS JOIN entity_counts k
             WHERE k.project_id = $1 AND k.within = $2 AND k.space_id = u.space_id",
            reader.unreadable("$3")
        ),
        Scope::Source(_) | Scope::NoSource | Scope::Author(_) | Scope::Keyword(_) => format!(
            "entity_counts k
             WHERE k.project_id = $1 AND k.within = $2 AND k.space_id IS NOT NULL AND NOT {}",
            reader.reads("k.space_id", "$3")
        ),
    };
    let text = format!(
        "SELECT CAST((SELECT COALESCE(sum(c.total), 0) FROM entity_counts c
                WHERE c.project_id = $1 AND c.scope = $2)
            - (SELECT COALESCE(sum(k.total), 0) FROM {parts}) AS {{int}})"
    );
    let mut args = vec![project.into(), scope.key().into()];
    args.extend(reader.member().map(Value::from));
    Ok(c.one(&Query::<i64>::built("entities::counts::readable", text), &args)?)
}

/// Counts an entity in every feed it has just appeared in.
pub fn add(tx: &Tx<'_>, project: ProjectId, entity: &EntityRow) -> Result<()> {
    change(tx, project, entity.id, Counted::new(), counted(entity)?)
}

/// Takes an entity out of every feed it was in.
pub fn remove(tx: &Tx<'_>, project: ProjectId, entity: &EntityRow) -> Result<()> {
    change(tx, project, entity.id, counted(entity)?, Counted::new())
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
    change(tx, project, after.id, gone, come)
}

fn counted(entity: &EntityRow) -> Result<Counted> {
    let EntityRow { space_id, source_id, user_id, keywords, .. } = entity;
    counted_in(*space_id, source_id.clone(), *user_id, keywords)
}

/// Every feed such an entity is in while it is listed, and its part in its space.
pub(super) fn counted_in(
    space: Option<SpaceId>,
    source: Option<String>,
    author: Option<UserId>,
    keywords: &JsonText,
) -> Result<Counted> {
    let keywords: Vec<String> =
        serde_json::from_str(&keywords.0).map_err(crate::error::Error::internal)?;
    let is_loose = space.is_none() && source.is_none();
    let mut scopes = vec![source.map_or(Scope::NoSource, Scope::Source)];
    scopes.extend(author.map(Scope::Author));
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
pub(super) fn shard(entity: EntityId) -> i64 {
    (entity.0.as_bytes()[15] % SHARDS).into()
}

/// All in one order for every writer, so that two of them never wait for each other.
fn change(
    tx: &Tx<'_>,
    project: ProjectId,
    entity: EntityId,
    gone: Counted,
    come: Counted,
) -> Result<()> {
    let left: Vec<String> = gone.keys().cloned().collect();
    let changes: BTreeMap<String, (Part, i64)> = gone
        .into_iter()
        .map(|(scope, part)| (scope, (part, -1)))
        .chain(come.into_iter().map(|(scope, part)| (scope, (part, 1))))
        .collect();
    if changes.is_empty() {
        return Ok(());
    }
    let place = |n: usize| 3 + 4 * n;
    let row = |n: usize| {
        let [scope, total, within, space] = [place(n), place(n) + 1, place(n) + 2, place(n) + 3];
        format!("($1, ${scope}, $2, ${total}, ${within}, ${space})")
    };
    let rows: Vec<String> = (0..changes.len()).map(row).collect();
    let text = format!(
        "INSERT INTO entity_counts (project_id, scope, shard, total, within, space_id) VALUES {}
         ON CONFLICT (project_id, scope, shard)
         DO UPDATE SET total = entity_counts.total + excluded.total",
        rows.join(", ")
    );
    let entity = [project.into(), Value::Int(shard(entity))];
    let mut args = entity.to_vec();
    for (scope, (part, by)) in &changes {
        args.extend([scope.as_str().into(), (*by).into()]);
        match part {
            Some((within, space)) => args.extend([within.as_str().into(), (*space).into()]),
            None => args.extend([Value::Null, Value::Null]),
        }
    }
    tx.later(&Command::<()>::built("entities::counts::change", text), &args)?;
    forget_empty(tx, entity.to_vec(), left.iter().map(|scope| scope.as_str().into()).collect())
}

/// A feed that nothing is left in keeps no row: anybody can make up keywords.
fn forget_empty<'a>(tx: &Tx<'_>, mut args: Vec<Value<'a>>, scopes: Vec<Value<'a>>) -> Result<()> {
    if scopes.is_empty() {
        return Ok(());
    }
    let places: Vec<String> = (3..3 + scopes.len()).map(|n| format!("${n}")).collect();
    let text = format!(
        "DELETE FROM entity_counts
         WHERE project_id = $1 AND shard = $2 AND total = 0 AND scope IN ({})",
        places.join(", ")
    );
    args.extend(scopes);
    Ok(tx.later(&Command::<()>::built("entities::counts::forget_empty", text), &args)?)
}
