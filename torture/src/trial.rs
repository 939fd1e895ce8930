//! The inputs and the results of a trial.

use std::path::PathBuf;

#[derive(Debug)]
pub struct Setup {
    /// The server's program.
    pub program: PathBuf,
    pub seed: u64,
    pub kills: u32,
    pub requests: u32,
}

/// The one figure of a trial.
#[derive(Debug)]
pub struct Figure {
    pub holds: bool,
    pub text: String,
}

impl Figure {
    pub fn new(holds: bool, text: String) -> Self {
        Figure { holds, text }
    }
}
