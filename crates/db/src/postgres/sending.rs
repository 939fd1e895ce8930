//! Pipelined commands and queries: sent with the next statement, so that they cost no round trip of their own.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::TryStreamExt;
use tokio_postgres::Row;

use crate::conn::{Failed, Sink};
use crate::sqlite::expect_arguments;
use crate::statement::Text;
use crate::{Announcement, Columns, Engine, Value};

use super::errors;
use super::session::{Prepared, Session};

impl Session {
    /// Sends a command without waiting for its outcome.
    pub(crate) fn pipeline(&self, text: &Text, args: &[Value<'_>]) -> Result<(), Failed> {
        let sql = text.on(Engine::Postgres)?;
        let args = args.iter().cloned().map(Value::into_owned).collect();
        if self.gathered.is_full() {
            self.send_gathered()?;
        }
        match self.gathered.take_in(text.name, sql, args) {
            Some(args) => self.send(text.name, sql, args),
            None => Ok(()),
        }
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
            Some((name, sql, args)) => self.send(name, &sql, args),
            None => Ok(()),
        }
    }

    /// Kept until COMMIT, with which its position is drawn.
    pub(crate) fn announce(&self, announcement: Announcement) {
        self.announced.borrow_mut().push(announcement);
    }

    fn send(&self, name: &'static str, sql: &str, args: Vec<Value<'static>>) -> Result<(), Failed> {
        self.tell_limit()?;
        let prepared = self.prepared_as(name, sql, None)?;
        if self.begin.get() {
            return self.wait_for(name, &prepared, &args, &mut |_| Ok(())).map(drop);
        }
        let Prepared { statement, is_new } = prepared;
        expect_arguments(name, statement.params().len(), args.len())?;
        let client = Arc::clone(&self.client);
        let mut outcome = Box::pin(async move {
            let mut stream = pin!(client.query_raw(&statement, args).await?);
            while stream.try_next().await?.is_some() {}
            Ok(())
        });
        // Once started, it is on the wire before the next statement.
        match outcome.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                outcome.map_err(|error| errors::failed(name, &error).unless(is_new))
            }
            Poll::Pending => {
                self.pending.borrow_mut().push(Pending { statement: name, is_new, outcome });
                Ok(())
            }
        }
    }
}

/// A query that was sent ahead of the next statement.
pub(crate) struct Prefetched {
    statement: &'static str,
    is_new: bool,
    rows: Rows,
}

type Rows = Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send>>;

impl Session {
    /// Sends a query without waiting for its rows.
    pub(crate) fn prefetch(&self, text: &Text, args: &[Value<'_>]) -> Result<Prefetched, Failed> {
        let (name, sql) = (text.name, text.on(Engine::Postgres)?);
        self.watch(name, sql);
        self.tell_limit()?;
        let Prepared { statement, is_new } = self.prepared_as(name, sql, Some(text))?;
        expect_arguments(name, statement.params().len(), args.len())?;
        let args: Vec<Value<'static>> = args.iter().cloned().map(Value::into_owned).collect();
        let client = Arc::clone(&self.client);
        let mut rows: Rows =
            Box::pin(
                async move { pin!(client.query_raw(&statement, args).await?).try_collect().await },
            );
        // Once started, it is on the wire before the next statement.
        let rows = match rows.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Box::pin(std::future::ready(done)),
            Poll::Pending => rows,
        };
        Ok(Prefetched { statement: name, is_new, rows })
    }

    /// Waits for the rows of a query that was sent ahead.
    pub(crate) fn fetched(&self, sent: Prefetched, sink: Sink<'_>) -> Result<(), Failed> {
        let Prefetched { statement, is_new, rows } = sent;
        let rows = self.awaited(statement, rows).map_err(|failed| failed.unless(is_new))?;
        for row in &rows {
            sink(&mut Columns::new(statement, row))?;
        }
        Ok(())
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
        if let Err(error) = outcome.await
            && settled.is_ok()
        {
            settled = Err(errors::failed(statement, &error).unless(is_new));
        }
    }
    settled
}
