//! `townhall secret …`

use clap::Subcommand;
use serde_json::json;

use crate::cli::{Admin, CommandResult, Output, confirm};
use crate::installation::{self, Fingerprint};
use crate::start;

#[derive(Debug, Subcommand)]
pub(super) enum SecretCommand {
    /// Go on with a secret key other than the one this database was used with
    Accept {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(super) fn run(command: &SecretCommand, admin: &Admin) -> CommandResult {
    let SecretCommand::Accept { yes } = command;
    confirm("With another secret every session and every signed address ends.", *yes)?;
    let fingerprint = Fingerprint::of(&start::secret(&admin.config, &admin.world.random)?);
    admin.write(move |tx| installation::store::replace_secret(tx, &fingerprint))?;
    let text = "accepted: servers start with this secret from now on\n".to_owned();
    Ok(Output::new(text, json!({ "accepted": true })))
}
