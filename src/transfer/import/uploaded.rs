//! An import that an owner asked for in the admin: the same as `townhall import`, inside of a server.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;

use super::{Format, Import};
use crate::features::exports::uploads::{Advance, ImportFormat};
use crate::state::App;
use crate::tenancy::Project;
use crate::transfer::{Failure, Store};

/// For the list of importers. Blocks.
pub fn run(
    app: &App,
    project: &Arc<Project>,
    (path, format): (&Path, ImportFormat),
    is_dry_run: bool,
    advance: Advance<'_>,
) -> Result<Value, String> {
    let runtime = &Handle::current();
    let (storage, staging, random) = (&app.storage, &app.staging, &app.random);
    let import = Import {
        db: &app.db,
        store: Store { storage, staging, runtime, random },
        runtime,
        random,
        now: app.clock.now(),
        project,
        is_dry_run,
    };
    let format = match format {
        ImportFormat::Jsonl => Format::Jsonl,
        ImportFormat::Csv => Format::Csv,
        ImportFormat::Wxr => Format::Wxr,
        ImportFormat::Disqus => Format::Disqus,
    };
    let step = |what: &str, count: u64| advance(what, count).map_err(Failure::from);
    let report = import.run(path, format, &step).map_err(|failure| failure.0)?;
    Ok(report.json(is_dry_run))
}
