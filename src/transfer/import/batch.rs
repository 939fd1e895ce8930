//! Writes documents of one type in one transaction: each is added, was there already, waits for another, or is left out.

mod bytes;
mod judge;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use db::Conn;
use uuid::Uuid;

use self::bytes::Bytes;
use self::judge::{Judged, judge, unique};
use super::draft::Draft;
use super::{Import, derive, store};
use crate::error::Error;
use crate::transfer::Result as Outcomes;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// With what had to be changed.
    Added(Vec<String>),
    Unchanged,
    LeftOut(String),
    /// For a document that is not there, or not yet.
    Waits(String),
}

/// What earlier batches found out.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Ids of the source that have another id here, because a document with the same foreign id was there.
    ids: HashMap<Uuid, Uuid>,
    /// What a dry run would have added: ids by table, foreign ids, and texts that only one may have.
    rows: HashSet<(&'static str, Uuid)>,
    foreign: HashMap<(&'static str, String), Uuid>,
    texts: HashSet<(&'static str, String)>,
}

pub(super) struct Written {
    /// In the order of the documents.
    pub(super) outcomes: Vec<Outcome>,
    /// Stored objects.
    pub(super) files: u64,
}

pub(super) fn write(
    import: &Import<'_>,
    known: &Arc<RwLock<Known>>,
    drafts: Arc<Vec<Draft>>,
    files: PathBuf,
) -> Outcomes<Written> {
    let Some(kind) = drafts.first().map(|draft| draft.kind) else {
        return Ok(Written { outcomes: Vec::new(), files: 0 });
    };
    let (project, is_dry_run) = (import.project.id, import.is_dry_run);
    let mut stored = Bytes::default();
    if kind.name == "file" {
        let (drafts, known) = (drafts.clone(), known.clone());
        let judged = import.db.read(move |c| judge(c, project, kind, &known, &drafts));
        let judged = import.runtime.block_on(judged)?;
        stored = Bytes::store(import, &judged, &files)?;
    }
    let lost = stored.lost;
    let (shared, those) = (known.clone(), drafts.clone());
    let judged = if is_dry_run {
        let look = move |c: &Conn<'_>| {
            let mut judged = judge(c, project, kind, &shared, &those)?;
            leave_out(&mut judged, |key| lost.contains(key), "its bytes are not there");
            Ok(judged)
        };
        import.runtime.block_on(import.db.read(look))
    } else {
        let work = move |tx: &db::Tx<'_>| {
            let mut judged = judge(tx, project, kind, &shared, &those)?;
            leave_out(&mut judged, |key| lost.contains(key), "its bytes are not there");
            let is_added = |one: &&Judged| matches!(one.outcome, Outcome::Added(_));
            let added = judged.iter().filter(is_added).map(|one| &one.draft);
            let added: Vec<&Draft> = added.collect();
            let inserted = store::insert(tx, project, kind, &added)?;
            let there: Vec<&Draft> =
                added.into_iter().filter(|draft| inserted.contains(&draft.key())).collect();
            derive::added(tx, project, kind, &there)?;
            let reason = "it conflicts with one that is there already";
            leave_out(&mut judged, |key| !inserted.contains(key), reason);
            Ok(judged)
        };
        import.runtime.block_on(import.db.write(work))
    };
    match judged {
        Ok(judged) => {
            let outcomes = remember(known, judged, is_dry_run);
            Ok(Written { outcomes, files: stored.objects })
        }
        Err(Error::Busy(why)) => Err(why.into()),
        Err(error) if drafts.len() == 1 => {
            let why = error.chain().unwrap_or_else(|| error.to_string());
            Ok(Written { outcomes: vec![Outcome::LeftOut(why)], files: 0 })
        }
        // One of them is refused: which one?
        Err(_) => {
            let mut written = Written { outcomes: Vec::new(), files: stored.objects };
            for draft in drafts.iter() {
                let alone = write(import, known, Arc::new(vec![draft.clone()]), files.clone())?;
                written.outcomes.extend(alone.outcomes);
            }
            Ok(written)
        }
    }
}

/// Those that would be added, but must not be.
fn leave_out(judged: &mut [Judged], is_refused: impl Fn(&str) -> bool, reason: &str) {
    for one in judged {
        if matches!(one.outcome, Outcome::Added(_)) && is_refused(&one.draft.key()) {
            one.outcome = Outcome::LeftOut(reason.to_owned());
        }
    }
}

fn remember(known: &RwLock<Known>, judged: Vec<Judged>, is_dry_run: bool) -> Vec<Outcome> {
    let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
    let note = |Judged { draft, outcome, here }: Judged| {
        if let (Some(id), Some(here)) = (draft.id("id"), here) {
            known.ids.insert(id, here);
        }
        if is_dry_run && matches!(outcome, Outcome::Added(_)) {
            let (table, id) = (draft.kind.table, draft.id("id"));
            known.rows.extend(id.map(|id| (table, id)));
            let foreign = draft.own_foreign_id().map(|text| (table, text.to_owned()));
            known.foreign.extend(foreign.zip(id));
            let texts = unique(draft.kind).filter_map(|column| Some((column, draft.text(column)?)));
            known.texts.extend(texts.map(|(column, text)| (column, text.to_owned())));
        }
        outcome
    };
    judged.into_iter().map(note).collect()
}
