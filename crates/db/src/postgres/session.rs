//! One PostgreSQL connection and the thread-bound runtime that drives it. BEGIN is sent together with the
//! first statement of a transaction, which saves a round trip.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::{FutureExt, TryStreamExt};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, SimpleQueryMessage, Statement};

use crate::conn::{Failed, Sink};
use crate::sqlite::expect_arguments;
use crate::statement::{MAX_CACHED_ARGUMENTS, Text};
use crate::{Announcement, Columns, Engine, Error, Ran, Value, Watch, stats};

use super::address::{Address, GRACE};
use super::announcer::Outgoing;
use super::batch::{self, Batch};
use super::breaker::Breaker;
use super::cache::Cache;
use super::errors;
use super::sending::{Intake, Pending, outside_of_transaction, settle};

pub(crate) struct Session {
    runtime: Runtime,
    pub(super) client: Arc<Client>,
    /// The connection itself. It makes progress only while a reply is awaited, on this same thread.
    wire: RefCell<Pin<Box<dyn Future<Output = ()> + Send>>>,
    pub(super) cache: RefCell<Cache>,
    /// A transaction is open, but BEGIN was not sent yet.
    pub(super) begin: Cell<bool>,
    /// Commands of the transaction whose outcome is not known yet.
    pub(super) pending: RefCell<Vec<Pending>>,
    /// The queries that were sent ahead and are not answered yet.
    pub(super) ahead: RefCell<Vec<Intake>>,
    /// Announcements of the transaction, and what is to be sent of those that have ended.
    pub(super) announced: RefCell<Vec<Announcement>>,
    pub(super) outgoing: RefCell<Vec<Outgoing>>,
    /// Commands that wait to be sent as one.
    pub(super) gathered: Batch,
    /// The timeout of a statement, that of the running closure if it set one, and the milliseconds last sent
    /// to the server.
    deadline: Duration,
    pub(crate) until: Cell<Option<Instant>>,
    pub(super) told: Cell<u128>,
    on_statement: Option<Watch>,
    /// Of the pool; a connection outside of it has no timeout.
    pub(super) breaker: Option<Arc<Breaker>>,
    /// How often the breaker had opened when this connection was made.
    openings: u64,
    /// Whether the server can distribute tables: it has the extension Citus.
    pub(crate) is_cluster: bool,
}

impl Session {
    /// A connection of the pool, for a job that may wait for it until then.
    pub(super) fn pooled(
        address: &Address,
        breaker: &Arc<Breaker>,
        until: Instant,
    ) -> Result<Session, Error> {
        let left = until.saturating_duration_since(stats::now());
        Session::new(address, Some(Arc::clone(breaker)), left)
    }

    pub(super) fn connect(address: &Address) -> Result<Session, Error> {
        Session::new(address, None, address.patience())
    }

    fn new(
        address: &Address,
        breaker: Option<Arc<Breaker>>,
        patience: Duration,
    ) -> Result<Session, Error> {
        let openings = breaker.as_ref().map_or(0, |breaker| breaker.openings());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::unreachable)?;
        // The client's own timeout covers the socket only: a server may accept and then not respond.
        let connecting = address.config.connect(address.tls.clone());
        let (client, connection) = runtime
            .block_on(watched(breaker.as_ref(), patience, connecting))
            .ok_or_else(Breaker::refusal)?
            .map_err(|error| Error::Unreachable(errors::text(&error)))?;
        // The next statement reports why the connection ended.
        let wire = async move { drop(connection.await) };
        let mut session = Session {
            runtime,
            client: Arc::new(client),
            wire: RefCell::new(Box::pin(wire.fuse())),
            cache: RefCell::default(),
            begin: Cell::new(false),
            pending: RefCell::default(),
            ahead: RefCell::default(),
            announced: RefCell::default(),
            outgoing: RefCell::default(),
            gathered: Batch::default(),
            deadline: address.deadline,
            until: Cell::new(None),
            told: Cell::new(address.deadline.as_millis().max(1)),
            on_statement: address.on_statement.clone(),
            breaker,
            openings,
            is_cluster: false,
        };
        let replies = session
            .within(session.client.simple_query(&address.settings()))
            .map_err(|failed| Error::unreachable(failed.error))?;
        session.is_cluster = replies.iter().any(
            |reply| matches!(reply, SimpleQueryMessage::Row(row) if row.get("extension") == Some("t")),
        );
        Ok(session)
    }

    /// Whether the breaker opened after this connection was made: the network may have lost it.
    pub(super) fn is_stale(&self) -> bool {
        self.breaker.as_ref().is_some_and(|breaker| breaker.openings() != self.openings)
    }

    /// Terminates the connection.
    pub(super) fn close(self) {
        drop(self.client);
        let goodbye =
            async { tokio::time::timeout(Duration::from_secs(1), self.wire.into_inner()).await };
        drop(self.runtime.block_on(goodbye));
    }

    /// Runs one statement to its end and returns the number of affected rows. Sends the batch with it.
    pub(crate) fn run(
        &self,
        text: &Text,
        args: &[Value<'_>],
        sink: Sink<'_>,
    ) -> Result<u64, Failed> {
        let sql = text.on(Engine::Postgres)?;
        self.watch(text.name, sql, args);
        if self.gathered.has_main() || !batch::can_be_last(sql) {
            self.send_gathered()?;
        }
        match self.gathered.joined(sql, args) {
            Some((sql, args)) => self.run_as(text, &sql, &args, sink),
            None => self.run_as(text, sql, args, sink),
        }
    }

    pub(super) fn watch(&self, name: &'static str, sql: &str, args: &[Value<'_>]) {
        if let Some(watch) = &self.on_statement {
            watch(Ran { name, sql, args, is_on_writer: false });
        }
    }

    fn run_as(
        &self,
        text: &Text,
        sql: &str,
        args: &[Value<'_>],
        sink: Sink<'_>,
    ) -> Result<u64, Failed> {
        self.tell_limit()?;
        let statement = self.prepared_as(text.name, sql, Some(text))?;
        self.wait_for(text.name, &statement, args, sink)
    }

    pub(super) fn wait_for(
        &self,
        name: &'static str,
        prepared: &Prepared,
        args: &[Value<'_>],
        sink: Sink<'_>,
    ) -> Result<u64, Failed> {
        let Prepared { statement, is_new } = prepared;
        expect_arguments(name, statement.params().len(), args.len())?;
        self.send_begin()?;
        let pending = self.pending.take();
        let mut settled = Ok(());
        let result = self.wait(async {
            let rows = self.rows(name, statement, args, sink);
            if pending.is_empty() {
                return rows.await;
            }
            let (rows, outcome) = tokio::join!(biased; rows, settle(pending));
            settled = outcome;
            rows
        });
        if settled.is_err() && result.is_ok() {
            return Err(outside_of_transaction());
        }
        // An earlier failure explains this one.
        settled?;
        let (taken, touched) = result.map_err(|failed| understood(name, failed).unless(*is_new))?;
        taken?;
        Ok(touched)
    }

    /// Sets the server's timeout for the next statement, if it changed.
    pub(super) fn tell_limit(&self) -> Result<(), Failed> {
        let millis = self.limit().as_millis().max(1);
        if self.told.replace(millis) == millis {
            return Ok(());
        }
        let set = format!("SET statement_timeout = {millis}");
        self.within(self.client.batch_execute(&set)).map_err(|failed| {
            // The old limit was too short for even this: it timed out.
            self.told.set(0);
            if matches!(failed.error, Error::Deadline { .. }) { errors::retry() } else { failed }
        })
    }

    /// How long the next statement may take.
    fn limit(&self) -> Duration {
        let left = |until: Instant| until.saturating_duration_since(stats::now());
        self.until.get().map_or(self.deadline, left)
    }

    /// Passes on each row as it arrives. After the first that is not accepted the others are only drained.
    async fn rows(
        &self,
        name: &'static str,
        statement: &Statement,
        args: &[Value<'_>],
        sink: Sink<'_>,
    ) -> Result<(Result<(), Error>, u64), tokio_postgres::Error> {
        let mut stream = pin!(self.client.query_raw(statement, args).await?);
        let mut taken = Ok(());
        while let Some(row) = stream.try_next().await? {
            if taken.is_ok() {
                taken = sink(&mut Columns::new(name, &row));
            }
        }
        Ok((taken, stream.rows_affected().unwrap_or(0)))
    }

    /// The statement, prepared once per connection.
    pub(super) fn prepared(&self, text: &Text) -> Result<Statement, Failed> {
        let prepared = self.prepared_as(text.name, text.on(Engine::Postgres)?, Some(text));
        prepared.map(|prepared| prepared.statement)
    }

    /// `text`: what the columns are compared with.
    pub(super) fn prepared_as(
        &self,
        name: &'static str,
        sql: &str,
        text: Option<&Text>,
    ) -> Result<Prepared, Failed> {
        if let Some(statement) = self.cache.borrow_mut().get(sql) {
            return Ok(Prepared { statement, is_new: false });
        }
        // A transaction that has failed prepares nothing, and would hide why.
        let pending = self.pending.take();
        self.within(async { Ok(settle(pending).await) })??;
        let statement =
            self.wait(self.client.prepare(sql)).map_err(|failed| understood(name, failed))?;
        if let Some(text) = text {
            let columns = statement.columns();
            let names = columns.iter().map(|column| column.name());
            text.check(Engine::Postgres, columns.len(), names)?;
        }
        // A long list of arguments is rarely repeated: it would only evict reusable statements.
        if statement.params().len() <= MAX_CACHED_ARGUMENTS {
            self.cache.borrow_mut().put(sql, statement.clone());
        }
        Ok(Prepared { statement, is_new: true })
    }

    /// Drives the future and the connection until the reply is here.
    fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Wait> {
        let work = self.driven(work);
        let patience = self.limit().max(self.deadline) + GRACE;
        let waited = self.runtime.block_on(watched(self.breaker.as_ref(), patience, work));
        waited.ok_or(Wait::Silent)?.map_err(Wait::Failed)
    }

    /// The same, for a statement.
    pub(super) fn awaited<T>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failed> {
        self.wait(work).map_err(|failed| understood(name, failed))
    }

    /// For BEGIN, COMMIT and the like.
    pub(super) fn within<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failed> {
        self.awaited("transaction", work)
    }

    /// For migrations and scripts, which have no timeout.
    pub(super) fn patiently<T>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        self.runtime.block_on(self.driven(work)).map_err(|error| errors::failed(name, &error).error)
    }

    /// Drives the work together with the connection; as a task of its own the connection would cost a wake-up
    /// in each direction.
    async fn driven<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(result) = work.as_mut().poll(context) {
                return Poll::Ready(result);
            }
            // Sends what the work just asked for, and takes in what has arrived for it.
            let _ = self.wire.borrow_mut().as_mut().poll(context);
            // The connection takes in nothing more for the work while an earlier reply waits to be taken.
            self.ahead.borrow_mut().retain_mut(|rows| rows.as_mut().poll(context).is_pending());
            work.as_mut().poll(context)
        })
        .await
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

/// The outcome of work that waits for the server, or `None` on timeout.
async fn watched<T>(
    breaker: Option<&Arc<Breaker>>,
    longest: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    match breaker {
        Some(breaker) => breaker.watched(longest, work).await,
        None => tokio::time::timeout(longest, work).await.ok(),
    }
}

/// A statement, and whether it was prepared just now.
pub(super) struct Prepared {
    pub(super) statement: Statement,
    pub(super) is_new: bool,
}

/// What waiting for an answer can end in, other than the answer.
enum Wait {
    Failed(tokio_postgres::Error),
    Silent,
}

fn understood(name: &'static str, failed: Wait) -> Failed {
    match failed {
        Wait::Failed(error) => errors::failed(name, &error),
        Wait::Silent => errors::broken("no answer in time"),
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
