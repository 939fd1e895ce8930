//! One engine from start to end: seed, measure the bare work, then start the server and measure the constant
//! reply and the scenarios.

use std::path::PathBuf;

use crate::ceiling::{self, BareHandler};
use crate::clock::{Span, Window};
use crate::fixture::{Fixture, Scale};
use crate::load::{Load, ReadMode};
use crate::report::{Kind, Measurement, Resources};
use crate::scenario::{Bare, Scenario};
use crate::server::Server;
use crate::sockets;
use crate::store::{Engine, Store};
use crate::usage::{Cpu, resident_bytes};

#[derive(Debug)]
pub struct Run {
    pub program: PathBuf,
    pub scenarios: Vec<&'static Scenario>,
    pub with_sockets: Vec<sockets::Scenario>,
    /// Open sockets, if not as many as usual.
    pub sockets: Option<usize>,
    pub connections: usize,
    pub threads: usize,
    pub pace: ReadMode,
    pub span: Span,
    pub repeat: u32,
    pub scale: Scale,
}

impl Run {
    pub async fn on(&self, engine: Engine) -> Result<Vec<Measurement>, String> {
        let Scale { users, entities, comments, .. } = self.scale;
        for scenario in &self.with_sockets {
            scenario.make_room(self.sockets)?;
        }
        let name = engine.name();
        eprintln!("{name}: writing {users} users, {entities} entities, {comments} comments");
        let store = tokio::task::spawn_blocking(move || Store::create(engine));
        let store = store.await.map_err(|error| error.to_string())??;
        let db = store.open()?;
        let fixture = Fixture::seed(&db, self.scale).await?;

        // Before the server runs: a bare statement has the machine to itself.
        let mut bare = Vec::new();
        for scenario in &self.scenarios {
            let mut ceilings = Vec::new();
            for work in (scenario.bare)(&fixture, &db) {
                eprintln!("{}: {}, bare {}", engine.name(), scenario.name, work.name);
                ceilings.push(self.bare(engine, &work).await?);
            }
            bare.push(ceilings);
        }
        db.close().await;

        let mut measurements = Vec::new();
        if !self.scenarios.is_empty() {
            measurements = self.requests(engine, &store, &fixture, bare).await?;
        }
        let rate = if let ReadMode::Open(rate) = self.pace { Some(rate) } else { None };
        let options = sockets::Options { sockets: self.sockets, rate, span: self.span };
        for scenario in &self.with_sockets {
            eprintln!("{}: {}", engine.name(), scenario.name());
            let measured = scenario.measure(engine, &self.program, &store, &fixture, options);
            measurements.extend(measured.await?);
        }
        Ok(measurements)
    }

    /// The scenarios made of requests, each beside its ceilings.
    async fn requests(
        &self,
        engine: Engine,
        store: &Store,
        fixture: &Fixture,
        bare: Vec<Vec<Measurement>>,
    ) -> Result<Vec<Measurement>, String> {
        let server = Server::start(&self.program, store).await?;
        eprintln!("{}: constant answer", engine.name());
        let constant = ceiling::load(server.address, "/livez", self.connections, self.threads);
        let pid = Some(server.pid());
        let constant = self.load(engine, pid, "constant", Kind::Constant, &constant).await?;
        let mut measurements = vec![constant.clone()];
        for (scenario, ceilings) in self.scenarios.iter().zip(bare) {
            eprintln!("{}: {}", engine.name(), scenario.name);
            let load = Load {
                address: server.address,
                requests: (scenario.requests)(fixture).into(),
                expected_status: scenario.expected_status,
                connections: self.connections,
                threads: self.threads,
                pace: self.pace,
            };
            let kind = if self.pace == ReadMode::Closed { Kind::Closed } else { Kind::Open };
            let measured = self.load(engine, pid, scenario.name, kind, &load).await?;
            measurements.push(measured.under([&constant].into_iter().chain(&ceilings)));
            measurements.extend(ceilings);
        }
        server.stop().await?;
        Ok(measurements)
    }

    async fn bare(&self, engine: Engine, work: &Bare) -> Result<Measurement, String> {
        let handler = BareHandler::start(work.clone()).await?;
        let load = ceiling::load(handler.address, "/", self.connections, self.threads);
        self.load(engine, None, work.name, Kind::Bare, &load).await
    }

    async fn load(
        &self,
        engine: Engine,
        server: Option<u32>,
        name: &str,
        kind: Kind,
        load: &Load,
    ) -> Result<Measurement, String> {
        let mut best = None;
        for _ in 0..self.repeat {
            let window = Window::opening_now(self.span);
            let running = load.clone();
            let (tally, resources) = tokio::join!(
                tokio::task::spawn_blocking(move || running.run(window)),
                watch(server, window),
            );
            let tally = tally.map_err(|error| error.to_string())??;
            let measured = Measurement::new(engine.name(), name, kind, &tally, window, resources);
            best = Some(measured.paced(load.pace).or_better(best));
        }
        best.ok_or_else(|| "nothing was measured".to_owned())
    }
}

/// Looks at the processes at both ends of the window.
pub async fn watch(server: Option<u32>, window: Window) -> Resources {
    tokio::time::sleep_until(window.from.into()).await;
    let before = Cpu::so_far(server);
    tokio::time::sleep_until(window.to.into()).await;
    Resources { rss_bytes: server.map(resident_bytes), cpu: Cpu::so_far(server) - before }
}
