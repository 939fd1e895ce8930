//! What becomes of documents of one type, compared with what is there and with each other.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};

use db::{Conn, Value};
use uuid::Uuid;

use super::super::draft::{Draft, FOREIGN_ID};
use super::super::store;
use super::{Known, Outcome};
use crate::error::Result;
use crate::features::exports::kinds::{Kind, Type};
use crate::values::ids::ProjectId;

/// Texts that only one document of a type may have. Without them it can still be imported.
const UNIQUE: &[(&str, &str)] = &[("user", "email"), ("user", "username"), ("space", "slug")];

/// A document as it will be written, and what becomes of it.
pub(super) struct Judged {
    pub(super) draft: Draft,
    pub(super) outcome: Outcome,
    /// The id that a document with the same foreign id has here.
    pub(super) here: Option<Uuid>,
}

pub(super) fn unique(kind: &Kind) -> impl Iterator<Item = &'static str> {
    let name = kind.name;
    UNIQUE.iter().filter(move |(kind, _)| *kind == name).map(|(_, column)| *column)
}

pub(super) fn judge(
    c: &Conn<'_>,
    project: ProjectId,
    kind: &'static Kind,
    known: &RwLock<Known>,
    drafts: &[Draft],
) -> Result<Vec<Judged>> {
    let known = known.read().unwrap_or_else(PoisonError::into_inner);
    let mut drafts = drafts.to_vec();
    let own = own_foreign_ids(c, project, kind, &drafts)?;
    let lacking = resolve(c, project, &known, &own, &mut drafts)?;
    let existing = store::existing(c, project, kind, &drafts)?;
    let references = references(c, project, &drafts)?;
    let mut taken = HashMap::new();
    for column in unique(kind) {
        let texts = drafts.iter().filter_map(|draft| draft.text(column).map(str::to_owned));
        let found = store::taken(c, project, kind.table, column, texts.collect())?;
        taken.insert(column, found);
    }
    let mut coming = Coming { keys: existing, ids: HashSet::new(), taken };
    let judged = drafts.into_iter().zip(lacking).map(|(draft, lacking)| {
        let here = draft.own_foreign_id().and_then(|text| own.get(text)).copied();
        let here = here.filter(|here| Some(*here) != draft.id("id"));
        coming.judge(draft, here, lacking, &references, &known)
    });
    Ok(judged.collect())
}

fn own_foreign_ids(
    c: &Conn<'_>,
    project: ProjectId,
    kind: &Kind,
    drafts: &[Draft],
) -> Result<HashMap<String, Uuid>> {
    if kind.place(FOREIGN_ID).is_none() {
        return Ok(HashMap::new());
    }
    let texts = drafts.iter().filter_map(Draft::own_foreign_id).map(str::to_owned);
    store::by_foreign_id(c, project, kind.table, texts.collect())
}

/// Replaces ids by those that documents have here; what each document lacks for that.
fn resolve(
    c: &Conn<'_>,
    project: ProjectId,
    known: &Known,
    own: &HashMap<String, Uuid>,
    drafts: &mut [Draft],
) -> Result<Vec<Option<String>>> {
    let mut wanted: HashMap<&'static str, Vec<String>> = HashMap::new();
    for (_, table, text) in drafts.iter().flat_map(|draft| &draft.foreign) {
        wanted.entry(table).or_default().push(text.clone());
    }
    let mut found = HashMap::new();
    for (table, texts) in wanted {
        found.insert(table, store::by_foreign_id(c, project, table, texts)?);
    }
    let mut beside = HashMap::new();
    for draft in drafts.iter() {
        let id = draft.own_foreign_id().and_then(|text| own.get(text).copied().or(draft.id("id")));
        beside.extend(draft.own_foreign_id().map(str::to_owned).zip(id));
    }
    let mut lacking = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let mut lacks = None;
        for (at, table, text) in &draft.foreign {
            let there = found.get(table).and_then(|found| found.get(text));
            let coming = beside.get(text).filter(|_| draft.kind.table == *table);
            let pretended = || known.foreign.get(&(*table, text.clone()));
            match there.or_else(pretended).or(coming) {
                Some(id) => draft.values[*at] = Value::Uuid(*id),
                None => lacks = Some(format!("what it refers to is not there: {text}")),
            }
        }
        for value in &mut draft.values {
            if let Value::Uuid(id) = value {
                *id = known.ids.get(id).copied().unwrap_or(*id);
            }
        }
        lacking.push(lacks);
    }
    Ok(lacking)
}

/// Which of the rows that documents must refer to exist.
fn references(
    c: &Conn<'_>,
    project: ProjectId,
    drafts: &[Draft],
) -> Result<HashMap<&'static str, HashSet<Uuid>>> {
    let mut wanted: HashMap<&'static str, Vec<Uuid>> = HashMap::new();
    for (table, id) in drafts.iter().flat_map(required) {
        wanted.entry(table).or_default().push(id);
    }
    let find = |(table, mut ids): (&'static str, Vec<Uuid>)| {
        ids.sort_unstable();
        ids.dedup();
        Ok((table, store::existing_ids(c, project, table, ids)?))
    };
    wanted.into_iter().map(find).collect()
}

fn required(draft: &Draft) -> impl Iterator<Item = (&'static str, Uuid)> {
    let fields = draft.kind.fields.iter().zip(&draft.values);
    fields.filter_map(|(field, value)| match (field.kind, value) {
        (Type::Id(Some(table)), Value::Uuid(id)) => Some((table, *id)),
        _ => None,
    })
}

/// What is there, and what this batch adds.
struct Coming {
    keys: HashSet<String>,
    ids: HashSet<Uuid>,
    taken: HashMap<&'static str, HashSet<String>>,
}

impl Coming {
    fn judge(
        &mut self,
        mut draft: Draft,
        here: Option<Uuid>,
        lacking: Option<String>,
        references: &HashMap<&'static str, HashSet<Uuid>>,
        known: &Known,
    ) -> Judged {
        let table = draft.kind.table;
        let pretended = draft.id("id").is_some_and(|id| known.rows.contains(&(table, id)));
        if here.is_some() || pretended || self.keys.contains(&draft.key()) {
            return Judged { draft, outcome: Outcome::Unchanged, here };
        }
        let missing = required(&draft).find(|(of, id)| {
            let there = references.get(of).is_some_and(|ids| ids.contains(id));
            let coming = *of == table && self.ids.contains(id);
            !there && !coming && !known.rows.contains(&(*of, *id))
        });
        let missing = missing.map(|(of, id)| format!("{id} of {of} is not there"));
        if let Some(reason) = lacking.or(missing) {
            return Judged { draft, outcome: Outcome::Waits(reason), here };
        }
        let mut notes = Vec::new();
        for column in unique(draft.kind) {
            let Some(text) = draft.text(column).map(str::to_owned) else { continue };
            let taken = self.taken.entry(column).or_default();
            if known.texts.contains(&(column, text.clone())) || !taken.insert(text) {
                draft.set(column, Value::Null);
                notes
                    .push(format!("the {column} was left out: another {} has it", draft.kind.name));
            }
        }
        self.keys.insert(draft.key());
        self.ids.extend(draft.id("id"));
        finish(&mut draft);
        Judged { draft, outcome: Outcome::Added(notes), here }
    }
}

/// What follows from ids that are known by now.
fn finish(draft: &mut Draft) {
    match draft.kind.name {
        "comment" => {
            let thread = draft.id("parent_id").or(draft.id("entity_id"));
            draft.set("thread_id", thread.map(Value::Uuid));
        }
        "connection" => {
            if let (Some(low), Some(high)) = (draft.id("low_id"), draft.id("high_id"))
                && low > high
            {
                draft.set("low_id", Value::Uuid(high));
                draft.set("high_id", Value::Uuid(low));
            }
        }
        _ => {}
    }
}
