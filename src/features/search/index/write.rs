//! Writes a batch of prepared records into the index, in one transaction: what was indexed of them goes, posting by
//! posting, and what they are now gets a new number. So the index always says exactly what the records said.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use db::Tx;
use text_index::Language;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::search::class::{Class, Section};
use crate::features::search::index::changes::Changes;
use crate::features::search::index::lexicon::{Learned, Reading};
use crate::features::search::index::records::{Found, Prepared};
use crate::features::search::store::{self, DocRow, IndexedRow, StateRow, fill};
use crate::search_queue::{self, Kind};
use crate::values::ids::ProjectId;

/// Documents of an unfinished load that are taken out in one transaction.
const RECOVERED: i64 = 500;

/// Records that changed since they were prepared stay in the queue, and all of them if the index is of another language
/// by now or somebody loads it.
pub fn apply(
    tx: &Tx<'_>,
    project: ProjectId,
    language: Language,
    batch: &[Prepared],
) -> Result<()> {
    let Some(state) = store::state::lock(tx, project)? else { return Ok(()) };
    if state.language != language.name() || state.load_from.is_some() {
        return Ok(());
    }
    let batch = waiting(tx, project, batch)?;
    let old = store::indexed(tx, project, ids(&batch))?;
    let mut changes = Changes::new(language);
    take_out(tx, project, &state, &old, &mut changes)?;
    let reading = changes.lexicon.read(batch.iter().filter_map(|one| one.found.as_ref()))?;
    let PutIn { documents, learned } = put_in(tx, project, &state, &batch, &reading)?;
    changes.lexicon.learn(learned);
    changes.add(&documents, &reading)?;
    changes.write(tx, project)?;
    let before: HashSet<Uuid> = old.iter().map(|row| row.record_id).collect();
    finish(tx, project, &batch, &before)
}

/// Takes the first documents out that a load has left behind, and queues them again; false if there are none.
pub fn recover(tx: &Tx<'_>, project: ProjectId, language: Language) -> Result<bool> {
    let Some(state) = store::state::lock(tx, project)? else { return Ok(false) };
    let Some(from) = state.load_from else { return Ok(false) };
    let rows = store::indexed_from(tx, project, from, RECOVERED)?;
    if rows.is_empty() {
        store::words::delete_unused(tx, project)?;
        store::state::end_load(tx, project)?;
        return Ok(false);
    }
    let mut changes = Changes::new(language);
    take_out(tx, project, &state, &rows, &mut changes)?;
    changes.write(tx, project)?;
    for row in &rows {
        if let Some(class) = Class::from_number(row.class) {
            search_queue::store::note(tx, project, class.kind(), row.record_id)?;
        }
    }
    Ok(true)
}

/// Those of the records that are still queued as they were; another node may have been faster.
pub(super) fn waiting<'a>(
    tx: &Tx<'_>,
    project: ProjectId,
    batch: &'a [Prepared],
) -> Result<Vec<&'a Prepared>> {
    let all = batch.iter().map(|one| one.todo.record_id).collect();
    let left: HashSet<(Uuid, i64)> = store::still_todo(tx, project, all)?
        .into_iter()
        .map(|row| (row.record_id, row.stamp))
        .collect();
    let is_left = |one: &&Prepared| left.contains(&(one.todo.record_id, one.todo.stamp));
    Ok(batch.iter().filter(is_left).collect())
}

pub(super) fn ids(batch: &[&Prepared]) -> Vec<Uuid> {
    batch.iter().map(|one| one.todo.record_id).collect()
}

fn take_out(
    tx: &Tx<'_>,
    project: ProjectId,
    state: &StateRow,
    rows: &[IndexedRow],
    changes: &mut Changes,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let packed: Vec<&[u8]> = rows.iter().map(|row| row.words.as_slice()).collect();
    let words = store::words::unpack(tx, project, &packed)?;
    let mut open: BTreeMap<Section, BTreeSet<&str>> = BTreeMap::new();
    for (row, words) in rows.iter().zip(&words) {
        let words = words
            .as_ref()
            .ok_or_else(|| Error::internal(format!("damaged words of {}", row.record_id)))?;
        changes.remove(state, row, words)?;
        if let Some(class) = Class::from_number(row.class).filter(|class| class.is_open()) {
            open.entry(class.section()).or_default().extend(words.iter().map(String::as_str));
        }
    }
    for (section, words) in open {
        changes.lexicon.look_up(tx, project, section, &Vec::from_iter(words))?;
    }
    if state.vector_model.is_some() {
        let gone: Vec<(i64, i64)> = rows.iter().map(|row| (row.class, row.number)).collect();
        store::vectors::remove(tx, project, &gone)?;
    }
    store::remove(tx, project, rows.iter().map(|row| row.record_id).collect())
}

/// Documents that are written, without their postings.
pub(super) struct PutIn<'a> {
    /// Each with its number.
    pub documents: Vec<(i64, &'a Found)>,
    /// Numbers of their words that the lexicon lacked.
    pub learned: Learned,
}

pub(super) fn put_in<'a>(
    tx: &Tx<'_>,
    project: ProjectId,
    state: &StateRow,
    batch: &[&'a Prepared],
    reading: &Reading,
) -> Result<PutIn<'a>> {
    let found = batch.iter().filter_map(|one| one.found.as_ref());
    let documents: Vec<(i64, &Found)> = (state.next_number..).zip(found).collect();
    let (learned, next_word) =
        reading.look_up(tx, project, documents.iter().map(|(_, found)| *found), state.next_word)?;
    let rows = documents.iter().map(|(number, found)| {
        let doc = DocRow { number: *number, ..found.doc.clone() };
        Ok((doc, i64::from(found.document.length), reading.pack(&learned, found)?))
    });
    store::add(tx, project, &rows.collect::<Result<Vec<store::NewDoc>>>()?)?;
    if let Some((last, _)) = documents.last() {
        store::state::set_next(tx, project, last + 1, next_word)?;
    }
    Ok(PutIn { documents, learned })
}

/// Queues what depends on the records, and takes them off the queue. `before`: those that were indexed already.
pub(super) fn finish(
    tx: &Tx<'_>,
    project: ProjectId,
    batch: &[&Prepared],
    before: &HashSet<Uuid>,
) -> Result<()> {
    let is_new = |one: &&&Prepared| {
        let was_there = before.contains(&one.todo.record_id);
        one.kind == Kind::Entity && one.found.is_some() && !was_there
    };
    let new: Vec<Uuid> = batch.iter().filter(is_new).map(|one| one.todo.record_id).collect();
    if !new.is_empty() {
        fill::queue_comments_of(tx, project, new)?;
    }
    batch.iter().try_for_each(|one| note_dependants(tx, project, one))?;
    store::done(tx, project, batch.iter().map(|one| &one.todo))
}

/// What has to be looked at again because a record went, or changed who may read it.
fn note_dependants(tx: &Tx<'_>, project: ProjectId, one: &Prepared) -> Result<()> {
    let id = one.todo.record_id;
    match (one.kind, one.found.is_some()) {
        (Kind::Entity, false) => store::note_below(tx, project, id, Class::OpenComment),
        (Kind::User, _) if one.is_open.is_none() => {
            use Class::{ClosedComment, ClosedEntity, Message, OpenComment, OpenEntity};
            let all = [OpenEntity, OpenComment, ClosedEntity, ClosedComment, Message];
            all.into_iter().try_for_each(|class| store::note_by(tx, project, id, class))
        }
        (Kind::Space, _) => {
            let wrong: &[Class] = match one.is_open {
                Some(true) => &[Class::ClosedEntity, Class::ClosedComment],
                Some(false) => &[Class::OpenEntity, Class::OpenComment],
                None => &[
                    Class::OpenEntity,
                    Class::OpenComment,
                    Class::ClosedEntity,
                    Class::ClosedComment,
                    Class::Message,
                ],
            };
            wrong.iter().try_for_each(|class| store::note_in_space(tx, project, id, *class))
        }
        _ => Ok(()),
    }
}
