//! Runs work on a table as it is now. Statements are built for the columns in the catalogue; if another
//! request changes the columns meanwhile, the work runs again with the new ones.

use std::sync::Arc;

use db::{Conn, Tx};

use crate::auth::caller::OptionalViewer;
use crate::error::{Error, Result};
use crate::features::tables::model::{Name, RowAccess, Table};
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::{catalogue, locks};
use crate::features::tables::{FOREIGN_KEY_VIOLATION, TABLE_NOT_FOUND};
use crate::http::operation::Call;
use crate::values::ids::ProjectId;

/// How often a table may change during one request.
const ATTEMPTS: usize = 3;

/// The context of work on the rows of a table.
#[derive(Debug)]
pub struct TableHandle {
    pub table: Arc<Table>,
    pub dialect: Dialect,
    /// A referenced row was missing: find out which one before writing.
    pub is_careful: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// By id.
    Quick,
    /// Through filters and counts.
    Slow,
}

/// Reads rows of a table that the caller may read.
pub async fn reading<T, F>(
    call: &Call<OptionalViewer>,
    name: &Name,
    pace: ReadMode,
    work: F,
) -> Result<T>
where
    T: Send + 'static,
    F: Fn(&Conn<'_>, &TableHandle) -> Result<T> + Send + Sync + 'static,
{
    let (db, project, viewer) = (&call.app.db, call.project.id, call.caller);
    let (work, dialect) = (Arc::new(work), Dialect(db.engine()));
    let mut attempts = 0;
    loop {
        attempts += 1;
        let (work, name) = (Arc::clone(&work), name.clone());
        let read = move |c: &Conn<'_>| {
            let table = open(c, project, &name, viewer)?;
            work(c, &TableHandle { table, dialect, is_careful: false })
        };
        let result = match pace {
            ReadMode::Quick => db.read(read).await,
            ReadMode::Slow => db.read_slow(read).await,
        };
        match result {
            Err(error) if attempts < ATTEMPTS && is_outdated(&error) => {}
            result => return result,
        }
    }
}

/// Writes rows of a table that the caller may write, in one transaction.
pub async fn writing<T, F>(call: &Call<OptionalViewer>, name: &Name, work: F) -> Result<T>
where
    T: Send + 'static,
    F: Fn(&Tx<'_>, &TableHandle) -> Result<T> + Send + Sync + 'static,
{
    let (db, project, viewer) = (&call.app.db, call.project.id, call.caller);
    let (work, dialect) = (Arc::new(work), Dialect(db.engine()));
    let (mut attempts, mut is_careful) = (0, false);
    loop {
        attempts += 1;
        let (work, name) = (Arc::clone(&work), name.clone());
        let written = db.write(move |tx| {
            locks::lock_shared(tx, dialect, project, &name.0)?;
            let table = open(tx, project, &name, viewer)?;
            work(tx, &TableHandle { table, dialect, is_careful })
        });
        match written.await {
            Err(error) if !is_careful && is_foreign_key(&error) => is_careful = true,
            Err(error) if attempts < ATTEMPTS && is_outdated(&error) => {}
            result => return result.map_err(refused),
        }
    }
}

fn open(
    c: &Conn<'_>,
    project: ProjectId,
    name: &Name,
    viewer: OptionalViewer,
) -> Result<Arc<Table>> {
    let table = catalogue::find(c, project, &name.0)?.ok_or(TABLE_NOT_FOUND)?;
    admit(table.access, viewer.into())?;
    Ok(Arc::new(table))
}

/// Callers with access to the rows of the same tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    Anonymous,
    User,
    Key,
}

impl From<OptionalViewer> for Audience {
    fn from(viewer: OptionalViewer) -> Self {
        match viewer {
            OptionalViewer::Anonymous => Audience::Anonymous,
            OptionalViewer::User(_) => Audience::User,
            OptionalViewer::Key(_) => Audience::Key,
        }
    }
}

/// Checks who may access the rows of a table.
pub fn admit(access: RowAccess, audience: Audience) -> Result<()> {
    use crate::auth::caller::ELEVATED_AUTH_REQUIRED;
    match (access, audience) {
        (RowAccess::Open, _) | (RowAccess::Authenticated, Audience::User) | (_, Audience::Key) => {
            Ok(())
        }
        (_, Audience::Anonymous) => Err(Error::NoCredential),
        (RowAccess::Key, Audience::User) => Err(ELEVATED_AUTH_REQUIRED.into()),
    }
}

/// Maps violations reported by the database.
fn refused(error: Error) -> Error {
    if is_over_limit(&error) {
        return FOREIGN_KEY_VIOLATION.because("too many rows depend on each other");
    }
    error.on_foreign_key(FOREIGN_KEY_VIOLATION)
}

pub fn is_over_limit(error: &Error) -> bool {
    matches!(cause(error), Some(db::Error::Limit { .. }))
}

fn is_outdated(error: &Error) -> bool {
    use db::Error::{Missing, Row, Statement};
    cause(error).is_some_and(|e| matches!(e, Missing { .. } | Row { .. } | Statement { .. }))
}

fn is_foreign_key(error: &Error) -> bool {
    cause(error) == Some(&db::Error::ForeignKey)
}

fn cause(error: &Error) -> Option<&db::Error> {
    match error {
        Error::Internal(source) => source.downcast_ref(),
        _ => None,
    }
}
