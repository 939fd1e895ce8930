//! The mail of an invitation, as a job. Its link leads to the application's own page, with the id of the invitation.

use db::Tx;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::{Error, Result};
use crate::features::users::store::{self as users, UserRow};
use crate::features::visibility::store::blocks;
use crate::features::workspaces::store as workspaces;
use crate::features::workspaces::store::invites::{self, InviteRow};
use crate::jobs::Job;
use crate::mail::{Mail, on_one_line};
use crate::mail_quota::Ticket;
use crate::state::App;
use crate::tenancy::{Project, registry};
use crate::values::ids::{ProjectId, WorkspaceInviteId};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, Deserialize)]
pub struct WorkspaceInvitation {
    invite: WorkspaceInviteId,
}

/// Queues the mail, if the target has an address, is not blocked, and has not had too many mails already.
pub(super) fn queue(
    tx: &Tx<'_>,
    project: &Project,
    ticket: Ticket,
    row: &InviteRow,
    now: Timestamp,
) -> Result<()> {
    let target = match row.user_id {
        Some(user) => users::find(tx, project.id, user)?,
        None => None,
    };
    if let Some(user) = &target
        && blocks::is_blocked_between(tx, project, Some(row.invited_by), user.id)?
    {
        return Ok(());
    }
    let address = row.email.as_deref().or(target.as_ref().and_then(|user| user.email.as_deref()));
    let Some(address) = address else { return Ok(()) };
    ticket.queue(tx, project.id, address, &WorkspaceInvitation { invite: row.id }, now)
}

impl Job for WorkspaceInvitation {
    const KIND: &'static str = "workspace-invitation";

    /// Sends nothing if the invitation is no longer open.
    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let now = app.clock.now();
        let mail = app.db.read(move |c| {
            let found = invites::find(c, project, self.invite)?;
            let Some(invite) = found.filter(|invite| invite.is_live(now)) else { return Ok(None) };
            let settings = registry::load(c, project)?;
            let page = settings.and_then(|found| found.workspaces.invite_accept_url);
            let Some(page) = page else { return Ok(None) };
            let target = match invite.user_id {
                Some(user) => users::find(c, project, user)?,
                None => None,
            };
            let Some(to) = invite.email.or(target.and_then(|user| user.email)) else {
                return Ok(None);
            };
            let names = workspaces::find_all(c, project, &[invite.workspace_id])?;
            let workspace = names.into_iter().next().map(|row| row.name).unwrap_or_default();
            let inviter = users::find(c, project, invite.invited_by)?;
            let text = text(inviter.as_ref(), &workspace, &link(&page, invite.id)?);
            Ok::<_, Error>(Some(Mail::new(to, "You are invited to a workspace", text)))
        });
        match mail.await? {
            Some(mail) => app.mailer.send(mail, now, &app.random).await,
            None => Ok(()),
        }
    }
}

fn text(inviter: Option<&UserRow>, workspace: &str, link: &str) -> String {
    let name = inviter.and_then(|user| user.name.as_deref().or(user.username.as_deref()));
    let name = name.map(on_one_line).filter(|name| !name.is_empty());
    let who = name.unwrap_or_else(|| "Somebody".to_owned());
    format!(
        "{who} invites you to the workspace \"{}\".\n\n\
         To accept or decline, open this link within 14 days:\n\n{link}\n\n\
         If you do not know what this is about, there is nothing to do.\n",
        on_one_line(workspace)
    )
}

fn link(page: &str, id: WorkspaceInviteId) -> Result<String> {
    let mut url = Url::parse(page).map_err(Error::internal)?;
    url.query_pairs_mut().append_pair("workspaceInviteId", &id.to_string());
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_id_is_added_to_any_address() {
        let id = Uuid::nil();
        for (page, expected) in [
            ("https://a.example/join", format!("https://a.example/join?workspaceInviteId={id}")),
            ("https://a.example/?x=1", format!("https://a.example/?x=1&workspaceInviteId={id}")),
            ("https://a.example/#/j", format!("https://a.example/?workspaceInviteId={id}#/j")),
        ] {
            assert_eq!(link(page, WorkspaceInviteId(id)).unwrap(), expected);
        }
    }

    #[test]
    fn names_stay_on_their_line() {
        let text = text(None, "a\r\n\r\nClick\u{2028}here\t", "https://a.example/");
        assert!(
            text.starts_with("Somebody invites you to the workspace \"a Click here\".\n"),
            "{text}"
        );
    }
}
