//! The moderation log of a space: what moderators, keys and rules removed, approved and banned in it. Its moderators
//! read it; the admins may open it to everybody who reads the space. It names no reporter and no moderator.

use db::{Conn, Tx};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::auth::caller::{ActorOrKey, OptionalViewer};
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::store::moderation_log::{self as store, LogRow};
use crate::features::spaces::store::{self as spaces, access};
use crate::features::spaces::{
    ADMIN_REQUIRED, INVALID, MODERATOR_REQUIRED, NOT_FOUND, ON_BEHALF, SpacePath,
};
use crate::http::input::{Body, Paging, Path};
use crate::http::operation::{Call, Operation};
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::http::version::Version;
use crate::state::App;
use crate::values::ids::{EntityId, ProjectId, SpaceId, SpaceLogId, UserId, new_id};
use crate::values::names::names;
use crate::values::time::Timestamp;

names! {
    #[schemars(rename = "SpaceLogAction")]
    LogAction {
        Remove "remove",
        Approve "approve",
        Ban "ban",
        Unban "unban",
    }
    #[schemars(rename = "SpaceLogTarget")]
    LogTarget {
        Entity "entity",
        Comment "comment",
        Message "message",
        User "user",
    }
    /// Who decided, without a name.
    #[schemars(rename = "SpaceLogDecidedBy")]
    LoggedBy {
        /// A moderator of the space.
        Moderator "moderator",
        /// The project, with a key or by its operators.
        Project "project",
        /// A rule of the project.
        Rule "rule",
    }
}

impl LoggedBy {
    /// A user, or the project itself.
    pub fn user(user: Option<UserId>) -> Self {
        if user.is_some() { LoggedBy::Moderator } else { LoggedBy::Project }
    }
}

pub(super) fn operations() -> Vec<Operation> {
    let (path, feature) = ("/spaces/{spaceId}/moderation-log", "space");
    let operations = vec![
        Operation::new(Method::GET, path, "Fetch Moderation Log", feature, INVALID, fetch)
            .errors(&[NOT_FOUND, MODERATOR_REQUIRED]),
        Operation::new(Method::PATCH, path, "Update Moderation Log", feature, INVALID, update)
            .acts_as(ON_BEHALF)
            .errors(&[NOT_FOUND, ADMIN_REQUIRED]),
    ];
    operations.into_iter().map(|one| one.since(Version::V8)).collect()
}

/// What was done, as it is logged.
#[derive(Debug, Clone, Copy)]
pub struct Logged<'a> {
    pub action: LogAction,
    pub target: (LogTarget, Uuid),
    pub by: LoggedBy,
    pub reason: Option<&'a str>,
}

/// Notes what was done in a space, in the transaction that does it.
pub fn add(
    tx: &Tx<'_>,
    app: &App,
    (project, space): (ProjectId, SpaceId),
    logged: Logged<'_>,
    now: Timestamp,
) -> Result<()> {
    let Logged { action, target: (target_type, target_id), by: decided_by, reason } = logged;
    let row = LogRow {
        id: SpaceLogId(new_id(now, &app.random)),
        action,
        target_type,
        target_id,
        decided_by,
        reason: reason.map(str::to_owned),
        created_at: now,
    };
    store::insert(tx, project, space, &row)
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SpaceLogEntry {
    id: SpaceLogId,
    space_id: SpaceId,
    action: LogAction,
    target_type: LogTarget,
    #[schemars(with = "EntityId")]
    target_id: Uuid,
    decided_by: LoggedBy,
    reason: Option<String>,
    created_at: Timestamp,
}

async fn fetch(
    call: Call<OptionalViewer>,
    (Path(path), Paging(page)): (Path<SpacePath>, Paging<20, 100>),
) -> Result<Json<Paged<SpaceLogEntry>>> {
    let (project, space, caller) = (call.project.id, path.space_id, call.caller);
    let listed = call.app.db.read_slow(move |c| {
        permit(c, project, space, caller)?;
        let (rows, total) = store::list(c, project, space, page)?;
        Ok(page.of(rows.into_iter().map(|row| entry(space, row)).collect(), total))
    });
    listed.await.map(Json)
}

fn entry(space_id: SpaceId, row: LogRow) -> SpaceLogEntry {
    let LogRow { id, action, target_type, target_id, decided_by, reason, created_at } = row;
    SpaceLogEntry { id, space_id, action, target_type, target_id, decided_by, reason, created_at }
}

/// Moderators always; others if they may read the space and its log is public.
fn permit(c: &Conn<'_>, project: ProjectId, id: SpaceId, caller: OptionalViewer) -> Result<()> {
    let space = spaces::find(c, project, id)?.ok_or(NOT_FOUND)?;
    let (authority, perspective) = match caller {
        OptionalViewer::Anonymous => (Authority::None, Perspective::Anonymous),
        OptionalViewer::Key(_) => return Ok(()),
        OptionalViewer::User(user) => {
            let caller = ActorOrKey::User(user);
            (authority::authority(c, project, &space, caller)?, Perspective::User(user))
        }
    };
    if authority >= Authority::Moderator {
        return Ok(());
    }
    let may_read = access::may_read(c, project, Some(id), None, perspective)?;
    match (may_read, store::is_public(c, project, id)?) {
        (false, _) => Err(NOT_FOUND.into()),
        (true, false) => Err(MODERATOR_REQUIRED.into()),
        (true, true) => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModerationLogSettings")]
struct LogSettings {
    /// Whether everybody who may read the space may read its log.
    is_public: bool,
}

async fn update(
    call: Call<ActorOrKey>,
    (Path(path), Body(settings)): (Path<SpacePath>, Body<LogSettings>),
) -> Result<Json<LogSettings>> {
    let (project, caller, now) = (call.project.id, call.caller, call.now);
    let updated = call.app.db.write(move |tx| {
        let held = authority::lock(tx, project, path.space_id, caller, Authority::Admin)?;
        store::set_public(tx, project, held.space.id, settings.is_public, now)
    });
    updated.await?;
    Ok(Json(settings))
}
