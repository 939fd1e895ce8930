//! What open sockets cost a server in memory.

use std::fmt;

use serde::Serialize;

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Memory {
    pub sockets: usize,
    /// Resident memory of the server for one of them, in kB.
    pub each_kb: f64,
    /// Of the server before they came, and when they had been there for a while.
    pub before_bytes: u64,
    pub after_bytes: u64,
    /// Answered in the measured time.
    pub pings: u64,
}

impl Memory {
    #[expect(clippy::cast_precision_loss, reason = "memory in kB")]
    pub fn new(sockets: usize, before_bytes: u64, after_bytes: u64, pings: u64) -> Self {
        let each_kb = (after_bytes as f64 - before_bytes as f64) / 1024.0 / sockets as f64;
        Memory { sockets, each_kb, before_bytes, after_bytes, pings }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { sockets, each_kb, before_bytes, after_bytes, pings } = self;
        let (before, after) = (before_bytes / 1024, after_bytes / 1024);
        write!(f, "{sockets} sockets: {each_kb:.1} kB each, RSS from {before} to {after} kB")?;
        write!(f, ", {pings} pings")
    }
}
