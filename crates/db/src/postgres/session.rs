//! One PostgreSQL connection and the thread-bound runtime that drives it. BEGIN travels together with the
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
use tokio_postgres::{Client, Statement};

use crate::conn::{Failed, Failure, Link, Sink};
use crate::job::Job;
use crate::sqlite::expect_arguments;
use crate::statement::{MOST_CACHED_ARGUMENTS, Text};
use crate::{Columns, Engine, Error, Tx, Value, Watch, stats};

use super::address::{Address, GRACE};
use super::cache::Cache;
use super::errors;
use super::gathered::{self, Gathered};
use super::sending::{Pending, settle};

pub(crate) struct Session {
    runtime: Runtime,
    pub(super) client: Arc<Client>,
    /// The connection itself. It moves only while an answer is waited for, on this same thread.
    wire: RefCell<Pin<Box<dyn Future<Output = ()> + Send>>>,
    cache: RefCell<Cache>,
    /// A transaction is wanted, but BEGIN was not sent yet.
    pub(super) begin: Cell<bool>,
    /// Commands of the transaction whose outcome is not known yet.
    pub(super) pending: RefCell<Vec<Pending>>,
    /// Commands that wait to be sent as one.
    pub(super) gathered: Gathered,
    /// How long a statement may take, how long the running closure may if it said so, and the
    /// milliseconds that the server was last told.
    deadline: Duration,
    pub(crate) until: Cell<Option<Instant>>,
    told: Cell<u128>,
    on_statement: Option<Watch>,
}

/// How one run of a job ended.
pub(super) enum Attempt {
    /// Answer with its own result, or with this error instead.
    Done(Option<Error>),
    /// Worth running again.
    Retry,
    /// The connection was lost before COMMIT was sent: nothing was written.
    Lost(Error),
    /// The connection was lost after COMMIT was sent.
    Unknown,
}

impl Session {
    pub(super) fn connect(address: &Address) -> Result<Session, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::unreachable)?;
        // The client's own limit covers the socket only: a server may accept and then say nothing.
        let connecting = async {
            tokio::time::timeout(address.patience(), address.config.connect(address.tls.clone()))
                .await
        };
        let (client, connection) = runtime
            .block_on(connecting)
            .map_err(|_| Error::unreachable("the server does not answer"))?
            .map_err(|error| Error::Unreachable(errors::text(&error)))?;
        // What ends the connection is told by the statement that finds it ended.
        let wire = async move { drop(connection.await) };
        let session = Session {
            runtime,
            client: Arc::new(client),
            wire: RefCell::new(Box::pin(wire.fuse())),
            cache: RefCell::default(),
            begin: Cell::new(false),
            pending: RefCell::default(),
            gathered: Gathered::default(),
            deadline: address.deadline,
            until: Cell::new(None),
            told: Cell::new(address.deadline.as_millis().max(1)),
            on_statement: address.on_statement.clone(),
        };
        session
            .within(session.client.batch_execute(&address.settings()))
            .map_err(|failed| Error::unreachable(failed.error))?;
        Ok(session)
    }

    /// Says goodbye to the server.
    pub(super) fn close(self) {
        drop(self.client);
        let goodbye =
            async { tokio::time::timeout(Duration::from_secs(1), self.wire.into_inner()).await };
        drop(self.runtime.block_on(goodbye));
    }

    /// Runs one job, with its transaction if it writes.
    pub(super) fn attempt(&self, job: &mut dyn Job) -> Attempt {
        let attempt = self.run_job(job);
        // What nobody asked about any more has been rolled back with the rest.
        self.pending.borrow_mut().clear();
        self.gathered.clear();
        if matches!(attempt, Attempt::Retry) {
            // Perhaps for a statement that was prepared when a table was another.
            self.cache.borrow_mut().clear();
        }
        attempt
    }

    fn run_job(&self, job: &mut dyn Job) -> Attempt {
        if !job.writes() {
            let tx = Tx::reading(Link::Postgres(self));
            job.run(&tx);
            return match tx.failure() {
                Some(Failure::Broken) => lost(),
                Some(Failure::Retry) => Attempt::Retry,
                _ => Attempt::Done(None),
            };
        }
        self.begin.set(true);
        let tx = Tx::new(Link::Postgres(self));
        let keep = job.run(&tx);
        let begun = !self.begin.replace(false);
        match tx.failure() {
            Some(Failure::Broken) => lost(),
            Some(Failure::Retry) if begun => self.rollback(Attempt::Retry),
            Some(Failure::Retry) => Attempt::Retry,
            _ if !begun => Attempt::Done(None),
            None if keep => self.commit(),
            _ => self.rollback(Attempt::Done(None)),
        }
    }

    /// COMMIT travels with what is pending; the server takes it for a ROLLBACK if any of that failed.
    fn commit(&self) -> Attempt {
        let pending = self.pending.take();
        let committed = self.within(async {
            let commit = self.client.batch_execute("COMMIT");
            let (committed, settled) = tokio::join!(biased; commit, settle(pending));
            committed.map(|()| settled)
        });
        match committed.and_then(|settled| settled) {
            Ok(()) => Attempt::Done(None),
            Err(failed) => match failed.failure {
                Failure::Broken => Attempt::Unknown,
                Failure::Retry => Attempt::Retry,
                _ => Attempt::Done(Some(failed.error)),
            },
        }
    }

    /// A rollback that does not arrive is one all the same: the server undoes what was not committed.
    fn rollback(&self, then: Attempt) -> Attempt {
        drop(self.within(self.client.batch_execute("ROLLBACK")));
        // What was said inside the transaction is undone with it.
        self.told.set(0);
        then
    }

    /// Runs one statement to its end and tells how many rows it touched. What was gathered goes with it.
    pub(crate) fn run(
        &self,
        text: &Text,
        args: &[Value<'_>],
        sink: Sink<'_>,
    ) -> Result<u64, Failed> {
        let sql = text.on(Engine::Postgres)?;
        if let Some(watch) = &self.on_statement {
            watch(text.name, sql);
        }
        if !gathered::can_be_last(sql) {
            self.send_gathered()?;
        }
        match self.gathered.joined(sql, args) {
            Some((sql, args)) => self.run_as(text, &sql, &args, sink),
            None => self.run_as(text, sql, args, sink),
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
        let pending = self.pending.take();
        let mut settled = Ok(());
        let result = self.wait(async {
            let rows = self.rows(name, statement, args, sink);
            if !pending.is_empty() {
                let (rows, outcome) = tokio::join!(biased; rows, settle(pending));
                settled = outcome;
                return rows.map(Some);
            }
            if !self.begin.take() {
                return rows.await.map(Some);
            }
            let begin = self.client.batch_execute("BEGIN");
            match tokio::join!(biased; begin, rows) {
                (Ok(()), rows) => rows.map(Some),
                (Err(error), Err(_)) => Err(error),
                (Err(_), Ok(_)) => Ok(None),
            }
        });
        // What came before explains why this could not be done.
        settled?;
        let (taken, touched) = result
            .map_err(|failed| understood(name, failed).unless(*is_new))?
            // Without its BEGIN, say for a deadline that struck there, the statement stood alone and is done.
            .ok_or(Error::OutcomeUnknown)?;
        taken?;
        Ok(touched)
    }

    /// Tells the server how long the next statement may take, if that is new.
    pub(super) fn tell_limit(&self) -> Result<(), Failed> {
        let millis = self.limit().as_millis().max(1);
        if self.told.replace(millis) == millis {
            return Ok(());
        }
        let set = format!("SET statement_timeout = {millis}");
        self.within(self.client.batch_execute(&set)).map_err(|failed| {
            // The limit that was there is over in no time: this, too, took longer.
            self.told.set(0);
            if matches!(failed.error, Error::Deadline { .. }) { errors::retry() } else { failed }
        })
    }

    /// How long the next statement may take.
    fn limit(&self) -> Duration {
        let left = |until: Instant| until.saturating_duration_since(stats::now());
        self.until.get().map_or(self.deadline, left)
    }

    /// Hands over each row as it arrives. After the first that is not taken the rest is only drained.
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
        // A long list of arguments is one of very many: it would only push out what is used again.
        if statement.params().len() <= MOST_CACHED_ARGUMENTS {
            self.cache.borrow_mut().put(sql, statement.clone());
        }
        Ok(Prepared { statement, is_new: true })
    }

    /// Runs the future and the connection until the answer is here.
    fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Wait> {
        let work = self.driven(work);
        let patience = self.limit().max(self.deadline) + GRACE;
        self.runtime.block_on(async {
            match tokio::time::timeout(patience, work).await {
                Ok(result) => result.map_err(Wait::Failed),
                Err(_) => Err(Wait::Silent),
            }
        })
    }

    /// For the transaction's own words, which are no statement of anybody.
    fn within<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failed> {
        self.wait(work).map_err(|failed| understood("transaction", failed))
    }

    /// For migrations and scripts, which take the time they take.
    pub(super) fn patiently<T>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        self.runtime.block_on(self.driven(work)).map_err(|error| errors::failed(name, &error).error)
    }

    /// The work together with the connection it needs; as a task of its own the connection would cost a
    /// wake-up in each direction.
    async fn driven<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(result) = work.as_mut().poll(context) {
                return Poll::Ready(result);
            }
            // Sends what the work just asked for, and takes in what has arrived for it.
            let _ = self.wire.borrow_mut().as_mut().poll(context);
            work.as_mut().poll(context)
        })
        .await
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
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

fn lost() -> Attempt {
    Attempt::Lost(Error::unreachable("the connection was lost"))
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
