//! Sealing entries into a chain of hashes, and checking it.

use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use db::{Conn, Tx};

use crate::audit::store::{self, Seal};
use crate::audit::{Entry, retention};
use crate::error::{Error, Result};
use crate::installation::store as installation;
use crate::values::ids::{AuditEntryId, ProjectId};
use crate::values::time::Timestamp;

/// Entries are sealed once no transaction can add an earlier one any more.
const SETTLED_AFTER: Duration = Duration::from_secs(60);
/// Entries that are read at once.
const BATCH_SIZE: i64 = 1000;

/// Seals settled entries, at most this many; returns how many. Nodes take turns.
pub fn seal(tx: &Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    let until = now.minus(SETTLED_AFTER);
    let from = installation::lock_sealed_until(tx)?;
    let mut sealed = 0;
    for project in store::projects_between(tx, from, until)? {
        let left = most - i64::try_from(sealed).unwrap_or(i64::MAX);
        if left <= 0 {
            return Ok(sealed);
        }
        sealed += seal_project(tx, project, until, left, now)?;
    }
    if i64::try_from(sealed).unwrap_or(i64::MAX) < most {
        installation::set_sealed_until(tx, until)?;
    }
    Ok(sealed)
}

fn seal_project(
    tx: &Tx<'_>,
    project: ProjectId,
    until: Timestamp,
    most: i64,
    now: Timestamp,
) -> Result<u64> {
    let last = store::last_seal(tx, project)?;
    let after = last.as_ref().map(|seal| seal.last_id);
    let entries = store::entries_after(tx, project, after, Some(until), most)?;
    let Some(last_id) = entries.last().map(|entry| entry.id) else { return Ok(0) };
    let mut hash = Hash::after(last.as_ref());
    entries.iter().try_for_each(|entry| hash.add(entry))?;
    let count = entries.len();
    let seal = Seal {
        position: position_after(last.as_ref()),
        last_id,
        entries: i64::try_from(count).map_err(Error::internal)?,
        hash: hash.finish(),
        sealed_at: now,
        cut_before: None,
    };
    store::insert_seal(tx, project, &seal)?;
    Ok(count as u64)
}

struct Hash(Context);

impl Hash {
    fn after(seal: Option<&Seal>) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(seal.map_or(&[][..], |seal| &seal.hash));
        Hash(context)
    }

    /// JSON of all its texts: no two entries have the same.
    fn add(&mut self, entry: &Entry) -> Result<()> {
        self.0.update(&serde_json::to_vec(entry).map_err(Error::internal)?);
        Ok(())
    }

    fn finish(self) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

/// What is wrong with the log of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The first entry and the last one between which something was changed.
    pub after: Option<AuditEntryId>,
    pub last: AuditEntryId,
    pub text: String,
}

/// Reads every sealed entry of a project; returns what does not agree with its seals.
pub fn verify(c: &Conn<'_>, project: ProjectId) -> Result<Vec<(ProjectId, Finding)>> {
    let (mut findings, mut previous) = (Vec::new(), None::<Seal>);
    while let Some(seal) = next_seal(c, project, previous.as_ref())? {
        let after = previous.as_ref().map(|seal| seal.last_id);
        let wrong = compare(c, project, previous.as_ref(), &seal)?;
        let finding = |text| (project, Finding { after, last: seal.last_id, text });
        findings.extend(wrong.map(finding));
        previous = Some(seal);
    }
    Ok(findings)
}

/// The seal after another one, or the first that there is.
pub(super) fn next_seal(
    c: &Conn<'_>,
    project: ProjectId,
    previous: Option<&Seal>,
) -> Result<Option<Seal>> {
    store::seal_from(c, project, position_after(previous))
}

fn position_after(seal: Option<&Seal>) -> i64 {
    seal.map_or(0, |seal| seal.position) + 1
}

/// What does not agree with a seal: its entries, and that it follows the seal before it.
pub(super) fn compare(
    c: &Conn<'_>,
    project: ProjectId,
    previous: Option<&Seal>,
    seal: &Seal,
) -> Result<Option<String>> {
    if let (None, Some(before)) = (previous, seal.cut_before) {
        return retention::compare_cut(c, project, seal, before);
    }
    let position = position_after(previous);
    if seal.position != position {
        return Ok(Some(format!("{} seals are missing", seal.position - position)));
    }
    let (entries, hash) = hash_between(c, project, previous, seal)?;
    Ok(match entries - seal.entries {
        0 if hash == seal.hash => None,
        0 => Some("an entry was changed".to_owned()),
        more if more > 0 => Some(format!("{more} entries were added")),
        less => Some(format!("{} entries are missing", -less)),
    })
}

/// The same of every project.
pub fn verify_all(c: &Conn<'_>) -> Result<Vec<(ProjectId, Finding)>> {
    let mut findings = Vec::new();
    for project in store::projects(c)? {
        findings.extend(verify(c, project)?);
    }
    Ok(findings)
}

/// The number and the hash of the entries up to `seal`, of which as many are expected as it says.
fn hash_between(
    c: &Conn<'_>,
    project: ProjectId,
    previous: Option<&Seal>,
    seal: &Seal,
) -> Result<(i64, Vec<u8>)> {
    let (mut hash, mut count) = (Hash::after(previous), 0);
    let mut after = previous.map(|seal| seal.last_id);
    loop {
        // One more than expected, to see that it is the end.
        let most = (seal.entries - count + 1).clamp(1, BATCH_SIZE);
        let entries = store::entries_after(c, project, after, None, most)?;
        let read = entries.len();
        for entry in entries {
            if entry.id > seal.last_id {
                return Ok((count, hash.finish()));
            }
            hash.add(&entry)?;
            count += 1;
            after = Some(entry.id);
        }
        if (read as i64) < most {
            return Ok((count, hash.finish()));
        }
    }
}
