//! `townhall key …`

use std::fmt::Write as _;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::{Admin, CommandResult, Output, confirm, key_id, project_id};
use crate::features::projects::admin;
use crate::tenancy::keys::KeyKind;
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
        KeyCommand::Create { project, kind, label } => create(&admin, project, kind, label),
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

fn create(
    admin: &Admin,
    project: ProjectId,
    kind: KeyKind,
    label: Option<String>,
) -> CommandResult {
    let now = admin.world.clock.now();
    let key = admin::new_key(kind, now, &admin.world.random);
    let written = key.clone();
    admin.write(move |tx| admin::add_key(tx, project, &written, label.as_deref(), now))?;
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
    let rows = admin.read(move |c| {
        store::find(c, project)?.ok_or(NOT_FOUND)?;
        store::keys(c, project)
    })?;
    let mut text = String::new();
    for row in &rows {
        let state = if row.revoked_at.is_some() { "revoked" } else { "live" };
        let label = row.label.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{}  {:<7}  {state:<7}  {label}", row.id, row.kind);
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
            })
        })
        .collect();
    Ok(Output::new(text, json.into()))
}
