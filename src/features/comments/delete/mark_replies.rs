//! Marks all replies below a deleted comment, however many and however deep, without making other writers
//! wait. The transaction of the deletion marks a few; a job marks more in small transactions, and resumes
//! after a crash.

use db::{Conn, Tx};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::comments::store::{self, mark_replies};
use crate::features::entities;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::values::ids::{CommentId, EntityId, JobId, ProjectId};
use crate::values::time::Timestamp;

/// Replies marked in one transaction.
const BATCH_SIZE: usize = 500;

/// A deleted comment whose replies are to be marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marking {
    pub comment: CommentId,
    pub entity: EntityId,
    pub at: Timestamp,
}

/// Marks a few replies at once. True if there are more, which a job marks.
pub fn mark_or_enqueue(
    tx: &Tx<'_>,
    project: ProjectId,
    marking: Marking,
    job: JobId,
) -> Result<bool> {
    if let Some(unmarked) = unmarked(tx, project, marking.comment, FEW)? {
        mark(tx, project, marking, &unmarked)?;
        return Ok(false);
    }
    jobs::insert(tx, project, job, &marking, marking.at)?;
    Ok(true)
}

/// Marks all replies that are left. A reply written meanwhile is marked if its parent is marked already;
/// otherwise the next batch finds it.
impl Job for Marking {
    const KIND: &'static str = "mark-answers";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        finish(app, project, self).await
    }
}

async fn finish(app: &App, project: ProjectId, marking: Marking) -> Result<()> {
    loop {
        let look = app.db.read_slow(move |c| unmarked(c, project, marking.comment, ALL_THERE_ARE));
        let left = look.await?.unwrap_or_default();
        if left.is_empty() {
            return Ok(());
        }
        for some in left.chunks(BATCH_SIZE) {
            let some = some.to_vec();
            let marked = app.db.write(move |tx| {
                entities::store::lock(tx, project, marking.entity)?;
                mark(tx, project, marking, &some)
            });
            marked.await?;
        }
    }
}

/// How far to look.
#[derive(Debug, Clone, Copy)]
struct Extent {
    answers: usize,
    levels: usize,
}

const FEW: Extent = Extent { answers: BATCH_SIZE, levels: 50 };
const ALL_THERE_ARE: Extent = Extent { answers: usize::MAX, levels: usize::MAX };

/// The unmarked replies below a comment; none if there are more than that. Level by level: a recursive
/// statement is planned as if threads were flat, and takes hours for a deep one.
fn unmarked(
    c: &Conn<'_>,
    project: ProjectId,
    comment: CommentId,
    extent: Extent,
) -> Result<Option<Vec<CommentId>>> {
    let (mut unmarked, mut seen, mut level) = (Vec::new(), 0, vec![comment]);
    for _ in 0..extent.levels {
        let mut next = Vec::new();
        for some in level.chunks(BATCH_SIZE) {
            next.extend(mark_replies::replies(c, project, some)?);
        }
        seen += next.len();
        if next.is_empty() {
            return Ok(Some(unmarked));
        }
        if seen > extent.answers {
            return Ok(None);
        }
        unmarked.extend(next.iter().filter(|(_, is_marked)| !is_marked).map(|(id, _)| *id));
        level = next.into_iter().map(|(id, _)| id).collect();
    }
    Ok(None)
}

/// The caller has locked the entity, whose reply count goes down.
fn mark(tx: &Tx<'_>, project: ProjectId, marking: Marking, ids: &[CommentId]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    store::lock(tx, project, ids)?;
    let marked = mark_replies::mark(tx, project, ids, marking.at)?;
    let counted = marked.into_iter().filter(|counted| *counted).count();
    let counted = i64::try_from(counted).map_err(Error::internal)?;
    store::uncount_live(tx, project, marking.entity, counted)
}
