//! `townhall serve` and `townhall dev`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::{self, Dependencies};
use crate::auth::operators::Role;
use crate::cli::transfer::before_serving;
use crate::cli::{CommandResult, Output, plain};
use crate::config::{AdminListen, Config};
use crate::features;
use crate::features::admin::accounts::invitations::{self, Invitation};
use crate::features::auth::session::{self, TokenSeed};
use crate::features::entities::views::view_buffer;
use crate::features::projects::admin::{self, NewProject, ProjectSecrets};
use crate::features::search::index;
use crate::features::users::store::{self as users, UserRow};
use crate::server::Supervisor;
use crate::state::App;
use crate::tenancy::{Bundle, store as projects};
use crate::traces::Exporter;
use crate::transfer::{load, schedule};
use crate::values::ids::{ProjectId, UserId, new_id};
use crate::{jobs, logs, server, start};

const DEMO_PROJECT: &str = "Demo";
const DEMO_USERS: [(&str, &str); 2] = [("ada", "Ada Lovelace"), ("grace", "Grace Hopper")];
/// How long the job under way may take after the last request was answered.
const LAST_JOB: Duration = Duration::from_secs(5);
/// How long the database may take to finish what is queued.
const LAST_WRITE: Duration = Duration::from_secs(10);
/// Known to everybody: a demo is for looking around on one's own machine.
const DEMO_PASSWORD: &str = "townhall";

const UNFINISHED: &str =
    "the database is the target of an unfinished copy or restore: run that command again";

pub(super) fn serve(config: Config, json: bool) -> CommandResult {
    run(config, false, json)
}

pub(super) fn dev(mut config: Config, json: bool) -> CommandResult {
    config.is_dev = true;
    run(config, true, json)
}

/// Everything that a setting can be wrong about is found out before the first write.
fn run(mut config: Config, with_demo: bool, json: bool) -> CommandResult {
    let _logs = logs::start(&config);
    config.max_connections = server::connections_that_fit(config.max_connections);
    let socket = start::reserve_address(config.listen)?;
    let admin_socket = match config.admin_listen {
        AdminListen::Own(address) => Some((start::reserve_address(address)?, address)),
        AdminListen::Same | AdminListen::Off => None,
    };
    start::prepare_data_dir(&config)?;
    let _lock = start::lock_data_dir(&config)?;
    let world = Dependencies::real();
    let secret = start::secret(&config, &world.random)?;
    let db = start::open_database(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    if load::is_unfinished(&db).map_err(|error| error.to_string())? {
        return Err(UNFINISHED.to_owned());
    }
    before_serving(&db, &config.database_url)?;
    runtime.block_on(start::check_secret(&db, &secret, config.secret_key_previous.as_deref()))?;
    if let Some(copy) = start::copy_before_migration(&config, &db, &runtime)? {
        tracing::info!(
            copy = %copy.display(),
            "the schema is about to change, and the database was copied: to go back, stop the server, put the copy in \
             place of the database, remove the files with -wal and -shm after its name, and start the older release"
        );
    }
    let applied = start::migrate(&db, world.clock.now())?;
    if !applied.is_empty() {
        tracing::info!(?applied, "the schema was brought up to date");
    }
    runtime.block_on(async {
        start::claim_secret(&db, &secret, config.secret_key_previous.as_deref()).await?;
        let (listener, address) = start::listen(socket, config.listen)?;
        config.listens_on(address);
        let admin_listener = match admin_socket {
            Some((socket, address)) => Some(start::listen(socket, address)?.0),
            None => None,
        };
        let admin_router = features::admin_router()?;
        let app = app::build(config, &secret, db, world)?;
        start::claim_storage(&app).await?;
        if app.config.secret_key_previous.is_some() {
            start::renew_secrets(&app).await.map_err(plain)?;
        }
        let demo = if with_demo { Some(prepare_demo(&app).await?) } else { None };
        report(&app, address, demo.as_ref(), json);
        if app.config.lacks_public_url() {
            let url = &app.config.public_url;
            tracing::warn!(
                "TOWNHALL_PUBLIC_URL is not set: links in mails and addresses of files will begin with {url}"
            );
        }
        let signals = Signals::install()?;
        tracing::info!(listen = %address, url = app.config.public_url, "townhall is ready");
        let supervisor = Arc::new(Supervisor::from_env());
        supervisor.ready();
        tokio::spawn(Arc::clone(&supervisor).keep_alive());
        let mut worker = tokio::spawn(jobs::work(app.clone()));
        let flushing = tokio::spawn(view_buffer::flush_loop(app.clone()));
        let indexing = tokio::spawn(index::work(app.clone()));
        tokio::spawn(index::vectors::work(app.clone()));
        if app.config.backup.is_some() {
            tokio::spawn(schedule::work(app.clone()));
        }
        let exporter = app.traces.clone().map(Exporter::start);
        tokio::spawn(signals.stop(app.clone(), supervisor));
        let router = match app.config.admin_listen {
            AdminListen::Same => features::router()?,
            AdminListen::Own(_) | AdminListen::Off => features::api_router()?,
        };
        let admin = async {
            if let Some(listener) = admin_listener {
                server::serve_pages(app.clone(), admin_router, listener).await;
            }
        };
        tokio::join!(server::serve(app.clone(), router, listener), admin);
        // A job that is cut off was claimed for a while only: it is taken up again later.
        if tokio::time::timeout(LAST_JOB, &mut worker).await.is_err() {
            worker.abort();
        }
        // The last request has been counted by now.
        let _ = flushing.await;
        let _ = tokio::time::timeout(LAST_WRITE, indexing).await;
        if let Some(exporter) = exporter {
            exporter.stop().await;
        }
        if let Err(error) = view_buffer::flush(&app).await {
            tracing::error!(error = %error, "the last views and scores could not be written");
        }
        if tokio::time::timeout(LAST_WRITE, app.db.close()).await.is_err() {
            tracing::warn!("the database did not close in time");
        }
        tracing::info!("townhall has stopped");
        Ok(Output::new(String::new(), Value::Null))
    })
}

/// The signals that stop the server, received from its first request on.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn install() -> CommandResult<Self> {
        let install = |kind| signal(kind).map_err(|error| format!("signals: {error}"));
        let (terminate, interrupt) =
            (install(SignalKind::terminate())?, install(SignalKind::interrupt())?);
        Ok(Signals { terminate, interrupt })
    }

    /// The first signal begins an orderly stop; the second ends the process at once.
    async fn stop(mut self, app: App, supervisor: Arc<Supervisor>) {
        for stop_at_once in [false, true] {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
            if stop_at_once {
                std::process::exit(1);
            }
            tracing::info!("stopping: requests in flight are finished first");
            supervisor.stopping();
            app.drain();
        }
    }
}

/// What a demo is used with.
struct Demo {
    project: ProjectId,
    /// Shown once, when they are made.
    secrets: Option<ProjectSecrets>,
    /// Lines for a shell.
    tour: Vec<String>,
    /// The link that makes the first operator, while there is none.
    invitation: Option<String>,
}

/// Says how the server is used, now that it can be. Standard output belongs to a program that asked for
/// JSON; people's text goes elsewhere then.
fn report(app: &App, address: SocketAddr, demo: Option<&Demo>, json: bool) {
    let url = &app.config.public_url;
    let text = demo.map(|demo| demo.text(app)).unwrap_or_default();
    // A closed pipe is no reason to stop.
    let mut out = std::io::stdout();
    let _ = if json {
        eprint!("{text}");
        let mut document = json!({ "url": url, "listen": address });
        if let Some(demo) = demo {
            demo.describe(&mut document);
        }
        writeln!(out, "{document}")
    } else {
        write!(out, "{text}")
    };
    let _ = out.flush();
}

impl Demo {
    fn text(&self, app: &App) -> String {
        let (url, data) = (&app.config.public_url, app.config.data_dir.display());
        let mut text = format!("\nTownhall is listening on {url}\n\n");
        let id = self.project;
        let _ = writeln!(text, "  project      {id}");
        let _ = match &self.secrets {
            Some(secrets) => writeln!(
                text,
                "  service key  {}\n  master key   {}",
                secrets.service.secret, secrets.master.secret
            ),
            None => writeln!(
                text,
                "  keys         were shown when they were made; for new ones:\n               \
                 townhall key create --project {id} --kind service"
            ),
        };
        let _ = writeln!(text, "  users        ada@example.com and grace@example.com");
        let _ = writeln!(text, "  password     {DEMO_PASSWORD}\n");
        let admin = self.invitation.clone().unwrap_or_else(|| format!("{url}/admin"));
        let _ = writeln!(
            text,
            "  admin        {admin}\n  start page   {url}/\n  \
             API          {url}/docs?projectId={id}, {url}/openapi.json\n  \
             guides       docs/ of the sources; begin with docs/first-five-minutes.md\n  \
             mails        {data}/outbox, as files: none is sent\n  \
             data         {data}; remove it to begin anew\n"
        );
        if !self.tour.is_empty() {
            let _ = writeln!(text, "Try it:\n\n{}", self.tour.join("\n\n"));
        }
        text
    }

    fn describe(&self, document: &mut Value) {
        let users = DEMO_USERS.map(|(username, _)| {
            let email = format!("{username}@example.com");
            json!({ "username": username, "email": email, "password": DEMO_PASSWORD })
        });
        let secrets = self.secrets.as_ref();
        document["projectId"] = json!(self.project);
        document["serviceKey"] = json!(secrets.map(|secrets| &secrets.service.secret));
        document["masterKey"] = json!(secrets.map(|secrets| &secrets.master.secret));
        document["users"] = json!(users);
        document["tour"] = json!(self.tour);
        document["adminInvitation"] = json!(self.invitation);
    }
}

/// Creates the demo project if it does not exist yet.
async fn prepare_demo(app: &App) -> CommandResult<Demo> {
    let existing = app.db.read(projects::list).await.map_err(plain)?;
    let demo = existing.iter().find(|project| project.name == DEMO_PROJECT);
    let (project, secrets) = match demo {
        Some(project) => (project.id, None),
        None => {
            let (id, secrets) = create_demo(app).await?;
            (id, Some(secrets))
        }
    };
    let (tour, invitation) = (tour(app, project).await?, first_operator(app).await?);
    Ok(Demo { project, secrets, tour, invitation })
}

/// A link for the first operator, who owns the installation.
async fn first_operator(app: &App) -> CommandResult<Option<String>> {
    if app.config.admin_listen == AdminListen::Off
        || !invitations::is_needed(app).await.map_err(plain)?
    {
        return Ok(None);
    }
    let made = (app.clock.now(), &app.random);
    let invitation = Invitation::new(Role::Owner, None, None, "townhall dev", made);
    let link = invitation.link(&app.config.public_url);
    app.db.write(move |tx| invitation.insert(tx)).await.map_err(plain)?;
    Ok(Some(link))
}

async fn create_demo(app: &App) -> CommandResult<(ProjectId, ProjectSecrets)> {
    let (now, random) = (app.clock.now(), &app.random);
    let id = ProjectId(new_id(now, random));
    let new = NewProject { id, name: DEMO_PROJECT.to_owned(), bundles: Bundle::ALL.to_vec() };
    let secrets = ProjectSecrets::generate(now, random).map_err(plain)?;
    let hash = app.passwords.hash(DEMO_PASSWORD.to_owned()).await.map_err(plain)?;
    let people = DEMO_USERS.map(|(username, name)| UserRow {
        username: Some(username.to_owned()),
        name: Some(name.to_owned()),
        email: Some(format!("{username}@example.com")),
        password_hash: Some(hash.clone()),
        ..UserRow::new(UserId(new_id(now, random)), now)
    });
    let created = app.db.write(move |tx| {
        admin::create_project(tx, &new, &secrets, now)?;
        for user in &people {
            users::insert(tx, id, user)?;
        }
        Ok(secrets.clone())
    });
    Ok((id, created.await.map_err(plain)?))
}

/// Three lines to paste: Ada posts, Grace likes it, anybody reads the feed. None of them depends on
/// what a shell remembers of the one before.
async fn tour(app: &App, project: ProjectId) -> CommandResult<Vec<String>> {
    let now = app.clock.now();
    let seeds = DEMO_USERS.map(|_| TokenSeed::draw(&app.tokens, &app.random, now));
    let signed_in = app.db.write(move |tx| {
        let mut tokens = Vec::new();
        for ((username, _), seed) in DEMO_USERS.iter().zip(seeds) {
            if let Some(user) = users::find_by_username(tx, project, username)? {
                tokens.push(session::open(tx, project, user.id, seed)?);
            }
        }
        Ok(tokens)
    });
    let tokens = signed_in.await.map_err(plain)?;
    let [ada, grace] = tokens.as_slice() else {
        return Ok(Vec::new());
    };
    let [ada, grace] =
        [ada, grace].map(|token| app.tokens.access(project, token.user_id, token.family_id, now));
    let base = format!("{}/v8/{project}", app.config.public_url);
    let json = "-H 'Content-Type: application/json'";
    Ok(vec![
        format!(
            "curl -s '{base}/entities' -H 'Authorization: Bearer {ada}' {json} \
             -d '{{\"title\":\"Hello\",\"content\":\"Notes on the analytical engine\"}}'"
        ),
        format!(
            "curl -s \"{base}/entities/$(curl -s '{base}/entities?limit=1' | cut -d '\"' -f 6)/reactions\" \
             -H 'Authorization: Bearer {grace}' {json} -d '{{\"reactionType\":\"love\"}}'"
        ),
        format!("curl -s '{base}/entities?sortBy=hot&include=user'"),
    ])
}
