//! The installation: how it does, its settings and where they came from, mails that were not sent anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use maud::{Markup, html};

use crate::error::{Error, Result};
use crate::features::admin::commands::{COMMANDS, Reach};
use crate::features::admin::layout::{self, time};
use crate::features::admin::pages::health;
use crate::features::admin::visit::{INVALID, Visit};
use crate::http::operation::Operations;
use crate::http::reply::Response;
use crate::installation::store as installation;
use crate::values::time::Timestamp;

const MAILS: usize = 20;

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let health = health::whole(&visit).await?;
    let asked = visit
        .app
        .db
        .read(|c| Ok::<_, Error>((installation::last_backup(c)?, installation::backup_asked(c)?)));
    let (last_backup, backup_asked) = asked.await?;
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
        (backups(&visit, last_backup, backup_asked))
        section aria-labelledby="commands" {
            h2 #commands { "By the command line alone" }
            table {
                thead { tr { th { "Command" } th { "Why" } } }
                tbody { @for (command, why) in in_shell() { tr { td { code { "townhall " (command) } } td { (why) } } } }
            }
        }
        (limits(&visit))
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

/// Commands that have no page.
fn in_shell() -> impl Iterator<Item = (&'static str, &'static str)> {
    COMMANDS.iter().filter_map(|(command, reach)| match reach {
        Reach::Shell(why) => Some((*command, *why)),
        Reach::Page(_) => None,
    })
}

fn backups(visit: &Visit, last: Option<Timestamp>, asked: Option<Timestamp>) -> Markup {
    html! {
        section aria-labelledby="backups" {
            h2 #backups { "Backups" }
            @match &visit.app.config.backup {
                None => p { "None are made by themselves: set " code { "TOWNHALL_BACKUP_EVERY" } " and " code { "TOWNHALL_BACKUP_TO" } "." },
                Some(schedule) => {
                    p { "To " code { (schedule.to) } ", every " (hours(schedule.every)) ". The last verified one began "
                        @match last { Some(at) => (time(at)), None => "never" } "." }
                    @if asked > last { p role="status" { "One was asked for and begins within half a minute." } }
                    @else { (layout::button(visit, "/admin/backup", &[], "Make one now")) }
                }
            }
        }
    }
}

/// How often each network may call an operation, strictest first.
fn limits(visit: &Visit) -> Markup {
    let all = visit.app.lists.of::<Operations>().first().map_or(&[][..], |all| all.0);
    let mut limits: BTreeMap<(Duration, u32), BTreeSet<&str>> = BTreeMap::new();
    for operation in all {
        if let Some(rate) = operation.rate {
            limits.entry((rate.window, rate.max)).or_default().insert(operation.name);
        }
    }
    html! {
        section aria-labelledby="limits" {
            h2 #limits { "Limits" }
            @for ((window, max), names) in &limits {
                details { summary { (max) " requests in " (hours(*window)) ": " (names.len()) " operations" }
                    p { @for (n, name) in names.iter().enumerate() { @if n > 0 { ", " } (name) } }
                }
            }
        }
    }
}

fn hours(every: Duration) -> String {
    match every.as_secs() {
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// A node that makes scheduled backups makes one as soon as it looks.
pub(super) async fn back_up(visit: Visit) -> Result<Response> {
    if visit.app.config.backup.is_none() {
        return Err(INVALID.because("No place for backups is set: TOWNHALL_BACKUP_TO."));
    }
    let (entry, now) = (visit.entry("Make Backup", ""), visit.now);
    visit.write(entry, move |tx| installation::ask_for_backup(tx, now)).await?;
    layout::see_other("/admin/system#backups")
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
