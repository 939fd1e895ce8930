//! What is stored: is the database sound, are the tables of projects as they were made, and has every file its
//! bytes?

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use aws_lc_rs::digest::{Context, SHA256};
use db::Db;
use futures_util::TryStreamExt as _;

use crate::audit::verify_all;
use crate::cli::doctor::reach::open_storage;
use crate::cli::doctor::{Finding, block_on};
use crate::config::Config;
use crate::error::Result;
use crate::features::entities::store::recount::projects;
use crate::features::exports::uploads;
use crate::features::files::store::audit::{self, Object, Stored};
use crate::features::search::admin as index;
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::examine::examine;
use crate::storage::{Storage, unavailable};
use crate::values::ids::ProjectId;
use crate::values::random::hex;

/// The report names at most this many files, and counts the rest.
const MAX_NAMED: usize = 10;

/// Tables that were changed behind the server's back cannot be used through it.
pub(super) fn tables(db: &Db) -> Finding {
    let dialect = Dialect(db.engine());
    match block_on(db.read_slow(move |c| examine(c, dialect)))? {
        (count, wrong) if wrong.is_empty() => Ok(format!("{count}, all as they were made")),
        (_, wrong) => Err(wrong.join("; ")),
    }
}

/// The database's own pages, indexes and foreign keys.
pub(super) fn integrity(db: &Db) -> Finding {
    let examined = db.examine().map_err(|error| error.to_string())?;
    if !examined.findings.is_empty() {
        return Err(examined.findings.join("; "));
    }
    let sound = "pages, indexes and foreign keys are sound".to_owned();
    Ok(examined.skipped.map_or(sound, |why| format!("foreign keys are sound; {why}")))
}

/// Every row of a file against the bytes that it speaks of.
pub(super) fn files(config: &Config, db: &Db) -> Finding {
    let Some(storage) = open_storage(config, db)? else {
        return Ok("none was ever stored".to_owned());
    };
    let audit = block_on(Audit::run(db, &storage))?;
    let unowned = match audit.unowned {
        0 => String::new(),
        count => format!("; {count} stored objects without a row, left by what was interrupted"),
    };
    if audit.wrong.is_empty() {
        return Ok(format!("{} objects, all as they were stored{unowned}", audit.objects));
    }
    let more = audit.wrong.len().saturating_sub(MAX_NAMED);
    let named = audit.wrong[..audit.wrong.len() - more].join("; ");
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Err(format!("{named}{more}{unowned}"))
}

#[derive(Debug, Default)]
struct Audit {
    objects: u64,
    wrong: Vec<String>,
    /// Stored, but of no row.
    unowned: u64,
}

impl Audit {
    async fn run(db: &Db, storage: &Storage) -> Result<Audit> {
        let mut audit = Audit::default();
        // Digests of the keys, not the keys: there may be very many.
        let mut owned = HashSet::new();
        for project in db.read_slow(projects).await? {
            let mut last = None;
            loop {
                let page = db.read_slow(move |c| audit::page(c, project, last)).await?;
                let Some(row) = page.last() else { break };
                last = Some(row.id);
                for stored in &page {
                    owned.extend(
                        stored.objects()?.iter().map(|object| digest(&object.key(project))),
                    );
                    audit.compare(db, storage, project, stored).await?;
                }
            }
        }
        let mut keys = storage.keys().await.map_err(unavailable)?;
        while let Some(key) = keys.try_next().await.map_err(unavailable)? {
            // What is not below a project is the storage's own; uploads to be imported have no rows.
            let folder = key.split('/').nth(1);
            let is_object = folder.is_some_and(|folder| folder != uploads::FOLDER);
            audit.unowned += u64::from(is_object && !owned.contains(&digest(&key)));
        }
        Ok(audit)
    }

    async fn compare(
        &mut self,
        db: &Db,
        storage: &Storage,
        project: ProjectId,
        stored: &Stored,
    ) -> Result<()> {
        for object in stored.objects()? {
            self.objects += 1;
            let Some(wrong) = compared(storage, &object, project).await? else { continue };
            // A server at work may have deleted the file since its row was read.
            let id = stored.id;
            if db.read(move |c| audit::exists(c, project, id)).await? {
                self.wrong.push(format!("file {id}: {} {wrong}", object.path));
            }
        }
        Ok(())
    }
}

/// What is wrong with an object.
async fn compared(
    storage: &Storage,
    object: &Object,
    project: ProjectId,
) -> Result<Option<&'static str>> {
    let key = object.key(project);
    let Some(size) = storage.size(&key).await? else { return Ok(Some("is missing")) };
    if size != object.size {
        return Ok(Some("has another size"));
    }
    let Some(expected) = &object.sha256 else { return Ok(None) };
    let Some(mut chunks) = storage.read(&key, None).await? else { return Ok(Some("is missing")) };
    let mut hash = Context::new(&SHA256);
    while let Some(chunk) = chunks.try_next().await.map_err(unavailable)? {
        hash.update(&chunk);
    }
    let is_same = hex(hash.finish().as_ref()) == *expected;
    Ok((!is_same).then_some("has other bytes than were stored"))
}

fn digest(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Every sealed entry of the audit log.
pub(super) fn audit_log(db: &Db) -> Finding {
    let findings = block_on(db.read_slow(verify_all))?;
    match findings.first() {
        None => Ok("every entry is as it was sealed".to_owned()),
        Some((project, finding)) => {
            let (count, text) = (findings.len(), &finding.text);
            Err(format!(
                "{count} places differ from their seals; {project}: {text}: townhall audit --verify"
            ))
        }
    }
}

/// The search index against the content. A running server indexes what is queued.
pub(super) fn search(db: &Db, fix: bool) -> Finding {
    match (block_on(index::compare(db, fix))?, fix) {
        (0, _) => Ok("every record is indexed as it is".to_owned()),
        (wrong, true) => Ok(format!("{wrong} records are queued to be indexed again")),
        (wrong, false) => {
            Err(format!("{wrong} records are not indexed as they are; --fix queues them"))
        }
    }
}
