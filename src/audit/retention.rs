//! Bounding the log: seals whose entries are all older than `TOWNHALL_AUDIT_KEEP` are dropped with their entries, the
//! oldest first. The last of them stays as the beginning of the chain, so what is left is proved as before. An entry of
//! the log says up to when it was cut: nobody cuts it in silence.

use std::time::Duration;

use db::{Conn, Tx};

use crate::audit::chain::{compare, next_seal};
use crate::audit::store::{self, Seal};
use crate::audit::{Actor, Entry};
use crate::error::Result;
use crate::installation::store as installation;
use crate::state::App;
use crate::values::ids::{AuditEntryId, ProjectId, first_id};
use crate::values::time::Timestamp;

/// Cuts are made at the beginning of a day, so that there is at most one entry about them a day.
const DAY: Duration = Duration::from_secs(86_400);
const ACTION: &str = "Cut Audit Log";

/// Drops about so many entries of one project that are older than that; returns how many. Nodes take turns.
pub fn cut(tx: &Tx<'_>, app: &App, before: Timestamp, most: i64) -> Result<u64> {
    let before = beginning_of_day(before);
    installation::lock_sealed_until(tx)?;
    for project in store::sealed_before(tx, before)? {
        if let Some((seal, entries)) = find_cut(tx, project, before, most)? {
            announce(tx, app, project, before)?;
            store::cut(tx, project, &seal, before)?;
            return Ok(entries.max(1));
        }
    }
    Ok(0)
}

fn beginning_of_day(time: Timestamp) -> Timestamp {
    let day = i64::try_from(DAY.as_millis()).unwrap_or(1);
    Timestamp::from_millis(time.millis().div_euclid(day) * day)
}

/// The seal up to which the log can be cut, and how many entries that drops. What does not agree with its seals stays,
/// for `townhall audit --verify` to find.
fn find_cut(
    tx: &Tx<'_>,
    project: ProjectId,
    before: Timestamp,
    most: i64,
) -> Result<Option<(Seal, u64)>> {
    let first = next_seal(tx, project, None)?.filter(|seal| seal.cut_before.is_some());
    let (mut previous, mut last, mut entries) = (first, None, 0);
    while let Some(seal) = next_seal(tx, project, previous.as_ref())? {
        let is_enough = last.is_some() && entries + seal.entries > most;
        if is_enough || !is_older(seal.last_id, before) {
            break;
        }
        if let Some(problem) = compare(tx, project, previous.as_ref(), &seal)? {
            tracing::error!(%project, problem, "the audit log was changed, and is not cut");
            break;
        }
        entries += seal.entries;
        (previous, last) = (Some(seal.clone()), Some(seal));
    }
    Ok(last.map(|seal| (seal, u64::try_from(entries).unwrap_or(0))))
}

fn is_older(id: AuditEntryId, before: Timestamp) -> bool {
    id.0 < first_id(before)
}

/// Says in the log that it is cut up to that time, unless it does already.
fn announce(tx: &Tx<'_>, app: &App, project: ProjectId, before: Timestamp) -> Result<()> {
    let target = before.to_string();
    if store::is_logged(tx, project, ACTION, &target)? {
        return Ok(());
    }
    let made = (app.clock.now(), &app.random);
    Ok(Entry::new(project, &Actor::Server, ACTION, target, made).write(tx)?)
}

/// What is wrong with the seal that the log begins with since it was cut.
pub(super) fn compare_cut(
    c: &Conn<'_>,
    project: ProjectId,
    seal: &Seal,
    before: Timestamp,
) -> Result<Option<String>> {
    let wrong = match store::count_until(c, project, seal.last_id)? {
        0 if !is_older(seal.last_id, before) => {
            format!("entries were dropped that are newer than {before}")
        }
        0 if !store::is_logged(c, project, ACTION, &before.to_string())? => {
            "the log was cut, and does not say so".to_owned()
        }
        0 => return Ok(None),
        more => format!("{more} entries were added before the cut"),
    };
    Ok(Some(wrong))
}
