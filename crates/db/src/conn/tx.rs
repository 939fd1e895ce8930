//! A connection that writes.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Conn, Failure, Link};
use crate::postgres::Take;
use crate::{
    Announcement, AnyStatement, Builder, Command, Error, MAX_CACHED_ARGUMENTS, Row, Signal,
    Statement, Value,
};

/// A transaction: reads what [`Conn`] reads, and writes.
#[derive(Debug)]
pub struct Tx<'a> {
    conn: Conn<'a>,
    /// Announcements to publish after the commit. On PostgreSQL the connection keeps them.
    announced: RefCell<Vec<Announcement>>,
    announcements: Cell<u64>,
    signals: RefCell<Vec<Signal>>,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(link: Link<'a>) -> Self {
        let mut tx = Tx::reading(link);
        tx.conn.transaction = true;
        tx
    }

    /// An empty transaction, for jobs that only read.
    pub(crate) fn reading(link: Link<'a>) -> Self {
        Tx {
            conn: Conn::new(link),
            announced: RefCell::default(),
            announcements: Cell::new(0),
            signals: RefCell::default(),
        }
    }

    /// The first failure; with one, the transaction must not be committed.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.conn.failure.borrow().clone()
    }

    /// Commands that were run and announcements made so far: whether a closure has had any effect.
    pub(crate) fn effects(&self) -> u64 {
        self.conn.commands.get() + self.announcements.get()
    }

    /// The next closure of the transaction has no time limit of its own yet.
    pub(crate) fn next_closure(&self) {
        self.conn.link.limit(None);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.conn.transaction && self.conn.failure.borrow().is_some()
    }

    /// Every row of a query, or every row a command returns.
    pub fn all<S: Statement>(
        &self,
        statement: &S,
        args: &[Value<'_>],
    ) -> Result<Vec<S::Row>, Error> {
        self.conn.rows(statement, args)
    }

    /// The row, if there is one. More than one is an error.
    pub fn opt<S: Statement>(
        &self,
        statement: &S,
        args: &[Value<'_>],
    ) -> Result<Option<S::Row>, Error> {
        self.conn.at_most_one(statement, args)
    }

    /// The row. None, or more than one, is an error.
    pub fn one<S: Statement>(&self, statement: &S, args: &[Value<'_>]) -> Result<S::Row, Error> {
        self.conn.exactly_one(statement, args)
    }

    /// Runs a command without waiting for its outcome: on PostgreSQL it is sent together with the next
    /// statement (pipelining). If it fails, the transaction fails with its error.
    pub fn pipeline(&self, command: &Command<()>, args: &[Value<'_>]) -> Result<(), Error> {
        let Link::Postgres(session) = self.conn.link else {
            return self.execute(command, args).map(drop);
        };
        if self.is_lost() {
            return Err(Error::Aborted);
        }
        self.conn.count(command.inner());
        self.conn.noted(session.pipeline(command.inner(), args))
    }

    /// Inserts many rows, each with a value for every column: on PostgreSQL by COPY.
    pub fn append(
        &self,
        table: &'static str,
        columns: &[&str],
        rows: &[Vec<Value<'_>>],
    ) -> Result<(), Error> {
        let Link::Postgres(session) = self.conn.link else {
            return self.append_some(table, columns, rows);
        };
        if self.is_lost() {
            return Err(Error::Aborted);
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.conn.commands.set(self.conn.commands.get() + 1);
        self.conn.noted(session.append(table, columns, rows))
    }

    /// By statements of several rows, each of which is prepared once.
    fn append_some(
        &self,
        table: &'static str,
        columns: &[&str],
        rows: &[Vec<Value<'_>>],
    ) -> Result<(), Error> {
        let at_once = (MAX_CACHED_ARGUMENTS / columns.len().max(1)).max(1);
        rows.chunks(at_once).try_for_each(|some| {
            let mut list = Builder::list([]);
            for row in some {
                let values = list.bind_all(row.iter().cloned());
                list.add(format_args!("({values})"));
            }
            let names = columns.join(", ");
            let text = format!("INSERT INTO {table} ({names}) VALUES {list}");
            self.execute(&Command::built(table, text), list.args()).map(drop)
        })
    }

    /// Runs a statement whose rows are needed later: on PostgreSQL it is sent together with the next statement, or
    /// with COMMIT. If it fails, the transaction fails with its error.
    pub fn later<S>(&self, statement: &S, args: &[Value<'_>]) -> Result<Later<S::Row>, Error>
    where
        S: Statement,
        S::Row: Send + 'static,
    {
        let name = statement.name();
        let Link::Postgres(session) = self.conn.link else {
            let rows = self.conn.rows(statement, args)?;
            return Ok(Later { statement: name, rows: Arc::new(Mutex::new(Ok(rows))) });
        };
        if self.is_lost() {
            return Err(Error::Aborted);
        }
        self.conn.count(statement.inner());
        let rows = Slot::new(Mutex::new(Ok(Vec::new())));
        self.conn.noted(session.later(statement.inner(), args, collect(rows.clone())))?;
        Ok(Later { statement: name, rows })
    }

    /// Runs commands that do not depend on each other. On PostgreSQL those that are
    /// [`pipelined`](Tx::pipeline) inside are one statement, together with the first that is awaited or needed
    /// [`later`](Tx::later): all see the same snapshot, and no two may change the same row.
    pub fn batch<T, E: From<Error>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let Link::Postgres(session) = self.conn.link else { return work() };
        session.gather();
        let done = work();
        // Also after an error: earlier commands are done if the closure continues.
        let sent = self.conn.noted(session.gathered());
        let done = done?;
        sent?;
        Ok(done)
    }

    /// Announces to every process on the database, after the commit and only then; see
    /// [`Db::announcements`](crate::Db::announcements). On SQLite that is this process alone.
    pub fn announce(&self, topic: &str, text: &str) -> Result<(), Error> {
        if self.is_lost() {
            return Err(Error::Aborted);
        }
        let announcement = Announcement::new(topic, text)?;
        self.announcements.set(self.announcements.get() + 1);
        match self.conn.link {
            Link::Sqlite(_) => self.announced.borrow_mut().push(announcement),
            Link::Postgres(session) => session.announce(announcement),
        }
        Ok(())
    }

    /// Wakes the task that awaits [`Db::signalled`](crate::Db::signalled) in this process, after the commit and only
    /// then.
    pub fn signal(&self, signal: Signal) {
        self.signals.borrow_mut().push(signal);
    }

    /// The signals of the closure that has just run.
    pub(crate) fn take_signals(&self) -> Vec<Signal> {
        self.signals.take()
    }

    /// Lets the commit return before it is on the disk, for work that can be done again. A crash of PostgreSQL may undo the
    /// last of these transactions, together with everything committed after them. SQLite waits all the same.
    pub fn commit_early(&self) -> Result<(), Error> {
        match self.conn.link {
            Link::Sqlite(_) => Ok(()),
            Link::Postgres(_) if self.is_lost() => Err(Error::Aborted),
            Link::Postgres(session) => self.conn.noted(session.commit_early()),
        }
    }

    /// Waits until everything that was sent is done, and fails if it failed.
    pub fn flush(&self) -> Result<(), Error> {
        match self.conn.link {
            Link::Sqlite(_) => Ok(()),
            Link::Postgres(_) if self.is_lost() => Err(Error::Aborted),
            Link::Postgres(session) => self.conn.noted(session.flush()),
        }
    }

    /// The announcements to publish after the commit.
    pub(crate) fn announced(self) -> Vec<Announcement> {
        self.announced.into_inner()
    }

    /// Runs a command and returns the number of affected rows.
    pub fn execute(&self, command: &Command<()>, args: &[Value<'_>]) -> Result<u64, Error> {
        self.conn.run(command.inner(), args, &mut |_| Ok(()))
    }
}

impl<'a> Deref for Tx<'a> {
    type Target = Conn<'a>;

    fn deref(&self) -> &Conn<'a> {
        &self.conn
    }
}

/// The rows of a statement of a transaction: there after [`Tx::flush`], and once the transaction is committed. See
/// [`Tx::later`].
#[derive(Debug)]
pub struct Later<R> {
    statement: &'static str,
    rows: Slot<R>,
}

/// Where rows arrive.
type Slot<R> = Arc<Mutex<Result<Vec<R>, Error>>>;

fn collect<R: Row + Send + 'static>(slot: Slot<R>) -> Take {
    Box::new(move |columns| {
        let mut arrived = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match (R::read(columns), &mut *arrived) {
            (Ok(row), Ok(rows)) => rows.push(row),
            (Err(error), Ok(_)) => *arrived = Err(error),
            (_, Err(_)) => {}
        }
    })
}

impl<R> Later<R> {
    pub fn all(self) -> Result<Vec<R>, Error> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *rows, Ok(Vec::new()))
    }

    /// The row, if there is one. More than one is an error.
    pub fn opt(self) -> Result<Option<R>, Error> {
        let statement = self.statement;
        let mut rows = self.all()?;
        match rows.len() {
            0 | 1 => Ok(rows.pop()),
            _ => Err(Error::ManyRows { statement }),
        }
    }

    /// The row. None, or more than one, is an error.
    pub fn one(self) -> Result<R, Error> {
        let statement = self.statement;
        self.opt()?.ok_or(Error::NoRow { statement })
    }
}
