//! `townhall admin …`

use std::fmt::Write as _;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::auth::operators::Role;
use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::features::admin::accounts::invitations::Invitation;
use crate::features::admin::store;
use crate::values::ids::ProjectId;

#[derive(Debug, Subcommand)]
pub(super) enum AdminCommand {
    /// Print a link that makes an operator, once, within three days
    Invite {
        #[arg(long, default_value = "owner", value_parser = role)]
        role: Role,
        /// Only for this project; without it, for all
        #[arg(long, value_parser = project_id, value_name = "ID")]
        project: Option<ProjectId>,
    },
    /// Print a link with which an operator sets a new password
    Reset {
        /// The e-mail address of the operator
        email: String,
    },
    /// List the operators
    List,
    /// Keep an operator out, or let them in again
    Disable {
        email: String,
        /// Let them in again
        #[arg(long)]
        undo: bool,
    },
}

fn role(text: &str) -> Result<Role, String> {
    let all = [Role::Owner, Role::Admin, Role::Moderator, Role::Analyst];
    let found = all.into_iter().find(|role| role.name() == text);
    found.ok_or_else(|| "must be owner, admin, moderator or analyst".to_owned())
}

pub(super) fn run(command: &AdminCommand, admin: &Admin) -> CommandResult {
    let made = (admin.world.clock.now(), &admin.world.random);
    match command {
        AdminCommand::Invite { role, project } => {
            link(admin, Invitation::new(*role, *project, None, "command line", made))
        }
        AdminCommand::Reset { email } => {
            let id = find(admin, email)?;
            link(admin, Invitation::new(Role::Analyst, None, Some(id), "command line", made))
        }
        AdminCommand::List => list(admin),
        AdminCommand::Disable { email, undo } => {
            let (id, at) = (find(admin, email)?, (!undo).then_some(made.0));
            admin.write(move |tx| {
                store::set_disabled(tx, id, at)?;
                store::end_sessions(tx, id, None)
            })?;
            let word = if *undo { "enabled" } else { "disabled" };
            Ok(Output::new(
                format!("{email} is {word}\n"),
                json!({ "email": email, "disabled": !undo }),
            ))
        }
    }
}

fn find(admin: &Admin, email: &str) -> CommandResult<crate::values::ids::OperatorId> {
    let address = email.to_lowercase();
    let found = admin.read(move |c| store::find_by_email(c, &address))?;
    found.map(|row| row.id).ok_or_else(|| format!("there is no operator {email}"))
}

fn link(admin: &Admin, invitation: Invitation) -> CommandResult {
    let link = invitation.link(&admin.config.public_url);
    let expires = invitation.row.expires_at;
    admin.write(move |tx| invitation.insert(tx))?;
    let text = format!("{link}\n\nIt works once, until {expires}.\n");
    Ok(Output::new(text, json!({ "link": link, "expiresAt": expires })))
}

fn list(admin: &Admin) -> CommandResult {
    let rows = admin.read(store::list)?;
    let mut text = String::new();
    let mut json = Vec::<Value>::new();
    for (row, roles) in &rows {
        let named = |(of, role): &(Option<ProjectId>, Role)| match of {
            Some(project) => format!("{} of {project}", role.name()),
            None => role.name().to_owned(),
        };
        let named: Vec<String> = roles.0.iter().map(named).collect();
        let state = if row.disabled_at.is_some() { "disabled" } else { "enabled" };
        let _ = writeln!(text, "{}  {state:<8}  {}  {}", row.id, row.email, named.join(", "));
        let roles: Vec<Value> =
            roles.0.iter().map(|(of, role)| json!({ "project": of, "role": role })).collect();
        json.push(json!({
            "id": row.id, "email": row.email, "name": row.name, "roles": roles,
            "oneTimePasswords": row.totp_secret.is_some(), "disabled": row.disabled_at.is_some(),
        }));
    }
    Ok(Output::new(text, json.into()))
}
