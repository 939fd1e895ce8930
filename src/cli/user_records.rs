//! `townhall user list|find|show|sessions|delete|erase`: support and privacy work.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::transfer::STAGING_MEBIBYTES;
use super::users::Who;
use crate::auth::store::suspensions;
use crate::cli::{Admin, CommandResult, Output, confirm, plain, project_id};
use crate::domain_events::Context;
use crate::features::auth::store as auth;
use crate::features::deletion::user::erase;
use crate::features::exports::user::{UserExport, Written};
use crate::features::exports::{self, Receipt};
use crate::features::users::NOT_FOUND;
use crate::features::users::store::{self, UserRow};
use crate::realtime;
use crate::storage::Storage;
use crate::storage::staging::Staging;
use crate::tenancy::{self, registry};
use crate::values::ids::{ProjectId, UserId};

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[arg(long, value_parser = project_id, value_name = "ID")]
    project: ProjectId,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// The id of the last user of the page before
    #[arg(long, value_parser = super::user_id, value_name = "USER_ID")]
    after: Option<UserId>,
}

#[derive(Debug, Args)]
pub(super) struct FindArgs {
    #[arg(long, value_parser = project_id, value_name = "ID")]
    project: ProjectId,
    /// An e-mail address, username, id or foreign id
    query: String,
}

#[derive(Debug, Args)]
pub(super) struct SessionsArgs {
    #[command(flatten)]
    who: Who,
    /// End them all
    #[arg(long)]
    end: bool,
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    #[arg(long, value_parser = project_id, value_name = "ID")]
    project: ProjectId,
    #[arg(value_parser = super::user_id, value_name = "USER")]
    user: UserId,
    /// The archive to write; it must not exist
    path: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    who: Who,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// In the order of their ids, which is that of their creation.
pub(super) fn list(args: &ListArgs, admin: &Admin) -> CommandResult {
    let ListArgs { project, limit, after } = *args;
    let rows = admin.read(move |c| {
        let ids = store::ids_after(c, project, after.unwrap_or(UserId(Uuid::nil())), limit)?;
        let mut rows = store::find_all(c, project, &ids)?;
        rows.sort_by_key(|row| row.id);
        Ok(rows)
    })?;
    Ok(listed(&rows))
}

pub(super) fn find(args: &FindArgs, admin: &Admin) -> CommandResult {
    let (project, query) = (args.project, args.query.clone());
    let rows = admin.read(move |c| store::find_by_any(c, project, &query))?;
    if rows.is_empty() {
        return Err(format!("no user has the e-mail address, name or id {}", args.query));
    }
    Ok(listed(&rows))
}

pub(super) fn show(who: Who, admin: &Admin) -> CommandResult {
    let now = admin.world.clock.now();
    let (row, suspended, sessions) = admin.read(move |c| {
        let row = store::find(c, who.project, who.user)?.ok_or(NOT_FOUND)?;
        let suspended = suspensions::active(c, who.project, who.user, now)?;
        Ok((row, suspended, auth::sessions(c, who.project, who.user, now)?.len()))
    })?;
    let mut shown = document(&row);
    shown["bio"] = row.bio.clone().into();
    shown["updatedAt"] = row.updated_at.to_string().into();
    shown["suspensions"] = json!(suspended);
    shown["sessions"] = sessions.into();
    let mut text = String::new();
    for (name, value) in shown.as_object().into_iter().flatten() {
        let _ = writeln!(text, "{name:<13}{value}");
    }
    Ok(Output::new(text, shown))
}

pub(super) fn sessions(args: &SessionsArgs, admin: &Admin) -> CommandResult {
    let (who, end, now) = (args.who, args.end, admin.world.clock.now());
    let found = admin.write(move |tx| {
        store::find(tx, who.project, who.user)?.ok_or(NOT_FOUND)?;
        let found = auth::sessions(tx, who.project, who.user, now)?;
        if end {
            auth::delete_families(tx, who.project, who.user, None)?;
            realtime::end_user(tx, who.project, who.user)?;
        }
        Ok(found)
    })?;
    let mut text = String::new();
    let mut sessions = Vec::new();
    for session in &found {
        let (renewed, expires) = (session.renewed_at, session.expires_at);
        let _ = writeln!(text, "{}  renewed {renewed}  expires {expires}", session.family_id);
        sessions.push(
            json!({ "sessionId": session.family_id, "renewedAt": renewed, "expiresAt": expires }),
        );
    }
    let word = if end { "ended" } else { "live" };
    let _ = writeln!(text, "{} {word}", found.len());
    Ok(Output::new(text, json!({ "sessions": sessions, "ended": end })))
}

/// Everything that is stored about a user, for the user.
pub(super) fn export(args: &ExportArgs, admin: &Admin) -> CommandResult {
    let ExportArgs { project, user, path } = args;
    let storage = Storage::open(&admin.config.storage_settings())?;
    let staging = Staging::open(&admin.config.data_dir, STAGING_MEBIBYTES)?;
    let staged = admin.block_on(Box::pin(staging.directory(&admin.world.random)))?;
    let export = UserExport {
        db: &admin.db,
        storage: &storage,
        runtime: admin.runtime.handle(),
        now: admin.world.clock.now(),
        project: *project,
        user: *user,
    };
    if path.exists() {
        return Err(format!("{} exists already", path.display()));
    }
    let written = export.write(path, staged.path()).map_err(|error| {
        let _ = std::fs::remove_file(path);
        plain(error)
    })?;
    let Written { documents, files } = written;
    let text = format!("{}: {documents} documents, {files} stored files\n", path.display());
    let json = json!({ "path": path, "userId": user, "documents": documents, "files": files });
    Ok(Output::new(text, json))
}

/// Everything of the user. What others have built on stays, anonymized; bytes of files are removed by a job.
pub(super) fn delete(args: &DeleteArgs, admin: &Admin) -> CommandResult {
    let (who, now) = (args.who, admin.world.clock.now());
    confirm(
        &format!("User {} and everything that is theirs alone is deleted.", who.user),
        args.yes,
    )?;
    let app = admin.app()?;
    admin.write(move |tx| {
        let project = registry::load(tx, who.project)?.ok_or(tenancy::NOT_FOUND)?;
        let context = Context { app: &app, project: &project, now };
        if erase(tx, context, who.user)? { Ok(()) } else { Err(NOT_FOUND.into()) }
    })?;
    let json = json!({ "userId": who.user, "deleted": true });
    Ok(Output::new(format!("user {} is deleted\n", who.user), json))
}

/// The same with a receipt.
pub(super) fn erase_with_receipt(args: &DeleteArgs, admin: &Admin) -> CommandResult {
    let (who, now) = (args.who, admin.world.clock.now());
    confirm(
        &format!("User {} and everything that is theirs alone is erased.", who.user),
        args.yes,
    )?;
    let app = admin.app()?;
    let receipt = admin.write(move |tx| {
        let project = registry::load(tx, who.project)?.ok_or(tenancy::NOT_FOUND)?;
        exports::erase_with_receipt(tx, Context { app: &app, project: &project, now }, who.user)
    })?;
    let Receipt { files, sessions, .. } = receipt;
    let text = format!(
        "user {} is erased at {now}: profile, credentials, {files} files, {sessions} sessions; what others have \
         built on stays without a name\n",
        who.user
    );
    Ok(Output::new(text, json!(receipt)))
}

fn listed(rows: &[UserRow]) -> Output {
    let mut text = String::new();
    for row in rows {
        let name = row.username.as_deref().or(row.name.as_deref()).unwrap_or("-");
        let email = row.email.as_deref().unwrap_or("-");
        let _ = writeln!(text, "{}  {name}  {email}  {}", row.id, row.created_at);
    }
    let users: Vec<Value> = rows.iter().map(document).collect();
    Output::new(text, json!({ "users": users }))
}

/// Without metadata and the password's hash.
fn document(row: &UserRow) -> Value {
    json!({
        "id": row.id,
        "foreignId": row.foreign_id,
        "username": row.username,
        "name": row.name,
        "email": row.email,
        "role": row.role,
        "isVerified": row.is_verified,
        "reputation": row.reputation,
        "lastActive": row.last_active,
        "createdAt": row.created_at,
    })
}
