//! Create Workspace Invite. Inviting somebody again renews the live invitation; each time a mail is sent.

use db::Tx;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::UserOrKey;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::users::rules::{Email, Username};
use crate::features::users::store::{self as users, UserRow};
use crate::features::visibility::store::blocks;
use crate::features::workspaces::acting::{Acting, Purpose, acting};
use crate::features::workspaces::capabilities::{
    Capabilities, Capability, Permissions, Rank, RelativeRank,
};
use crate::features::workspaces::invites::{LIFETIME, mail};
use crate::features::workspaces::model::{Invitation, InviteStatus};
use crate::features::workspaces::place::{self, Place};
use crate::features::workspaces::rules::{Given, TWO_RANKS, Title, given_rank, next_rank};
use crate::features::workspaces::shape::{Declared, Write};
use crate::features::workspaces::store::invites::{self, InviteRow};
use crate::features::workspaces::store::members;
use crate::features::workspaces::{
    ALREADY_MEMBER, INVALID_TARGET, MISSING_INVITE_ACCEPT_URL, NO_ESCALATION, WorkspacePath,
    changes,
};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Created;
use crate::mail_quota::Ticket;
use crate::tenancy::Project;
use crate::values::ids::{UserId, WorkspaceInviteId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewWorkspaceInvitation")]
pub(in crate::features::workspaces) struct NewInvite {
    email: Option<Email>,
    user_id: Option<UserId>,
    username: Option<Username>,
    capabilities: Option<Capabilities>,
    permissions: Option<Permissions>,
    rank: Option<Rank>,
    relative_rank: Option<RelativeRank>,
    #[serde(default)]
    title: Patch<Title>,
}

impl Declared for NewInvite {
    fn check(&self) -> Result<(), &'static str> {
        let targets = [self.email.is_some(), self.user_id.is_some(), self.username.is_some()];
        if targets.into_iter().filter(|is_given| *is_given).count() != 1 {
            return Err("exactly one of email, userId and username is required");
        }
        if self.rank.is_some() && self.relative_rank.is_some() {
            return Err(TWO_RANKS);
        }
        Ok(())
    }
}

/// The recipient of an invitation: a user, or the owner of an address.
#[derive(Debug)]
struct Target {
    user: Option<UserRow>,
    /// The address of an invitation by address.
    email: Option<String>,
}

pub(in crate::features::workspaces) async fn create_invite(
    call: Call<UserOrKey>,
    (Path(path), Write { named, body }): (Path<WorkspacePath>, Write<NewInvite>),
) -> Result<Created<Invitation>> {
    let acting = acting(&call, named, Purpose::Write).await?;
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let id = WorkspaceInviteId(new_id(now, &call.app.random));
    let new = New { id, invited_by: acting.user(), now };
    let ticket = Ticket::draw(&call.app, now);
    let written = call.app.db.write(move |tx| {
        let place = place::lock(tx, project.id, path.workspace_id, acting)?;
        place.require(Capability::Invite)?;
        let target = target(tx, &project, acting, &body)?;
        let grant = permit(&place, &body)?;
        if project.workspaces.invite_accept_url.is_none() {
            return Err(MISSING_INVITE_ACCEPT_URL.into());
        }
        refuse_member(tx, &project, &place, &target)?;
        let context = Context { app: &app, project: &project, now };
        let row = write(tx, context, &place, &target, grant, new)?;
        mail::queue(tx, &project, ticket, &row, now)?;
        Ok::<_, Error>(Invitation::new(row))
    });
    written.await.map(Created)
}

/// A user with no block between them and the actor, or an address, whose account is found in any case.
fn target(tx: &Tx<'_>, project: &Project, acting: Acting, body: &NewInvite) -> Result<Target> {
    if let Some(email) = &body.email {
        let user = users::find_by_email(tx, project.id, email.as_str())?;
        return Ok(Target { user, email: Some(email.as_str().to_owned()) });
    }
    let user = match (&body.user_id, &body.username) {
        (Some(id), _) => users::find(tx, project.id, *id)?,
        (None, Some(name)) => users::find_by_username(tx, project.id, name.as_str())?,
        (None, None) => None,
    };
    let user = user.ok_or(INVALID_TARGET)?;
    // The same error for a block and an unknown user.
    if blocks::is_blocked_between(tx, project, acting.user(), user.id)? {
        return Err(INVALID_TARGET.into());
    }
    Ok(Target { user: Some(user), email: None })
}

/// What an invitation gives; what is absent stays as it was.
#[derive(Debug)]
struct Granted {
    given: Given,
    rank: Option<i64>,
    title: Patch<Title>,
}

/// What a new invitation is made with.
#[derive(Debug, Clone, Copy)]
struct New {
    id: WorkspaceInviteId,
    /// None for the project: then the owner invites.
    invited_by: Option<UserId>,
    now: Timestamp,
}

fn permit(place: &Place, body: &NewInvite) -> Result<Granted> {
    let rank = given_rank(&place.authority, body.rank, body.relative_rank)?;
    let given =
        Given { capabilities: body.capabilities.clone(), permissions: body.permissions.clone() };
    let before = (&Capabilities::default(), &Permissions::default());
    if given.is_within(&place.authority, before) {
        Ok(Granted { given, rank, title: body.title.clone() })
    } else {
        Err(NO_ESCALATION.into())
    }
}

fn refuse_member(tx: &Tx<'_>, project: &Project, place: &Place, target: &Target) -> Result<()> {
    let Some(user) = &target.user else { return Ok(()) };
    // Locked against deletion: the invitation refers to it.
    if users::lock_shared(tx, project.id, user.id)?.is_none() {
        return Err(INVALID_TARGET.into());
    }
    let is_owner = place.workspace.owner_id == user.id;
    if is_owner || members::find(tx, project.id, place.workspace.id, user.id)?.is_some() {
        return Err(ALREADY_MEMBER.into());
    }
    Ok(())
}

/// Renews the live invitation of the target, or writes a new one.
fn write(
    tx: &Tx<'_>,
    context: Context<'_>,
    place: &Place,
    target: &Target,
    grant: Granted,
    new: New,
) -> Result<InviteRow> {
    let project = context.project;
    let user = target.user.as_ref();
    let email = target.email.as_deref().or(user.and_then(|user| user.email.as_deref()));
    let user = user.map(|user| user.id);
    let found = invites::live_for(tx, project.id, place.workspace.id, user, email, new.now)?;
    let is_new = found.is_none();
    let mut row = match found {
        Some(row) => row,
        None => InviteRow {
            id: new.id,
            workspace_id: place.workspace.id,
            invited_by: new.invited_by.unwrap_or(place.workspace.owner_id),
            user_id: user,
            email: target.email.clone(),
            capabilities: Capabilities::default(),
            permissions: Permissions::default(),
            rank: match grant.rank {
                Some(rank) => rank,
                None => next_rank(&place.authority)?,
            },
            title: None,
            status: InviteStatus::Pending,
            expires_at: new.now,
            created_at: new.now,
            updated_at: new.now,
        },
    };
    row.capabilities = grant.given.capabilities.unwrap_or(row.capabilities);
    row.permissions = grant.given.permissions.unwrap_or(row.permissions);
    row.rank = grant.rank.unwrap_or(row.rank);
    grant.title.and_then(Title::unless_blank).put(&mut row.title);
    row.expires_at = new.now.plus(LIFETIME);
    row.updated_at = new.now;
    if is_new {
        changes::create_invite(tx, context, &row)?;
    } else {
        invites::update(tx, project.id, &row)?;
    }
    Ok(row)
}
