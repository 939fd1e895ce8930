//! Stored counts against what they count, and their repair. Reputation is not among them: points stay when
//! what earned them is deleted, so nothing is left to add up.

use db::{Conn, Db, Tx};
use tokio::runtime::Handle;

use super::Result;
use crate::error;
use crate::features::chat::store::recount as chat;
use crate::features::collections::store::recount as collections;
use crate::features::comments::store::recount as comments;
use crate::features::connections::store::recount as connections;
use crate::features::entities::store::recount as entities;
use crate::features::events::store::recount as events;
use crate::features::follows::store::recount as follows;
use crate::features::grants::store::recount as grants;
use crate::features::moderation::reports::store::recount as reports;
use crate::features::notifications::store::recount as notifications;
use crate::features::server::checks::Finding;
use crate::features::spaces::store::recount as spaces;
use crate::values::ids::ProjectId;

/// Counts that do not agree with what they count, and their repair.
struct Drift {
    wrong: usize,
    repair: Repair,
}

/// Rows with a wrong count.
type Wrong<Id> = Vec<(ProjectId, Id)>;

/// Tells how many were repaired.
type Repair = Box<dyn FnOnce(&Db, &Handle) -> Result<u64>>;
/// Of one project, or of all.
type Check = Box<dyn Fn(&Db, Option<ProjectId>) -> Result<Drift>>;

/// Counts of one kind: how the report calls what they count, and their checks in the order of repair.
type Kind = (&'static str, Vec<Check>);

fn kinds() -> Vec<Kind> {
    vec![
        ("notifications", vec![check(notifications::drifted, notifications::repair)]),
        (
            "reactions",
            vec![
                check(entities::miscounted, entities::repair_reactions),
                check(comments::miscounted_reactions, comments::repair_reactions),
                // After the counts that it is made of.
                check(comments::unbalanced, comments::balance),
            ],
        ),
        (
            "comments",
            vec![
                check(comments::miscounted_entities, comments::repair_entity),
                check(comments::miscounted_comments, comments::repair_comment),
            ],
        ),
        ("reports", vec![check(reports::drifted, reports::repair)]),
        ("feeds", vec![Box::new(feeds)]),
        ("collections", vec![check(collections::drifted, collections::repair)]),
        ("follows", vec![check(follows::drifted, follows::repair)]),
        ("connections", vec![check(connections::drifted, connections::repair)]),
        ("spaces", vec![check(spaces::miscounted, spaces::repair)]),
        (
            "chat",
            vec![
                check(chat::miscounted, chat::repair),
                check(chat::miscounted_messages, chat::repair_message),
            ],
        ),
        (
            "events",
            vec![
                check(events::miscounted, events::repair),
                check(events::drifted_totals, events::repair_totals),
            ],
        ),
        ("grants", vec![check(grants::drifted, grants::repair)]),
    ]
}

/// Rows that are repaired in one transaction.
const BATCH_SIZE: usize = 50;

/// Finds rows with wrong counts, and repairs them in small transactions.
fn check<Id: Copy + Send + 'static>(
    find: fn(&Conn<'_>) -> error::Result<Wrong<Id>>,
    repair: fn(&Tx<'_>, ProjectId, Id) -> error::Result<()>,
) -> Check {
    Box::new(move |db, of| {
        // Not as a slow read, which would have a deadline.
        let mut found = db.snapshot(find)?;
        found.retain(|(project, _)| of.is_none_or(|of| of == *project));
        let wrong = found.len();
        let repair = move |db: &Db, runtime: &Handle| {
            for some in found.chunks(BATCH_SIZE) {
                let some = some.to_vec();
                let repair_all = move |tx: &Tx<'_>| {
                    some.iter().try_for_each(|(project, id)| repair(tx, *project, *id))
                };
                runtime.block_on(db.write(repair_all))?;
            }
            Ok(wrong as u64)
        };
        Ok(Drift { wrong, repair: Box::new(repair) })
    })
}

/// The feeds of every project.
fn feeds(db: &Db, of: Option<ProjectId>) -> Result<Drift> {
    let (mut wrong, mut of_projects) = (0, Vec::new());
    let mut projects = db.snapshot(entities::projects)?;
    projects.retain(|project| of.is_none_or(|of| of == *project));
    for project in projects {
        let drifted = db.snapshot(|c| entities::drifted_feeds(c, project))?.len();
        wrong += drifted;
        of_projects.extend(Some(project).filter(|_| drifted > 0));
    }
    let repair = move |db: &Db, runtime: &Handle| {
        let mut repaired = 0;
        for project in of_projects {
            repaired +=
                runtime.block_on(db.write(move |tx| entities::repair_feeds(tx, project)))?;
        }
        Ok(repaired)
    };
    Ok(Drift { wrong, repair: Box::new(repair) })
}

/// For `townhall doctor`.
pub fn counters(db: &Db, runtime: &Handle, fix: bool) -> Finding {
    let looked = look(db, runtime, fix);
    looked.unwrap_or_else(|failure| Err(failure.0))
}

fn look(db: &Db, runtime: &Handle, fix: bool) -> Result<Finding> {
    let (mut total, mut report, mut repairs) = (0, Vec::new(), Vec::new());
    for (name, checks) in kinds() {
        let mut wrong = 0;
        for check in checks {
            let drift = check(db, None)?;
            wrong += drift.wrong;
            repairs.push(drift.repair);
        }
        total += wrong;
        report.push(format!("{wrong} of {name}"));
    }
    if total == 0 {
        return Ok(Ok("all agree with what they count".to_owned()));
    }
    if fix {
        let mut repaired = 0;
        for repair in repairs {
            repaired += repair(db, runtime)?;
        }
        return Ok(Ok(format!("{total} had drifted, {repaired} were repaired")));
    }
    let report = report.join(", ").replacen(" of ", " wrong counts of ", 1);
    Ok(Err(format!("{report}; repair with --fix")))
}

/// Repairs the counts of a project after an import; how many were wrong.
pub fn recount(db: &Db, runtime: &Handle, project: ProjectId) -> Result<u64> {
    let mut repaired = 0;
    // One after the other: some counts are made of others.
    for check in kinds().into_iter().flat_map(|(_, checks)| checks) {
        repaired += (check(db, Some(project))?.repair)(db, runtime)?;
    }
    Ok(repaired)
}
