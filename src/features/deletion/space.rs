//! Delete Space: its creator or a key deletes it with all child spaces and content. Everything is hidden
//! before the reply; a job then removes it in small transactions, so that other writers do not wait for long.

use db::{Conn, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::ActorOrKey;
use crate::error::{Error, Result};
use crate::features::chat;
use crate::features::deletion::store::{purge_entities, space as store};
use crate::features::files::purge;
use crate::features::moderation::reports::store as reports;
use crate::features::notifications;
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::store as spaces;
use crate::features::spaces::store::moderation_log;
use crate::features::spaces::{DELETION_DISABLED, NOT_FOUND, SpacePath};
use crate::features::users::reputation;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{JobId, ProjectId, SpaceId};
use crate::values::time::Timestamp;

/// Rows removed in one transaction.
const BATCH_SIZE: i64 = 100;
/// Transactions after which the job goes to the back of the queue.
const STEPS: u32 = 200;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SpaceDeletion")]
pub(super) struct Deleted {
    message: &'static str,
    deleted_space: DeletedSpace,
    counts: Counts,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DeletedSpace {
    id: SpaceId,
    name: String,
}

/// Includes child spaces.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeletedSpaceCounts")]
struct Counts {
    entities: i64,
    members: i64,
    child_spaces: i64,
}

pub(super) async fn delete_space(
    call: Call<ActorOrKey>,
    Path(path): Path<SpacePath>,
) -> Result<Json<Deleted>> {
    let (project, caller, now) = (call.project.clone(), call.caller, call.now);
    let deleted = call.app.db.write(move |tx| hide(tx, &project, path.space_id, caller, now));
    deleted.await.map(Json)
}

fn hide(
    tx: &Tx<'_>,
    project: &Project,
    id: SpaceId,
    caller: ActorOrKey,
    now: Timestamp,
) -> Result<Deleted> {
    let parent = spaces::find(tx, project.id, id)?.ok_or(NOT_FOUND)?.parent_id;
    if matches!(caller, ActorOrKey::User(_)) && !project.deletes_spaces {
        return Err(DELETION_DISABLED.into());
    }
    // Lock order: the parent before its child.
    if let Some(parent) = parent {
        spaces::lock(tx, project.id, parent)?;
    }
    let held = authority::lock(tx, project.id, id, caller, Authority::Creator)?;
    let subtree = spaces::lock_subtree(tx, project.id, id)?;
    let counts = count(tx, project.id, &subtree)?;
    store::hide(tx, project.id, &subtree, now)?;
    if let Some(parent) = parent {
        spaces::uncount_child(tx, project.id, parent)?;
    }
    chat::space::hide(tx, project.id, &subtree, now)?;
    // A space is deleted once, so its id is unique as a job id.
    jobs::insert(tx, project.id, JobId(id.0), &RemoveSpaces { root: id }, now)?;
    Ok(Deleted {
        message: "Space deleted successfully.",
        deleted_space: DeletedSpace { id, name: held.space.name },
        counts,
    })
}

fn count(c: &Conn<'_>, project: ProjectId, subtree: &[SpaceId]) -> Result<Counts> {
    let all = i64::try_from(subtree.len()).unwrap_or(i64::MAX);
    Ok(Counts {
        entities: store::count_entities(c, project, subtree)?,
        members: store::count_members(c, project, subtree)?,
        child_spaces: all - 1,
    })
}

/// The deleted spaces at and below this one, the deepest first, each with all that is in it.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveSpaces {
    pub root: SpaceId,
}

impl Job for RemoveSpaces {
    const KIND: &'static str = "remove-spaces";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        run(app, project, self.root).await
    }
}

async fn run(app: &App, project: ProjectId, root: SpaceId) -> Result<()> {
    let mut steps = 0;
    loop {
        let some = app.db.read(move |c| store::deleted_below(c, project, root, BATCH_SIZE));
        let some = some.await?;
        if some.is_empty() {
            return Ok(());
        }
        for space in some {
            while empty(app, project, space).await? {
                steps += 1;
                if steps >= STEPS {
                    let rest = RemoveSpaces { root };
                    return jobs::enqueue(app, project, rest, app.clock.now()).await;
                }
            }
        }
    }
}

/// One batch; false once the space itself is deleted.
async fn empty(app: &App, project: ProjectId, space: SpaceId) -> Result<bool> {
    let now = app.clock.now();
    let left = app.db.write(move |tx| {
        let some = store::some_entities(tx, project, space, BATCH_SIZE)?;
        if !some.is_empty() {
            purge_entities::purge(tx, project, &some, now)?;
            return Ok(true);
        }
        if reports::remove_of_space(tx, project, space, BATCH_SIZE)? > 0
            || moderation_log::remove_of_space(tx, project, space, BATCH_SIZE)? > 0
            || reputation::dissolve(tx, project, space, BATCH_SIZE)? > 0
            || store::delete_members(tx, project, space, BATCH_SIZE)? > 0
        {
            return Ok(true);
        }
        purge::delete_of_space(tx, project, space, now)?;
        store::delete(tx, project, space)?;
        notifications::store::hide::delete_of_subjects(tx, project, vec![space.0])?;
        Ok::<_, Error>(false)
    });
    left.await
}
