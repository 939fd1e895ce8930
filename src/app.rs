//! The application: everything a request may need, built once at start.

use std::ops::Deref;
use std::sync::Arc;

use db::Db;
use tokio::sync::{Notify, Semaphore, watch};

use crate::auth::passwords::{Cost, Passwords};
use crate::auth::tokens::Tokens;
use crate::clock::Clock;
use crate::config::Config;
use crate::features;
use crate::features::entities::pulse::Pulse;
use crate::features::projects::registry::Registry;
use crate::features::storage::signed::Signer;
use crate::features::utils::Previews;
use crate::http::body::BODY_MEMORY;
use crate::http::body_waits::BodyWaits;
use crate::http::client::RequestIds;
use crate::http::forwarding::Notice;
use crate::http::limits::Limiter;
use crate::http::router::Router;
use crate::images::Processor;
use crate::mail::Mailer;
use crate::metrics::Metrics;
use crate::outbound::{Outbound, Resolver};
use crate::random::Random;
use crate::realtime::Realtime;
use crate::realtime::membership::{self, Ask};
use crate::server::Places;
use crate::storage::Storage;
use crate::storage::staging::Staging;

/// A handle on the one application state; cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<AppState>);

#[derive(Debug)]
pub struct AppState {
    pub config: Config,
    pub db: Db,
    pub clock: Clock,
    pub random: Random,
    pub tokens: Tokens,
    pub passwords: Passwords,
    pub projects: Registry,
    pub limiter: Limiter,
    pub router: Router,
    pub storage: Storage,
    pub signer: Arc<Signer>,
    pub images: Processor,
    pub staging: Staging,
    pub mailer: Mailer,
    pub outbound: Outbound,
    pub previews: Previews,
    /// Views and stale scores that are not yet written.
    pub pulse: Pulse,
    pub realtime: Realtime,
    /// Who may enter which conversation.
    pub membership: Ask,
    pub metrics: Metrics,
    pub request_ids: RequestIds,
    /// Places for connections.
    pub connections: Arc<Places>,
    pub body_waits: BodyWaits,
    pub forwarding_notice: Notice,
    /// One permit for each byte of a request's body that may be in memory.
    pub body_memory: Semaphore,
    /// Woken when a job has been added, so that it need not wait for the next look.
    pub job_added: Notify,
    draining: watch::Sender<bool>,
}

/// What tests replace and the real server takes from the system.
#[derive(Debug)]
pub struct World {
    pub clock: Clock,
    pub random: Random,
    pub password_cost: Cost,
    pub resolver: Resolver,
    pub membership: Ask,
}

impl World {
    pub fn real() -> Self {
        World {
            clock: Clock::system(),
            random: Random::System,
            password_cost: Cost::Standard,
            resolver: Resolver::System,
            membership: membership::ask,
        }
    }
}

impl App {
    /// `secret` signs tokens and addresses of files; the database is open and migrated.
    pub fn new(config: Config, secret: &[u8], db: Db, world: World) -> Result<App, String> {
        let World { clock, random, password_cost, resolver, membership } = world;
        let from = config.mail_from.as_deref().unwrap_or(Mailer::DEFAULT_FROM);
        let mailer = match &config.smtp_url {
            Some(url) => Mailer::smtp(url, from)?,
            None => Mailer::outbox(&config.data_dir.join("outbox"), from)?,
        };
        let state = AppState {
            tokens: Tokens::new(secret, config.access_token_ttl, config.refresh_token_ttl),
            passwords: Passwords::new(password_cost, random.clone()).map_err(|e| e.to_string())?,
            projects: Registry::default(),
            limiter: Limiter::new(config.rate_limits),
            router: Router::new(features::operations())?,
            storage: Storage::open(&config)?,
            signer: Signer::new(secret, &config.public_url, config.file_url_ttl),
            images: Processor::new(config.max_upload_concurrency),
            staging: Staging::open(&config.data_dir, config.staging_mebibytes)?,
            mailer,
            outbound: Outbound::new(config.outbound_allow.clone(), resolver),
            previews: Previews::default(),
            pulse: Pulse::default(),
            realtime: Realtime::default(),
            membership,
            metrics: Metrics::default(),
            request_ids: RequestIds::new(&random),
            connections: Arc::default(),
            body_waits: BodyWaits::default(),
            forwarding_notice: Notice::default(),
            body_memory: Semaphore::new(BODY_MEMORY),
            job_added: Notify::new(),
            draining: watch::Sender::new(false),
            config,
            db,
            clock,
            random,
        };
        Ok(App(Arc::new(state)))
    }
}

impl AppState {
    /// From now on the server only finishes what it has begun.
    pub fn drain(&self) {
        self.draining.send_replace(true);
    }

    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Completes when the server begins to drain.
    pub async fn draining(&self) {
        let mut draining = self.draining.subscribe();
        // An error means the sender is gone, and with it the application.
        let _ = draining.wait_for(|draining| *draining).await;
    }
}

impl Deref for App {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}
