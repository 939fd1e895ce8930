//! How this server does: what it has answered in the last hour, what waits, and what should be seen to.

use maud::{Markup, html};

use crate::error::Result;
use crate::features::admin::charts::{bars, seconds, tile};
use crate::features::admin::layout::time;
use crate::features::admin::visit::Visit;
use crate::features::server::checks::{self, Health};
use crate::metrics::recent::Minute;
use crate::values::time::Timestamp;

/// A few numbers, and what is wrong.
pub(super) async fn summary(visit: &Visit) -> Result<Markup> {
    let health = checks::health(&visit.app).await?;
    let minutes = visit.app.metrics.recent.minutes(visit.now);
    let wrong: Vec<_> = health.findings.iter().filter(|(_, finding)| finding.is_err()).collect();
    Ok(html! {
        section aria-labelledby="server" {
            h2 #server { "This server" }
            @for (name, finding) in wrong { @if let Err(why) = finding { p.notice { strong { (name) } ": " (why) } } }
            (tiles(&Minute::sum(&minutes), &health))
            p { a href="/admin/system" { "More" } }
        }
    })
}

fn tiles(hour: &Minute, health: &Health) -> Markup {
    let p95 = hour.p95_millis().map_or_else(|| "–".to_owned(), |millis| format!("≤ {millis} ms"));
    let (waiting, overdue, _) = health.jobs.unwrap_or_default();
    html! {
        div.tiles {
            (tile("Requests in the last hour", &hour.requests.to_string()))
            (tile("of them 429", &hour.limited.to_string()))
            (tile("of them 5xx", &hour.failed.to_string()))
            (tile("p95", &p95))
            (tile("Jobs waiting", &waiting.to_string()))
            (tile("First job due since", &seconds(overdue)))
        }
    }
}

/// Everything, for the page of the system.
pub(super) async fn whole(visit: &Visit) -> Result<Markup> {
    let health = checks::health(&visit.app).await?;
    let minutes = visit.app.metrics.recent.minutes(visit.now);
    let by_minute = |of: fn(&Minute) -> u64| -> Vec<(String, i64)> {
        let named = minutes
            .iter()
            .map(|minute| (clock(minute), i64::try_from(of(minute)).unwrap_or(i64::MAX)));
        named.collect()
    };
    Ok(html! {
        (tiles(&Minute::sum(&minutes), &health))
        p.hint { "Of this node alone, since it started. Prometheus has everything: see " code { "/metrics" } "." }
        section aria-labelledby="requests" {
            h2 #requests { "Requests a minute" }
            (bars("Requests a minute", "Minute", &by_minute(|minute| minute.requests)))
        }
        section aria-labelledby="failures" {
            h2 #failures { "5xx a minute" }
            (bars("5xx a minute", "Minute", &by_minute(|minute| minute.failed)))
        }
        section aria-labelledby="checks" {
            h2 #checks { "Checks" }
            table {
                thead { tr { th { "Check" } th { "Result" } } }
                tbody {
                    @for (name, finding) in &health.findings { tr {
                        td { (name) }
                        td { @match finding { Ok(text) => { (text) } Err(why) => { strong.wrong { "Attention: " } (why) } } }
                    } }
                    tr { td { "last verified backup" } td { @match health.last_backup { Some(at) => (time(at)), None => "none" } } }
                }
            }
            p.hint { code { "townhall doctor" } " checks more: the mail server, the storage, counters, and with "
                code { "--deep" } " everything that is stored." }
        }
    })
}

/// Hour and minute.
fn clock(minute: &Minute) -> String {
    let text = Timestamp::from_millis(minute.number * 60_000).to_string();
    text.get(11..16).unwrap_or_default().to_owned()
}
