//! A database for one run, in a directory of its own that goes away with it.

use std::path::PathBuf;

use db::testing::Cluster;
use db::{Db, Options};
use townhall::schema::MIGRATIONS;
use townhall::values::clock::Clock;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "sqlite",
            Engine::Postgres => "postgres",
        }
    }
}

/// Connections to PostgreSQL, for the server and for a bare statement alike.
pub const POOL: usize = 16;

#[derive(Debug)]
pub struct Store {
    pub url: String,
    pub directory: PathBuf,
    /// PostgreSQL, which goes away with the store.
    pub cluster: Option<Cluster>,
}

impl Store {
    /// Both engines are durable: an answered write is on disk.
    pub fn create(engine: Engine) -> Result<Store, String> {
        let name = format!("townhall-bench-{}-{}", std::process::id(), engine.name());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let (url, cluster) = match engine {
            Engine::Sqlite => {
                (format!("sqlite://{}", directory.join("townhall.db").display()), None)
            }
            Engine::Postgres => {
                let cluster = Cluster::durable();
                (cluster.create_database(), Some(cluster))
            }
        };
        let store = Store { url, directory, cluster };
        store.open()?.migrate(MIGRATIONS, Clock::system().now().millis()).map_err(text)?;
        Ok(store)
    }

    pub fn open(&self) -> Result<Db, String> {
        Db::open(&self.url, Options { pool: POOL, ..Options::default() }).map_err(text)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn text(error: db::Error) -> String {
    error.to_string()
}
