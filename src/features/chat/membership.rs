//! Permissions in a conversation. All operations and the sockets ask here.

use db::{Conn, Tx};

use crate::auth::caller::ActorOrKey;
use crate::error::{Error, Fault, Result};
use crate::features::chat::conversations::store::{self as conversations, ConversationRow};
use crate::features::chat::members::store::{self as members, MemberRow};
use crate::features::chat::messages::store::{self as messages, MessageRow};
use crate::features::chat::rules::{Kind, Posting};
use crate::features::chat::{FORBIDDEN, MESSAGE_NOT_FOUND, NOT_A_MEMBER, NOT_FOUND};
use crate::features::spaces;
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::permissions::Permissions;
use crate::features::spaces::rules::{Posting as SpacePosting, Reading, Status};
use crate::features::spaces::store::access;
use crate::features::visibility::store::blocks;
use crate::realtime::Act;
use crate::tenancy::Project;
use crate::values::ids::{ChatMessageId, ConversationId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// A conversation, and the row of a user who is or was a member.
#[derive(Debug, Clone)]
pub struct ConversationMember {
    pub conversation: ConversationRow,
    pub member: MemberRow,
}

impl ConversationMember {
    /// Messages written after a member left are hidden from them.
    pub fn sees(&self, at: Timestamp) -> bool {
        self.member.is_active || self.member.left_at.is_some_and(|left| at <= left)
    }

    /// Whether they have left and wait for approval in a members-only space: until then they cannot read what
    /// they could read before. Users who wait are never active members of such a conversation.
    pub fn waits(&self, c: &Conn<'_>, project: ProjectId) -> Result<bool> {
        match self.conversation.space_id {
            Some(space) if !self.member.is_active => {
                access::waits(c, project, space, self.member.user_id)
            }
            _ => Ok(false),
        }
    }

    pub fn require_active(self, fault: Fault) -> Result<Self> {
        if self.member.is_active { Ok(self) } else { Err(fault.into()) }
    }

    /// An admin of a group, still a member.
    pub fn require_admin(&self) -> Result<()> {
        if self.member.is_admin() { Ok(()) } else { Err(NOT_A_MEMBER.into()) }
    }

    /// Refuses members who may not write now: there is a block between the two of a direct conversation, or
    /// the space does not allow them to post.
    pub fn require_posting(&self, c: &Conn<'_>, project: &Project) -> Result<()> {
        if self.is_frozen(c, project)? {
            return Err(NOT_FOUND.into());
        }
        let Some(space) = self.conversation.space_id else { return Ok(()) };
        let standing = spaces::store::standing(c, project.id, space, self.member.user_id)?;
        let posting = match self.conversation.posting_permission {
            Some(Posting::Admins) => SpacePosting::Admins,
            Some(Posting::Members) | None => SpacePosting::Members,
        };
        let allowed = Permissions::new(Reading::Members, posting, standing);
        if allowed.can_post { Ok(()) } else { Err(FORBIDDEN.into()) }
    }

    /// Nobody can write in a direct conversation while there is a block between the two.
    pub fn is_frozen(&self, c: &Conn<'_>, project: &Project) -> Result<bool> {
        match self.conversation.other(self.member.user_id) {
            Some(other) if self.conversation.kind == Kind::Direct => {
                blocks::is_blocked_between(c, project, Some(self.member.user_id), other)
            }
            _ => Ok(false),
        }
    }
}

/// The conversation for a user who has a row in it, active or not.
pub fn seen(
    c: &Conn<'_>,
    project: ProjectId,
    id: ConversationId,
    user: UserId,
) -> Result<Option<ConversationMember>> {
    let Some(member) = members::find(c, project, id, user)? else { return Ok(None) };
    let conversation = conversations::find(c, project, id)?;
    Ok(conversation.map(|conversation| ConversationMember { conversation, member }))
}

/// The conversation for a user who may read it.
pub fn reader(
    c: &Conn<'_>,
    project: ProjectId,
    id: ConversationId,
    user: UserId,
) -> Result<ConversationMember> {
    let standing = seen(c, project, id, user)?.ok_or(NOT_A_MEMBER)?;
    if standing.waits(c, project)? { Err(NOT_A_MEMBER.into()) } else { Ok(standing) }
}

/// The conversation for an active member.
pub fn participant(
    c: &Conn<'_>,
    project: ProjectId,
    id: ConversationId,
    user: UserId,
) -> Result<ConversationMember> {
    reader(c, project, id, user)?.require_active(NOT_A_MEMBER)
}

/// The conversation, locked, for a user who may write: they stay a member until the transaction ends.
pub fn writer(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ConversationId,
    user: UserId,
) -> Result<ConversationMember> {
    let conversation = conversations::lock(tx, project, id)?.ok_or(NOT_A_MEMBER)?;
    let member = members::find(tx, project, id, user)?.ok_or(NOT_A_MEMBER)?;
    ConversationMember { conversation, member }.require_active(NOT_A_MEMBER)
}

/// The conversation, locked, for a user who is or was a member. Not found for everybody else.
pub fn holder(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ConversationId,
    user: UserId,
) -> Result<ConversationMember> {
    let conversation = conversations::lock(tx, project, id)?.ok_or(NOT_FOUND)?;
    let member = members::find(tx, project, id, user)?.ok_or(NOT_FOUND)?;
    Ok(ConversationMember { conversation, member })
}

/// The conversation and the user's row in it, for everybody who is or was a member. For the conversation of a
/// space: for everybody who belongs to the space, even before they join the conversation.
pub fn known(
    c: &Conn<'_>,
    project: ProjectId,
    id: ConversationId,
    user: UserId,
) -> Result<(ConversationRow, Option<MemberRow>)> {
    let conversation = conversations::find(c, project, id)?.ok_or(NOT_FOUND)?;
    let member = own_row(c, project, &conversation, user)?;
    Ok((conversation, member))
}

fn own_row(
    c: &Conn<'_>,
    project: ProjectId,
    conversation: &ConversationRow,
    user: UserId,
) -> Result<Option<MemberRow>> {
    let member = members::find(c, project, conversation.id, user)?;
    let is_there = is_there(c, project, conversation, member.is_some(), user)?;
    if is_there { Ok(member) } else { Err(NOT_FOUND.into()) }
}

/// Whether a user may know of the conversation.
pub fn knows(
    c: &Conn<'_>,
    project: ProjectId,
    conversation: &ConversationRow,
    user: UserId,
) -> Result<bool> {
    let member = members::find(c, project, conversation.id, user)?;
    is_there(c, project, conversation, member.is_some(), user)
}

fn is_there(
    c: &Conn<'_>,
    project: ProjectId,
    conversation: &ConversationRow,
    has_row: bool,
    user: UserId,
) -> Result<bool> {
    Ok(match conversation.space_id {
        Some(space) => {
            let standing = spaces::store::standing(c, project, space, user)?;
            let belongs = |status| matches!(status, Status::Active | Status::Pending);
            standing.is_some_and(|standing| belongs(standing.status))
                || authority(c, project, space, user)? > Authority::None
        }
        None => has_row,
    })
}

fn authority(c: &Conn<'_>, project: ProjectId, space: SpaceId, user: UserId) -> Result<Authority> {
    match spaces::store::find(c, project, space)? {
        Some(space) => authority::authority(c, project, &space, ActorOrKey::User(user)),
        None => Ok(Authority::None),
    }
}

/// The space of the conversation, if the member is a moderator of it.
pub fn moderated(
    c: &Conn<'_>,
    project: ProjectId,
    standing: &ConversationMember,
) -> Result<Option<SpaceId>> {
    let Some(space) = standing.conversation.space_id else { return Ok(None) };
    let held = authority(c, project, space, standing.member.user_id)?;
    Ok((held >= Authority::Moderator).then_some(space))
}

/// Locks a conversation that the user may change or delete: as an admin of the group, or with the authority
/// it takes in the space.
pub fn managed(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ConversationId,
    user: UserId,
    (least, of_two): (Authority, Fault),
) -> Result<ConversationRow> {
    let conversation = conversations::lock(tx, project, id)?.ok_or(NOT_FOUND)?;
    let member = own_row(tx, project, &conversation, user)?;
    let may = match (conversation.kind, conversation.space_id) {
        (Kind::Direct, _) => return Err(of_two.into()),
        (_, Some(space)) => authority(tx, project, space, user)? >= least,
        (_, None) => member.is_some_and(|member| member.is_admin()),
    };
    if may { Ok(conversation) } else { Err(NOT_A_MEMBER.into()) }
}

/// A message that the reader may see.
pub fn message(
    c: &Conn<'_>,
    project: ProjectId,
    standing: &ConversationMember,
    id: ChatMessageId,
) -> Result<MessageRow> {
    let found = messages::find(c, project, id)?;
    let seen = found.filter(|row| {
        row.conversation_id == standing.conversation.id
            && !row.is_removed
            && standing.sees(row.created_at)
    });
    seen.ok_or_else(|| MESSAGE_NOT_FOUND.into())
}

/// Locks a message that its author is about to change. Refused while there is a block between the two.
pub fn lock_message(
    tx: &Tx<'_>,
    project: &Project,
    standing: &ConversationMember,
    id: ChatMessageId,
) -> Result<MessageRow> {
    if standing.is_frozen(tx, project)? {
        return Err(MESSAGE_NOT_FOUND.into());
    }
    let found = messages::lock(tx, project.id, id)?;
    let there = found.filter(|row| row.conversation_id == standing.conversation.id);
    there.ok_or_else(|| Error::from(MESSAGE_NOT_FOUND))
}

/// Refuses users who are not in the conversation, and messages of another one.
pub fn holds(
    c: &Conn<'_>,
    project: ProjectId,
    conversation: ConversationId,
    message: ChatMessageId,
    user: UserId,
) -> Result<()> {
    reader(c, project, conversation, user)?;
    let found = messages::find(c, project, message)?;
    let is_in = found.is_some_and(|row| row.conversation_id == conversation);
    if is_in { Ok(()) } else { Err(MESSAGE_NOT_FOUND.into()) }
}

/// The target of a report: the message and its space, if any. Both are locked against deletion; removed
/// messages can be reported, too.
pub fn reported(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ChatMessageId,
    user: UserId,
) -> Result<Option<(MessageRow, Option<SpaceId>)>> {
    let found = messages::find(tx, project, id)?.filter(|row| row.user_deleted_at.is_none());
    let Some(row) = found else { return Ok(None) };
    let Some(conversation) = conversations::lock_shared(tx, project, row.conversation_id)? else {
        return Ok(None);
    };
    let member = members::find(tx, project, conversation.id, user)?.ok_or(NOT_A_MEMBER)?;
    let standing = ConversationMember { conversation, member };
    if standing.waits(tx, project)? {
        return Err(NOT_A_MEMBER.into());
    }
    let is_seen = standing.sees(row.created_at);
    Ok(is_seen.then_some((row, standing.conversation.space_id)))
}

/// Whether a user may see the files of a message.
pub fn sees_files(
    c: &Conn<'_>,
    project: ProjectId,
    id: ChatMessageId,
    user: UserId,
) -> Result<bool> {
    let Some(row) = messages::find(c, project, id)? else { return Ok(false) };
    let Some(standing) = seen(c, project, row.conversation_id, user)? else { return Ok(false) };
    let is_seen = !row.is_removed && standing.sees(row.created_at);
    Ok(is_seen && !standing.waits(c, project)?)
}

/// Whether a user may join the room of a conversation and send typing events.
pub fn may(
    c: &Conn<'_>,
    project: &Project,
    (user, conversation): (UserId, ConversationId),
    act: Act,
) -> Result<bool> {
    let standing = seen(c, project.id, conversation, user)?;
    match standing.filter(|standing| standing.member.is_active) {
        None => Ok(false),
        Some(standing) => Ok(act == Act::Enter || !standing.is_frozen(c, project)?),
    }
}
