//! Pipelined commands and queries: sent with the next statement, so that they cost no round trip of their own.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::RemoteHandle;
use futures_util::{FutureExt, TryStreamExt};
use tokio_postgres::Row;

use crate::conn::Failed;
use crate::sqlite::expect_arguments;
use crate::statement::Text;
use crate::{Announcement, Columns, Engine, Error, Value};

use super::batch::Outgoing;
use super::errors;
use super::session::{Prepared, Session};

/// Takes each row of a statement that is not waited for; keeps what it cannot read as an error.
pub(crate) type Take = Box<dyn FnMut(&mut Columns<'_>) + Send>;

impl Session {
    /// Sends a command without waiting for its outcome.
    pub(crate) fn pipeline(&self, text: &Text, args: &[Value<'_>]) -> Result<(), Failed> {
        let sql = text.on(Engine::Postgres)?;
        let args = args.iter().cloned().map(Value::into_owned).collect();
        if self.gathered.is_full() {
            self.send_gathered()?;
        }
        match self.gathered.take_in(text.name, sql, args) {
            Some(args) => {
                let outgoing = Outgoing { name: text.name, sql: sql.to_owned(), args, take: None };
                self.send(outgoing, None)
            }
            None => Ok(()),
        }
    }

    /// Sends a statement without waiting for its rows. In a batch it is the one whose rows the batch returns.
    pub(crate) fn later(&self, text: &Text, args: &[Value<'_>], take: Take) -> Result<(), Failed> {
        let sql = text.on(Engine::Postgres)?;
        self.watch(text.name, sql, args);
        let args = args.iter().cloned().map(Value::into_owned).collect();
        let outgoing = Outgoing { name: text.name, sql: sql.to_owned(), args, take: Some(take) };
        match self.gathered.lead(outgoing) {
            Some(outgoing) => {
                self.send_gathered()?;
                self.send(outgoing, Some(text))
            }
            None => Ok(()),
        }
    }

    /// Waits for everything that was sent.
    pub(crate) fn flush(&self) -> Result<(), Failed> {
        self.send_gathered()?;
        let pending = self.pending.take();
        if pending.is_empty() {
            return Ok(());
        }
        self.within(async { Ok(settle(pending).await) })?
    }

    /// Opens a batch: commands are collected, to be sent as one. Not on a cluster, which would run the parts of a
    /// WITH clause one after the other and keep their results in between: there each is sent by itself.
    pub(crate) fn gather(&self) {
        if !self.is_cluster {
            self.gathered.open();
        }
    }

    /// Sends the batch, unless an outer one is open.
    pub(crate) fn gathered(&self) -> Result<(), Failed> {
        if self.gathered.close() { self.send_gathered() } else { Ok(()) }
    }

    pub(super) fn send_gathered(&self) -> Result<(), Failed> {
        match self.gathered.all() {
            Some(outgoing) => self.send(outgoing, None),
            None => Ok(()),
        }
    }

    /// Kept until COMMIT, with which its position is drawn.
    pub(crate) fn announce(&self, announcement: Announcement) {
        self.announced.borrow_mut().push(announcement);
    }

    /// `text`: what the columns are compared with.
    fn send(&self, outgoing: Outgoing, text: Option<&Text>) -> Result<(), Failed> {
        let Outgoing { name, sql, args, mut take } = outgoing;
        self.tell_limit()?;
        let Prepared { statement, is_new } = self.prepared_as(name, &sql, text)?;
        expect_arguments(name, statement.params().len(), args.len())?;
        self.send_begin()?;
        let client = Arc::clone(&self.client);
        let outcome = Box::pin(async move {
            let mut stream = pin!(client.query_raw(&statement, args).await?);
            while let Some(row) = stream.try_next().await? {
                if let Some(take) = &mut take {
                    take(&mut Columns::new(name, &row));
                }
            }
            Ok(())
        });
        self.start(Pending { statement: name, is_new, outcome })
    }

    /// Sends BEGIN, if the transaction has not begun.
    pub(super) fn send_begin(&self) -> Result<(), Failed> {
        if !self.begin.take() {
            return Ok(());
        }
        let client = Arc::clone(&self.client);
        let outcome = Box::pin(async move { client.batch_execute("BEGIN").await });
        self.start(Pending { statement: "transaction", is_new: false, outcome })
    }

    /// COMMIT will not wait for the disk.
    pub(crate) fn commit_early(&self) -> Result<(), Failed> {
        self.send_begin()?;
        let client = Arc::clone(&self.client);
        let set = "SET LOCAL synchronous_commit = off";
        let outcome = Box::pin(async move { client.batch_execute(set).await });
        self.start(Pending { statement: "transaction", is_new: false, outcome })
    }

    /// Once started, it is on the wire before the next statement.
    fn start(&self, mut pending: Pending) -> Result<(), Failed> {
        match pending.outcome.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome
                .map_err(|error| errors::failed(pending.statement, &error).unless(pending.is_new)),
            Poll::Pending => {
                self.pending.borrow_mut().push(pending);
                Ok(())
            }
        }
    }
}

/// A query that was sent ahead of the next statement.
pub(crate) struct Prefetched {
    statement: &'static str,
    is_new: bool,
    rows: RemoteHandle<Result<Vec<Row>, tokio_postgres::Error>>,
}

/// Takes in the rows of a query that was sent ahead. It ends when they are here, or nobody wants them any more.
pub(super) type Intake = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Session {
    /// Sends a query without waiting for its rows.
    pub(crate) fn prefetch(&self, text: &Text, args: &[Value<'_>]) -> Result<Prefetched, Failed> {
        let (name, sql) = (text.name, text.on(Engine::Postgres)?);
        self.watch(name, sql, args);
        self.tell_limit()?;
        let Prepared { statement, is_new } = self.prepared_as(name, sql, Some(text))?;
        expect_arguments(name, statement.params().len(), args.len())?;
        let args: Vec<Value<'static>> = args.iter().cloned().map(Value::into_owned).collect();
        let client = Arc::clone(&self.client);
        let (intake, rows) =
            async move { pin!(client.query_raw(&statement, args).await?).try_collect().await }
                .remote_handle();
        let mut intake: Intake = Box::pin(intake);
        // Once started, it is on the wire before the next statement.
        if intake.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.ahead.borrow_mut().push(intake);
        }
        Ok(Prefetched { statement: name, is_new, rows })
    }

    /// Waits for the rows of a query that was sent ahead.
    pub(crate) fn fetched<R: crate::Row>(&self, sent: Prefetched) -> Result<Vec<R>, Failed> {
        let Prefetched { statement, is_new, rows } = sent;
        let rows = self.awaited(statement, rows).map_err(|failed| failed.unless(is_new))?;
        // Allocated at its final size: a list that grows copies its rows, which may be large.
        let mut read = Vec::with_capacity(rows.len());
        for row in &rows {
            read.push(R::read(&mut Columns::new(statement, row))?);
        }
        Ok(read)
    }
}

/// A command that was sent and not yet answered.
pub(super) struct Pending {
    statement: &'static str,
    is_new: bool,
    outcome: Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>,
}

/// Waits for all of them. The first failure counts: the others follow from it.
pub(super) async fn settle(pending: Vec<Pending>) -> Result<(), Failed> {
    let mut settled = Ok(());
    for Pending { statement, is_new, outcome } in pending {
        match (outcome.await, &settled) {
            (Err(error), Ok(())) => {
                settled = Err(errors::failed(statement, &error).unless(is_new));
            }
            (Ok(()), Err(_)) => settled = Err(outside_of_transaction()),
            _ => {}
        }
    }
    settled
}

/// After a failure no statement of a transaction succeeds. If one does, BEGIN has failed, for instance by a timeout:
/// the statement ran outside of a transaction and took effect.
pub(super) fn outside_of_transaction() -> Failed {
    Error::OutcomeUnknown.into()
}
