//! Conversations for the scenarios of chat: a hall with many messages, groups to write into, and one user
//! with a thousand conversations. Written through the server's own stores.

use std::sync::Arc;
use std::time::Duration;

use db::{Db, JsonText, Tx};
use townhall::error::Result as Done;
use townhall::features::auth::session::TokenSeed;
use townhall::features::auth::store::{self as sessions, TokenRow};
use townhall::features::chat::conversations::store::{self as conversations, ConversationRow};
use townhall::features::chat::members::store::{self as members, MemberRow};
use townhall::features::chat::messages::store::{self as messages, MessageRow};
use townhall::features::chat::rules::{Kind, Role};
use townhall::values::ids::{
    ChatMessageId, ConversationId, ConversationMemberId, ProjectId, RefreshTokenId, SessionId,
    UserId, new_id,
};
use townhall::values::random::Random;
use townhall::values::time::Timestamp;

use crate::fixture::text;

/// Users in the hall, if there are so many.
const MEMBERS: usize = 1000;
const GROUPS: usize = 100;
/// Of the busy user.
const CONVERSATIONS: usize = 1000;
/// Members and messages of each of those.
const CIRCLE: usize = 10;
const TALK: usize = 20;
/// Every fourth of them has messages that the busy user has not read: so many, less their own.
const UNREAD_IN: usize = 4;
const UNREAD: u32 = 10;
/// Rows in one transaction.
const BATCH: usize = 1000;
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);
pub const CONTENT: &str = "See you at the bench under the lime tree, as soon as the rain is over.";

#[derive(Debug)]
pub struct Chat {
    /// A group of all members, with many messages.
    pub hall: ConversationId,
    /// Signed in, each with the session that the fixture's tokens name.
    pub members: Arc<[UserId]>,
    /// Some of the members each.
    pub groups: Arc<[(ConversationId, Vec<UserId>)]>,
    /// The user with a thousand conversations, who is in none of the above.
    pub busy: UserId,
}

/// How much is written.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Messages in the hall.
    pub messages: usize,
    pub group_members: usize,
}

pub async fn seed(
    db: &Db,
    project: ProjectId,
    users: &[UserId],
    size: Size,
    now: Timestamp,
) -> Result<Chat, String> {
    let (busy, others) = users.split_first().ok_or("there must be users")?;
    let all: Arc<[UserId]> = others.iter().copied().take(MEMBERS).collect();
    let mut rows = Rows::default();
    let hall = rows.conversation(Kind::Group, &all, size.messages, now, |_| now);
    let groups = (0..GROUPS).map(|number| {
        let first = number * size.group_members;
        let chosen = (first..first + size.group_members.min(all.len()))
            .map(|place| all[place % all.len()])
            .collect::<Vec<_>>();
        (rows.conversation(Kind::Group, &chosen, 0, now, |_| now), chosen)
    });
    let groups = groups.collect();
    for number in 0..CONVERSATIONS {
        let newest = now.minus(Duration::from_mins(number as u64));
        rows.of_busy(number, *busy, others, newest);
    }
    rows.sessions = all.iter().map(|user| session(*user, now)).collect();
    rows.write(db, project).await?;
    Ok(Chat { hall, members: all, groups, busy: *busy })
}

/// What is to be written.
#[derive(Debug, Default)]
struct Rows {
    conversations: Vec<ConversationRow>,
    members: Vec<MemberRow>,
    messages: Vec<MessageRow>,
    sessions: Vec<TokenRow>,
}

impl Rows {
    /// A conversation with messages one second after the other, by all in turn, the newest of them then.
    fn conversation(
        &mut self,
        kind: Kind,
        all: &[UserId],
        messages: usize,
        newest: Timestamp,
        read_up_to: impl Fn(UserId) -> Timestamp,
    ) -> ConversationId {
        let created = newest.minus(SECOND * u32::try_from(messages).unwrap_or(u32::MAX));
        let id = ConversationId(new_id(created, &Random::System));
        let last = (messages > 0).then_some(newest);
        let mut pair = [all.first().copied(), all.get(1).copied()];
        pair.sort_unstable();
        let [first_id, second_id] = if kind == Kind::Direct { pair } else { [None, None] };
        self.conversations.push(ConversationRow {
            name: (kind == Kind::Group).then(|| "Around the bench".to_owned()),
            created_by_id: all.first().copied(),
            first_id,
            second_id,
            member_count: i64::try_from(all.len()).unwrap_or_default(),
            has_visible: last.is_some(),
            last_message_at: last,
            last_created_at: last,
            ..ConversationRow::new(id, kind, created)
        });
        for (place, user) in all.iter().enumerate() {
            let role = if place == 0 { Role::Admin } else { Role::Member };
            let member = ConversationMemberId(new_id(created, &Random::System));
            self.members.push(MemberRow {
                role: (kind == Kind::Group).then_some(role),
                last_read_at: Some(read_up_to(*user)),
                ..MemberRow::new(id, *user, member, created)
            });
        }
        for number in 0..messages {
            let age = u32::try_from(messages - 1 - number).unwrap_or(u32::MAX);
            self.messages.push(message(id, all[number % all.len()], newest.minus(SECOND * age)));
        }
        id
    }

    /// One of the busy user's: direct and groups by turns, the most recent first.
    fn of_busy(&mut self, number: usize, busy: UserId, others: &[UserId], newest: Timestamp) {
        let unread = if number.is_multiple_of(UNREAD_IN) { UNREAD } else { 0 };
        let read = |user| if user == busy { newest.minus(SECOND * unread) } else { newest };
        // Two have one direct conversation only.
        let other = others.get(number / 2).filter(|_| number.is_multiple_of(2));
        let (kind, all) = match other {
            Some(other) => (Kind::Direct, vec![busy, *other]),
            None => {
                let circle = others.iter().cycle().skip(number).take(others.len().min(CIRCLE - 1));
                (Kind::Group, [busy].into_iter().chain(circle.copied()).collect())
            }
        };
        self.conversation(kind, &all, TALK, newest, read);
    }

    async fn write(self, db: &Db, project: ProjectId) -> Result<(), String> {
        write(db, project, &self.sessions, sessions::insert_token).await?;
        let conversation = |tx: &Tx<'_>, project, row: &ConversationRow| {
            conversations::insert(tx, project, row, &JsonText("{}".to_owned())).map(|_| ())
        };
        write(db, project, &self.conversations, conversation).await?;
        write(db, project, &self.members, members::insert).await?;
        write(db, project, &self.messages, messages::insert).await
    }
}

async fn write<R: Clone + Send + 'static>(
    db: &Db,
    project: ProjectId,
    rows: &[R],
    insert: fn(&Tx<'_>, ProjectId, &R) -> Done<()>,
) -> Result<(), String> {
    for batch in rows.chunks(BATCH) {
        let batch = batch.to_vec();
        let written = db.write(move |tx| batch.iter().try_for_each(|row| insert(tx, project, row)));
        written.await.map_err(text)?;
    }
    Ok(())
}

pub fn message(conversation: ConversationId, author: UserId, at: Timestamp) -> MessageRow {
    let id = ChatMessageId(new_id(at, &Random::System));
    MessageRow {
        user_id: Some(author),
        content: Some(CONTENT.to_owned()),
        ..messages::blank(id, conversation, at)
    }
}

/// Sockets ask whether the session of their token goes on.
fn session(user: UserId, now: Timestamp) -> TokenRow {
    let id = RefreshTokenId(new_id(now, &Random::System));
    TokenSeed { id, issued: now, expires: now.plus(DAY) }.row(user, SessionId(user.0))
}
