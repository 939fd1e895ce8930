//! A caller whose user is checked in the transaction that writes for them. Where statements travel together, the check then
//! costs no round trip; elsewhere it is done before the handler runs.
//!
//! The handler begins the check before its first statement and settles it before the transaction ends. `http/access.rs` replaces the
//! reply of a handler that never settled it: by the refusal of the user if there is one, which so comes before any other error.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use db::{Conn, Later, Tx};

use crate::auth::caller::{Initiator, active};
use crate::auth::store::suspensions::{self, AccountStatus, StatusRow};
use crate::error::{Fault, Result};
use crate::tenancy::Project;
use crate::values::ids::UserId;
use crate::values::time::Timestamp;

#[derive(Debug, Clone)]
pub struct Deferred<A> {
    caller: A,
    check: Check,
}

#[derive(Debug, Clone)]
enum Check {
    /// None for a caller who is no user.
    Done(Option<Initiator>),
    Due(Arc<UserCheck>),
}

/// Whether the acting user exists and is not suspended.
#[derive(Debug)]
pub struct UserCheck {
    project: Arc<Project>,
    user: UserId,
    /// Passes though suspended.
    is_exempt: bool,
    now: Timestamp,
    /// Error for an unknown user.
    unknown: Fault,
    has_passed: AtomicBool,
}

/// A check that was sent.
#[derive(Debug)]
#[must_use]
pub enum Checking {
    Done(Option<Initiator>),
    Sent(Arc<UserCheck>, Later<StatusRow>),
}

impl<A> Deferred<A> {
    pub fn done(caller: A, user: Option<Initiator>) -> Self {
        Deferred { caller, check: Check::Done(user) }
    }

    pub fn due(caller: A, check: UserCheck) -> Self {
        Deferred { caller, check: Check::Due(Arc::new(check)) }
    }

    /// The check, if the handler has to make it.
    pub fn user_check(&self) -> Option<Arc<UserCheck>> {
        match &self.check {
            Check::Done(_) => None,
            Check::Due(check) => Some(Arc::clone(check)),
        }
    }

    /// Makes the check by itself, before costly work outside of the transaction.
    pub fn check(&self, c: &Conn<'_>) -> Result<()> {
        self.user_check().map_or(Ok(()), |check| check.run(c).map(drop))
    }

    /// Sends the check together with the next statement.
    pub fn begin(&self, tx: &Tx<'_>) -> Result<Checking> {
        Ok(match &self.check {
            Check::Done(user) => Checking::Done(user.clone()),
            Check::Due(check) => {
                let sent = suspensions::status_later(tx, check.project.id, check.user, check.now)?;
                Checking::Sent(Arc::clone(check), sent)
            }
        })
    }
}

impl<A> Deref for Deferred<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.caller
    }
}

impl Checking {
    /// Waits for everything that was sent; the acting user. If the user may not act, that is the error, whatever else has failed.
    pub fn settle(self, tx: &Tx<'_>) -> Result<Option<Initiator>> {
        let flushed = tx.flush();
        let (check, rows) = match self {
            Checking::Done(user) => return Ok(flushed.map(|()| user)?),
            Checking::Sent(check, rows) => (check, rows.all()?),
        };
        // After a failure the rows may not have arrived.
        if rows.is_empty() {
            flushed?;
            return Err(check.unknown.into());
        }
        let user = check.verdict(suspensions::status_of(rows))?;
        flushed?;
        Ok(Some(user))
    }
}

impl UserCheck {
    pub fn new(
        project: Arc<Project>,
        user: UserId,
        is_exempt: bool,
        now: Timestamp,
        unknown: Fault,
    ) -> Self {
        UserCheck { project, user, is_exempt, now, unknown, has_passed: AtomicBool::new(false) }
    }

    pub fn run(&self, c: &Conn<'_>) -> Result<Initiator> {
        self.verdict(suspensions::status(c, self.project.id, self.user, self.now)?)
    }

    pub fn has_passed(&self) -> bool {
        self.has_passed.load(Relaxed)
    }

    fn verdict(&self, found: Option<AccountStatus>) -> Result<Initiator> {
        let user = active(found, &self.project, self.is_exempt)?.ok_or(self.unknown)?;
        self.has_passed.store(true, Relaxed);
        Ok(user)
    }
}
