//! The statement of reasons that an author gets about a decision: what was decided, why, on what grounds, and until
//! when they can object. It is a system notification, which every client shows, with the facts in one more key.

use db::Tx;
use serde_json::json;

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::moderation::decisions::model::{Decision, Verdict};
use crate::features::moderation::target::TargetKind;
use crate::features::notifications::{self, About, Notification};
use crate::tenancy::Bundle;
use crate::values::ids::NotificationId;

/// Notifies the author of a decision against them; the last write of its transaction.
pub(in crate::features::moderation) fn author(
    tx: &Tx<'_>,
    context: Context<'_>,
    decision: &Decision,
    id: NotificationId,
) -> Result<()> {
    let Some(user) = decision.author_id.filter(|_| decision.action != Verdict::Approve) else {
        return Ok(());
    };
    if !context.project.has(Bundle::Notifications) {
        return Ok(());
    }
    let notification = Notification {
        id,
        user,
        kind: "system",
        action: "do-nothing",
        metadata: statement(decision).into(),
        about: About::NOTHING,
    };
    notifications::add(tx, context, &[notification])
}

fn statement(decision: &Decision) -> String {
    let content = decision.reason.as_deref().unwrap_or("The moderators gave no reason.");
    let grounds = match (decision.rule_id, decision.report_id) {
        (Some(_), _) => "rule",
        (None, Some(_)) => "report",
        (None, None) => "moderator",
    };
    json!({
        "title": title(decision),
        "content": content,
        "buttonData": null,
        "moderation": {
            "decisionId": decision.id,
            "action": decision.action,
            "targetType": decision.target_type,
            "targetId": decision.target_id,
            "reason": decision.reason,
            "grounds": grounds,
            "ruleId": decision.rule_id,
            "isAutomated": decision.operator_id.is_none() && decision.rule_id.is_some(),
            "endsAt": decision.ends_at,
        },
    })
    .to_string()
}

fn title(decision: &Decision) -> String {
    let content = match decision.target_type {
        TargetKind::Entity => "post",
        TargetKind::Comment => "comment",
        TargetKind::Message => "message",
        TargetKind::User => "account",
    };
    match (decision.action, decision.ends_at) {
        (Verdict::Suspend, Some(end)) => format!("Your account is suspended until {end}"),
        (Verdict::Suspend, None) => "Your account is suspended".to_owned(),
        (Verdict::Remove, _) => format!("Your {content} was removed"),
        (Verdict::Warn | Verdict::Approve, _) => {
            format!("The moderators warn you because of your {content}")
        }
    }
}
