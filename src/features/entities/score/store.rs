//! The SQL that updates views and scores, many entities in one statement.

use db::{Builder, Command, Conn, Tx, Value, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::entities::score::formula::ScoreInputs;
use crate::features::reactions::{ReactionCounts, reaction_columns};
use crate::values::ids::{EntityId, ProjectId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct StandingRow {
        pub id: EntityId,
        pub reactions: ReactionCounts,
        pub replies_count: i64,
        pub shares_count: i64,
        pub views: i64,
        pub created_at: Timestamp,
    }
}

db::statements! {
    query STANDINGS -> StandingRow =
        concat!(
            "SELECT id, ",
            reaction_columns!(""),
            ", replies_count, shares_count, views, created_at
             FROM entities WHERE project_id = $1 AND id {any}($2) AND deleted_at IS NULL"
        );
}

pub fn score_inputs(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[EntityId],
) -> Result<Vec<(EntityId, ScoreInputs)>> {
    let rows = c.all(&STANDINGS, args![project, EntityId::list(ids)])?;
    let inputs = |row: StandingRow| {
        let StandingRow { id, reactions, replies_count, shares_count, views, created_at } = row;
        let (replies, shares) = (replies_count, shares_count);
        (id, ScoreInputs { reactions, replies, shares, views, created_at })
    };
    Ok(rows.into_iter().map(inputs).collect())
}

/// Adds to the views of each.
pub fn add_views(tx: &Tx<'_>, project: ProjectId, views: &[(EntityId, i64)]) -> Result<()> {
    let text = "UPDATE entities SET views = views + v.value FROM v
                WHERE entities.project_id = $1 AND entities.id = v.id";
    let pairs = views.iter().map(|(id, views)| (*id, Value::Int(*views)));
    let rows = Builder::list([project.into()]);
    update_many(tx, text, rows, pairs.collect(), "{int}", Value::Int(0))
}

/// Sets the new score of each.
pub fn set_scores(
    tx: &Tx<'_>,
    project: ProjectId,
    scores: &[(EntityId, f64)],
    now: Timestamp,
) -> Result<()> {
    let text = "UPDATE entities SET score = v.value, score_updated_at = $2 FROM v
                WHERE entities.project_id = $1 AND entities.id = v.id";
    let pairs = scores.iter().map(|(id, score)| (*id, Value::Real(*score)));
    let rows = Builder::list([project.into(), now.into()]);
    update_many(tx, text, rows, pairs.collect(), "{real}", Value::Real(0.0))
}

/// Runs an update over a table `v (id, value)`. It is padded to the next power of two with entries that match
/// nothing, so that few different texts are ever prepared.
fn update_many<'a>(
    tx: &Tx<'_>,
    update: &str,
    mut rows: Builder<'a>,
    mut pairs: Vec<(EntityId, Value<'a>)>,
    value_type: &str,
    nothing: Value<'a>,
) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    pairs.resize(pairs.len().next_power_of_two(), (EntityId(Uuid::nil()), nothing));
    for (id, value) in pairs {
        let (id, value) = (rows.bind(id), rows.bind(value));
        rows.add(format_args!("(CAST({id} AS {{uuid}}), CAST({value} AS {value_type}))"));
    }
    let text = format!("WITH v (id, value) AS (VALUES {rows}) {update}");
    tx.execute(&Command::<()>::built("entities::store::update_many", text), rows.args())?;
    Ok(())
}
