//! The installation: how it does, its settings and where they came from, mails that were not sent anywhere.

use std::path::Path;

use maud::html;

use crate::error::{Error, Result};
use crate::features::admin::layout;
use crate::features::admin::pages::health;
use crate::features::admin::visit::Visit;
use crate::http::reply::Response;

const MAILS: usize = 20;
const COMMANDS: [&str; 11] = [
    "backup",
    "restore",
    "verify",
    "copy",
    "export",
    "import",
    "migrate",
    "upgrade",
    "secret",
    "doctor --deep",
    "audit --verify",
];

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let health = health::whole(&visit).await?;
    let stats = visit.app.db.stats();
    let config = &visit.app.config;
    let outbox = if config.smtp_url.is_none() {
        let directory = config.data_dir.join("outbox");
        tokio::task::spawn_blocking(move || newest(&directory)).await.map_err(Error::internal)?
    } else {
        Vec::new()
    };
    let content = html! {
        dl {
            dt { "Version" } dd { (env!("CARGO_PKG_VERSION")) }
            dt { "Database" } dd { (format!("{:?}", visit.app.db.engine())) }
            dt { "Requests waiting for the database" } dd { (stats.queue_depth) }
        }
        (health)
        section aria-labelledby="commands" {
            h2 #commands { "By the command line alone" }
            p { "What stops, replaces or moves the whole installation stays with the shell of the machine, where files and the other "
                "database are: " @for command in COMMANDS { code { "townhall " (command) } " " } }
        }
        section aria-labelledby="settings" {
            h2 #settings { "Settings" }
            div.scroll tabindex="0" role="region" aria-label="Table of settings" { table {
                thead { tr { th { "Variable" } th { "Value" } th { "From" } } }
                tbody { @for setting in &config.settings { tr {
                    td { code { (setting.variable) } } td { (setting.value) } td { (setting.source) }
                } } }
            } }
        }
        @if !outbox.is_empty() {
            section aria-labelledby="mails" {
                h2 #mails { "Mails that are kept here, because no mail server is set" }
                @for (name, text) in &outbox { details { summary { (name) } pre tabindex="0" { (text) } } }
            }
        }
    };
    Ok(layout::page(&visit, "System", &content))
}

/// The newest mails of the outbox.
fn newest(directory: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    names.retain(|path| path.extension().is_some_and(|end| end == "eml"));
    names.sort();
    let newest = names.into_iter().rev().take(MAILS);
    newest
        .filter_map(|path| {
            let text = std::fs::read_to_string(&path).ok()?;
            Some((path.file_name()?.to_string_lossy().into_owned(), text))
        })
        .collect()
}
