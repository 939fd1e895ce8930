//! What packages bring along, made from the declaration of the commands itself: completions and man pages.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;

use crate::cli::{Cli, CommandResult, Output};

pub(super) fn completions(shell: Shell) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "townhall", &mut script);
    let script = String::from_utf8(script).map_err(|error| error.to_string())?;
    let json = json!({ "shell": shell.to_string(), "script": script });
    Ok(Output::new(script, json))
}

/// One page for each command, named as those of `git` are: `townhall-project-create.1`.
pub(super) fn man_pages(directory: &Path) -> CommandResult {
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory));
    written.map_err(|error| format!("{}: {error}", directory.display()))?;
    let shown = directory.display().to_string();
    Ok(Output::new(format!("the pages are in {shown}\n"), json!({ "directory": shown })))
}
