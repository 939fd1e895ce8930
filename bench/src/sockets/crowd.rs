//! Many sockets at once, all on one thread: they connect, answer pings, and record their events.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, mpsc};
use townhall::values::ids::ProjectId;

use crate::clock::now;
use crate::sockets::ledger::Ledger;
use crate::sockets::wire::{Heard, Wire};
use crate::tally::Tally;

/// Sockets that connect at the same time: fewer than the server lets one network have unnamed.
const BATCH_SIZE: usize = 64;
/// Open files beside the sockets.
const OTHER_FILES: u64 = 512;

#[derive(Debug)]
pub struct Crowd {
    /// Of one thread; gone when the crowd is.
    runtime: Option<Runtime>,
    pings: Arc<AtomicU64>,
    /// How long each took to connect.
    pub connecting: Tally,
}

/// What each of the sockets needs to know.
#[derive(Debug, Clone)]
struct Ground {
    address: SocketAddr,
    project: ProjectId,
    ledger: Arc<Ledger>,
    pings: Arc<AtomicU64>,
    places: Arc<Semaphore>,
}

impl Crowd {
    /// One socket for each of the tokens; returns when all are connected.
    pub async fn gather(
        address: SocketAddr,
        project: ProjectId,
        tokens: Vec<String>,
        ledger: Arc<Ledger>,
    ) -> Result<Crowd, String> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let pings = Arc::new(AtomicU64::new(0));
        let places = Arc::new(Semaphore::new(BATCH_SIZE));
        let ground = Ground { address, project, ledger, pings, places };
        let pings = ground.pings.clone();
        let (done, mut connected) = mpsc::unbounded_channel();
        for (number, token) in tokens.into_iter().enumerate() {
            let (ground, done) = (ground.clone(), done.clone());
            runtime.spawn(async move {
                match ground.connect(&token).await {
                    Ok((wire, took)) => {
                        let _ = done.send(Ok(took));
                        drop(done);
                        ground.listen(number, wire).await;
                    }
                    Err(why) => drop(done.send(Err(why))),
                }
            });
        }
        drop((done, ground));
        let connecting = Tally::new()?;
        let mut crowd = Crowd { runtime: Some(runtime), pings, connecting };
        while let Some(connected) = connected.recv().await {
            crowd.connecting.answered(connected?);
        }
        Ok(crowd)
    }

    /// Pings that were answered so far.
    pub fn pings(&self) -> u64 {
        self.pings.load(Relaxed)
    }
}

impl Drop for Crowd {
    /// All sockets go away.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Ground {
    async fn connect(&self, token: &str) -> Result<(Wire, Duration), String> {
        let _place = self.places.acquire().await.map_err(|error| error.to_string())?;
        let begun = now();
        let wire = Wire::open(self.address, self.project, token).await?;
        Ok((wire, now() - begun))
    }

    async fn listen(&self, number: usize, mut wire: Wire) {
        loop {
            match wire.next().await {
                Ok(Heard::Ping) => drop(self.pings.fetch_add(1, Relaxed)),
                Ok(Heard::Packet(packet)) => self.ledger.heard(number, &packet, now()),
                Err(why) => return self.ledger.failed(why),
            }
        }
    }
}

/// Lets this process, and the server it starts, open so many sockets.
pub fn make_room(sockets: usize) -> Result<(), String> {
    let needed = sockets as u64 + OTHER_FILES;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let maximum = maximum.map(|maximum| maximum.max(needed));
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).map_err(|error| {
        let current = current.unwrap_or_default();
        format!(
            "{sockets} sockets need {needed} open files, {current} are allowed (ulimit -n): {error}"
        )
    })
}
