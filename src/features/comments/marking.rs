//! What a deletion does to the answers below: every one of them is marked, however many and however
//! deep, without keeping other writers waiting. A few are marked with the deletion itself; more are
//! left to a job, which goes on in small transactions and is finished even after a crash.

use db::{Conn, Tx, args};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::{Error, Result};
use crate::features::comments::store;
use crate::features::entities;
use crate::ids::{CommentId, EntityId, JobId, ProjectId};
use crate::jobs::{self, Job};
use crate::time::Timestamp;

/// As many answers are marked in one transaction.
const AT_ONCE: usize = 500;

/// A deleted comment whose answers are to be marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marking {
    pub comment: CommentId,
    pub entity: EntityId,
    pub at: Timestamp,
}

db::statements! {
    /// Everything below a comment, and whether it is marked already. What is below one that is out
    /// of sight was marked with it.
    query BELOW -> (CommentId, bool) =
        "WITH RECURSIVE below (id, is_marked) AS
            (SELECT a.id, a.parent_deleted_at IS NOT NULL FROM comments a
             WHERE a.project_id = $1 AND a.thread_id = $2 AND a.deleted_at IS NULL
             UNION ALL
             SELECT a.id, a.parent_deleted_at IS NOT NULL FROM below JOIN comments a
             ON a.project_id = $1 AND a.thread_id = below.id AND a.deleted_at IS NULL)
         SELECT id, is_marked FROM below LIMIT $3";
    /// Tells of each whether it counted until now.
    command MARK -> bool =
        "UPDATE comments SET parent_deleted_at = $3
         WHERE project_id = $1 AND id {any}($2) AND parent_deleted_at IS NULL
         RETURNING user_deleted_at IS NULL";
}

/// Marks a few answers at once. More than a few are left to a job: then what it has to do is
/// returned, so that the caller may begin with it.
pub fn mark_or_enqueue(
    tx: &Tx<'_>,
    project: ProjectId,
    marking: Marking,
    job: JobId,
) -> Result<Option<Marking>> {
    let below = below(tx, project, marking.comment, AT_ONCE + 1)?;
    if below.len() <= AT_ONCE {
        mark(tx, project, marking, &unmarked(below))?;
        return Ok(None);
    }
    let payload = serde_json::to_string(&Job::MarkAnswers(marking)).map_err(Error::internal)?;
    jobs::store::insert(tx, project, job, &payload, marking.at, marking.at)?;
    Ok(Some(marking))
}

/// Marks all that is left. Whoever answers meanwhile finds the answered comment marked and is marked
/// too, or not yet, and is found by the next look.
pub async fn finish(app: &App, project: ProjectId, marking: Marking) -> Result<()> {
    loop {
        let look = app.db.read_slow(move |c| below(c, project, marking.comment, usize::MAX));
        let unmarked = unmarked(look.await?);
        if unmarked.is_empty() {
            return Ok(());
        }
        for some in unmarked.chunks(AT_ONCE) {
            let some = some.to_vec();
            let marked = app.db.write(move |tx| {
                entities::store::hold(tx, project, marking.entity)?;
                mark(tx, project, marking, &some)
            });
            marked.await?;
        }
    }
}

fn below(
    c: &Conn<'_>,
    project: ProjectId,
    comment: CommentId,
    limit: usize,
) -> Result<Vec<(CommentId, bool)>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(c.all(&BELOW, args![project, comment, limit])?)
}

fn unmarked(below: Vec<(CommentId, bool)>) -> Vec<CommentId> {
    below.into_iter().filter(|(_, is_marked)| !is_marked).map(|(id, _)| id).collect()
}

/// While the entity is held, whose count goes down with them.
fn mark(tx: &Tx<'_>, project: ProjectId, marking: Marking, ids: &[CommentId]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let marked = tx.all(&MARK, args![project, CommentId::list(ids), marking.at])?;
    let counted = marked.into_iter().filter(|counted| *counted).count();
    let counted = i64::try_from(counted).map_err(Error::internal)?;
    store::uncount_live(tx, project, marking.entity, counted)
}
