//! Create Direct Conversation and Create Group Conversation.

use std::collections::HashSet;

use db::JsonText;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::chat::conversations::store::{self, ConversationRow};
use crate::features::chat::members::store::{self as members, MemberRow};
use crate::features::chat::model::{Conversation, NewConversation};
use crate::features::chat::rules::{Description, Kind, Name, Role};
use crate::features::chat::{INVALID_MEMBER, events, show};
use crate::features::users;
use crate::features::visibility::store::blocks;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::{Created, FoundOrCreated};
use crate::values::ids::{ConversationId, ConversationMemberId, UserId, new_id};
use crate::values::metadata::{Metadata, to_json};

/// The first members of a group.
const MAX_MEMBERS: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewDirect {
    /// The other user.
    user_id: UserId,
}

pub(super) async fn create_direct(
    call: Call<Actor>,
    Body(new): Body<NewDirect>,
) -> Result<FoundOrCreated<Conversation>> {
    let (project, links, actor, now) =
        (call.project.clone(), call.links(), call.caller.user, call.now);
    let other = new.user_id;
    let row = ConversationRow {
        created_by_id: Some(actor),
        first_id: Some(actor.min(other)),
        second_id: Some(actor.max(other)),
        member_count: 2,
        ..ConversationRow::new(ConversationId(new_id(now, &call.app.random)), Kind::Direct, now)
    };
    let members = [actor, other].map(|user| {
        let id = ConversationMemberId(new_id(now, &call.app.random));
        MemberRow::new(row.id, user, id, now)
    });
    let made = call.app.db.write(move |tx| {
        // Locks both users until the conversation is written: neither may be unknown, and they must differ.
        if users::store::lock_all_shared(tx, project.id, &[actor, other])?.len() < 2 {
            return Err(INVALID_MEMBER.into());
        }
        let there = || store::of_pair(tx, project.id, actor, other);
        if there()?.is_none() && blocks::is_blocked_between(tx, &project, Some(actor), other)? {
            return Err(INVALID_MEMBER.into());
        }
        if store::insert(tx, project.id, &row, &JsonText("{}".to_owned()))? {
            members.iter().try_for_each(|member| members::insert(tx, project.id, member))?;
            let shown = show::own_conversation(tx, &links, &row, Some(&members[0]), now);
            return shown.map(FoundOrCreated::Created);
        }
        let found = there()?.ok_or_else(|| Error::internal("the pair's conversation is gone"))?;
        let own = members::find(tx, project.id, found.id, actor)?;
        let shown = show::own_conversation(tx, &links, &found, own.as_ref(), now);
        shown.map(FoundOrCreated::Found)
    });
    made.await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewGroup {
    r#type: GroupType,
    name: Option<Name>,
    description: Option<Description>,
    #[serde(default)]
    #[schemars(length(max = 1000))]
    member_ids: Vec<UserId>,
    metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum GroupType {
    Group,
}

pub(super) async fn create_group(
    call: Call<Actor>,
    Body(new): Body<NewGroup>,
) -> Result<Created<NewConversation>> {
    let GroupType::Group = new.r#type;
    let (project, actor, now, links) = (call.project.id, call.caller.user, call.now, call.links());
    let mut seen = HashSet::from([actor]);
    let mut others = new.member_ids;
    others.retain(|user| seen.insert(*user));
    if others.len() >= MAX_MEMBERS {
        return Err(INVALID_MEMBER.because("memberIds: at most 1000"));
    }
    let id = ConversationId(new_id(now, &call.app.random));
    // All join at the same time; they are listed in the order of their ids.
    let mut ids: Vec<_> = seen.iter().map(|_| new_id(now, &call.app.random)).collect();
    ids.sort_unstable();
    let roles = std::iter::once(Role::Admin).chain(std::iter::repeat(Role::Member));
    let people = std::iter::once(actor).chain(others.iter().copied());
    let rows = people.zip(roles).zip(ids).map(|((user, role), own)| MemberRow {
        role: Some(role),
        ..MemberRow::new(id, user, ConversationMemberId(own), now)
    });
    let rows: Vec<MemberRow> = rows.collect();
    let row = ConversationRow {
        name: new.name.map(Name::into_text),
        description: new.description.map(Description::into_text),
        created_by_id: Some(actor),
        member_count: i64::try_from(rows.len()).unwrap_or(i64::MAX),
        ..ConversationRow::new(id, Kind::Group, now)
    };
    let metadata = JsonText(to_json(&new.metadata.unwrap_or_default()));
    let made = call.app.db.write(move |tx| {
        let all: Vec<UserId> = rows.iter().map(|row| row.user_id).collect();
        if users::store::lock_all_shared(tx, project, &all)?.len() != all.len() {
            return Err(INVALID_MEMBER.into());
        }
        store::insert(tx, project, &row, &metadata)?;
        rows.iter().try_for_each(|member| members::insert(tx, project, member))?;
        events::created(tx, &links, id, &others, now)?;
        let conversation = show::own_conversation(tx, &links, &row, rows.first(), now)?;
        Ok(NewConversation { conversation, unread_count: 0, last_message: None })
    });
    made.await.map(Created)
}
