//! Joining and leaving a conversation; the caller has locked it. Either falls between two messages, never in
//! the middle of one.

use db::Tx;

use crate::error::Result;
use crate::features::chat::conversations::store::{self as conversations, ConversationRow};
use crate::features::chat::events;
use crate::features::chat::members::store::{self, MemberRow};
use crate::features::chat::model::{Member, MemberUser};
use crate::features::users;
use crate::storage::signed::Links;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

/// The row of a user who is a member from now on, and whether they were none before. `new`: the row for a
/// first-time member.
pub fn enter(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: &ConversationRow,
    new: MemberRow,
) -> Result<(MemberRow, bool)> {
    let at = conversation.moment(new.updated_at);
    let row = match store::find(tx, project, new.conversation_id, new.user_id)? {
        Some(row) if row.is_active => return Ok((row, false)),
        Some(row) => {
            let MemberRow { role, updated_at, .. } = new;
            let (is_active, left_at, last_read_at) = (true, None, Some(at));
            let back = MemberRow { role, updated_at, is_active, left_at, last_read_at, ..row };
            store::update(tx, project, &back)?;
            store::read_up_to(tx, project, &back, at, back.updated_at)?;
            back
        }
        None => {
            let new = MemberRow { last_read_at: Some(at), ..new };
            store::insert(tx, project, &new)?;
            new
        }
    };
    conversations::count_members(tx, project, conversation.id, 1)?;
    conversations::note_time(tx, project, conversation.id, at)?;
    Ok((row, true))
}

/// To all members.
pub fn announce_joined(tx: &Tx<'_>, links: &Links, row: &MemberRow) -> Result<()> {
    let people = users::model::shown(tx, links, vec![row.user_id])?;
    let user = people.get(&row.user_id).map(MemberUser::from);
    let member = Member { user, ..Member::new(links.project, row) };
    events::member_joined(tx, links.project, row.conversation_id, row.user_id, &member)
}

pub fn leave(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: &ConversationRow,
    row: MemberRow,
    now: Timestamp,
) -> Result<()> {
    let at = conversation.moment(now);
    let row = MemberRow { is_active: false, left_at: Some(at), updated_at: now, ..row };
    store::update(tx, project, &row)?;
    conversations::count_members(tx, project, conversation.id, -1)?;
    conversations::note_time(tx, project, conversation.id, at)?;
    events::member_left(tx, project, conversation.id, row.user_id)
}
