//! What owners decide about operators: who gets in, with which role, and who no longer.

use maud::{Markup, html};
use serde_json::json;

use crate::auth::operators::{Role, Roles};
use crate::error::{Error, Result, faults};
use crate::features::admin::accounts::invitations::Invitation;
use crate::features::admin::layout::{self, csrf, time};
use crate::features::admin::store::{self, InvitationRow, OperatorRow};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::http::reply::Response;
use crate::tenancy::store::{self as projects, ProjectRow};
use crate::values::ids::{OperatorId, OperatorInvitationId, ProjectId};

faults! {
    LAST_OWNER = 409 "admin/last-owner": "This is the last owner: make somebody else an owner first.";
}

const PAGE: &str = "/admin/operators";
const ROLES: [Role; 4] = [Role::Owner, Role::Admin, Role::Moderator, Role::Analyst];

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let now = visit.now;
    let found = visit.app.db.read(move |c| {
        Ok::<_, Error>((store::list(c)?, store::invitations(c, now)?, projects::list(c)?))
    });
    let (operators, invitations, projects) = found.await?;
    let content = html! {
        table {
            thead { tr { th { "Operator" } th { "Roles" } th { "Since" } th { span.hidden { "Actions" } } } }
            tbody { @for (row, roles) in &operators { (operator(&visit, row, roles, &projects)) } }
        }
        section aria-labelledby="invite" {
            h2 #invite { "Invite somebody" }
            form.stack method="post" action="/admin/operators/invite" {
                (csrf(&visit)) (role_fields(&projects)) button { "Make a link" }
            }
        }
        @if !invitations.is_empty() { (open_invitations(&visit, &invitations, &projects)) }
    };
    Ok(layout::page(&visit, "Operators", &content))
}

fn operator(visit: &Visit, row: &OperatorRow, roles: &Roles, projects: &[ProjectRow]) -> Markup {
    let id = row.id.to_string();
    let change = |name: &str, value: &str, text: &str| {
        layout::button(visit, "/admin/operators/change", &[("operator", &id), (name, value)], text)
    };
    html! { tr {
        td { strong { (row.name) } br; (row.email) @if row.disabled_at.is_some() { " (disabled)" } }
        td {
            @for (of, role) in &roles.0 { p { (role.name()) " of " (scope_name(*of, projects)) } }
            details { summary { "Change" }
                form.stack method="post" action="/admin/operators/change" {
                    (csrf(visit)) input type="hidden" name="operator" value=(id);
                    (role_fields(projects)) button { "Set role" }
                }
            }
        }
        td { (time(row.created_at)) }
        td {
            @if row.disabled_at.is_some() { (change("disabled", "no", "Enable")) }
            @else { (change("disabled", "yes", "Disable")) (change("reset", "yes", "New password link")) }
        }
    } }
}

fn role_fields(projects: &[ProjectRow]) -> Markup {
    html! {
        label { "Role" select name="role" {
            @for role in ROLES { option value=(role.name()) selected[role == Role::Moderator] { (role.name()) } }
            option value="none" { "none" }
        } }
        label { "Of" select name="project" {
            option value="" { "all projects" }
            @for project in projects { option value=(project.id) { (project.name) } }
        } }
    }
}

fn open_invitations(visit: &Visit, rows: &[InvitationRow], projects: &[ProjectRow]) -> Markup {
    html! {
        section aria-labelledby="open" {
            h2 #open { "Open invitations" }
            table {
                thead { tr { th { "Role" } th { "By" } th { "Until" } th { span.hidden { "Actions" } } } }
                tbody { @for row in rows { tr {
                    td { (row.role.name()) " of " (scope_name(store::project(row.scope), projects)) }
                    td { (row.invited_by) } td { (time(row.expires_at)) }
                    td { (layout::button(visit, "/admin/operators/invite", &[("withdraw", &row.id.to_string())], "Withdraw")) }
                } } }
            }
        }
    }
}

fn scope_name(project: Option<ProjectId>, projects: &[ProjectRow]) -> String {
    let Some(id) = project else { return "all projects".to_owned() };
    let found = projects.iter().find(|project| project.id == id);
    found.map_or_else(|| id.to_string(), |project| project.name.clone())
}

fn chosen(visit: &Visit) -> Result<(Option<ProjectId>, Option<Role>)> {
    let project = visit.field("project").map(str::parse).transpose().map_err(|_| NOT_FOUND)?;
    let named = visit.required("role")?;
    Ok((project, ROLES.into_iter().find(|role| role.name() == named)))
}

pub(super) async fn invite(visit: Visit) -> Result<Response> {
    if let Some(Ok(id)) = visit.field("withdraw").map(str::parse::<OperatorInvitationId>) {
        let entry = visit.entry("Withdraw Invitation", id.to_string());
        let withdrawn = visit.write(entry, move |tx| {
            store::delete_invitation(tx, id)?;
            Ok(())
        });
        withdrawn.await?;
        return layout::see_other(PAGE);
    }
    let (project, role) = chosen(&visit)?;
    let role = role.ok_or_else(|| INVALID.because("Choose a role."))?;
    show_link(
        &visit,
        Invitation::new(
            role,
            project,
            None,
            &visit.who.operator.email,
            (visit.now, &visit.app.random),
        ),
        "Invite Operator",
    )
    .await
}

/// Stores an invitation and shows its link this once.
async fn show_link(visit: &Visit, invitation: Invitation, action: &str) -> Result<Response> {
    let target =
        json!({ "role": invitation.row.role, "project": store::project(invitation.row.scope) });
    let entry = visit.entry(action, target.to_string());
    let link = invitation.link(&visit.app.config.public_url);
    let stored = visit.write(entry, move |tx| {
        invitation.insert(tx)?;
        Ok(())
    });
    stored.await?;
    let content = html! {
        p { "Send this link to the person. It works once, for three days, and is not shown again." }
        p { input.wide readonly value=(link) aria-label="Link"; }
        p { a href=(PAGE) { "Back to the operators" } }
    };
    Ok(layout::page(visit, "A link", &content))
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let id: OperatorId = visit.required("operator")?.parse().map_err(|_| Error::from(NOT_FOUND))?;
    if visit.field("reset").is_some() {
        let by = visit.who.operator.email.clone();
        let invitation =
            Invitation::new(Role::Analyst, None, Some(id), &by, (visit.now, &visit.app.random));
        return show_link(&visit, invitation, "Make Password Link").await;
    }
    let disabled = visit.field("disabled").map(|answer| answer == "yes");
    let role = if disabled.is_none() { Some(chosen(&visit)?) } else { None };
    let (entry, now) = (visit.entry("Change Operator", id.to_string()), visit.now);
    let changed = visit.app.db.write(move |tx| {
        store::lock_all(tx)?;
        let row = store::find(tx, id)?.ok_or(NOT_FOUND)?;
        let before = described(&row, &store::roles(tx, id)?);
        if let Some(disabled) = disabled {
            store::set_disabled(tx, id, disabled.then_some(now))?;
            store::end_sessions(tx, id, None)?;
        }
        if let Some((project, role)) = role {
            store::set_role(tx, id, project, role)?;
        }
        let owners = store::list(tx)?;
        let is_owner = |(row, roles): &&(OperatorRow, Roles)| {
            row.disabled_at.is_none() && roles.everywhere() == Some(Role::Owner)
        };
        if owners.iter().find(is_owner).is_none() {
            return Err(Error::from(LAST_OWNER));
        }
        let row = store::find(tx, id)?.ok_or(NOT_FOUND)?;
        let after = described(&row, &store::roles(tx, id)?);
        Ok(entry.clone().change(Some(&before), Some(&after)).write(tx)?)
    });
    changed.await?;
    layout::see_other(PAGE)
}

fn described(row: &OperatorRow, roles: &Roles) -> serde_json::Value {
    let roles: Vec<_> =
        roles.0.iter().map(|(of, role)| json!({ "project": of, "role": role })).collect();
    json!({ "email": row.email, "disabled": row.disabled_at.is_some(), "roles": roles })
}
