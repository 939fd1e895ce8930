//! Create Direct Conversation and Create Group Conversation.

use std::collections::HashSet;

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::blocks::filter;
use crate::features::chat::conversations::store::{self, ConversationRow};
use crate::features::chat::members::store::{self as members, MemberRow};
use crate::features::chat::model::{Conversation, Member};
use crate::features::chat::rules::{Description, Kind, Name, Role};
use crate::features::chat::{INVALID_MEMBER, events, show};
use crate::features::entities::rules::{Metadata, to_json};
use crate::features::projects::Project;
use crate::features::users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::{Created, FoundOrCreated};
use crate::ids::{ConversationId, ConversationMemberId, ProjectId, UserId, new_id};
use crate::time::Timestamp;

/// Who may be put into a group at once.
const MOST_MEMBERS: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewDirect {
    /// The other one.
    user_id: UserId,
}

pub(super) async fn create_direct(
    call: Call<Actor>,
    Body(new): Body<NewDirect>,
) -> Result<FoundOrCreated<Conversation>> {
    let (project, actor, other, now) =
        (call.project.clone(), call.caller.user, new.user_id, call.now);
    let id = ConversationId(new_id(now, &call.app.random));
    let rows = [actor, other].map(|user| {
        MemberRow::new(id, user, ConversationMemberId(new_id(now, &call.app.random)), now)
    });
    let made = call.app.db.write(move |tx| {
        if actor == other {
            return Err(INVALID_MEMBER.into());
        }
        if let Some(found) = store::of_pair(tx, project.id, actor, other)? {
            return existing(tx, project.id, &found, actor, now).map(FoundOrCreated::Found);
        }
        if !is_there(tx, &project, actor, other)? {
            return Err(INVALID_MEMBER.into());
        }
        let row = ConversationRow {
            created_by_id: Some(actor),
            first_id: Some(actor.min(other)),
            second_id: Some(actor.max(other)),
            member_count: 2,
            ..ConversationRow::new(id, Kind::Direct, now)
        };
        if !store::insert(tx, project.id, &row)? {
            // Made by the other one a moment ago.
            let found = store::of_pair(tx, project.id, actor, other)?;
            let found = found.ok_or_else(|| Error::internal("the pair's conversation is gone"))?;
            return existing(tx, project.id, &found, actor, now).map(FoundOrCreated::Found);
        }
        rows.iter().try_for_each(|member| members::insert(tx, project.id, member))?;
        let own = Member::own(project.id, &rows[0], now);
        Conversation::of(project.id, &row, Some(own)).map(FoundOrCreated::Created)
    });
    made.await
}

/// A user whom the actor may begin to talk to.
fn is_there(tx: &Tx<'_>, project: &Project, actor: UserId, other: UserId) -> Result<bool> {
    let found = users::store::keep(tx, project.id, other)?;
    Ok(found.is_some() && !filter::hides(tx, project, Some(actor), other)?)
}

fn existing(
    tx: &Tx<'_>,
    project: ProjectId,
    row: &ConversationRow,
    actor: UserId,
    now: Timestamp,
) -> Result<Conversation> {
    let own = members::find(tx, project, row.id, actor)?;
    Conversation::of(project, row, own.map(|own| Member::own(project, &own, now)))
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
) -> Result<Created<Conversation>> {
    let GroupType::Group = new.r#type;
    let (project, actor, now, links) =
        (call.project.clone(), call.caller.user, call.now, call.links());
    let mut seen = HashSet::from([actor]);
    let mut others = new.member_ids;
    others.retain(|user| seen.insert(*user));
    if others.len() >= MOST_MEMBERS {
        return Err(INVALID_MEMBER.because("memberIds: at most 1000"));
    }
    let id = ConversationId(new_id(now, &call.app.random));
    // They all join at once; the order of their ids is the one in which they are listed.
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
        metadata: JsonText(to_json(&new.metadata.unwrap_or_default())),
        member_count: i64::try_from(rows.len()).unwrap_or(i64::MAX),
        ..ConversationRow::new(id, Kind::Group, now)
    };
    let made = call.app.db.write(move |tx| {
        if users::store::keep_all(tx, project.id, &others)? != others.len() {
            return Err(INVALID_MEMBER.into());
        }
        store::insert(tx, project.id, &row)?;
        rows.iter().try_for_each(|member| members::insert(tx, project.id, member))?;
        let previews = others.iter().map(|user| {
            let preview = show::previews(tx, &links, &[id], *user, now)?.pop();
            Ok(preview.map(|preview| (*user, preview)))
        });
        let previews = previews.collect::<Result<Vec<_>>>()?;
        events::created(tx, project.id, &previews.into_iter().flatten().collect::<Vec<_>>())?;
        let own = Member::own(project.id, &rows[0], now);
        Conversation::of(project.id, &row, Some(own))
    });
    made.await.map(Created)
}
