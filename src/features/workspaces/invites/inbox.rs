//! List My Workspace Invites: what a user, or their address, is invited to. Invitations by somebody with a block between
//! them are left out.

use std::collections::HashMap;

use crate::auth::caller::UserOrKey;
use crate::error::{Error, Result};
use crate::features::users::store::{self as users, UserRow};
use crate::features::visibility::store::blocks;
use crate::features::workspaces::INVALID_TARGET;
use crate::features::workspaces::acting::{Purpose, acting_user};
use crate::features::workspaces::model::{ReceivedInvitation, Whole};
use crate::features::workspaces::shape::Read;
use crate::features::workspaces::store::{self, WorkspaceRow, invites};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{UserId, WorkspaceId};

pub(in crate::features::workspaces) async fn list_my_invites(
    call: Call<UserOrKey>,
    Read { named, .. }: Read,
) -> Result<Json<Whole<ReceivedInvitation>>> {
    let user = acting_user(&call, named, Purpose::Read).await?;
    let (project, links, now) = (call.project.clone(), call.links(), call.now);
    let listed = call.app.db.read(move |c| {
        let reader = users::find(c, project.id, user)?.ok_or(INVALID_TARGET)?;
        let mut rows = invites::inbox(c, project.id, user, reader.email.as_deref(), now)?;
        let mut inviters: Vec<UserId> = rows.iter().map(|row| row.invited_by).collect();
        inviters.sort_unstable();
        inviters.dedup();
        let blocked = blocks::blocked_among(c, &project, Some(user), &inviters)?;
        rows.retain(|row| !blocked.contains(&row.invited_by));
        let inviters: HashMap<UserId, UserRow> =
            users::find_all(c, project.id, &inviters)?.into_iter().map(|u| (u.id, u)).collect();
        let ids: Vec<WorkspaceId> = rows.iter().map(|row| row.workspace_id).collect();
        let workspaces: HashMap<WorkspaceId, WorkspaceRow> =
            store::find_all(c, project.id, &ids)?.into_iter().map(|w| (w.id, w)).collect();
        let shown = rows.into_iter().filter_map(|row| {
            let workspace = workspaces.get(&row.workspace_id)?;
            let inviter = inviters.get(&row.invited_by);
            Some(ReceivedInvitation::new(&links, row, workspace, inviter))
        });
        Ok::<_, Error>(Whole { data: shown.collect() })
    });
    listed.await.map(Json)
}
