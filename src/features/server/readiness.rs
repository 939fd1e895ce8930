//! `/readyz`: can this node serve? `fail` (503) is for what every request needs: the database, its disk, and
//! accepting requests at all. What only some need, files and mail, is a `warn` with 200. Messages are public:
//! they name the problem and no address.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use http::StatusCode;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::config::{Config, free_space};
use crate::error::Result;
use crate::http::operation::ServerCall;
use crate::http::reply::{Reply, ReplyDoc, Response, json};
use crate::state::App;
use crate::values::time::Timestamp;

/// How long a reply waits for a check.
const PATIENCE: Duration = Duration::from_secs(2);
/// Timeout of a background probe.
const LONGEST: Duration = Duration::from_secs(10);
/// Milliseconds between two probes of the same thing, however many requests.
const PROBE_EVERY: i64 = 5_000;
/// Less free space than this fails the check.
const NO_SPACE: u64 = 1 << 20;
/// Less free space than this is a warning.
const LITTLE_SPACE: u64 = 64 << 20;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Readiness {
    status: Status,
    checks: Checks,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HealthChecks")]
struct Checks {
    /// Fails while the server drains.
    accepting: Finding,
    /// Fails if the database does not respond or is not writable.
    database: Finding,
    /// Fails if the data directory is full or not writable.
    disk: Finding,
    /// Warns if the file storage is unavailable.
    storage: Finding,
    /// Warns if the mail server does not respond.
    mail: Finding,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "HealthCheck")]
pub struct Finding {
    status: Status,
    /// The problem; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "HealthStatus")]
enum Status {
    Pass,
    Warn,
    Fail,
}

impl Finding {
    const PASS: Finding = Finding { status: Status::Pass, message: None };

    const fn warn(message: &'static str) -> Finding {
        Finding { status: Status::Warn, message: Some(message) }
    }

    const fn fail(message: &'static str) -> Finding {
        Finding { status: Status::Fail, message: Some(message) }
    }
}

impl Reply for Readiness {
    fn into_response(self) -> Result<Response> {
        let fails = self.status == Status::Fail;
        json(if fails { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }, &self)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let schema = generator.subschema_for::<Readiness>();
        let doc = |status| ReplyDoc { status, content: Some(("application/json", schema.clone())) };
        vec![doc(200), doc(503)]
    }
}

pub(super) async fn ready(call: ServerCall) -> Result<Readiness> {
    let app = &call.app;
    let accepting =
        if app.is_draining() { Finding::fail("the server is stopping") } else { Finding::PASS };
    let (database, storage, mail) = tokio::join!(database(app), storage(app), mail(app));
    let checks = Checks { accepting, database, disk: disk(app), storage, mail };
    let all = [&checks.accepting, &checks.database, &checks.disk, &checks.storage, &checks.mail];
    let status = all.iter().map(|finding| finding.status).max().unwrap_or(Status::Pass);
    Ok(Readiness { status, checks })
}

async fn database(app: &App) -> Finding {
    if !matches!(timeout(PATIENCE, app.db.ping()).await, Ok(Ok(()))) {
        return Finding::fail("the database does not answer");
    }
    let db = app.db.clone();
    let written = probed(app, |probes| &probes.database, async move {
        match db.touch().await {
            Ok(()) => Finding::PASS,
            Err(db::Error::Busy) => Finding::warn("the database is slow to write"),
            Err(error) => {
                tracing::error!(%error, "the database cannot be written");
                Finding::fail("the database cannot be written")
            }
        }
    });
    let written = written.await;
    if app.db.is_full() { Finding::fail("no space is left for the database") } else { written }
}

fn disk(app: &App) -> Finding {
    if !app.config.data_dir_is_writable() {
        return Finding::fail("the data directory is missing or cannot be written");
    }
    let free = directories(&app.config).iter().filter_map(|path| free_space(path).ok()).min();
    match (free, app.db.engine()) {
        (Some(..NO_SPACE), db::Engine::Sqlite) => Finding::fail("no space is left on the disk"),
        (Some(..LITTLE_SPACE), _) => Finding::warn("little space is left on the disk"),
        _ => Finding::PASS,
    }
}

/// The data directory, and that of an SQLite database elsewhere.
fn directories(config: &Config) -> Vec<PathBuf> {
    let file = config.database_url.strip_prefix("sqlite://").map(Path::new);
    let beside = file.and_then(Path::parent).filter(|path| !path.as_os_str().is_empty());
    beside.into_iter().chain([config.data_dir.as_path()]).map(Path::to_owned).collect()
}

async fn storage(app: &App) -> Finding {
    const DOWN: Finding = Finding::warn("files can be neither stored nor read");
    if app.storage.is_local() {
        // A cheap system call.
        return app.storage.check().await.map_or(DOWN, |()| Finding::PASS);
    }
    let state = app.clone();
    let checked = probed(app, |probes| &probes.storage, async move {
        let Err(error) = state.storage.check().await else { return Finding::PASS };
        tracing::warn!(%error, "the bucket does not answer");
        DOWN
    });
    checked.await
}

async fn mail(app: &App) -> Finding {
    if app.config.smtp_url.is_none() {
        return Finding::PASS;
    }
    let state = app.clone();
    let checked = probed(app, |probes| &probes.mail, async move {
        let Err(error) = state.mailer.check().await else { return Finding::PASS };
        tracing::warn!(%error, "the mail server does not answer");
        Finding::warn("the mail server does not answer")
    });
    checked.await
}

/// Cached results of probes.
#[derive(Debug, Default)]
pub struct Probes {
    database: Probe,
    storage: Probe,
    mail: Probe,
}

#[derive(Debug)]
struct Probe {
    last: watch::Sender<Option<Finding>>,
    /// When the last probe started, in milliseconds.
    begun: AtomicI64,
}

impl Default for Probe {
    fn default() -> Self {
        Probe { last: watch::Sender::new(None), begun: AtomicI64::new(i64::MIN) }
    }
}

impl Probe {
    /// True for one caller each time a probe is due.
    fn is_due(&self, now: Timestamp) -> bool {
        let (begun, now) = (self.begun.load(Relaxed), now.millis());
        let is_due = now.saturating_sub(begun) >= PROBE_EVERY;
        is_due && self.begun.compare_exchange(begun, now, Relaxed, Relaxed).is_ok()
    }
}

/// The last result of a probe. When it is due, it runs in the background; only the very first is awaited.
async fn probed(
    app: &App,
    of: fn(&Probes) -> &Probe,
    probe: impl Future<Output = Finding> + Send + 'static,
) -> Finding {
    const SLOW: Finding = Finding::warn("there is no answer yet");
    let probes = app.features.get::<Probes>();
    let this = of(&probes);
    if this.is_due(app.clock.now()) {
        let probes = probes.clone();
        let run = tokio::spawn(async move {
            let found = timeout(LONGEST, probe).await.unwrap_or(SLOW);
            of(&probes).last.send_replace(Some(found));
        });
        drop(run);
    }
    let mut last = this.last.subscribe();
    let first = timeout(PATIENCE, last.wait_for(Option::is_some)).await;
    first.ok().and_then(|last| last.ok()?.clone()).unwrap_or(SLOW)
}
