//! The SQL that updates views and scores.

use db::{Conn, Tx, args};

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
    /// One row at a time: joined with a list of many, SQLite scans all entities of the project.
    command ADD_VIEWS = "UPDATE entities SET views = views + $3 WHERE project_id = $1 AND id = $2";
    command SET_SCORE =
        "UPDATE entities SET score = $3, score_updated_at = $4 WHERE project_id = $1 AND id = $2";
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
    for (id, views) in views {
        tx.pipeline(&ADD_VIEWS, args![project, *id, *views])?;
    }
    Ok(())
}

/// Sets the new score of each.
pub fn set_scores(
    tx: &Tx<'_>,
    project: ProjectId,
    scores: &[(EntityId, f64)],
    now: Timestamp,
) -> Result<()> {
    for (id, score) in scores {
        tx.pipeline(&SET_SCORE, args![project, *id, *score, now])?;
    }
    Ok(())
}
