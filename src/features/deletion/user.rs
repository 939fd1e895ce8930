//! Delete User: for keys only; users delete themselves through `features/auth`. In both cases content that
//! others have replied to stays, anonymized.

use db::Tx;
use serde::{Deserialize, Serialize};

use crate::auth::caller::KeyHolder;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::files::purge;
use crate::features::moderation::{decisions, reports};
use crate::features::users::fetch::UserPath;
use crate::features::users::store::trigrams;
use crate::features::users::{NOT_FOUND, store};
use crate::features::{
    chat, collections, comments, connections, entities, events, follows, grants, notifications,
    reactions, spaces, workspaces,
};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::NoContent;
use crate::jobs::{self, Job};
use crate::realtime;
use crate::state::App;
use crate::values::ids::{JobId, ProjectId, UserId};
use crate::values::time::Timestamp;

pub(super) async fn delete_user(
    call: Call<KeyHolder>,
    Path(path): Path<UserPath>,
) -> Result<NoContent> {
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let deleted = call.app.db.write(move |tx| {
        let context = Context { app: &app, project: &project, now };
        erase(tx, context, path.user_id)
    });
    let deleted = deleted.await?;
    if deleted { Ok(NoContent) } else { Err(NOT_FOUND.into()) }
}

/// Deletes a user and their data; false if there was no such user.
pub(crate) fn erase(tx: &Tx<'_>, context: Context<'_>, user: UserId) -> Result<bool> {
    let (project, now) = (context.project.id, context.now);
    entities::store::anonymize::lock(tx, project, user)?;
    comments::store::anonymize::lock(tx, project, user)?;
    reports::store::anonymize::lock(tx, project, user)?;
    spaces::store::anonymize::lock(tx, project, user)?;
    chat::store::anonymize::lock(tx, project, user)?;
    workspaces::store::erase::lock(tx, project, user)?;
    events::store::anonymize::lock(tx, project, user)?;
    // The lock keeps new rows from referring to the user.
    let Some(row) = store::find_for_update(tx, project, user)? else { return Ok(false) };
    let told = notifications::store::hide::about_what_they_wrote(tx, project, user)?;
    let listed = entities::store::anonymize::forget_author(tx, project, user)?;
    comments::store::anonymize::forget_author(tx, project, user)?;
    reactions::store::delete_reactions::delete_of_user(tx, project, user)?;
    reports::store::anonymize::forget_user(tx, project, user)?;
    decisions::store::forget_user(tx, project, user)?;
    collections::store::anonymize::forget_user(tx, project, user)?;
    follows::store::forget_user(tx, project, user)?;
    connections::store::forget_user(tx, project, user)?;
    spaces::store::anonymize::forget_user(tx, project, user)?;
    spaces::store::moderation_log::forget_user(tx, project, user)?;
    chat::store::anonymize::forget_user(tx, project, user, now)?;
    workspaces::forget_user(tx, context, &row)?;
    events::store::anonymize::forget_user(tx, project, user)?;
    grants::store::anonymize::forget_user(tx, project, user)?;
    purge::delete_of_user(tx, project, user, now)?;
    trigrams::forget(tx, project, &row)?;
    entities::store::feed_totals::remove_listed(tx, project, listed)?;
    notifications::store::hide::delete_with_author(tx, project, user, &told)?;
    realtime::end_user(tx, project, user)?;
    empty_log(tx, project, user, now)?;
    store::delete(tx, project, user)
}

/// Removes what a deleted user wrote from the database's log.
#[derive(Debug, Serialize, Deserialize)]
pub struct EmptyDatabaseLog {}

impl Job for EmptyDatabaseLog {
    const KIND: &'static str = "empty-database-log";

    async fn run(self, app: &App, _: ProjectId) -> Result<()> {
        app.db.empty_log().await.map_err(Error::from)
    }
}

/// The job that removes what was deleted from the database's log, too.
fn empty_log(tx: &Tx<'_>, project: ProjectId, user: UserId, now: Timestamp) -> Result<()> {
    // A user is deleted once, so their id is unique as a job id; a transaction may run twice and must not
    // generate ids.
    jobs::insert(tx, project, JobId(user.0), &EmptyDatabaseLog {}, now)
}
