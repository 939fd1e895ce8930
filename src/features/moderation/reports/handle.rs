//! Handle Report: dismisses a report, or acts on it. Here by the project with a key; `in_space.rs` is for the
//! moderators of a space.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{ActorOrKey, KeyHolder};
use crate::error::Result;
use crate::features::moderation::reports::handler::{Handler, lock};
use crate::features::moderation::reports::store::{self, ReportRow};
use crate::features::moderation::reports::{
    INVALID_ACTIONS, INVALID_BODY, MISSING_FIELDS, NOT_FOUND, ReportPath,
};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::UserId;
use crate::values::time::Timestamp;

const LONGEST_TEXT: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ReportAction")]
enum Action {
    RemoveContent,
    BanUser,
    SuspendUser,
    Dismiss,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReportHandling")]
pub(super) struct Handling {
    /// `dismiss` alone, or any of the other actions.
    actions: BTreeSet<Action>,
    /// A summary of the action; required.
    summary: Option<String>,
    /// The user to suspend, with a reason.
    user_id: Option<UserId>,
    reason: Option<String>,
    /// Until when; for ever without it.
    end_date: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReportHandled")]
pub(super) struct Handled {
    pub message: &'static str,
    pub code: &'static str,
}

/// The actions to take, from any of the requests.
#[derive(Debug, Clone, Default)]
pub struct Orders {
    pub dismiss: bool,
    pub remove: bool,
    pub ban: bool,
    pub suspend: bool,
    pub summary: Option<String>,
    /// The summary is optional.
    pub is_brief: bool,
    /// The content to remove was named.
    pub names_target: bool,
    /// The user to ban or suspend, with a reason.
    pub user_id: Option<UserId>,
    pub reason: Option<String>,
    pub end_date: Option<Timestamp>,
}

impl Orders {
    /// Contradictory actions are refused before anything is loaded.
    pub fn check(&self) -> Result<()> {
        let acts = self.remove || self.ban || self.suspend;
        if !self.dismiss && !acts {
            return Err(INVALID_BODY.because("actions: must not be empty"));
        }
        if self.dismiss && acts {
            return Err(INVALID_ACTIONS.because("dismiss goes with no other action"));
        }
        for (name, text) in [("summary", &self.summary), ("reason", &self.reason)] {
            if text.as_ref().is_some_and(|text| text.chars().count() > LONGEST_TEXT) {
                let why = format!("{name}: must have at most {LONGEST_TEXT} characters");
                return Err(INVALID_BODY.because(why));
            }
        }
        let is_blank =
            |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
        if !self.is_brief && is_blank(&self.summary) {
            return Err(MISSING_FIELDS.because("summary is required"));
        }
        if self.remove && !self.names_target {
            return Err(MISSING_FIELDS.because("the id of the content is required"));
        }
        if (self.suspend || self.ban) && (self.user_id.is_none() || is_blank(&self.reason)) {
            return Err(MISSING_FIELDS.because("userId and reason are required"));
        }
        Ok(())
    }

    /// Whether the content changes: it must be locked before the report.
    pub fn concerns_content(&self, report: &ReportRow) -> bool {
        self.remove || (self.dismiss && report.is_held)
    }
}

pub(super) async fn handle_report(
    call: Call<KeyHolder>,
    (Path(path), Body(handling)): (Path<ReportPath>, Body<Handling>),
) -> Result<Json<Handled>> {
    let has = |action| handling.actions.contains(&action);
    let orders = Orders {
        dismiss: has(Action::Dismiss),
        remove: has(Action::RemoveContent),
        ban: has(Action::BanUser),
        suspend: has(Action::SuspendUser),
        summary: handling.summary,
        user_id: handling.user_id,
        reason: handling.reason,
        end_date: handling.end_date,
        is_brief: false,
        names_target: true,
    };
    orders.check()?;
    let key = ActorOrKey::Key { user: None };
    let (project, handler) =
        (call.project.id, Handler::new(&call.app, &call.project, key, call.now));
    let handled = call.app.db.write(move |tx| {
        let report = store::find(tx, project, path.report_id)?.ok_or(NOT_FOUND)?;
        if orders.ban && report.space_id.is_none() {
            return Err(INVALID_ACTIONS.because("the report belongs to no space"));
        }
        // Lock order: the content before the report.
        let content = if orders.concerns_content(&report) {
            Some(lock(tx, project, report.target_type, report.target_id)?)
        } else {
            None
        };
        handler.handle(tx, &report, content, &orders)
    });
    handled.await?;
    Ok(Json(Handled { message: "Report handled successfully.", code: "report/handled" }))
}
