//! What the server cannot exceed: the same server answering a constant, and the bare work of a
//! scenario in this process, by as many tasks as the load has connections.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::clock::{Window, now};
use crate::dice::Dice;
use crate::load::{Load, Pace};
use crate::scenario::Bare;
use crate::server::get;
use crate::tally::Tally;

/// `GET /livez`, as fast as it goes.
pub fn constant(address: SocketAddr, connections: usize, threads: usize) -> Load {
    let requests = Arc::from([get("/livez")]);
    Load { address, requests, expected_status: 200, connections, threads, pace: Pace::Closed }
}

pub async fn bare(work: &Bare, tasks: usize, window: Window) -> Result<Tally, String> {
    let mut running = JoinSet::new();
    for number in 0..tasks {
        running.spawn(repeat(work.clone(), Dice::new(number as u64), window));
    }
    let mut total = Tally::new()?;
    while let Some(tally) = running.join_next().await {
        total.add(tally.map_err(|error| error.to_string())??)?;
    }
    Ok(total)
}

async fn repeat(work: Bare, mut dice: Dice, window: Window) -> Result<Tally, String> {
    let mut tally = Tally::new()?;
    let mut begun = now();
    while begun < window.to {
        let done = work.once(&mut dice).await;
        let ended = now();
        if window.holds(ended) {
            match done {
                Ok(()) => tally.answered(ended - begun),
                Err(why) => tally.failed(why),
            }
        }
        // Reads of SQLite never wait, so without this one task would keep its thread to the end.
        tokio::task::consume_budget().await;
        begun = now();
    }
    Ok(tally)
}
