//! The limit of open files: every connection is one, and the default limit is about a thousand.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files besides connections: the database, uploads, outgoing calls, the reserve.
const OTHER_FILES: usize = 512;

/// Raises the limit as far as possible, and returns how many of the `wanted` connections fit.
pub fn connections_that_fit(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    // If it fails the limit stays as it is, and is read again.
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
