//! Writes documents of one type in one transaction: each is added, was there already, waits for another, or is left out.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use db::{Conn, JsonText, Value};
use uuid::Uuid;

use super::draft::{Draft, FOREIGN_ID};
use super::{Import, derive, store};
use crate::error::{Error, Result};
use crate::features::exports::kinds::{Kind, Type};
use crate::features::files::store::audit::Stored;
use crate::transfer::Result as Outcomes;
use crate::values::ids::{FileId, ProjectId};

/// Texts that only one document of a type may have. Without them it can still be imported.
const UNIQUE: &[(&str, &str)] = &[("user", "email"), ("user", "username"), ("space", "slug")];

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

/// A document as it will be written, and what becomes of it.
struct Judged {
    draft: Draft,
    outcome: Outcome,
    /// The id that a document with the same foreign id has here.
    here: Option<Uuid>,
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

fn unique(kind: &Kind) -> impl Iterator<Item = &'static str> {
    let name = kind.name;
    UNIQUE.iter().filter(move |(kind, _)| *kind == name).map(|(_, column)| *column)
}

fn judge(
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

/// The bytes of files: those that were stored, and documents whose bytes are lost.
#[derive(Default)]
struct Bytes {
    objects: u64,
    lost: HashSet<String>,
}

impl Bytes {
    /// Before the rows, so that no row lacks its bytes.
    fn store(import: &Import<'_>, judged: &[Judged], from: &Path) -> Outcomes<Bytes> {
        let mut bytes = Bytes::default();
        for Judged { draft, .. } in
            judged.iter().filter(|one| matches!(one.outcome, Outcome::Added(_)))
        {
            match bytes.store_one(import, draft, from)? {
                Some(objects) => bytes.objects += objects,
                None => {
                    bytes.lost.insert(draft.key());
                }
            }
        }
        Ok(bytes)
    }

    /// How many objects; none if one is missing.
    fn store_one(&self, import: &Import<'_>, draft: &Draft, from: &Path) -> Outcomes<Option<u64>> {
        let Value::Int(size) = draft.get("size") else { return Ok(None) };
        let stored = Stored {
            id: FileId(draft.id("id").unwrap_or_default()),
            path: draft.text("path").unwrap_or_default().to_owned(),
            size: *size,
            image: draft.text("image").map(|text| JsonText(text.to_owned())),
            sha256: None,
        };
        let Ok(objects) = stored.objects() else { return Ok(None) };
        for object in &objects {
            let path = from.join(&object.path);
            let is_there = std::fs::metadata(&path).is_ok_and(|found| found.len() == object.size);
            if !is_below(&object.path) || !is_there {
                return Ok(None);
            }
            if import.is_dry_run {
                continue;
            }
            let key = object.key(import.project.id);
            let there = import.runtime.block_on(import.store.storage.size(&key))?;
            match there {
                // Left by an import that was interrupted.
                Some(size) if size == object.size => {}
                Some(_) => return Ok(None),
                None => import.store.put(&key, &mut File::open(&path)?)?,
            }
        }
        Ok(Some(objects.len() as u64))
    }
}

/// A path from a file of strangers: nothing in it leads out of the folder.
fn is_below(path: &str) -> bool {
    !path.is_empty()
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}
