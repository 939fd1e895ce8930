//! The bytes of files that are imported.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Component, Path};

use db::{JsonText, Value};

use super::super::Import;
use super::super::draft::Draft;
use super::Outcome;
use super::judge::Judged;
use crate::features::files::store::audit::Stored;
use crate::transfer::Result;
use crate::values::ids::FileId;

/// Those that were stored, and documents whose bytes are lost.
#[derive(Default)]
pub(super) struct Bytes {
    pub(super) objects: u64,
    pub(super) lost: HashSet<String>,
}

impl Bytes {
    /// Before the rows, so that no row lacks its bytes.
    pub(super) fn store(import: &Import<'_>, judged: &[Judged], from: &Path) -> Result<Bytes> {
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
    fn store_one(&self, import: &Import<'_>, draft: &Draft, from: &Path) -> Result<Option<u64>> {
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
