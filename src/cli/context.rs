//! What commands about the data run in.

use std::pin::Pin;

use super::{CommandResult, plain};
use crate::app::{self, Dependencies};
use crate::audit::{Actor, Entry, INSTALLATION};
use crate::auth::sealed::Sealer;
use crate::config::{Config, Flags};
use crate::start;
use crate::state::App;
use crate::values::ids::parse_uuid;

/// What commands about the data need: the migrated database, a runtime, the world.
#[derive(Debug)]
pub(super) struct Admin {
    pub(super) config: Config,
    pub(super) db: db::Db,
    pub(super) world: Dependencies,
    pub(super) runtime: tokio::runtime::Runtime,
}

impl Admin {
    pub(super) fn open(flags: &Flags) -> CommandResult<Self> {
        let config = Config::load(flags)?;
        let world = Dependencies::real();
        start::prepare_data_dir(&config)?;
        let db = start::open_database(&config)?;
        start::migrate_if_new(&db, world.clock.now())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Admin { config, db, world, runtime })
    }

    pub(super) fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&db::Conn<'_>) -> crate::error::Result<T> + Send + 'static,
    ) -> CommandResult<T> {
        self.block_on(Box::pin(self.db.read(work)))
    }

    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&db::Tx<'_>) -> crate::error::Result<T> + Send + 'static,
    ) -> CommandResult<T> {
        let entry = self.entry();
        let written = db::accompanied(move |tx| entry.write(tx), self.db.write(work));
        self.block_on(Box::pin(written))
    }

    /// What the audit log says of this command: its name, and the ids that it names. Other words may be secrets.
    fn entry(&self) -> Entry {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let is_name = |word: &&String| {
            word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
        };
        let name: Vec<&str> = words.iter().take_while(is_name).map(|word| &**word).collect();
        let ids = words.iter().filter_map(|word| parse_uuid(word)).map(|id| id.to_string());
        let (target, made) =
            (ids.collect::<Vec<_>>().join(" "), (self.world.clock.now(), &self.world.random));
        let action = format!("townhall {}", name.join(" "));
        Entry::new(INSTALLATION, &Actor::Command, &action, target, made)
    }

    /// The server's secret key.
    pub(super) fn secret(&self) -> CommandResult<Vec<u8>> {
        let key = start::secret(&self.config, &self.world.random)?;
        let previous = self.config.secret_key_previous.as_deref();
        self.runtime.block_on(start::claim_secret(&self.db, &key, previous))?;
        Ok(key)
    }

    /// The application as the server has it, for what has observers.
    pub(super) fn app(&self) -> CommandResult<App> {
        let secret = self.secret()?;
        let _entered = self.runtime.enter();
        app::build(self.config.clone(), &secret, self.db.clone(), Dependencies::real())
    }

    /// Encrypts secrets with the server's secret key.
    pub(super) fn sealer(&self) -> CommandResult<Sealer> {
        let key = self.secret()?;
        let previous = self.config.secret_key_previous.as_deref();
        Sealer::new(&key)
            .and_then(|sealer| sealer.accepting(previous.map(str::as_bytes)))
            .map_err(plain)
    }

    /// Of a boxed future, so that the runtime is not compiled once for each command.
    pub(super) fn block_on<T>(
        &self,
        work: Pin<Box<dyn Future<Output = crate::error::Result<T>> + '_>>,
    ) -> CommandResult<T> {
        self.runtime.block_on(work).map_err(plain)
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.runtime.block_on(self.db.close());
    }
}
