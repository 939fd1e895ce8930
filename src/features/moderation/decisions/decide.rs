//! Deciding: one transaction that stores the decisions, takes their reports out of the queue and enqueues the job
//! that applies them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use db::Tx;
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::appeals::AppealState;
use crate::features::moderation::appeals::store::{self as appeals, CaseRow as AppealCase};
use crate::features::moderation::decisions::apply::ApplyDecisions;
use crate::features::moderation::decisions::model::{
    Action, Decision, DecisionState, Item, Outcome, Refused, RefusedItem, Verdict,
};
use crate::features::moderation::decisions::store::{self, CaseRow, WrittenRow};
use crate::features::moderation::decisions::{LONGEST_REASON, MAX_ITEMS, UNDO_FOR};
use crate::features::moderation::queue::model::ClaimRow;
use crate::features::moderation::reports::model::Status;
use crate::features::moderation::target::{Target, TargetKind};
use crate::features::moderation::{Moderator, TEXT_TOO_LONG, TOO_MANY_ITEMS};
use crate::jobs;
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{DecisionId, JobId, ProjectId, ReportId, new_id};
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// Decides about items of the queue, or about content and users found elsewhere. It takes effect after
/// [`UNDO_FOR`]. Items that cannot be decided are returned with the reason; the others are decided.
pub async fn decide(
    app: &App,
    project: &Arc<Project>,
    by: &Moderator,
    items: &[Item],
    action: Action,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<Outcome> {
    let request = Request::new(project.id, by, items, (action, reason), (now, &app.random))?;
    app.db.write(move |tx| request.record(tx)).await
}

/// What is to be decided.
#[derive(Debug)]
pub struct Request {
    project: ProjectId,
    by: Moderator,
    action: Action,
    reason: Option<String>,
    now: Timestamp,
    /// Each with the id of its decision.
    items: Vec<(Item, DecisionId)>,
    job: JobId,
}

/// What an item is about.
#[derive(Clone, Copy)]
struct Subject<'a> {
    target: Target,
    written: WrittenRow,
    report: Option<&'a CaseRow>,
    appeal: Option<&'a AppealCase>,
}

impl Request {
    /// Refused if there is too much of it.
    pub fn new(
        project: ProjectId,
        by: &Moderator,
        items: &[Item],
        (action, reason): (Action, Option<&str>),
        (now, random): (Timestamp, &Random),
    ) -> Result<Self> {
        if items.len() > MAX_ITEMS {
            return Err(TOO_MANY_ITEMS.into());
        }
        let reason = Request::reason(reason)?;
        let id = |_| DecisionId(new_id(now, random));
        Ok(Request {
            project,
            by: by.clone(),
            action,
            reason,
            now,
            items: items.iter().copied().zip((0..).map(id)).collect(),
            job: JobId(new_id(now, random)),
        })
    }

    /// None if it is blank; refused if it is too long.
    pub(super) fn reason(given: Option<&str>) -> Result<Option<String>> {
        let reason = given.map(str::trim).filter(|reason| !reason.is_empty());
        if reason.is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
            return Err(TEXT_TOO_LONG.into());
        }
        Ok(reason.map(str::to_owned))
    }

    /// Stores the decisions and the job that applies them.
    pub fn record(&self, tx: &Tx<'_>) -> Result<Outcome> {
        let facts = self.load(tx)?;
        let (mut outcome, mut seen) = (Outcome::default(), HashSet::new());
        for (item, id) in &self.items {
            let subject = facts.subject(*item).and_then(|subject| {
                let key = subject.report.map_or(subject.target.id, |report| report.id.0);
                let key = subject.appeal.map_or(key, |appeal| appeal.id.0);
                self.permit(&subject)?;
                if seen.insert(key) { Ok(subject) } else { Err(Refused::AlreadyDecided) }
            });
            match subject {
                Ok(subject) => outcome.decided.push(self.decision(*id, subject)),
                Err(why) => outcome.refused.push(RefusedItem::new(*item, why)),
            }
        }
        outcome.decided.iter().try_for_each(|new| store::insert(tx, self.project, new))?;
        if !outcome.decided.is_empty() {
            let ids = outcome.decided.iter().map(|decision| decision.id).collect();
            let payload = jobs::payload(&ApplyDecisions { ids })?;
            let due = self.now.plus(UNDO_FOR);
            jobs::store::insert(tx, self.project, self.job, &payload, due, self.now)?;
        }
        Ok(outcome)
    }

    /// Locks the reports, in the order of their ids, and reads who wrote what has none.
    fn load(&self, tx: &Tx<'_>) -> Result<Facts> {
        let targets = self.items.iter().filter_map(|(item, _)| match item {
            Item::Target(target) => Some(*target),
            Item::Report(_) | Item::Appeal(_) => None,
        });
        let targets: Vec<Target> = targets.collect();
        let mut reports: Vec<ReportId> = self
            .items
            .iter()
            .filter_map(|(item, _)| match item {
                Item::Report(id) => Some(*id),
                Item::Target(_) | Item::Appeal(_) => None,
            })
            .collect();
        let ids = targets.iter().map(|target| target.id).collect();
        reports.extend(
            store::open_of_targets(tx, self.project, ids)?.into_iter().map(|(_, report)| report),
        );
        let appealed = self.items.iter().filter_map(|(item, _)| match item {
            Item::Appeal(id) => Some(*id),
            Item::Report(_) | Item::Target(_) => None,
        });
        // Lock order: appeals, with their decisions, before reports.
        let appeals = appeals::lock(tx, self.project, &appealed.collect::<Vec<_>>())?;
        let cases = store::lock_reports(tx, self.project, &reports)?;
        let mut written = HashMap::new();
        for kind in [TargetKind::Entity, TargetKind::Comment, TargetKind::Message, TargetKind::User]
        {
            let of_kind = targets.iter().filter(|target| target.kind == kind);
            let ids = of_kind.map(|target| target.id).collect();
            for row in store::written(tx, self.project, kind, ids)? {
                written.insert((kind, row.id), row);
            }
        }
        Ok(Facts { cases, appeals, written })
    }

    fn permit(&self, subject: &Subject<'_>) -> Result<(), Refused> {
        if let Some(appeal) = subject.appeal {
            return self.permit_appeal(appeal);
        }
        if let Some(report) = subject.report {
            if report.status != Status::Open || report.decision_id.is_some() {
                return Err(Refused::AlreadyDecided);
            }
            self.permit_claim(&report.claim)?;
        }
        let verdict = self.action.verdict();
        let needs_content = matches!(verdict, Verdict::Approve | Verdict::Remove);
        if needs_content && subject.target.kind == TargetKind::User {
            return Err(Refused::NotContent);
        }
        if !needs_content && subject.written.user_id.is_none() {
            return Err(Refused::NoAuthor);
        }
        Ok(())
    }

    fn permit_claim(&self, claim: &ClaimRow) -> Result<(), Refused> {
        match claim.by_another(self.by.operator, self.now) {
            Some(by) => Err(Refused::Claimed { by }),
            None => Ok(()),
        }
    }

    fn permit_appeal(&self, appeal: &AppealCase) -> Result<(), Refused> {
        if appeal.state != AppealState::Open || appeal.outcome_id.is_some() {
            return Err(Refused::AlreadyDecided);
        }
        self.permit_claim(&appeal.claim)?;
        match self.action {
            Action::Approve | Action::Remove => Ok(()),
            Action::Suspend(_) | Action::Warn => Err(Refused::NotForAppeal),
        }
    }

    /// Of an appeal, approving means that the decision is taken back.
    fn verdict(&self, subject: &Subject<'_>) -> Verdict {
        match self.action.verdict() {
            verdict if subject.appeal.is_none() => verdict,
            Verdict::Approve => Verdict::Reverse,
            _ => Verdict::Uphold,
        }
    }

    fn decision(&self, id: DecisionId, subject: Subject<'_>) -> Decision {
        let action = self.verdict(&subject);
        let Subject { target, written, report, appeal } = subject;
        let apply_at = self.now.plus(UNDO_FOR);
        Decision {
            id,
            report_id: report.map(|report| report.id),
            target_type: target.kind,
            target_id: target.id,
            author_id: written.user_id,
            space_id: written.space_id,
            action,
            ends_at: self.action.ends_at(apply_at),
            reason: self.reason.clone(),
            rule_id: report.and_then(|report| report.rule_id),
            operator_id: self.by.operator,
            decided_by: self.by.name.clone(),
            decided_at: self.now,
            apply_at,
            state: DecisionState::Pending,
            error: None,
            appeal_id: appeal.map(|appeal| appeal.id),
            is_strike: true,
        }
    }
}

/// What is known of the items.
struct Facts {
    cases: Vec<CaseRow>,
    appeals: Vec<AppealCase>,
    written: HashMap<(TargetKind, Uuid), WrittenRow>,
}

impl Facts {
    fn subject(&self, item: Item) -> Result<Subject<'_>, Refused> {
        match item {
            Item::Report(id) => {
                let found = self.cases.iter().find(|report| report.id == id);
                found.map(Self::of_report).ok_or(Refused::NotFound)
            }
            Item::Appeal(id) => {
                let found = self.appeals.iter().find(|appeal| appeal.id == id);
                found.map(Self::of_appeal).ok_or(Refused::NotFound)
            }
            Item::Target(target) => {
                let report = self.cases.iter().find(|report| {
                    (report.target_type, report.target_id) == (target.kind, target.id)
                        && report.status == Status::Open
                });
                let written = self.written.get(&(target.kind, target.id));
                let written = *written.ok_or(Refused::NotFound)?;
                Ok(Subject { target, written, report, appeal: None })
            }
        }
    }

    fn of_appeal(appeal: &AppealCase) -> Subject<'_> {
        let target = Target { kind: appeal.target_type, id: appeal.target_id };
        let AppealCase { author_id: user_id, space_id, .. } = *appeal;
        let written = WrittenRow { id: target.id, user_id, space_id };
        Subject { target, written, report: None, appeal: Some(appeal) }
    }

    fn of_report(report: &CaseRow) -> Subject<'_> {
        let target = Target { kind: report.target_type, id: report.target_id };
        let CaseRow { author_id: user_id, space_id, .. } = *report;
        let written = WrittenRow { id: target.id, user_id, space_id };
        Subject { target, written, report: Some(report), appeal: None }
    }
}
