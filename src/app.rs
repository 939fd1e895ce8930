//! Builds the application: opens what the machinery needs and fills the lists through which lower modules
//! reach higher ones.

use std::sync::Arc;

use db::Db;
use images::Processor;
use tokio::sync::Semaphore;

use crate::auth::passwords::{Cost, Passwords};
use crate::auth::sealed::Sealer;
use crate::auth::tokens::Tokens;
use crate::config::Config;
use crate::features;
use crate::features::exports::download::Archiver;
use crate::features::exports::uploads::Importer;
use crate::http::body::BODY_MEMORY;
use crate::mail::Mailer;
use crate::metrics::Metrics;
use crate::network::body_waits::BodyWaits;
use crate::network::client::RequestIds;
use crate::network::forwarding::Notice;
use crate::outbound::{Outbound, Resolver};
use crate::rate_limits::Limiter;
use crate::realtime::{Nodes, Realtime};
use crate::state::{App, AppState, Draining, FeatureState, MembershipCheck, Rooms};
use crate::storage::Storage;
use crate::storage::signed::Signer;
use crate::storage::staging::Staging;
use crate::tenancy::registry::Registry;
use crate::traces::Traces;
use crate::transfer::{export, import};
use crate::values::clock::Clock;
use crate::values::fingerprint::Fingerprints;
use crate::values::random::Random;

/// Dependencies that tests replace.
#[derive(Debug)]
pub struct Dependencies {
    pub clock: Clock,
    pub random: Random,
    pub password_cost: Cost,
    pub resolver: Resolver,
    pub membership: MembershipCheck,
}

impl Dependencies {
    pub fn real() -> Self {
        Dependencies {
            clock: Clock::system(),
            random: Random::System,
            password_cost: Cost::Standard,
            resolver: Resolver::System,
            membership: features::live::check,
        }
    }
}

/// `secret` signs tokens and addresses of files; the database is open and migrated.
pub fn build(
    config: Config,
    secret: &[u8],
    db: Db,
    dependencies: Dependencies,
) -> Result<App, String> {
    let Dependencies { clock, random, password_cost, resolver, membership } = dependencies;
    let from = config.mail_from.as_deref().unwrap_or(Mailer::DEFAULT_FROM);
    let mailer = match &config.smtp_url {
        Some(url) => Mailer::smtp(url, from)?,
        None => Mailer::outbox(&config.data_dir.join("outbox"), from)?,
    };
    // Otherwise two operations at one path would be noticed only by the first request.
    features::router()?;
    let rooms = Rooms {
        check: membership,
        members: features::chat::members::store::active,
        visible: features::live::visible,
    };
    let previous = config.secret_key_previous.as_deref().map(str::as_bytes);
    Ok(App::new(AppState {
        tokens: Tokens::new(secret, config.access_token_ttl, config.refresh_token_ttl)
            .accepting(previous),
        passwords: Passwords::new(password_cost, random.clone()).map_err(|e| e.to_string())?,
        sealer: Sealer::new(secret)
            .and_then(|sealer| sealer.accepting(previous))
            .map_err(|e| e.to_string())?,
        projects: Registry::default(),
        limiter: Limiter::new(config.rate_limits, secret),
        storage: Storage::open(&config.storage_settings())?,
        signer: Signer::accepting(previous, secret, &config.public_url, config.file_url_ttl),
        fingerprints: Fingerprints::new(secret).map_err(|e| e.to_string())?,
        images: Processor::new(config.max_upload_concurrency),
        staging: Staging::open(&config.data_dir, config.staging_mebibytes)?,
        mailer,
        outbound: Outbound::new(config.outbound_allow.clone(), resolver),
        realtime: Realtime::default(),
        nodes: Nodes::new(&random),
        rooms,
        metrics: Metrics::default(),
        traces: config.traces.clone().map(Traces::new),
        request_ids: RequestIds::new(&random),
        connections: Arc::default(),
        body_waits: BodyWaits::default(),
        forwarding_notice: Notice::default(),
        body_memory: Semaphore::new(BODY_MEMORY),
        lists: features::lists()
            .with(vec![Archiver(export::archive::pack)])
            .with(vec![Importer(import::uploaded::run)]),
        features: FeatureState::default(),
        draining: Draining::default(),
        config,
        db,
        clock,
        random,
    }))
}
