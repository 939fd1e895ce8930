//! What follows a positive grant: the recipient is notified, and the members of a conversation receive an event.

use db::Tx;
use serde_json::{Map, Value, json};

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::grants::model::{Grants, ReputationGrant};
use crate::features::grants::rules::Source;
use crate::features::grants::store::GrantRow;
use crate::features::grants::targets::Target;
use crate::features::notifications::{self, About, Notification, Subject};
use crate::features::spaces::store as spaces;
use crate::features::users::store::UserRow;
use crate::realtime;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{NotificationId, new_id, short_id};
use crate::values::metadata::to_json;

/// To the recipient. Blocks do not matter: with a block nothing is given.
pub(super) fn recipient(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    grant: &GrantRow,
    sender: Option<&UserRow>,
    target: Option<&Target>,
) -> Result<()> {
    if !project.has(Bundle::Notifications) {
        return Ok(());
    }
    let mut keys = target.map_or_else(Map::new, |target| target.keys.clone());
    let mut put = |name: &str, value: Value| keys.insert(name.to_owned(), value);
    put("grantId", json!(grant.id));
    put("amount", grant.amount.into());
    put("sourceType", json!(grant.source_type));
    put("note", grant.note.clone().into());
    put("granterId", json!(grant.sender_id));
    put("granterName", sender.and_then(|sender| sender.name.clone()).into());
    put("granterUsername", sender.and_then(|sender| sender.username.clone()).into());
    put("granterForeignId", sender.and_then(|sender| sender.foreign_id.clone()).into());
    put("granterAvatar", sender.and_then(|sender| sender.avatar.clone()).into());
    put("targetType", json!(grant.target_type));
    put("targetId", json!(grant.target_id));
    if let Some(space) = grant.space_id {
        let slug = spaces::find(tx, project.id, space)?.and_then(|space| space.slug);
        put("spaceId", json!(space));
        put("spaceShortId", short_id(space.0).into());
        put("spaceSlug", slug.into());
    }
    let without_target = match grant.source_type {
        Source::User => "open-profile",
        Source::App => "do-nothing",
    };
    let now = grant.created_at;
    let notice = Notification {
        id: NotificationId(new_id(now, &app.random)),
        user: grant.recipient_id,
        kind: "reputation-grant",
        action: target.map_or(without_target, |target| target.action),
        metadata: to_json(&keys).into(),
        about: About {
            subject: target.map_or(Subject::Recipient, |target| target.subject),
            space: target.and_then(|target| target.space),
            actor: grant.sender_id,
        },
    };
    notifications::add(tx, Context { app, project, now }, &[notice])
}

/// To the members of the conversation that the message is in.
pub(super) fn members(
    tx: &Tx<'_>,
    project: &Project,
    grant: &GrantRow,
    summary: Option<Grants>,
) -> Result<()> {
    let Some((conversation, summary)) = grant.conversation_id.zip(summary) else { return Ok(()) };
    let payload = json!({
        "messageId": grant.target_id,
        "conversationId": conversation,
        "grant": ReputationGrant::new(grant.clone())?,
        "summary": { "total": summary.total, "count": summary.count },
    });
    realtime::in_conversation(tx, project.id, conversation, ("message:grant", &payload), None)
}
