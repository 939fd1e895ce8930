//! The number of open items, sent whenever it changes while the queue is open in a browser.

use std::time::Duration;

use serde_json::json;

use crate::error::{Error, Result};
use crate::features::admin::visit::Visit;
use crate::features::moderation::queue::Filter;
use crate::http::events::{self, Sender};
use crate::http::reply::{Reply as _, Response};
use crate::state::App;
use crate::values::ids::ProjectId;

const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Browsers connect again by themselves. By then the session may have ended.
const LONGEST: u32 = 150;
/// An unchanged number is sent again, so that a client that is gone is noticed.
const KEEP_ALIVE: u32 = 7;

pub(super) async fn events(visit: Visit) -> Result<Response> {
    let (sender, reply) = events::channel();
    let (app, project) = (visit.app.clone(), visit.project()?.id);
    tokio::spawn(async move {
        if let Err(error) = follow(&app, project, &sender).await {
            tracing::warn!(%error, "the queue could not be followed");
        }
    });
    reply.into_response()
}

async fn follow(app: &App, project: ProjectId, sender: &Sender) -> Result<()> {
    let mut last = None;
    for turn in 0..LONGEST {
        let now = app.clock.now();
        let counted = app.db.read_slow(move |c| Filter::default().count(c, project, now));
        let (open, is_capped) = counted.await?;
        if last != Some(open) || turn % KEEP_ALIVE == 0 {
            let text = format!("{open}{}", if is_capped { "+" } else { "" });
            if !sender.send("open-items", &json!({ "open": text })).await? {
                return Ok(());
            }
            last = Some(open);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = app.draining() => return Ok::<_, Error>(()),
        }
    }
    Ok(())
}
