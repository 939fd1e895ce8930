//! What is measured with open sockets: each on a server of its own, because memory that others have used
//! and given back would hide what is needed.

mod crowd;
mod fan_out;
mod idle;
mod ledger;
mod memory;
mod wire;

pub use crowd::make_room;

use std::path::Path;

use crate::clock::Span;
use crate::fixture::Fixture;
use crate::report::Measurement;
use crate::server::Server;
use crate::store::{Engine, Store};

pub use memory::Memory;

/// Sockets that the server lets one user have.
const PER_USER: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    FanOut,
    Idle,
}

/// As asked for on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub sockets: Option<usize>,
    pub rate: Option<f64>,
    pub span: Span,
}

/// Where a scenario is measured.
#[derive(Debug)]
struct Stage<'a> {
    engine: &'static str,
    server: &'a Server,
    fixture: &'a Fixture,
    sockets: usize,
    rate: Option<f64>,
    span: Span,
}

impl Scenario {
    pub const ALL: [Scenario; 2] = [Scenario::FanOut, Scenario::Idle];

    pub fn name(self) -> &'static str {
        match self {
            Scenario::FanOut => "fan-out",
            Scenario::Idle => "idle-sockets",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Scenario::FanOut => "messages to 1,000 sockets, until the last has its event",
            Scenario::Idle => "memory of the server for each of 5,000 sockets",
        }
    }

    fn usual_sockets(self) -> usize {
        match self {
            Scenario::FanOut => fan_out::SOCKETS,
            Scenario::Idle => idle::SOCKETS,
        }
    }

    /// Whether so many sockets may be opened, before anything else is done.
    pub fn make_room(self, sockets: Option<usize>) -> Result<(), String> {
        crowd::make_room(sockets.unwrap_or(self.usual_sockets()))
    }

    pub async fn measure(
        self,
        engine: Engine,
        program: &Path,
        store: &Store,
        fixture: &Fixture,
        options: Options,
    ) -> Result<Vec<Measurement>, String> {
        let Options { sockets, rate, span } = options;
        let sockets = sockets.unwrap_or(self.usual_sockets());
        let server = Server::start(program, store).await?;
        let engine = engine.name();
        let stage = Stage { engine, server: &server, fixture, sockets, rate, span };
        let measured = match self {
            Scenario::FanOut => fan_out::measure(&stage).await?,
            Scenario::Idle => idle::measure(&stage).await?,
        };
        server.stop().await?;
        Ok(measured)
    }
}
