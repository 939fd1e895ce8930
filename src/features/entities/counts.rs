//! How many listed entities each feed has, kept exact in the transaction that changes it. An
//! entity always counts in the same shard, so a shard never goes below zero.

use db::{Command, Conn, JsonText, Tx, Value, args};

use crate::error::Result;
use crate::features::entities::store::EntityRow;
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

db::statements! {
    query TOTAL -> i64 =
        "SELECT CAST(COALESCE(sum(total), 0) AS {int}) FROM entity_counts
         WHERE project_id = $1 AND scope = $2";
}

pub fn total(c: &Conn<'_>, project: ProjectId, scope: &Scope) -> Result<i64> {
    Ok(c.one(&TOTAL, args![project, scope.key()])?)
}

/// Counts an entity in every feed it has just appeared in.
pub fn add(tx: &Tx<'_>, project: ProjectId, entity: &EntityRow) -> Result<()> {
    change(tx, project, entity.id, scopes(entity)?.into_iter().map(|scope| (scope, 1)).collect())
}

/// Takes an entity out of every feed it was in.
pub fn remove(tx: &Tx<'_>, project: ProjectId, entity: &EntityRow) -> Result<()> {
    change(tx, project, entity.id, scopes(entity)?.into_iter().map(|scope| (scope, -1)).collect())
}

/// Moves a listed entity between feeds after it has changed.
pub fn replace(
    tx: &Tx<'_>,
    project: ProjectId,
    before: &EntityRow,
    after: &EntityRow,
) -> Result<()> {
    let (old, new) = (scopes(before)?, scopes(after)?);
    let gone = old.iter().filter(|scope| !new.contains(scope)).map(|scope| (scope.clone(), -1));
    let come = new.iter().filter(|scope| !old.contains(scope)).map(|scope| (scope.clone(), 1));
    change(tx, project, after.id, gone.chain(come).collect())
}

fn scopes(entity: &EntityRow) -> Result<Vec<String>> {
    let EntityRow { space_id, source_id, user_id, keywords, .. } = entity;
    scopes_of(*space_id, source_id.clone(), *user_id, keywords)
}

/// The keys of every feed such an entity is in while it is listed, without repeats.
pub(super) fn scopes_of(
    space: Option<SpaceId>,
    source: Option<String>,
    author: Option<UserId>,
    keywords: &JsonText,
) -> Result<Vec<String>> {
    let keywords: Vec<String> =
        serde_json::from_str(&keywords.0).map_err(crate::error::Error::internal)?;
    let mut scopes = vec![Scope::Project];
    scopes.push(space.map_or(Scope::NoSpace, Scope::Space));
    if space.is_none() && source.is_none() {
        scopes.push(Scope::Loose);
    }
    scopes.push(source.map_or(Scope::NoSource, Scope::Source));
    scopes.extend(author.map(Scope::Author));
    scopes.extend(keywords.into_iter().map(Scope::Keyword));
    let mut keys: Vec<String> = scopes.iter().map(Scope::key).collect();
    // In one order for every writer, so that two of them never wait for each other.
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

/// Where an entity counts.
pub(super) fn shard(entity: EntityId) -> i64 {
    (entity.0.as_bytes()[15] % SHARDS).into()
}

fn change(
    tx: &Tx<'_>,
    project: ProjectId,
    entity: EntityId,
    mut changes: Vec<(String, i64)>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    changes.sort_unstable();
    let row = |n: usize| format!("($1, ${}, $2, ${})", 3 + 2 * n, 4 + 2 * n);
    let rows: Vec<String> = (0..changes.len()).map(row).collect();
    let text = format!(
        "INSERT INTO entity_counts (project_id, scope, shard, total) VALUES {}
         ON CONFLICT (project_id, scope, shard)
         DO UPDATE SET total = entity_counts.total + excluded.total",
        rows.join(", ")
    );
    let place = [project.into(), Value::Int(shard(entity))];
    let mut args = place.to_vec();
    for (scope, by) in &changes {
        args.push(scope.as_str().into());
        args.push((*by).into());
    }
    tx.later(&Command::<()>::built("entities::counts::change", text), &args)?;
    let left = changes.iter().filter(|(_, by)| *by < 0).map(|(scope, _)| scope.as_str());
    forget_empty(tx, place.to_vec(), left.map(Value::from).collect())
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
