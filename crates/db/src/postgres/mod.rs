//! PostgreSQL.

use tokio::sync::watch;

use crate::conn::{Failed, Sink};
use crate::job::Job;
use crate::statement::Text;
use crate::{Error, Migration, MigrationState, Options, Value};

#[derive(Debug)]
pub(crate) struct Session;
#[derive(Debug)]
pub(crate) struct Postgres {
    ended: watch::Receiver<()>,
}

fn no<T>() -> Result<T, Error> {
    Err(Error::unreachable("PostgreSQL is not supported yet"))
}

impl Session {
    pub(crate) fn run(&self, _: &Text, _: &[Value<'_>], _: Sink<'_>) -> Result<u64, Failed> {
        Ok(no()?)
    }
    pub(crate) fn migrate(&self, _: &[Migration], _: i64) -> Result<Vec<u32>, Error> {
        no()
    }
    pub(crate) fn migration_status(&self, _: &[Migration]) -> Result<Vec<MigrationState>, Error> {
        no()
    }
    pub(crate) fn check(&self, _: &Text) -> Result<(), Error> {
        no()
    }
    pub(crate) fn explain(&self, _: &Text) -> Result<Vec<String>, Error> {
        no()
    }
    pub(crate) fn script(&self, _: &str) -> Result<(), Error> {
        no()
    }
}

impl Postgres {
    pub(crate) fn open(_: &str, _: Options) -> Result<Self, Error> {
        no()
    }
    pub(crate) fn push(&self, _: Box<dyn Job>) -> Result<(), Error> {
        no()
    }
    pub(crate) fn alone<T>(
        &self,
        _: impl FnOnce(&Session) -> Result<T, Error>,
    ) -> Result<T, Error> {
        no()
    }
    pub(crate) fn queue_depth(&self) -> usize {
        0
    }
    pub(crate) fn shut(&self) {}
    pub(crate) fn ended(&self) -> watch::Receiver<()> {
        self.ended.clone()
    }
}
