//! Create Report: a user reports content. Report Message is the same under the path of older clients.

use db::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::auth::caller::ActorOrKey;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::chat::{InMessage, MESSAGE_NOT_FOUND, membership};
use crate::features::comments::store as comments;
use crate::features::comments::visibility::is_reachable;
use crate::features::entities::store as entities;
use crate::features::entities::visibility;
use crate::features::moderation::reports::model::{Reason, TargetType};
use crate::features::moderation::reports::store::{self, Added, NewReport};
use crate::features::moderation::reports::{
    INVALID_BODY, MISSING_USER_ID, SELF_REPORT, TARGET_NOT_FOUND,
};
use crate::features::spaces::store::access;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::FoundOrCreated;
use crate::http::version::Version;
use crate::values::ids::{
    ChatMessageId, CommentId, ConversationId, EntityId, ProjectId, ReportEntryId, ReportId,
    SpaceId, UserId, new_id,
};

const LONGEST_DETAILS: usize = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportRequest {
    /// An entity, a comment or a message.
    target_id: EntityId,
    target_type: NamedType,
    reason: Reason,
    details: Option<String>,
}

/// v6 clients also send `Entity` and `Comment`.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline, with = "TargetType")]
enum NamedType {
    Name(TargetType),
    Older(OlderName),
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum OlderName {
    Entity,
    Comment,
}

impl NamedType {
    fn in_version(self, version: Version) -> Result<TargetType> {
        match self {
            NamedType::Name(kind) => Ok(kind),
            NamedType::Older(name) if version == Version::V6 => Ok(match name {
                OlderName::Entity => TargetType::Entity,
                OlderName::Comment => TargetType::Comment,
            }),
            NamedType::Older(_) => {
                Err(INVALID_BODY.because("targetType: entity, comment or message"))
            }
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReportConfirmation")]
pub(super) struct Reported {
    message: &'static str,
    code: &'static str,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MessageReport {
    reason: Reason,
    details: Option<String>,
}

pub(super) async fn create_report(
    call: Call<ActorOrKey>,
    Body(request): Body<ReportRequest>,
) -> Result<FoundOrCreated<Reported>> {
    let target = request.target_type.in_version(call.version)?;
    report(call, target, request, None).await
}

pub(super) async fn report_message(
    call: Call<ActorOrKey>,
    (Path(path), Body(body)): (Path<InMessage>, Body<MessageReport>),
) -> Result<FoundOrCreated<Reported>> {
    let MessageReport { reason, details } = body;
    let target_id = EntityId(path.message_id.0);
    let target_type = NamedType::Name(TargetType::Message);
    let request = ReportRequest { target_id, target_type, reason, details };
    report(call, TargetType::Message, request, Some(path.conversation_id)).await
}

/// `within`: the conversation that the message must be in.
async fn report(
    call: Call<ActorOrKey>,
    target_type: TargetType,
    request: ReportRequest,
    within: Option<ConversationId>,
) -> Result<FoundOrCreated<Reported>> {
    let details = request.details.filter(|text| !text.trim().is_empty());
    if details.as_ref().is_some_and(|text| text.chars().count() > LONGEST_DETAILS) {
        return Err(INVALID_BODY.because("details: must have at most 10000 characters"));
    }
    let reporter = call.caller.user().ok_or(MISSING_USER_ID)?;
    let new = NewReport {
        report: ReportId(new_id(call.now, &call.app.random)),
        entry: ReportEntryId(new_id(call.now, &call.app.random)),
        target_type,
        target: request.target_id.0,
        reporter,
        reason: request.reason,
        details,
    };
    let (project, now) = (call.project.id, call.now);
    let added = call.app.db.write(move |tx| {
        let kind = new.target_type;
        if let Some(conversation) = within {
            membership::holds(tx, project, conversation, ChatMessageId(new.target), new.reporter)?;
        }
        let unknown = || match within {
            Some(_) => MESSAGE_NOT_FOUND.into(),
            None => TARGET_NOT_FOUND.because(format!("{} not found", kind.name())),
        };
        let target = find(tx, project, kind, new.target, new.reporter)?.ok_or_else(unknown)?;
        if target.author == Some(new.reporter) {
            let why = format!("You cannot report your own {}.", kind.name());
            return Err(SELF_REPORT.because(why));
        }
        store::add(tx, project, &new, (target.author, target.space), now)
    });
    Ok(match added.await? {
        Added::Opened => FoundOrCreated::Created(Reported {
            message: "Report created successfully.",
            code: "report/created",
        }),
        Added::Joined => FoundOrCreated::Found(Reported {
            message: "Report added to the open one.",
            code: "report/updated",
        }),
        Added::Repeated => FoundOrCreated::Found(Reported {
            message: "You have already reported this.",
            code: "report/already-reported",
        }),
    })
}

struct Reportable {
    author: Option<UserId>,
    space: Option<SpaceId>,
}

/// Content that exists for the reporter, including content that is removed or behind a block.
fn find(
    tx: &Tx<'_>,
    project: ProjectId,
    kind: TargetType,
    id: Uuid,
    reporter: UserId,
) -> Result<Option<Reportable>> {
    let perspective = Perspective::User(reporter);
    let found = match kind {
        // Locked against deletion, so that no report is left without its content.
        TargetType::Entity => entities::lock_shared(tx, project, EntityId(id))?
            .filter(|row| visibility::is_published_for(perspective, row))
            .map(|row| Reportable { author: row.user_id, space: row.space_id }),
        TargetType::Comment => {
            let found = comments::find(tx, project, CommentId(id))?;
            let there =
                found.filter(|row| row.user_deleted_at.is_none() && is_reachable(row, perspective));
            there.map(|row| Reportable { author: row.user_id, space: row.space_id })
        }
        TargetType::Message => {
            let found = membership::reported(tx, project, ChatMessageId(id), reporter)?;
            return Ok(found.map(|(row, space)| Reportable { author: row.user_id, space }));
        }
    };
    Ok(match found {
        Some(Reportable { author, space })
            if access::may_read(tx, project, space, author, perspective)? =>
        {
            Some(Reportable { author, space })
        }
        _ => None,
    })
}
