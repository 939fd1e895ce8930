//! `townhall jobs …`

use std::fmt::Write as _;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::{Admin, CommandResult, Output, confirm, job_id, project_id};
use crate::jobs::store::{self, JobRecord};
use crate::values::ids::{JobId, ProjectId};

#[derive(Debug, Subcommand)]
pub(super) enum JobsCommand {
    /// The newest jobs: those that wait, and for a week those that were given up or are kept
    List {
        #[arg(long, value_parser = project_id, value_name = "ID")]
        project: Option<ProjectId>,
        /// Only those that were given up
        #[arg(long)]
        failed: bool,
        #[arg(long, default_value_t = 100, value_name = "N")]
        limit: u32,
    },
    /// Run a job again, from its first attempt
    Retry {
        #[arg(value_parser = job_id)]
        id: JobId,
    },
    /// Delete a job without running it
    Drop {
        #[arg(value_parser = job_id)]
        id: JobId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(super) fn run(command: &JobsCommand, admin: &Admin) -> CommandResult {
    match *command {
        JobsCommand::List { project, failed, limit } => {
            let rows = admin.read(move |c| store::list(c, project, failed, i64::from(limit)))?;
            Ok(shown(&rows))
        }
        JobsCommand::Retry { id } => {
            let found = find(admin, id)?;
            let now = admin.world.clock.now();
            admin.write(move |tx| store::retry(tx, found.project_id, id, now))?;
            let json = json!({ "jobId": id, "state": "waiting" });
            Ok(Output::new(format!("job {id} runs again\n"), json))
        }
        JobsCommand::Drop { id, yes } => {
            let found = find(admin, id)?;
            confirm("What the job was to do is not done.", yes)?;
            admin.write(move |tx| store::delete(tx, found.project_id, id))?;
            let json = json!({ "jobId": id, "dropped": true });
            Ok(Output::new(format!("job {id} is dropped\n"), json))
        }
    }
}

/// The job with this id, in any project.
pub(super) fn find(admin: &Admin, id: JobId) -> CommandResult<JobRecord> {
    let found = admin.read(move |c| store::find(c, id))?;
    found.ok_or_else(|| "there is no such job, or it was done long ago".to_owned())
}

/// As a table, and as a document.
pub(super) fn shown(rows: &[JobRecord]) -> Output {
    let mut text = String::new();
    for row in rows {
        let payload = payload(row);
        let what = payload["event"].as_str().or(payload["kind"].as_str()).unwrap_or("unknown");
        let error = row.last_error.as_deref().filter(|_| !is_done(row)).unwrap_or_default();
        let (id, at, attempts) = (row.id, row.created_at, row.attempts);
        let state = state(row);
        let _ = writeln!(text, "{id}  {at}  {state:<7}  {attempts:>3}  {what:<28}  {error}");
    }
    if rows.is_empty() {
        text.push_str("no jobs\n");
    }
    Output::new(text, rows.iter().map(document).collect())
}

fn document(row: &JobRecord) -> Value {
    let payload = payload(row);
    json!({
        "id": row.id,
        "projectId": row.project_id,
        "kind": payload["kind"],
        "event": payload["event"],
        "queueId": row.queue_id,
        "state": state(row),
        "attempts": row.attempts,
        "runAt": row.run_at,
        "createdAt": row.created_at,
        "endedAt": row.ended_at,
        "lastError": row.last_error,
    })
}

fn payload(row: &JobRecord) -> Value {
    serde_json::from_str(&row.payload.0).unwrap_or_default()
}

fn is_done(row: &JobRecord) -> bool {
    row.ended_at.is_some() && !row.has_failed
}

fn state(row: &JobRecord) -> &'static str {
    match (row.ended_at, row.has_failed) {
        (None, _) => "waiting",
        (Some(_), true) => "failed",
        (Some(_), false) => "done",
    }
}
