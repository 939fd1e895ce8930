//! The statement of reasons that an author gets about a decision: what was restricted, why, on what ground, whether a
//! program decided, and how to object. It is a system notification, which every client shows, with the facts in one
//! more key; they are those that Article 17 of the Digital Services Act asks for.

use db::{Conn, Tx};
use serde_json::{Value, json};

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::moderation::appeals::{APPEAL_WITHIN, PATH};
use crate::features::moderation::decisions::model::{Decision, Verdict};
use crate::features::moderation::target::TargetKind;
use crate::features::notifications::{self, About, Notification};
use crate::features::spaces::store as spaces;
use crate::tenancy::Bundle;
use crate::values::ids::{NotificationId, ProjectId, UserId};
use crate::values::time::Timestamp;

const DEFAULT_GROUND: &str = "The terms and rules of this community";

/// Notifies the author of a decision against them; the last write of its transaction. Without statements of reasons only
/// a warning is sent, which is nothing else.
pub(in crate::features::moderation) fn author(
    tx: &Tx<'_>,
    context: Context<'_>,
    decision: &Decision,
    id: NotificationId,
) -> Result<()> {
    let is_told = match decision.action {
        Verdict::Warn => true,
        Verdict::Remove | Verdict::Suspend | Verdict::Ban => context.project.statements_of_reasons,
        Verdict::Approve | Verdict::Uphold | Verdict::Reverse => false,
    };
    match decision.author_id.filter(|_| is_told) {
        Some(user) => {
            let title = title(tx, context.project.id, decision)?;
            send(tx, context, user, id, metadata(context, decision, &title))
        }
        None => Ok(()),
    }
}

/// A system notification, if the project has notifications.
pub(in crate::features::moderation) fn send(
    tx: &Tx<'_>,
    context: Context<'_>,
    user: UserId,
    id: NotificationId,
    metadata: String,
) -> Result<()> {
    if !context.project.has(Bundle::Notifications) {
        return Ok(());
    }
    let notification = Notification {
        id,
        user,
        kind: notifications::SYSTEM,
        action: "do-nothing",
        metadata: metadata.into(),
        about: About::NOTHING,
    };
    notifications::add(tx, context, &[notification])
}

fn metadata(context: Context<'_>, decision: &Decision, title: &str) -> String {
    let content = decision.reason.as_deref().unwrap_or("The moderators gave no reason.");
    let mut moderation = json!({
        "decisionId": decision.id,
        "action": decision.action,
        "targetType": decision.target_type,
        "targetId": decision.target_id,
        "spaceId": decision.space_id,
        "reason": decision.reason,
        "grounds": source(decision),
        "ruleId": decision.rule_id,
        "isAutomated": is_automated(decision),
        "endsAt": decision.ends_at,
    });
    if context.project.statements_of_reasons {
        moderation["statement"] = statement(context, decision, content);
    }
    json!({ "title": title, "content": content, "buttonData": null, "moderation": moderation })
        .to_string()
}

fn statement(context: Context<'_>, decision: &Decision, facts: &str) -> Value {
    let texts = &context.project.statement;
    let (kind, scope) = match decision.action {
        Verdict::Suspend => ("suspension", "account"),
        Verdict::Warn => ("warning", "none"),
        Verdict::Ban => ("ban", "space"),
        _ => ("removal", "content"),
    };
    let until: Timestamp = decision.decided_at.plus(APPEAL_WITHIN);
    let can_appeal = context.project.has(Bundle::Moderation);
    let appeal = can_appeal.then(|| json!({ "method": "POST", "path": PATH, "until": until }));
    json!({
        "restriction": {
            "kind": kind,
            "scope": scope,
            "territory": "everywhere",
            "startsAt": context.now,
            "endsAt": decision.ends_at,
        },
        "facts": { "text": facts, "source": source(decision) },
        "automation": {
            "detection": decision.rule_id.is_some(),
            "decision": is_automated(decision),
        },
        "ground": {
            "kind": "contractual",
            "text": texts.ground.as_deref().unwrap_or(DEFAULT_GROUND),
        },
        "redress": {
            "appeal": appeal,
            "contact": texts.contact,
        },
    })
}

/// How the moderators came to know of it.
fn source(decision: &Decision) -> &'static str {
    match (decision.rule_id, decision.report_id) {
        (Some(_), _) => "rule",
        (None, Some(_)) => "report",
        (None, None) => "moderator",
    }
}

/// A rule has decided: no report, nobody who looked at it.
fn is_automated(decision: &Decision) -> bool {
    decision.rule_id.is_some() && decision.report_id.is_none()
}

fn title(c: &Conn<'_>, project: ProjectId, decision: &Decision) -> Result<String> {
    let content = match decision.target_type {
        TargetKind::Entity => "post",
        TargetKind::Comment => "comment",
        TargetKind::Message => "message",
        TargetKind::User => "account",
    };
    Ok(match (decision.action, decision.ends_at) {
        (Verdict::Suspend, Some(end)) => format!("Your account is suspended until {end}"),
        (Verdict::Suspend, None) => "Your account is suspended".to_owned(),
        (Verdict::Remove, _) => format!("Your {content} was removed"),
        (Verdict::Ban, _) => {
            let space = decision.space_id.map(|id| spaces::find(c, project, id));
            match space.transpose()?.flatten() {
                Some(space) => format!("You are banned from the space {}", space.name),
                None => "You are banned from a space".to_owned(),
            }
        }
        _ => format!("The moderators warn you because of your {content}"),
    })
}
