//! `townhall webhooks …`

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::{
    Admin, CommandResult, Output, confirm, job_id, jobs, plain, project_id, queue_id,
};
use crate::features::webhooks::admin::{self as endpoints, Change};
use crate::features::webhooks::store::{self, EndpointRow};
use crate::jobs::store::{queues, retry};
use crate::outbound::Outbound;
use crate::tenancy::{self, NOT_FOUND};
use crate::values::ids::{JobId, ProjectId, QueueId, new_id};

#[derive(Debug, Subcommand)]
pub(super) enum WebhooksCommand {
    /// The endpoints of a project, without their secrets
    List {
        #[arg(value_parser = project_id)]
        project: ProjectId,
    },
    /// Set up an endpoint, or change one: what is not named stays as it is
    Set {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        #[command(flatten)]
        change: EndpointChange,
    },
    /// Remove an endpoint with everything that waits for it
    Remove {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        #[arg(value_parser = queue_id)]
        endpoint: QueueId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// What was sent, what waits and what was given up, the newest first
    Deliveries {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        /// Only to this endpoint; without it, to the first one
        #[arg(long, value_parser = queue_id)]
        endpoint: Option<QueueId>,
        #[arg(long, default_value_t = 100, value_name = "N")]
        limit: u32,
    },
    /// Send an event again, by its X-Webhook-Id
    Redeliver {
        #[arg(value_parser = job_id)]
        id: JobId,
    },
    /// Send a signed test event now, and say what the endpoint replied
    Test {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        /// Without it, the first one
        #[arg(long, value_parser = queue_id)]
        endpoint: Option<QueueId>,
    },
    /// Continue with an endpoint that was paused because it had failed for a day
    Resume {
        #[arg(value_parser = project_id)]
        project: ProjectId,
        #[arg(value_parser = queue_id)]
        endpoint: QueueId,
    },
}

#[derive(Debug, Args)]
pub(super) struct EndpointChange {
    /// The endpoint to change; without it, the first one, which the API sets too
    #[arg(long, value_parser = queue_id, conflicts_with = "add")]
    endpoint: Option<QueueId>,
    /// Add another endpoint
    #[arg(long)]
    add: bool,
    /// Empty: send nothing any more
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Other users of this machine can see it while the command runs; a file keeps it from them
    #[arg(long, value_name = "SECRET", conflicts_with = "secret_file")]
    secret: Option<String>,
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// The secret before the new one signs too, as X-Signature-Previous, until the next change
    #[arg(long)]
    keep_previous_secret: bool,
    /// Which events are sent, in place of the present ones
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    events: Option<Vec<String>>,
}

pub(super) fn run(command: WebhooksCommand, admin: &Admin) -> CommandResult {
    match command {
        WebhooksCommand::List { project } => list(admin, project),
        WebhooksCommand::Set { project, change } => set(admin, project, change),
        WebhooksCommand::Remove { project, endpoint, yes } => {
            confirm("Events that wait for this endpoint are lost.", yes)?;
            let removed = admin.write(move |tx| {
                queues::delete(tx, project, endpoint)?;
                store::delete(tx, project, endpoint)
            })?;
            if !removed {
                return Err("the project has no such endpoint".to_owned());
            }
            let json = json!({ "endpointId": endpoint, "removed": true });
            Ok(Output::new(format!("endpoint {endpoint} is removed\n"), json))
        }
        WebhooksCommand::Deliveries { project, endpoint, limit } => {
            let endpoint = find(admin, project, endpoint)?.id;
            let limit = i64::from(limit);
            let rows = admin.read(move |c| queues::list(c, project, endpoint, limit))?;
            Ok(jobs::shown(&rows))
        }
        WebhooksCommand::Redeliver { id } => {
            let found = jobs::find(admin, id)?;
            let now = admin.world.clock.now();
            admin.write(move |tx| retry(tx, found.project_id, id, now))?;
            let json = json!({ "webhookId": id, "state": "waiting" });
            Ok(Output::new(format!("event {id} is sent again\n"), json))
        }
        WebhooksCommand::Test { project, endpoint } => test(admin, project, endpoint),
        WebhooksCommand::Resume { project, endpoint } => {
            let row = find(admin, project, Some(endpoint))?;
            let now = admin.world.clock.now();
            admin.write(move |tx| queues::resume(tx, project, row.id, now))?;
            let json = json!({ "endpointId": endpoint, "pausedAt": null });
            Ok(Output::new(format!("endpoint {endpoint} gets its events again\n"), json))
        }
    }
}

fn outbound(admin: &Admin) -> Outbound {
    Outbound::new(admin.config.outbound_allow.clone(), admin.world.resolver.clone())
}

fn find(admin: &Admin, project: ProjectId, id: Option<QueueId>) -> CommandResult<EndpointRow> {
    let found = admin.read(move |c| {
        tenancy::store::find(c, project)?.ok_or(NOT_FOUND)?;
        match id {
            Some(id) => store::find(c, project, id),
            None => store::find_first(c, project),
        }
    })?;
    found.ok_or_else(|| "the project has no such endpoint".to_owned())
}

fn list(admin: &Admin, project: ProjectId) -> CommandResult {
    let rows = admin.read(move |c| {
        tenancy::store::find(c, project)?.ok_or(NOT_FOUND)?;
        let with_queue = |row: EndpointRow| Ok((queues::find(c, project, row.id)?, row));
        store::list(c, project)?.into_iter().map(with_queue).collect()
    })?;
    let rows: Vec<(Option<queues::QueueRow>, EndpointRow)> = rows;
    let json = rows.iter().map(|(queue, row)| shown(row, queue.as_ref())).collect::<Vec<_>>();
    Ok(Output::new(json.iter().map(described).collect::<Vec<_>>().join("\n"), json.into()))
}

fn set(admin: &Admin, project: ProjectId, change: EndpointChange) -> CommandResult {
    let secret = match &change.secret_file {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            Some(read.map_err(|error| format!("{}: {error}", path.display()))?.trim().to_owned())
        }
        None => change.secret,
    };
    let (now, id, is_new) = (admin.world.clock.now(), change.endpoint, change.add);
    let change = Change {
        url: change.url.map(|url| Some(url).filter(|url| !url.is_empty())),
        secret,
        events: change.events,
        keeps_previous_secret: change.keep_previous_secret,
    };
    let outbound = outbound(admin);
    admin.block_on(Box::pin(endpoints::check(&outbound, &change)))?;
    let (sealer, random) = (admin.sealer()?, admin.world.random.clone());
    let new_id = QueueId(new_id(now, &random));
    let row = admin.write(move |tx| {
        tenancy::store::find(tx, project)?.ok_or(NOT_FOUND)?;
        tenancy::store::lock(tx, project)?;
        let first = store::find_first(tx, project)?;
        let row = match (id, first) {
            (Some(id), _) => store::find(tx, project, id)?.ok_or(NOT_FOUND)?,
            (None, Some(first)) if !is_new => first,
            (None, first) => endpoints::blank(new_id, first.is_none(), now),
        };
        endpoints::put(tx, project, row, change.clone(), (&sealer, &random), now)
    })?;
    let json = shown(&row, None);
    Ok(Output::new(described(&json), json))
}

fn test(admin: &Admin, project: ProjectId, endpoint: Option<QueueId>) -> CommandResult {
    let row = find(admin, project, endpoint)?;
    let (sealer, now) = (admin.sealer()?, admin.world.clock.now());
    let outbound = outbound(admin);
    let sent = endpoints::send_test(&outbound, &sealer, project, &row, now);
    let status = admin.runtime.block_on(sent).map_err(plain)?;
    let json = json!({ "endpointId": row.id, "status": status });
    let text = format!("the endpoint replied with status {status}\n");
    Ok(Output { failed: !(200..300).contains(&status), ..Output::new(text, json) })
}

fn shown(row: &EndpointRow, queue: Option<&queues::QueueRow>) -> Value {
    json!({
        "id": row.id,
        "isFirst": row.is_first,
        "url": row.url,
        "events": endpoints::events(row),
        "hasSecret": row.secret.is_some(),
        "hasPreviousSecret": row.previous_secret.is_some(),
        "failures": queue.map_or(0, |queue| queue.failures),
        "failingSince": queue.and_then(|queue| queue.failing_since),
        "pausedAt": queue.and_then(|queue| queue.paused_at),
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
    })
}

fn described(endpoint: &Value) -> String {
    let mut text = String::new();
    let events = endpoint["events"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let state = match (&endpoint["pausedAt"], &endpoint["failingSince"]) {
        (Value::String(at), _) => format!("paused at {at}"),
        (_, Value::String(since)) => format!("failing since {since}"),
        _ => "ok".to_owned(),
    };
    let secret = match (&endpoint["hasSecret"], &endpoint["hasPreviousSecret"]) {
        (_, Value::Bool(true)) => "set, and the one before it",
        (Value::Bool(true), _) => "set",
        _ => "none",
    };
    for (name, value) in [
        ("endpoint", endpoint["id"].as_str().unwrap_or_default().to_owned()),
        ("url", endpoint["url"].as_str().unwrap_or("none").to_owned()),
        ("events", events.collect::<Vec<_>>().join(" ")),
        ("secret", secret.to_owned()),
        ("state", state),
    ] {
        let _ = writeln!(text, "{name:<9} {value}");
    }
    text
}
