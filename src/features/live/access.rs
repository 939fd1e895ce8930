//! Who may join a room, and who may receive an event in it.

use std::collections::HashSet;

use db::Conn;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::chat::membership;
use crate::features::entities;
use crate::features::spaces::store::{self as spaces, access};
use crate::features::visibility::store::blocks;
use crate::realtime::{Room, RoomAccess};
use crate::state::{App, Checking, Seeing};
use crate::tenancy::Project;
use crate::values::ids::{ProjectId, UserId};

/// Whether a user may join a room or send typing events in it.
pub fn check(app: &App, access: RoomAccess) -> Checking<'_> {
    Box::pin(async move {
        let project = app.projects.get(&app.db, access.project, app.clock.uptime()).await?;
        let Some(project) = project else { return Ok(false) };
        let RoomAccess { user, room, act, .. } = access;
        app.db
            .read(move |c| match room {
                Room::Conversation(id) => membership::may(c, &project, (user, id), act),
                _ if !project.live_feeds => Ok(false),
                room => Ok(!visible_in(c, &project, room, None, vec![user])?.is_empty()),
            })
            .await
    })
}

/// Those of the users who may see an event in the room now.
pub fn visible(
    app: &App,
    project: ProjectId,
    room: Room,
    by: Option<UserId>,
    users: HashSet<UserId>,
) -> Seeing<'_> {
    Box::pin(async move {
        let project = app.projects.get(&app.db, project, app.clock.uptime()).await?;
        let Some(project) = project else { return Ok(HashSet::new()) };
        let users: Vec<UserId> = users.into_iter().collect();
        let seen = app.db.read(move |c| visible_in(c, &project, room, by, users.clone())).await?;
        Ok(seen.into_iter().collect())
    })
}

fn visible_in(
    c: &Conn<'_>,
    project: &Project,
    room: Room,
    by: Option<UserId>,
    mut users: Vec<UserId>,
) -> Result<Vec<UserId>> {
    let (space, author) = match room {
        Room::Conversation(_) => return Ok(Vec::new()),
        Room::User(owner) => {
            users.retain(|user| *user == owner);
            return Ok(users);
        }
        Room::Space(id) => {
            let Some(space) = spaces::find(c, project.id, id)? else { return Ok(Vec::new()) };
            (Some(space.id), None)
        }
        Room::Entity(id) => {
            let Some(entity) = entities::store::find(c, project.id, id)? else {
                return Ok(Vec::new());
            };
            let sees = |user: &UserId| {
                entities::visibility::is_published_for(Perspective::User(*user), &entity)
            };
            users.retain(sees);
            (entity.space_id, entity.user_id)
        }
    };
    let shut_out = access::shut_out(c, project.id, space, &users)?;
    // Authors may always read their own.
    users.retain(|user| author == Some(*user) || !shut_out.contains(user));
    for other in [author, by].into_iter().flatten() {
        let hidden = blocks::blocked_among(c, project, Some(other), &users)?;
        users.retain(|user| !hidden.contains(user));
    }
    Ok(users)
}
