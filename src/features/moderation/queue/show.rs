//! From rows to items with everything a moderator looks at: a constant number of statements, however many items.

use std::collections::{HashMap, HashSet};

use db::Conn;

use crate::auth::store::suspensions;
use crate::error::{Error, Result};
use crate::features::moderation::decisions::Decision;
use crate::features::moderation::queue::content::Contents;
use crate::features::moderation::queue::model::{
    Author, ItemKind, Place, QueueItem, Reporter, Reporters,
};
use crate::features::moderation::queue::store::{self, QueueRow};
use crate::features::moderation::reports::store as reports;
use crate::features::moderation::target::Target;
use crate::features::spaces::store as spaces;
use crate::features::users::store::{self as users, UserRow};
use crate::values::ids::{ProjectId, ReportId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// Reporters that are shown with an item.
const SHOWN_REPORTERS: usize = 10;

pub(super) fn items(
    c: &Conn<'_>,
    project: ProjectId,
    rows: Vec<QueueRow>,
    now: Timestamp,
) -> Result<Vec<QueueItem>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let targets: Vec<Target> = rows.iter().map(QueueRow::target).collect();
    let mut contents = Contents::load(c, project, &targets)?;
    let mut reporters = reporters(c, project, &rows)?;
    let authors: Vec<UserId> = unique(rows.iter().filter_map(|row| row.author_id));
    let authors = authors_of(c, project, &authors, now)?;
    let in_spaces: Vec<SpaceId> = unique(rows.iter().filter_map(|row| row.space_id));
    let places = spaces::find_all(c, project, &in_spaces)?;
    let show = |row: QueueRow| {
        let target = row.target();
        let place = places.iter().find(|space| Some(space.id) == row.space_id);
        let matches = match &row.matches {
            Some(json) => serde_json::from_str(&json.0).map_err(Error::internal)?,
            None => Vec::new(),
        };
        Ok(QueueItem {
            id: row.id,
            kind: kind(&row),
            target,
            content: contents.content(target),
            rule: row.rule_id,
            matches,
            reporters: reporters.remove(&row.id).unwrap_or_default(),
            author: row.author_id.and_then(|id| authors.get(&id).cloned()),
            thread: contents.thread(target),
            space: place.map(|space| Place {
                id: space.id,
                name: space.name.clone(),
                slug: space.slug.clone(),
            }),
            images: contents.images.remove(&target.id).unwrap_or_default(),
            claim: row.claim.at(now),
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    };
    rows.into_iter().map(show).collect()
}

pub(super) fn unique<T: std::hash::Hash + Eq + Copy>(ids: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    ids.filter(|id| seen.insert(*id)).collect()
}

fn kind(row: &QueueRow) -> ItemKind {
    if row.is_held {
        ItemKind::Held
    } else if row.rule_id.is_some() && row.reporter_count == 0 {
        ItemKind::Flagged
    } else {
        ItemKind::Reported
    }
}

fn reporters(
    c: &Conn<'_>,
    project: ProjectId,
    rows: &[QueueRow],
) -> Result<HashMap<ReportId, Reporters>> {
    let ids: Vec<ReportId> = rows.iter().map(|row| row.id).collect();
    let mut of: HashMap<ReportId, Reporters> = HashMap::new();
    for row in rows {
        of.entry(row.id).or_default().count = row.reporter_count;
    }
    for (report, reason, count) in store::reasons(c, project, &ids)? {
        of.entry(report).or_default().reasons.push((reason, count));
    }
    let mut shown: HashMap<ReportId, usize> = HashMap::new();
    let mut entries = reports::entries(c, project, &ids)?;
    entries.retain(|entry| {
        let count = shown.entry(entry.report_id).or_default();
        *count += 1;
        *count <= SHOWN_REPORTERS
    });
    let who: Vec<UserId> = unique(entries.iter().map(|entry| entry.user_id));
    let names = users::find_all(c, project, &who)?;
    let names: HashMap<UserId, UserRow> = names.into_iter().map(|row| (row.id, row)).collect();
    let accuracy = store::accuracy(c, project, &who)?.into_iter();
    let accuracy: HashMap<UserId, (i64, i64)> =
        accuracy.map(|(user, handled, actioned)| (user, (handled, actioned))).collect();
    for entry in entries {
        let name = names.get(&entry.user_id);
        let (handled, actioned) = accuracy.get(&entry.user_id).copied().unwrap_or_default();
        of.entry(entry.report_id).or_default().first.push(Reporter {
            user: entry.user_id,
            name: name.and_then(|row| row.name.clone()),
            username: name.and_then(|row| row.username.clone()),
            reason: entry.reason,
            details: entry.details,
            created_at: entry.created_at,
            handled,
            actioned,
        });
    }
    Ok(of)
}

/// Authors with what was decided about them so far.
pub(in crate::features::moderation) fn authors_of(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[UserId],
    now: Timestamp,
) -> Result<HashMap<UserId, Author>> {
    let rows = users::find_all(c, project, ids)?;
    let strikes: HashMap<UserId, i64> = store::strikes(c, project, ids)?.into_iter().collect();
    let mut decisions: HashMap<UserId, Vec<Decision>> = HashMap::new();
    for decision in store::last_decisions(c, project, ids)? {
        if let Some(author) = decision.author_id {
            decisions.entry(author).or_default().push(decision);
        }
    }
    let suspended = suspensions::active_among(c, project, ids, now)?;
    let show = |row: UserRow| {
        let ends = suspended.iter().filter(|(user, _)| *user == row.id).map(|(_, end)| *end);
        // The longest one counts; one without an end is the longest.
        let longest = ends.max_by_key(|end| (end.is_none(), *end));
        let author = Author {
            user: row.id,
            name: row.name,
            username: row.username,
            reputation: row.reputation,
            created_at: row.created_at,
            strikes: strikes.get(&row.id).copied().unwrap_or(0),
            decisions: decisions.remove(&row.id).unwrap_or_default(),
            is_suspended: longest.is_some(),
            suspended_until: longest.flatten(),
        };
        (author.user, author)
    };
    Ok(rows.into_iter().map(show).collect())
}
