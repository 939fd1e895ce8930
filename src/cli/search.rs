//! `townhall search …`

use clap::Subcommand;
use serde_json::json;

use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::features::search::admin::{self, IndexStatus};
use crate::tenancy::{NOT_FOUND, Project, registry};
use crate::values::ids::ProjectId;

#[derive(Debug, Subcommand)]
pub(super) enum SearchCommand {
    /// The size of a project's search index, and what waits for it
    Status {
        #[arg(value_parser = project_id)]
        id: ProjectId,
    },
    /// Build a project's search index again; a running server does the work, otherwise the next one to start
    Reindex {
        #[arg(value_parser = project_id)]
        id: ProjectId,
    },
}

const NOT_INDEXED: &str =
    "the project has no search index: it lacks the bundle ai-search, or search is off";

pub(super) fn run(command: &SearchCommand, admin: &Admin) -> CommandResult {
    match command {
        SearchCommand::Status { id } => {
            let status = status(admin, &find(admin, *id)?)?;
            let IndexStatus { language, documents, words, blocks, .. } = &status;
            let IndexStatus { is_filled, block_bytes, vectors, waiting, .. } = &status;
            let state = if *is_filled { "complete" } else { "being filled" };
            let text = format!(
                "{documents} documents, {words} words, {blocks} blocks ({block_bytes} bytes), {vectors} vectors, \
                 {waiting} waiting; \
                 {language}, {state}\n"
            );
            let json = serde_json::to_value(&status).map_err(|error| error.to_string())?;
            Ok(Output::new(text, json))
        }
        SearchCommand::Reindex { id } => {
            let project = find(admin, *id)?;
            if !admin.block_on(Box::pin(admin::reindex(&admin.db, &project)))? {
                return Err(NOT_INDEXED.to_owned());
            }
            let text =
                "The index is built again by the running server, or the next one to start.\n";
            Ok(Output::new(text.to_owned(), json!({ "reindexing": true })))
        }
    }
}

fn find(admin: &Admin, id: ProjectId) -> CommandResult<Project> {
    admin.read(move |c| registry::load(c, id)?.ok_or(NOT_FOUND.into()))
}

fn status(admin: &Admin, project: &Project) -> CommandResult<IndexStatus> {
    let found = admin.block_on(Box::pin(admin::status(&admin.db, project)))?;
    found.ok_or_else(|| NOT_INDEXED.to_owned())
}
