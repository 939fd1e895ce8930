//! `App`: the handle that every request, job and socket gets. It holds the machinery's in-memory state, the
//! lists that the program fills (`Lists`) and the state of features (`FeatureState`). `app.rs` builds it.

mod lists;

pub use lists::{FeatureState, JobKind, Lists, Retention, SealedSecret, SealedSecrets, Sweep};

use std::collections::HashSet;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use db::{Conn, Db};
use images::Processor;
use tokio::sync::{Semaphore, watch};

use crate::auth::passwords::Passwords;
use crate::auth::sealed::Sealer;
use crate::auth::tokens::Tokens;
use crate::config::Config;
use crate::error::Result;
use crate::mail::Mailer;
use crate::metrics::Metrics;
use crate::network::body_waits::BodyWaits;
use crate::network::client::RequestIds;
use crate::network::forwarding::Notice;
use crate::network::places::Places;
use crate::outbound::Outbound;
use crate::rate_limits::Limiter;
use crate::realtime::{Nodes, Realtime, Room, RoomAccess};
use crate::storage::Storage;
use crate::storage::signed::Signer;
use crate::storage::staging::Staging;
use crate::tenancy::registry::Registry;
use crate::traces::Traces;
use crate::values::clock::Clock;
use crate::values::fingerprint::Fingerprints;
use crate::values::ids::{ConversationId, ProjectId, UserId};
use crate::values::random::Random;

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
    /// Encrypts secrets of others in the database.
    pub sealer: Sealer,
    pub projects: Registry,
    pub limiter: Limiter,
    pub storage: Storage,
    pub signer: Arc<Signer>,
    /// For the `ETag`s of replies.
    pub fingerprints: Fingerprints,
    pub images: Processor,
    pub staging: Staging,
    pub mailer: Mailer,
    pub outbound: Outbound,
    pub realtime: Realtime,
    pub nodes: Nodes,
    pub rooms: Rooms,
    pub metrics: Metrics,
    /// None unless a collector is configured.
    pub traces: Option<Arc<Traces>>,
    pub request_ids: RequestIds,
    /// Places for connections.
    pub connections: Arc<Places>,
    pub body_waits: BodyWaits,
    pub forwarding_notice: Notice,
    /// One permit for each byte of request bodies in memory.
    pub body_memory: Semaphore,
    pub lists: Lists,
    pub features: FeatureState,
    pub draining: Draining,
}

/// Set once, when the server begins to drain.
#[derive(Debug)]
pub struct Draining(watch::Sender<bool>);

impl Default for Draining {
    fn default() -> Self {
        Draining(watch::Sender::new(false))
    }
}

/// Permission for rooms: asked by sockets, implemented by chat and by live feeds.
#[derive(Debug, Clone, Copy)]
pub struct Rooms {
    pub check: MembershipCheck,
    pub members: fn(&Conn<'_>, ProjectId, ConversationId) -> Result<Vec<UserId>>,
    pub visible: VisibilityCheck,
}

/// Whether a user may join a room or send typing events in it.
pub type MembershipCheck = for<'a> fn(&'a App, RoomAccess) -> Checking<'a>;
pub type Checking<'a> = Pin<Box<dyn Future<Output = Result<bool>> + Send + 'a>>;

/// Those of some users who may see an event in a room that somebody has caused.
pub type VisibilityCheck =
    for<'a> fn(&'a App, ProjectId, Room, Option<UserId>, HashSet<UserId>) -> Seeing<'a>;
pub type Seeing<'a> = Pin<Box<dyn Future<Output = Result<HashSet<UserId>>> + Send + 'a>>;

impl App {
    pub fn new(state: AppState) -> App {
        App(Arc::new(state))
    }
}

impl AppState {
    /// Begins to drain: the server only finishes running requests.
    pub fn drain(&self) {
        self.draining.0.send_replace(true);
    }

    pub fn is_draining(&self) -> bool {
        *self.draining.0.borrow()
    }

    /// Completes when the server begins to drain.
    pub async fn draining(&self) {
        let mut draining = self.draining.0.subscribe();
        // An error means that the sender was dropped with the application.
        let _ = draining.wait_for(|draining| *draining).await;
    }
}

impl Deref for App {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}
