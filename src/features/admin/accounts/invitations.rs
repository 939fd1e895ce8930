//! Invitations: a link that makes an operator, once. Also how somebody who forgot a password gets in again.

use std::time::Duration;

use http::StatusCode;
use maud::html;
use uuid::Uuid;

use crate::audit::{Actor, Entry, INSTALLATION};
use crate::auth::operators::Role;
use crate::error::{Error, Result, faults};
use crate::features::admin::accounts::{check_password, sign_in};
use crate::features::admin::layout;
use crate::features::admin::store::{self, InvitationRow};
use crate::features::admin::visit::{INVALID, Visit, hash};
use crate::http::reply::Response;
use crate::state::App;
use crate::values::ids::{OperatorId, OperatorInvitationId, ProjectId, new_id};
use crate::values::random::{Random, hex};
use crate::values::time::Timestamp;

faults! {
    GONE = 404 "admin/invitation-gone": "This link was used, or it is too old. Ask for a new one.";
    TAKEN = 409 "admin/email-taken": "There is an operator with this address already.";
}

const VALID: Duration = Duration::from_secs(3 * 86_400);

/// A new invitation, and the token of its link, which is not stored.
#[derive(Debug, Clone)]
pub struct Invitation {
    pub row: InvitationRow,
    pub token: String,
}

impl Invitation {
    pub fn new(
        role: Role,
        project: Option<ProjectId>,
        operator: Option<OperatorId>,
        by: &str,
        (now, random): (Timestamp, &Random),
    ) -> Self {
        let row = InvitationRow {
            id: OperatorInvitationId(new_id(now, random)),
            scope: project.map_or(Uuid::nil(), |project| project.0),
            role,
            operator_id: operator,
            invited_by: by.to_owned(),
            created_at: now,
            expires_at: now.plus(VALID),
        };
        Invitation { row, token: hex(&random.bytes::<32>()) }
    }

    pub fn insert(&self, tx: &db::Tx<'_>) -> Result<()> {
        store::insert_invitation(tx, &hash(&self.token), &self.row)
    }

    pub fn link(&self, public_url: &str) -> String {
        format!("{public_url}/admin/invitation?token={}", self.token)
    }
}

/// Whether nobody can sign in yet.
pub async fn is_needed(app: &App) -> Result<bool> {
    app.db.read(|c| Ok::<_, Error>(store::list(c)?.is_empty())).await
}

pub(super) async fn form(visit: Visit<()>) -> Result<Response> {
    let row = find(&visit, visit.query("token").unwrap_or_default()).await?;
    show(&visit, &row, visit.query("token").unwrap_or_default(), None)
}

async fn find(visit: &Visit<()>, token: &str) -> Result<InvitationRow> {
    let (hash, now) = (hash(token), visit.now);
    let found = visit.app.db.read(move |c| store::invitation(c, &hash, now));
    found.await?.ok_or(GONE.into())
}

fn show(
    visit: &Visit<()>,
    row: &InvitationRow,
    token: &str,
    problem: Option<&str>,
) -> Result<Response> {
    let is_new = row.operator_id.is_none();
    let content = html! {
        @if let Some(problem) = problem { p.notice role="alert" { (problem) } }
        @if is_new { p { "You will be " strong { (row.role.name()) } "." } }
        form.stack method="post" action="/admin/invitation" {
            input type="hidden" name="token" value=(token);
            @if is_new {
                label { "Name" input name="name" autocomplete="name" required value=[visit.field("name")]; }
                label { "E-mail address"
                    input name="email" type="email" autocomplete="username" required value=[visit.field("email")]; }
            }
            label { "Password (at least 10 characters)"
                input name="password" type="password" autocomplete="new-password" minlength="10" required; }
            button { @if is_new { "Create account" } @else { "Set password" } }
        }
    };
    let status = if problem.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let title = if is_new { "Welcome" } else { "A new password" };
    Ok(layout::plain(status, title, &content))
}

pub(super) async fn submit(visit: Visit<()>) -> Result<Response> {
    let token = visit.field("token").unwrap_or_default().to_owned();
    let row = find(&visit, &token).await?;
    match accept(&visit, &row).await {
        Ok(operator) => sign_in::start(&visit, operator, "/admin", "Sign In").await,
        Err(Error::Refused(refusal)) if refusal.fault == INVALID || refusal.fault == TAKEN => {
            let text = refusal.message.as_deref().unwrap_or(refusal.fault.message);
            show(&visit, &row, &token, Some(text))
        }
        Err(error) => Err(error),
    }
}

async fn accept(visit: &Visit<()>, row: &InvitationRow) -> Result<OperatorId> {
    let password = visit.required("password")?.to_owned();
    check_password(&password)?;
    let (email, name) = match row.operator_id {
        Some(_) => (String::new(), String::new()),
        None => (email(visit.required("email")?)?, visit.required("name")?.to_owned()),
    };
    let hash = visit.app.passwords.hash(password).await?;
    let (row, now, random) = (row.clone(), visit.now, visit.app.random.clone());
    let id = row.operator_id.unwrap_or_else(|| OperatorId(new_id(now, &random)));
    let client = visit.client;
    let accepted = visit.app.db.write(move |tx| {
        // Of two who use the link at once, one finds it.
        if !store::delete_invitation(tx, row.id)? {
            return Err(Error::from(GONE));
        }
        if row.operator_id.is_some() {
            store::set_password(tx, id, &hash)?;
            store::end_sessions(tx, id, None)?;
            // Somebody who had the password may have added one.
            store::passkeys::delete_all(tx, id)?;
        } else {
            let inserted = store::insert(tx, id, (&email, &name), &hash, now);
            inserted.map_err(|error| error.on_unique(store::EMAIL, TAKEN))?;
            store::set_role(tx, id, store::project(row.scope), Some(row.role))?;
        }
        let email = store::find(tx, id)?.map(|operator| operator.email).unwrap_or_default();
        let actor = Actor::Operator { id, email: email.clone(), client };
        let action = "Accept Invitation";
        Ok(Entry::new(INSTALLATION, &actor, action, email, (now, &random))
            .change(None::<&()>, Some(&row))
            .write(tx)?)
    });
    accepted.await?;
    Ok(id)
}

/// The address in lower case.
fn email(text: &str) -> Result<String> {
    let is_address = text.len() <= 254
        && text.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && !domain.is_empty() && !text.contains(char::is_whitespace)
        });
    if is_address {
        Ok(text.to_lowercase())
    } else {
        Err(INVALID.because("This is no e-mail address."))
    }
}
