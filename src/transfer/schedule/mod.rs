//! Backups on a schedule: `TOWNHALL_BACKUP_EVERY`, `TOWNHALL_BACKUP_TO`, `TOWNHALL_BACKUP_KEEP`. Nodes that share a
//! database make one together, also when an operator asks for one: the node that holds the lease in the database makes
//! it. It counts once it is verified where it is kept, and only then are older ones removed.

mod destination;

use std::time::Duration;

use db::Tx;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{Failure, Result};
use crate::config::BackupSchedule;
use crate::installation::store as installation;
use crate::state::App;
use crate::values::time::Timestamp;
use destination::Destination;

/// How often a node looks whether a backup is due.
const LOOK: Duration = Duration::from_secs(30);
/// If the node that makes a backup dies, another one may after this time.
const LEASE: Duration = Duration::from_secs(600);
const RENEW: Duration = Duration::from_secs(60);

/// Runs until the application drains. A backup that is under way then is cut off, and made later.
pub async fn work(app: App) {
    while !app.is_draining() {
        match run_if_due(&app).await {
            Ok(Some(name)) => tracing::info!(name, "a backup was made and verified"),
            Ok(None) => {}
            Err(Failure(error)) => tracing::error!(error, "the scheduled backup failed"),
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = app.draining() => {}
        }
    }
}

/// Makes a backup if one is due and no other node makes it; returns its name.
pub async fn run_if_due(app: &App) -> Result<Option<String>> {
    let Some(schedule) = app.config.backup.clone() else { return Ok(None) };
    let (now, every) = (app.clock.now(), schedule.every);
    if !app.db.write(move |tx| take_lease(tx, every, now)).await? {
        return Ok(None);
    }
    match make(app, schedule, now).await {
        Ok(name) => {
            app.db.write(move |tx| installation::finish_backup(tx, now)).await?;
            Ok(Some(name))
        }
        Err(failure) => {
            // The lease lasts on: no node tries again before.
            let until = app.clock.now().plus(every.min(LEASE));
            app.db.write(move |tx| installation::renew_backup(tx, until)).await?;
            Err(failure)
        }
    }
}

/// Whether a backup is due and this node makes it.
fn take_lease(tx: &Tx<'_>, every: Duration, now: Timestamp) -> crate::error::Result<bool> {
    if !installation::lease_backup(tx, now, now.plus(LEASE))? {
        return Ok(false);
    }
    // Another node may have finished since.
    let last = installation::last_backup(tx)?;
    let is_due =
        last.is_none_or(|last| last.plus(every) <= now) || installation::backup_asked(tx)? > last;
    if !is_due {
        installation::release_backup(tx)?;
    }
    Ok(is_due)
}

/// On a thread of its own, which the end of the process does not wait for.
async fn make(app: &App, schedule: BackupSchedule, now: Timestamp) -> Result<String> {
    let destination = Destination::open(&app.config, &schedule)?;
    let (sender, mut receiver) = oneshot::channel();
    let (own, runtime) = (app.clone(), Handle::current());
    let work = move || {
        let made = destination.add(&own, &runtime, now).and_then(|name| {
            if let Some(keep) = schedule.keep {
                destination.remove_oldest(&runtime, keep)?;
            }
            Ok(name)
        });
        // Nobody listens any more when the server stops.
        let _ = sender.send(made);
    };
    std::thread::Builder::new().name("backup".to_owned()).spawn(work)?;
    loop {
        tokio::select! {
            made = &mut receiver => return made?,
            () = tokio::time::sleep(RENEW) => {
                let until = app.clock.now().plus(LEASE);
                app.db.write(move |tx| installation::renew_backup(tx, until)).await?;
            }
        }
    }
}
