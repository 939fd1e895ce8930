//! What a load owes to others: it rests while they use the database, and it has PostgreSQL measure what it fills.

use std::time::Duration;

use crate::error::Result;
use crate::features::search::store;
use crate::state::App;

/// How often the indexer itself uses the database while a transaction runs, at most.
const OWN_USES: u64 = 4;
const MAX_REST: Duration = Duration::from_millis(200);

/// Leaves others their turn: while they use the database as well, the indexer rests as long as it has worked.
pub(super) struct Pace<'a> {
    app: &'a App,
    began: Duration,
    uses: u64,
}

impl<'a> Pace<'a> {
    pub fn begin(app: &'a App) -> Self {
        Pace { app, began: app.clock.uptime(), uses: uses(app) }
    }

    /// Returns how long the work took.
    pub async fn end(self) -> Duration {
        let took = self.app.clock.uptime().saturating_sub(self.began);
        if uses(self.app) > self.uses + OWN_USES {
            tokio::time::sleep(took.min(MAX_REST)).await;
        }
        took
    }
}

/// How often the database was used.
fn uses(app: &App) -> u64 {
    let stats = app.db.stats();
    stats.reads.count + stats.writes.count
}

/// Has PostgreSQL measure the tables of the index whenever they have grown fourfold. By itself it does so once a minute; until
/// then it walks through tables that were small when it planned the statements.
#[derive(Debug)]
pub(super) struct Growth {
    /// The size that was measured last.
    pub measured: i64,
}

impl Growth {
    pub async fn reach(&mut self, app: &App, size: i64) -> Result<()> {
        if size < 4 * self.measured {
            return Ok(());
        }
        self.measured = size;
        app.db.write_alone(store::measure).await
    }
}
