//! The connection types of closures. `Conn` only takes queries, so writing outside a transaction does not
//! compile. On both engines a failed statement aborts its transaction.

mod tx;

pub use tx::{Later, Tx};

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use crate::statement::Text;
use crate::{AnyStatement, Columns, Error, Query, Row, Statement, Value};
use crate::{postgres, sqlite, stats};

/// A connection of one of the engines.
pub(crate) enum Link<'a> {
    Sqlite(&'a sqlite::Connection),
    Postgres(&'a postgres::Session),
}

impl Link<'_> {
    /// The deadline of all statements; `None`: each has its own.
    fn limit(&self, until: Option<Instant>) {
        match self {
            Link::Sqlite(connection) => connection.until.set(until),
            Link::Postgres(session) => session.until.set(until),
        }
    }
}

/// Why a statement failed, for the decision about the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The statement was refused; running it again would not help.
    Refused,
    /// The same work may succeed when run again: serialization failure, deadlock.
    Retry,
    /// The connection was lost.
    Broken,
    /// Disk full.
    Full,
    /// The storage below the database failed.
    Disk(String),
}

/// An error for the closure, and what it means for the transaction.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    pub(crate) failure: Failure,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed { error, failure: Failure::Refused }
    }
}

/// Takes each row of a result.
pub(crate) type Sink<'s> = &'s mut dyn FnMut(&mut Columns<'_>) -> Result<(), Error>;

/// A connection that reads.
pub struct Conn<'a> {
    link: Link<'a>,
    transaction: bool,
    failure: RefCell<Option<Failure>>,
    /// Commands that were run.
    commands: Cell<u64>,
}

impl<'a> Conn<'a> {
    pub(crate) fn new(link: Link<'a>) -> Self {
        link.limit(None);
        Conn { link, transaction: false, failure: RefCell::new(None), commands: Cell::new(0) }
    }

    /// Sets a time limit for the whole closure, instead of the deadline of each statement.
    pub fn within(&self, limit: Duration) {
        self.link.limit(stats::now().checked_add(limit));
    }

    /// Whether the rows of a CROSS JOIN come in the order of its first table. SQLite reads it row by row, and would copy all
    /// columns to sort them.
    pub fn keeps_order_of_join(&self) -> bool {
        matches!(self.link, Link::Sqlite(_))
    }

    /// Whether the server could distribute tables: it has the extension Citus.
    pub fn is_on_cluster(&self) -> bool {
        matches!(self.link, Link::Postgres(session) if session.is_cluster)
    }

    /// Whether tables are distributed over the workers of a cluster.
    pub fn is_distributed(&self) -> Result<bool, Error> {
        static DISTRIBUTED: Query<bool> = Query::declared(
            "db::DISTRIBUTED",
            "SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE partmethod = 'h')",
            None,
        );
        if self.is_on_cluster() { self.one(&DISTRIBUTED, &[]) } else { Ok(false) }
    }

    /// Every row.
    pub fn all<R: Row>(&self, query: &Query<R>, args: &[Value<'_>]) -> Result<Vec<R>, Error> {
        self.rows(query, args)
    }

    /// Passes on each row as it is found, for results that need not fit into memory.
    pub fn each<R: Row>(
        &self,
        query: &Query<R>,
        args: &[Value<'_>],
        mut take: impl FnMut(R),
    ) -> Result<(), Error> {
        self.run(query.inner(), args, &mut |columns| {
            take(R::read(columns)?);
            Ok(())
        })
        .map(drop)
    }

    /// The same as long as `take` succeeds; its error ends the reading.
    pub fn each_while<R: Row>(
        &self,
        query: &Query<R>,
        args: &[Value<'_>],
        take: &mut dyn FnMut(R) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.run(query.inner(), args, &mut |columns| take(R::read(columns)?)).map(drop)
    }

    /// The same with values that the row still owns.
    pub(crate) fn each_borrowed<R: Row>(
        &self,
        query: &Query<R>,
        args: &[Value<'_>],
        take: &mut dyn FnMut(&[Value<'_>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.run(query.inner(), args, &mut |columns| take(&columns.borrowed()?)).map(drop)
    }

    pub(crate) fn link(&self) -> &Link<'a> {
        &self.link
    }

    /// The row, if there is one. More than one is an error.
    pub fn opt<R: Row>(&self, query: &Query<R>, args: &[Value<'_>]) -> Result<Option<R>, Error> {
        self.at_most_one(query, args)
    }

    /// The row. None, or more than one, is an error.
    pub fn one<R: Row>(&self, query: &Query<R>, args: &[Value<'_>]) -> Result<R, Error> {
        self.exactly_one(query, args)
    }

    /// Sends a query whose rows are needed after the next statement: on PostgreSQL both travel together. Only
    /// outside of transactions; elsewhere there is nothing to gain, and nothing is sent.
    pub fn prefetch<R: Row>(
        &self,
        query: &Query<R>,
        args: &[Value<'_>],
    ) -> Result<Prefetch<'_, R>, Error> {
        let sent = match self.link {
            Link::Postgres(session) if !self.transaction => {
                let sent = self.noted(session.prefetch(query.inner(), args))?;
                Some((self, session, sent))
            }
            Link::Postgres(_) | Link::Sqlite(_) => None,
        };
        Ok(Prefetch { sent, row: PhantomData })
    }

    fn rows<S: Statement>(&self, statement: &S, args: &[Value<'_>]) -> Result<Vec<S::Row>, Error> {
        let mut rows = Vec::new();
        self.run(statement.inner(), args, &mut |columns| {
            rows.push(S::Row::read(columns)?);
            Ok(())
        })?;
        Ok(rows)
    }

    fn at_most_one<S: Statement>(
        &self,
        statement: &S,
        args: &[Value<'_>],
    ) -> Result<Option<S::Row>, Error> {
        let (mut found, mut many) = (None, false);
        self.run(statement.inner(), args, &mut |columns| {
            match found {
                Some(_) => many = true,
                None => found = Some(S::Row::read(columns)?),
            }
            Ok(())
        })?;
        if many {
            let statement = statement.name();
            return Err(Error::ManyRows { statement });
        }
        Ok(found)
    }

    fn exactly_one<S: Statement>(
        &self,
        statement: &S,
        args: &[Value<'_>],
    ) -> Result<S::Row, Error> {
        let statement_name = statement.name();
        self.at_most_one(statement, args)?.ok_or(Error::NoRow { statement: statement_name })
    }

    fn run(&self, text: &Text, args: &[Value<'_>], sink: Sink<'_>) -> Result<u64, Error> {
        if self.transaction && self.failure.borrow().is_some() {
            return Err(Error::Aborted);
        }
        self.count(text);
        let result = match self.link {
            Link::Sqlite(connection) => connection.run(text, args, sink),
            Link::Postgres(session) => session.run(text, args, sink),
        };
        self.noted(result)
    }

    fn count(&self, text: &Text) {
        self.commands.set(self.commands.get() + u64::from(text.writes()));
    }

    /// The result; its failure is recorded for the decision about the transaction.
    fn noted<T>(&self, result: Result<T, Failed>) -> Result<T, Error> {
        result.map_err(|failed| {
            let mut failure = self.failure.borrow_mut();
            // Outside a transaction a closure may continue after a refusal, but not after a lost connection.
            if failure.is_none() || failed.failure == Failure::Broken {
                *failure = Some(failed.failure);
            }
            failed.error
        })
    }
}

/// A query that may have been sent ahead; see [`Conn::prefetch`].
pub struct Prefetch<'c, R> {
    sent: Option<(&'c Conn<'c>, &'c postgres::Session, postgres::Prefetched)>,
    row: PhantomData<fn() -> R>,
}

impl<R: Row> Prefetch<'_, R> {
    /// Its rows; none if it was not sent, and is to be run now.
    pub fn rows(self) -> Result<Option<Vec<R>>, Error> {
        let Some((conn, session, sent)) = self.sent else { return Ok(None) };
        conn.noted(session.fetched(sent)).map(Some)
    }
}

impl<R> fmt::Debug for Prefetch<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefetch").field("sent", &self.sent.is_some()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Conn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conn")
            .field("transaction", &self.transaction)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}
