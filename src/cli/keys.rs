//! `townhall key …`

use std::fmt::Write as _;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::{Admin, CommandResult, Output, confirm, key_id, project_id};
use crate::config::duration;
use crate::features::projects::admin::{self, Limits};
use crate::tenancy::keys::{KeyKind, Scope};
use crate::tenancy::{NOT_FOUND, store};
use crate::values::ids::{KeyId, ProjectId};

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Make a key; it is shown this once
    Create {
        #[arg(long, value_parser = project_id, value_name = "ID")]
        project: ProjectId,
        #[arg(long)]
        kind: KeyKind,
        /// What it is for
        #[arg(long)]
        label: Option<String>,
        /// Only for this area, to read or to write: entities:read, chat:write, *:read; may be repeated
        #[arg(long, value_name = "AREA:VERB")]
        scope: Vec<Scope>,
        /// Valid for so long, as in 90d
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        expires: Option<Duration>,
    },
    /// The keys of a project, revoked ones too
    List {
        #[arg(long, value_parser = project_id, value_name = "ID")]
        project: ProjectId,
    },
    /// Revoke a key: it stops working within a second
    Revoke {
        #[arg(value_parser = key_id)]
        key: KeyId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(super) fn run(command: KeyCommand, admin: Admin) -> CommandResult {
    match command {
        KeyCommand::Create { project, kind, label, scope, expires } => {
            let expires_at = expires.map(|after| admin.world.clock.now().plus(after));
            create(&admin, project, kind, Limits { label, scopes: scope, expires_at })
        }
        KeyCommand::List { project } => list(&admin, project),
        KeyCommand::Revoke { key, yes } => {
            confirm("Clients that use this key lose access.", yes)?;
            let now = admin.world.clock.now();
            if !admin.write(move |tx| store::revoke_key(tx, key, now))? {
                return Err("there is no such key, or it is revoked already".to_owned());
            }
            let json = json!({ "keyId": key, "revokedAt": now });
            Ok(Output::new(format!("key {key} is revoked\n"), json))
        }
    }
}

fn create(admin: &Admin, project: ProjectId, kind: KeyKind, limits: Limits) -> CommandResult {
    let now = admin.world.clock.now();
    let key = admin::new_key(kind, now, &admin.world.random);
    let written = key.clone();
    admin.write(move |tx| admin::add_key(tx, project, &written, &limits, now))?;
    let text = format!(
        "key id  {}\nkind    {}\nkey     {}\n\nIt is not shown again.\n",
        key.id,
        kind.name(),
        key.secret
    );
    let json = json!({ "keyId": key.id, "kind": kind.name(), "key": key.secret });
    Ok(Output::new(text, json))
}

fn list(admin: &Admin, project: ProjectId) -> CommandResult {
    let now = admin.world.clock.now();
    let rows = admin.read(move |c| {
        store::find(c, project)?.ok_or(NOT_FOUND)?;
        store::keys(c, project)
    })?;
    let mut text = String::new();
    for row in &rows {
        let state = match (row.revoked_at, row.expires_at) {
            (Some(_), _) => "revoked",
            (None, Some(end)) if end <= now => "expired",
            (None, _) => "live",
        };
        let (label, scopes) = (row.label.as_deref().unwrap_or_default(), &row.scopes);
        let _ = writeln!(text, "{}  {:<7}  {state:<7}  {label}  {scopes}", row.id, row.kind);
    }
    let json: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "keyId": row.id,
                "kind": row.kind,
                "label": row.label,
                "createdAt": row.created_at,
                "revokedAt": row.revoked_at,
                "scopes": row.scopes.split_whitespace().collect::<Vec<_>>(),
                "expiresAt": row.expires_at,
                "lastUsedAt": row.used_at,
            })
        })
        .collect();
    Ok(Output::new(text, json.into()))
}
