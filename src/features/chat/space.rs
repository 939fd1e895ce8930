//! The conversation of a space: Get Space Conversation, which creates it on the first request, and what
//! happens to it when a member leaves the space or the space is deleted.

use db::{Conn, JsonText, Tx};
use http::Method;

use crate::auth::caller::ActorOrKey;
use crate::error::Result;
use crate::features::chat::conversations::purge;
use crate::features::chat::conversations::store::{self, ConversationRow};
use crate::features::chat::members::presence;
use crate::features::chat::members::store::{self as members, MemberRow};
use crate::features::chat::model::Conversation;
use crate::features::chat::rules::{Kind, Posting};
use crate::features::chat::{ACTS_AS, BANNED, INVALID, NOT_A_MEMBER, show};
use crate::features::spaces::observer::SpaceObserver;
use crate::features::spaces::rules::Status;
use crate::features::spaces::store::access;
use crate::features::spaces::{self, SpacePath};
use crate::http::input::Path;
use crate::http::operation::{Call, Operation};
use crate::http::reply::Json;
use crate::rate_limits::RateLimit;
use crate::storage::signed::Links;
use crate::tenancy::Bundle;
use crate::values::ids::{
    ConversationId, ConversationMemberId, ProjectId, SpaceId, UserId, new_id,
};
use crate::values::time::Timestamp;

pub(super) fn operations() -> Vec<Operation> {
    // Older clients use the path below `/chat`.
    let paths = [
        ("/spaces/{spaceId}/conversation", "Get Space Conversation"),
        ("/chat/spaces/{spaceId}/conversation", "Get Space Conversation in Chat"),
    ];
    let operation = |(path, name)| {
        Operation::new(Method::GET, path, name, "chat", INVALID, fetch)
            .rate(RateLimit::per_5_minutes(300))
            .also_needs(Bundle::Spaces)
            .acts_as(ACTS_AS)
            .errors(&[spaces::NOT_FOUND, NOT_A_MEMBER, BANNED])
    };
    paths.map(operation).into()
}

async fn fetch(call: Call<ActorOrKey>, Path(path): Path<SpacePath>) -> Result<Json<Conversation>> {
    let (links, user, now, space) = (call.links(), call.caller.user(), call.now, path.space_id);
    let there = call.app.db.read({
        let links = links.clone();
        move |c| found(c, &links, space, user, now)
    });
    if let Some(conversation) = there.await? {
        return Ok(Json(conversation));
    }
    let id = ConversationId(new_id(now, &call.app.random));
    let own = ConversationMemberId(new_id(now, &call.app.random));
    let made = call.app.db.write(move |tx| {
        let project = links.project;
        // Locks the space, so that nobody is banned meanwhile and only one request creates the conversation.
        let space = spaces::store::lock(tx, project, space)?.ok_or(spaces::NOT_FOUND)?;
        permit(tx, project, space.id, user)?;
        let row = match store::lock_of_spaces(tx, project, &[space.id])?.pop() {
            Some(row) => row,
            None => {
                let row = ConversationRow {
                    name: Some(space.name),
                    space_id: Some(space.id),
                    posting_permission: Some(Posting::Members),
                    ..ConversationRow::new(id, Kind::Space, now)
                };
                store::insert(tx, project, &row, &JsonText("{}".to_owned()))?;
                row
            }
        };
        let Some(user) = user else { return show::own_conversation(tx, &links, &row, None, now) };
        if access::waits(tx, project, space.id, user)? {
            let member = members::find(tx, project, row.id, user)?;
            return show::own_conversation(tx, &links, &row, member.as_ref(), now);
        }
        let new = MemberRow::new(row.id, user, own, now);
        let (member, has_come) = presence::enter(tx, project, &row, new)?;
        if has_come {
            presence::announce_joined(tx, &links, &member)?;
        }
        let row = ConversationRow { member_count: row.member_count + i64::from(has_come), ..row };
        show::own_conversation(tx, &links, &row, Some(&member), now)
    });
    made.await.map(Json)
}

/// None if something has to be written first.
fn found(
    c: &Conn<'_>,
    links: &Links,
    space: SpaceId,
    user: Option<UserId>,
    now: Timestamp,
) -> Result<Option<Conversation>> {
    let project = links.project;
    let space = spaces::store::find(c, project, space)?.ok_or(spaces::NOT_FOUND)?;
    permit(c, project, space.id, user)?;
    let Some(row) = store::of_space(c, project, space.id)? else { return Ok(None) };
    let member = match user {
        Some(user) => members::find(c, project, row.id, user)?,
        None => None,
    };
    let is_in = member.as_ref().is_some_and(|member| member.is_active);
    if let Some(user) = user
        && !is_in
        && !access::waits(c, project, space.id, user)?
    {
        return Ok(None);
    }
    show::own_conversation(c, links, &row, member.as_ref(), now).map(Some)
}

/// Members of the space, users who wait for approval, and a key that names no user. Users who wait cannot
/// join while only members may read the space.
fn permit(c: &Conn<'_>, project: ProjectId, space: SpaceId, user: Option<UserId>) -> Result<()> {
    let Some(user) = user else { return Ok(()) };
    let standing = spaces::store::standing(c, project, space, user)?;
    match standing.map(|standing| standing.status) {
        Some(Status::Active | Status::Pending) => Ok(()),
        Some(Status::Banned) => Err(BANNED.into()),
        Some(Status::Rejected) | None => Err(NOT_A_MEMBER.into()),
    }
}

/// Keeps the conversation of a space in step with its members.
#[derive(Debug)]
pub struct SpaceConversations;

impl SpaceObserver for SpaceConversations {
    fn member_left(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        space: SpaceId,
        user: UserId,
        now: Timestamp,
    ) -> Result<()> {
        for conversation in store::lock_of_spaces(tx, project, &[space])? {
            let member = members::find(tx, project, conversation.id, user)?;
            if let Some(member) = member.filter(|member| member.is_active) {
                presence::leave(tx, project, &conversation, member, now)?;
            }
        }
        Ok(())
    }

    /// Pending members leave the conversation.
    fn closed_to_strangers(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        space: SpaceId,
        now: Timestamp,
    ) -> Result<()> {
        for conversation in store::lock_of_spaces(tx, project, &[space])? {
            for member in members::waiting(tx, project, conversation.id, space)? {
                presence::leave(tx, project, &conversation, member, now)?;
            }
        }
        Ok(())
    }
}

/// The caller has locked the spaces and deletes them.
pub fn hide(tx: &Tx<'_>, project: ProjectId, spaces: &[SpaceId], now: Timestamp) -> Result<()> {
    let all = store::lock_of_spaces(tx, project, spaces)?;
    all.iter().try_for_each(|row| purge::hide(tx, project, row, now))
}
