//! The numbers of open reports and appeals, sent whenever they change while the queue is open in a browser.

use std::time::Duration;

use serde_json::json;

use crate::error::{Error, Result};
use crate::features::admin::visit::Visit;
use crate::features::moderation::appeals;
use crate::features::moderation::queue::Filter;
use crate::http::events::{self, Sender};
use crate::http::reply::{Reply as _, Response};
use crate::state::App;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Browsers connect again by themselves. By then the session may have ended.
const LONGEST: u32 = 150;
/// An unchanged number is sent again, so that a client that is gone is noticed.
const KEEP_ALIVE: u32 = 7;

/// What waits for a moderator.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// With a plus where there are more.
    pub open: String,
    appeals: i64,
    total: i64,
}

impl Waiting {
    pub async fn count(app: &App, project: ProjectId, now: Timestamp) -> Result<Self> {
        let counted = app.db.read_slow(move |c| {
            let reports = Filter::default().count(c, project, now)?;
            Ok::<_, Error>((reports, appeals::store::count_open(c, project)?))
        });
        let ((open, is_capped), appeals) = counted.await?;
        let text = format!("{open}{}", if is_capped { "+" } else { "" });
        Ok(Waiting { open: text, appeals, total: open + appeals })
    }

    /// Behind the number of reports.
    pub fn appeals_text(&self) -> String {
        match self.appeals {
            0 => String::new(),
            1 => " · 1 appeal".to_owned(),
            many => format!(" · {many} appeals"),
        }
    }
}

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
        let waiting = Waiting::count(app, project, app.clock.now()).await?;
        if last.as_ref() != Some(&waiting) || turn % KEEP_ALIVE == 0 {
            let shown = json!({
                "open": waiting.open, "appeals": waiting.appeals_text(), "waiting": waiting.total,
            });
            if !sender.send("open-items", &shown).await? {
                return Ok(());
            }
            last = Some(waiting);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = app.draining() => return Ok::<_, Error>(()),
        }
    }
    Ok(())
}
