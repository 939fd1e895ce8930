//! The OpenAPI documents: the server's, and each project's with its own tables. They are built on the first
//! request after a change and then cached.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;

use crate::auth::caller::OptionalViewer;
use crate::error::{Error, Result};
use crate::features::server::INVALID_QUERY;
use crate::features::server::document_cache::{Cell, Documents, Which};
use crate::features::tables::{self, store::catalogue};
use crate::http::openapi::{Additions, Document};
use crate::http::operation::{Call, Operations, ServerCall};
use crate::http::prepared::{Prepared, PreparedReply};
use crate::http::version::Version;
use crate::state::App;

#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "for the document alone")]
pub(super) struct DocumentQuery {
    /// One version alone: `v6`, `v7` or `v8`.
    version: Option<String>,
}

pub(super) async fn server_document(call: ServerCall) -> Result<PreparedReply> {
    let version = match call.query.get("version") {
        None => None,
        Some(name) => {
            let known = name.as_str().and_then(Version::from_segment);
            let unknown = || INVALID_QUERY.because("version: must be v6, v7 or v8");
            Some(known.ok_or_else(unknown)?)
        }
    };
    let document = shared(&call.app, Which::Server(version), 0).await?;
    Ok(PreparedReply { document, is_private: false })
}

/// The same document with the project's own tables, as far as the caller may see their rows.
pub(super) async fn project_document(call: Call<OptionalViewer>, (): ()) -> Result<PreparedReply> {
    let (project, audience) = (call.project.id, call.caller.into());
    let version = call.app.db.read(move |c| catalogue::version(c, project)).await?;
    let never_had_a_table = version == 0;
    let which =
        if never_had_a_table { Which::Server(None) } else { Which::Project(project, audience) };
    let document = shared(&call.app, which, version).await?;
    Ok(PreparedReply { document, is_private: true })
}

/// The document at this version of its catalogue.
async fn shared(app: &App, which: Which, version: i64) -> Result<Arc<Prepared>> {
    let cell = app.features.get::<Documents>().cell(which, version);
    let built = match cell.get() {
        Some(built) => built.clone(),
        // In a task of its own: a client that disconnects does not cancel what others wait for.
        None => {
            tokio::spawn(build_once(app.clone(), which, cell)).await.map_err(Error::internal)?
        }
    };
    built.ok_or(Error::Busy("the document could not be built"))
}

/// The first request builds; concurrent ones wait here.
async fn build_once(app: App, which: Which, cell: Cell) -> Option<Arc<Prepared>> {
    let building = cell.get_or_init(|| async {
        let built = build(&app, which).await;
        if let Err(error) = &built {
            tracing::error!(%error, ?which, "the OpenAPI document could not be built");
        }
        built.ok().map(Arc::new)
    });
    let built = building.await.clone();
    app.features.get::<Documents>().settle(which, &cell);
    built
}

/// All versions together; the tables of projects are added to it.
static BASE: OnceLock<Document> = OnceLock::new();

async fn build(app: &App, which: Which) -> Result<Prepared> {
    let documents = app.features.get::<Documents>();
    let _turn = documents.turn.acquire().await.map_err(Error::internal)?;
    // The version was read before, so the list is of that version or newer.
    let tables = match which {
        Which::Server(_) => Vec::new(),
        Which::Project(project, _) => app.db.read(move |c| catalogue::list(c, project)).await?,
    };
    let operations = app.lists.of::<Operations>().first().map_or(&[][..], |all| all.0);
    let built = tokio::task::spawn_blocking(move || match which {
        Which::Server(version) => {
            Prepared::json(Document::of(operations, version).to_json(&Additions::default())?)
        }
        Which::Project(_, audience) => {
            let base = BASE.get_or_init(|| Document::of(operations, None));
            Prepared::json(tables::openapi::described(base, &tables, audience)?)
        }
    });
    built.await.map_err(Error::internal)?
}
