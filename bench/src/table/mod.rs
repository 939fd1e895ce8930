//! The table: every row of it on each engine, in rounds that alternate between the engines, beside its goals and
//! the rate of a bare client that sends the same statements.

mod bare;
mod in_process;
mod median;
mod proxy;
mod results;
mod rows;
mod wire;

use std::path::PathBuf;

use crate::ceiling;
use crate::clock::{Span, Window};
use crate::fixture::{Fixture, Scale};
use crate::load::{Load, ReadMode};
use crate::server::Server;
use crate::store::{Engine, Store};
use crate::usage::{Cpu, database_seconds, peak_bytes, resident_bytes};

use bare::BareClient;
use in_process::{COUNTED, InProcess};
use median::median;
pub use results::Results;
use results::{RowResult, Sample, ServerResults};
use rows::{ROWS, Row};

#[derive(Debug)]
pub struct Table {
    /// They answer the same rows in turn: before a change and after it, for instance.
    pub programs: Vec<PathBuf>,
    /// The names of scenarios; all rows when empty.
    pub scenarios: Vec<String>,
    pub engines: Vec<Engine>,
    pub connections: usize,
    pub threads: usize,
    pub span: Span,
    pub rounds: u32,
    pub scale: Scale,
}

/// One engine with its database, and what was measured on it.
#[derive(Debug)]
struct Subject {
    engine: Engine,
    store: Store,
    fixture: Fixture,
    rows: Vec<Measured>,
    /// The most memory of each program, in each round.
    peaks: Vec<Vec<f64>>,
}

/// One row on one engine.
#[derive(Debug)]
struct Measured {
    row: &'static Row,
    statements: Option<f64>,
    flights: Option<f64>,
    /// What sends the same statements; none for the constant answer.
    bare_client: Option<BareClient>,
    /// Of each program, in each round.
    samples: Vec<Vec<Sample>>,
    bare: Vec<f64>,
    /// Why the bare client has no rate.
    bare_error: Option<String>,
}

impl Table {
    pub async fn run(&self, cores: usize) -> Result<Results, String> {
        let is_row = |name: &&String| ROWS.iter().any(|row| row.scenario == Some(name.as_str()));
        if let Some(name) = self.scenarios.iter().find(|name| !is_row(name)) {
            return Err(format!("{name} is no row of the table"));
        }
        let mut subjects = Vec::new();
        for engine in &self.engines {
            subjects.push(self.prepare(*engine).await?);
        }
        for round in 1..=self.rounds {
            for subject in &mut subjects {
                eprintln!("round {round} of {}: {}", self.rounds, subject.engine.name());
                subject.vacuum().await?;
                self.bare_clients(subject).await;
                for program in 0..self.programs.len() {
                    subject.settle().await?;
                    self.server(subject, program, round).await?;
                }
            }
        }
        Ok(Results {
            cores,
            connections: self.connections,
            users: self.scale.users,
            entities: self.scale.entities,
            comments: self.scale.comments + self.scale.spread_comments,
            seconds: self.span.duration.as_secs_f64(),
            rounds: self.rounds,
            servers: subjects.iter().flat_map(|subject| self.results(subject)).collect(),
        })
    }

    /// Seeds a database and counts what each row asks of it.
    async fn prepare(&self, engine: Engine) -> Result<Subject, String> {
        let Scale { users, entities, comments, spread_comments, .. } = self.scale;
        let (name, comments) = (engine.name(), comments + spread_comments);
        eprintln!("{name}: writing {users} users, {entities} entities, {comments} comments");
        let store = tokio::task::spawn_blocking(move || Store::create(engine));
        let store = store.await.map_err(|error| error.to_string())??;
        let db = store.open()?;
        let fixture = Fixture::seed(&db, self.scale).await?;
        db.close().await;
        let in_process = InProcess::start(engine, &store).await?;
        eprintln!("{name}: indexing them for search");
        in_process.index(fixture.projects()).await?;
        eprintln!("{name}: counting statements");
        let known = fixture.known_ids();
        let mut rows = Vec::new();
        for row in ROWS.iter().filter(|row| row.is_chosen(&self.scenarios)) {
            let mut measured = Measured {
                row,
                statements: None,
                flights: None,
                bare_client: None,
                samples: vec![Vec::new(); self.programs.len()],
                bare: Vec::new(),
                bare_error: None,
            };
            if let Some(scenario) = row.scenario() {
                let requests = (scenario.requests)(&fixture);
                let counted = in_process.count(scenario, &requests, COUNTED).await?;
                (measured.statements, measured.flights) =
                    (Some(counted.statements), counted.flights);
                let drawn = row.draws_entities.then_some(fixture.entities);
                let client = BareClient::new(counted.requests, drawn, &known);
                match client {
                    Ok(client) => measured.bare_client = Some(client),
                    Err(why) => measured.bare_error = Some(why),
                }
            }
            rows.push(measured);
        }
        in_process.stop().await;
        let peaks = vec![Vec::new(); self.programs.len()];
        Ok(Subject { engine, store, fixture, rows, peaks })
    }

    /// The same statements without a server.
    async fn bare_clients(&self, subject: &mut Subject) {
        let Subject { engine, store, rows, .. } = subject;
        for measured in rows {
            let Some(client) = &measured.bare_client else { continue };
            eprintln!("{}: {}, bare client", engine.name(), measured.row.title);
            let window = Window::opening_now(self.span);
            match client.rate(store, self.connections, window).await {
                Ok(rate) => measured.bare.push(rate),
                Err(why) => measured.bare_error = Some(why),
            }
        }
    }

    /// One of the programs answers all rows.
    async fn server(
        &self,
        subject: &mut Subject,
        program: usize,
        round: u32,
    ) -> Result<(), String> {
        let Subject { engine, store, fixture, rows, peaks } = subject;
        let server = Server::start(&self.programs[program], store).await?;
        for measured in in_turns(rows, round) {
            eprintln!("{}: {}", engine.name(), measured.row.title);
            let load = match measured.row.scenario() {
                None => ceiling::load(server.address, "/livez", self.connections, self.threads),
                Some(scenario) => Load {
                    address: server.address,
                    requests: (scenario.requests)(fixture).into(),
                    expected_status: scenario.expected_status,
                    connections: self.connections,
                    threads: self.threads,
                    pace: ReadMode::Closed,
                },
            };
            measured.samples[program].push(self.sample(&server, store, load).await?);
        }
        peaks[program].push(peak_bytes(server.pid()) as f64);
        server.stop().await
    }

    async fn sample(&self, server: &Server, store: &Store, load: Load) -> Result<Sample, String> {
        let window = Window::opening_now(self.span);
        let used = || {
            let database = store.cluster.as_ref();
            let database = database.map(|cluster| database_seconds(&cluster.processes()));
            (Cpu::so_far(Some(server.pid())).server, database)
        };
        let watch = async {
            tokio::time::sleep_until(window.from.into()).await;
            let before = used();
            tokio::time::sleep_until(window.to.into()).await;
            (before, used(), resident_bytes(server.pid()))
        };
        let running = tokio::task::spawn_blocking(move || load.run(window));
        let (tally, (before, after, rss)) = tokio::join!(running, watch);
        let tally = tally.map_err(|error| error.to_string())??;
        let requests = tally.requests() as f64;
        let per_request = |seconds: f64| seconds.max(0.0) * 1e6 / requests.max(1.0);
        let millis = |share| tally.quantile(share).as_secs_f64() * 1e3;
        Ok(Sample {
            requests_per_second: requests / window.seconds(),
            p50_ms: millis(0.5),
            p99_ms: millis(0.99),
            server_us: per_request(after.0 - before.0),
            database_us: after.1.zip(before.1).map(|(after, before)| per_request(after - before)),
            rss_bytes: rss as f64,
            errors: tally.errors,
            first_error: tally.first_error,
        })
    }

    fn results<'a>(&'a self, subject: &'a Subject) -> impl Iterator<Item = ServerResults> + 'a {
        let Subject { engine, rows, peaks, .. } = subject;
        self.programs.iter().zip(peaks).enumerate().map(|(number, (program, peaks))| {
            ServerResults {
                program: (self.programs.len() > 1).then(|| program.display().to_string()),
                engine: engine.name(),
                bare_client: match engine {
                    Engine::Sqlite => "a loop in one process",
                    Engine::Postgres => "as many connections as the server has",
                },
                rows: rows.iter().map(|row| row.result(*engine, &row.samples[number])).collect(),
                peak_rss_bytes: median(peaks).unwrap_or_default(),
                peak_rss_goal_bytes: rows::memory_goal(*engine) * f64::from(1 << 20),
            }
        })
    }
}

/// In every second round a row goes before the one that it is compared with.
fn in_turns(rows: &mut [Measured], round: u32) -> Vec<&mut Measured> {
    let mut rows: Vec<&mut Measured> = rows.iter_mut().collect();
    if round.is_multiple_of(2) {
        for second in 1..rows.len() {
            if rows[second].row.is_compared {
                rows.swap(second - 1, second);
            }
        }
    }
    rows
}

impl Subject {
    /// Indexes what bare clients and earlier rounds have written, and vacuums it.
    async fn settle(&self) -> Result<(), String> {
        let in_process = InProcess::start(self.engine, &self.store).await?;
        in_process.index(self.fixture.projects()).await?;
        in_process.stop().await;
        self.vacuum().await
    }

    /// Leaves tables as they are in a database that has run for a while. PostgreSQL would do it by itself, but a minute after they
    /// were written, in the middle of a measurement.
    async fn vacuum(&self) -> Result<(), String> {
        if let Engine::Postgres = self.engine {
            let db = self.store.open()?;
            db.execute_script("VACUUM (ANALYZE)").map_err(|error| error.to_string())?;
            db.close().await;
        }
        Ok(())
    }
}

impl Measured {
    fn result(&self, engine: Engine, samples: &[Sample]) -> RowResult {
        let Measured { row, bare, bare_error, .. } = self;
        RowResult {
            goal: row.goal(engine),
            statements_per_request: self.statements,
            flights_per_request: self.flights,
            bare_client_per_second: median(bare),
            bare_client_error: bare_error.clone(),
            ..RowResult::new(row.title, row.scenario, samples)
        }
    }
}
