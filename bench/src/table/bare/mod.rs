//! Bare clients: they send the statements of recorded requests again, without a server in front of them. What they reach is
//! the most that a server could.

mod ids;
mod postgres;
mod sqlite;

use std::collections::HashSet;

use uuid::Uuid;

use crate::ceiling;
use crate::clock::Window;
use crate::entities::Entities;
use crate::store::{POOL, Store};

use super::in_process::Requests;
pub use sqlite::{Recorder, Statement};

/// What one scenario asks of the database.
#[derive(Debug)]
pub enum BareClient {
    Sqlite(sqlite::Replay),
    Postgres(postgres::Replay),
}

impl BareClient {
    /// `drawn`: these ids are drawn anew each time; `known` ones stay as they are.
    pub fn new(
        requests: Requests,
        drawn: Option<Entities>,
        known: &HashSet<Uuid>,
    ) -> Result<Self, String> {
        Ok(match requests {
            Requests::Sqlite(recorded) => {
                BareClient::Sqlite(sqlite::Replay::new(recorded, drawn, known))
            }
            Requests::Postgres(logs) => {
                BareClient::Postgres(postgres::Replay::new(logs, drawn, known)?)
            }
        })
    }

    /// Requests per second: by so many tasks in this process, or on as many connections to PostgreSQL as a server has.
    pub async fn rate(&self, store: &Store, tasks: usize, window: Window) -> Result<f64, String> {
        match (self, &store.cluster) {
            (BareClient::Sqlite(replay), _) => {
                let db = store.open()?;
                let tally = ceiling::run_loop(&replay.work(&db), tasks, window).await;
                db.close().await;
                Ok(tally?.requests() as f64 / window.seconds())
            }
            (BareClient::Postgres(replay), Some(cluster)) => {
                let database = store.url.rsplit('/').next().unwrap_or_default();
                let run = || replay.rate((cluster.port(), database), POOL, window);
                tokio::task::block_in_place(run)
            }
            (BareClient::Postgres(_), None) => Err("PostgreSQL is not running".to_owned()),
        }
    }
}
