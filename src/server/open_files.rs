//! Every connection is an open file, and the system lets a process have a thousand unless it asks.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open beside connections: the database, uploads, calls to others, the reserve.
const OTHER_FILES: usize = 512;

/// Asks for as many open files as this process may have, and says how many of the `wanted` connections
/// there is room for.
pub fn connections_that_fit(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    // If it fails the limit stays as it is, and is looked at again.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let files = getrlimit(Resource::Nofile).current;
    let files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    let fit = files - OTHER_FILES.min(files / 2);
    if fit < wanted {
        tracing::warn!(
            files,
            connections = fit,
            "fewer connections than TOWNHALL_MAX_CONNECTIONS: this process may not open more files"
        );
    }
    wanted.min(fit)
}
