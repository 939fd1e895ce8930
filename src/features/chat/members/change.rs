//! Add Member, Remove Member, Update Member Role and Leave Conversation. Each locks the conversation first,
//! so that a group never loses its last admin.

use db::Tx;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::chat::events::{self, Done};
use crate::features::chat::members::presence;
use crate::features::chat::members::store::{self, MemberRow};
use crate::features::chat::membership::{self, ConversationMember};
use crate::features::chat::model::Member;
use crate::features::chat::rules::{Kind, Role};
use crate::features::chat::{
    CANNOT_LEAVE_DM, INVALID_MEMBER, INVALID_TYPE, InConversation, LAST_ADMIN, MEMBER_NOT_FOUND,
    NOT_IN_IT,
};
use crate::features::users;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::{FoundOrCreated, Json};
use crate::values::ids::{ConversationId, ConversationMemberId, ProjectId, UserId, new_id};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AddMember {
    user_id: UserId,
}

pub(super) async fn add(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<InConversation>, Body<AddMember>),
) -> Result<FoundOrCreated<Member>> {
    let (links, actor, now) = (call.links(), call.caller.user, call.now);
    let id = ConversationMemberId(new_id(now, &call.app.random));
    let added = call.app.db.write(move |tx| {
        let project = links.project;
        let standing = group(tx, project, path.conversation_id, actor)?;
        let conversation = standing.conversation.id;
        let user = users::store::lock_shared(tx, project, body.user_id)?.ok_or(INVALID_MEMBER)?;
        let new = MemberRow {
            role: Some(Role::Member),
            ..MemberRow::new(conversation, user.id, id, now)
        };
        let (row, has_come) = presence::enter(tx, project, &standing.conversation, new)?;
        let member = Member::new(project, &row);
        if !has_come {
            return Ok(FoundOrCreated::Found(member));
        }
        // A new member gets the conversation itself before any event in it.
        events::created(tx, &links, conversation, &[row.user_id], now)?;
        presence::announce_joined(tx, &links, &row)?;
        Ok::<_, Error>(FoundOrCreated::Created(member))
    });
    added.await
}

/// Locks the group for one of its admins.
fn group(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ConversationId,
    actor: UserId,
) -> Result<ConversationMember> {
    let standing = membership::holder(tx, project, id, actor)?;
    if standing.conversation.kind != Kind::Group {
        return Err(INVALID_TYPE.into());
    }
    standing.require_admin()?;
    Ok(standing)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OneMember {
    conversation_id: ConversationId,
    user_id: UserId,
}

pub(super) async fn remove(call: Call<Actor>, Path(path): Path<OneMember>) -> Result<Json<Done>> {
    let (project, actor, now) = (call.project.id, call.caller.user, call.now);
    let removed = call.app.db.write(move |tx| {
        let standing = group(tx, project, path.conversation_id, actor)?;
        let row = active(tx, project, standing.conversation.id, path.user_id)?;
        keep_an_admin(tx, project, &row)?;
        presence::leave(tx, project, &standing.conversation, row, now)
    });
    removed.await?;
    Ok(Json(Done { message: "Member removed" }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ConversationMemberRole")]
pub(super) struct NewRole {
    role: Role,
}

pub(super) async fn set_role(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<OneMember>, Body<NewRole>),
) -> Result<Json<Member>> {
    let (project, actor, now) = (call.project.id, call.caller.user, call.now);
    let changed = call.app.db.write(move |tx| {
        let standing = group(tx, project, path.conversation_id, actor)?;
        let row = active(tx, project, standing.conversation.id, path.user_id)?;
        if body.role == Role::Member {
            keep_an_admin(tx, project, &row)?;
        }
        let row = MemberRow { role: Some(body.role), updated_at: now, ..row };
        store::update(tx, project, &row)?;
        Ok::<_, Error>(Member::new(project, &row))
    });
    changed.await.map(Json)
}

pub(super) async fn leave(
    call: Call<Actor>,
    Path(path): Path<InConversation>,
) -> Result<Json<Done>> {
    let (project, actor, now) = (call.project.id, call.caller.user, call.now);
    let left = call.app.db.write(move |tx| {
        let standing = membership::holder(tx, project, path.conversation_id, actor)?;
        if standing.conversation.kind == Kind::Direct {
            return Err(CANNOT_LEAVE_DM.into());
        }
        let ConversationMember { conversation, member } = standing.require_active(NOT_IN_IT)?;
        keep_an_admin(tx, project, &member)?;
        presence::leave(tx, project, &conversation, member, now)
    });
    left.await?;
    Ok(Json(Done { message: "Left the conversation" }))
}

fn active(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
    user: UserId,
) -> Result<MemberRow> {
    let found = store::find(tx, project, conversation, user)?.filter(|row| row.is_active);
    found.ok_or_else(|| MEMBER_NOT_FOUND.into())
}

fn keep_an_admin(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    if row.is_admin() && store::admins(tx, project, row.conversation_id)? <= 1 {
        return Err(LAST_ADMIN.into());
    }
    Ok(())
}
