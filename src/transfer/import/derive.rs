//! What the server keeps about documents beside their rows: terms, trigrams, mentions, ancestors, feed totals, and the queue of
//! the search index. Each feature makes its own; stored counts are recounted at the end.

use db::Tx;

use super::draft::Draft;
use crate::error::{Error, Result};
use crate::features::chat::messages::store as messages;
use crate::features::connections::store as connections;
use crate::features::entities::rules::Mentions;
use crate::features::entities::store::{self as entities, feed_totals};
use crate::features::entities::terms;
use crate::features::exports::kinds::Kind;
use crate::features::users::store as users;
use crate::features::{comments, spaces, workspaces};
use crate::search_queue::{self, store as queue};
use crate::values::ids::{
    ChatMessageId, CommentId, ConnectionId, EntityId, ProjectId, SpaceId, UserId, WorkspaceId,
};

/// For documents that were just inserted.
pub(super) fn added(tx: &Tx<'_>, project: ProjectId, kind: &Kind, drafts: &[&Draft]) -> Result<()> {
    let ids = || drafts.iter().filter_map(|draft| draft.id("id"));
    match kind.name {
        "user" => {
            let ids: Vec<UserId> = ids().map(UserId).collect();
            for row in users::find_all(tx, project, &ids)? {
                users::trigrams::insert(tx, project, &row)?;
            }
        }
        "entity" => {
            let ids: Vec<EntityId> = ids().map(EntityId).collect();
            for row in entities::find_all(tx, project, &ids)? {
                let terms = terms::of_stored(&row).map_err(Error::internal)?;
                entities::insert_terms(tx, project, &row, &terms)?;
                if row.is_listed {
                    feed_totals::add(tx, project, &row)?;
                }
            }
        }
        "comment" => each(drafts, |draft, id| {
            let mentioned = mentioned(draft)?;
            comments::store::insert_mentions(tx, project, CommentId(id), &mentioned)
        })?,
        "message" => each(drafts, |draft, id| {
            messages::mention(tx, project, ChatMessageId(id), mentioned(draft)?.into_iter())
        })?,
        "space" => each(drafts, |draft, id| {
            let parent = draft.id("parent_id").map(SpaceId);
            spaces::store::insert_lines(tx, project, SpaceId(id), parent)
        })?,
        "workspace" => each(drafts, |draft, id| {
            let parent = draft.id("parent_id").map(WorkspaceId);
            workspaces::store::insert_lines(tx, project, WorkspaceId(id), parent)
        })?,
        "connection" => {
            let ids: Vec<ConnectionId> = ids().map(ConnectionId).collect();
            for row in connections::find_all(tx, project, &ids)? {
                connections::insert_sides(tx, project, &row)?;
            }
        }
        _ => {}
    }
    let indexed = match kind.name {
        "user" => search_queue::Kind::User,
        "entity" => search_queue::Kind::Entity,
        "comment" => search_queue::Kind::Comment,
        "message" => search_queue::Kind::Message,
        "space" => search_queue::Kind::Space,
        _ => return Ok(()),
    };
    ids().try_for_each(|id| queue::note(tx, project, indexed, id))
}

fn each(drafts: &[&Draft], work: impl Fn(&Draft, uuid::Uuid) -> Result<()>) -> Result<()> {
    let with_id = drafts.iter().filter_map(|draft| Some((draft, draft.id("id")?)));
    with_id.into_iter().try_for_each(|(draft, id)| work(draft, id))
}

fn mentioned(draft: &Draft) -> Result<Vec<UserId>> {
    let text = draft.text("mentions").unwrap_or("[]");
    let mentions: Mentions = serde_json::from_str(text).map_err(Error::internal)?;
    let mut users: Vec<UserId> = mentions.users().collect();
    users.sort_unstable();
    users.dedup();
    Ok(users)
}
