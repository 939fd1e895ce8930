//! Measurements of single requests on a database of its own that holds little else. With one caller, who asks request
//! after request, a latency is that of one request.

use std::path::Path;
use std::time::Duration;

use db::Db;
use townhall::features::users::store::{self as users, UserRow};
use townhall::values::clock::Clock;
use townhall::values::ids::{ProjectId, UserId, new_id};
use townhall::values::random::Random;
use townhall::values::time::Timestamp;

use crate::clock::{Span, Window};
use crate::fixture::{create_project, text};
use crate::load::{Load, ReadMode};
use crate::server::Server;
use crate::store::{Engine, Store};
use crate::usage::{Cpu, database_seconds};

/// A database with a project and one user.
#[derive(Debug)]
pub struct Alone {
    pub store: Store,
    pub db: Db,
    pub project: ProjectId,
    pub user: UserId,
    pub now: Timestamp,
}

/// What callers have measured.
#[derive(Debug)]
pub struct Latencies {
    pub p50: Duration,
    pub p99: Duration,
    /// Processor time of the server and its database for one request.
    pub cpu: Duration,
}

impl Alone {
    pub async fn create(engine: Engine) -> Result<Self, String> {
        let store = tokio::task::spawn_blocking(move || Store::create(engine));
        let store = store.await.map_err(|error| error.to_string())??;
        let db = store.open()?;
        let (now, random) = (Clock::system().now(), Random::System);
        let project = create_project(&db, now, &random).await?;
        let user = UserId(new_id(now, &random));
        let written = db.write(move |tx| users::insert(tx, project, &UserRow::new(user, now)));
        written.await.map_err(text)?;
        Ok(Alone { store, db, project, user, now })
    }

    /// Each list of requests on one server, which is started and stopped for it.
    pub async fn measure(
        &self,
        program: &Path,
        span: Span,
        callers: usize,
        lists: Vec<Vec<Vec<u8>>>,
    ) -> Result<Vec<Latencies>, String> {
        let server = Server::start(program, &self.store).await?;
        let mut measured = Vec::new();
        for requests in lists {
            let load = Load {
                address: server.address,
                requests: requests.into(),
                expected_status: &[200, 201],
                connections: callers,
                threads: 1,
                pace: ReadMode::Closed,
            };
            let before = self.cpu_seconds(Some(server.pid()));
            let window = Window::opening_now(span);
            let tally = tokio::task::spawn_blocking(move || load.run(window)).await;
            let tally = tally.map_err(|error| error.to_string())??;
            if let Some(error) = tally.first_error {
                return Err(error);
            }
            let spent = self.cpu_seconds(Some(server.pid())) - before;
            #[expect(clippy::cast_precision_loss, reason = "for people")]
            let requests = tally.requests().max(1) as f64 / span.duration.as_secs_f64();
            let all = (span.warm_up + span.duration).as_secs_f64() * requests;
            measured.push(Latencies {
                p50: tally.quantile(0.5),
                p99: tally.quantile(0.99),
                cpu: Duration::from_secs_f64((spent / all).max(0.0)),
            });
        }
        server.stop().await?;
        Ok(measured)
    }

    /// Of a server, or else of this process, and of the database server.
    pub fn cpu_seconds(&self, server: Option<u32>) -> f64 {
        let cpu = Cpu::so_far(server);
        let own = if server.is_some() { cpu.server } else { cpu.generator };
        let cluster = self.store.cluster.as_ref();
        own + cluster.map_or(0.0, |cluster| database_seconds(&cluster.processes()))
    }
}

impl Latencies {
    pub fn text(&self) -> String {
        format!("{} / {}", millis(self.p50), millis(self.p99))
    }
}

pub fn millis(latency: Duration) -> String {
    format!("{:.2}", latency.as_secs_f64() * 1e3)
}
