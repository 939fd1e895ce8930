//! The SQL about the members of a conversation.

use db::{Builder, Conn, Query, Tx, args};

use crate::error::Result;
use crate::features::chat::rules::Role;
use crate::http::page::Page;
use crate::values::ids::{ConversationId, ConversationMemberId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct MemberRow {
        pub conversation_id: ConversationId,
        pub user_id: UserId,
        pub id: ConversationMemberId,
        pub role: Option<Role>,
        pub last_read_at: Option<Timestamp>,
        pub muted_until: Option<Timestamp>,
        pub muted_forever: bool,
        pub is_active: bool,
        pub left_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

impl MemberRow {
    pub fn new(
        conversation: ConversationId,
        user: UserId,
        id: ConversationMemberId,
        now: Timestamp,
    ) -> Self {
        MemberRow {
            conversation_id: conversation,
            user_id: user,
            id,
            role: None,
            last_read_at: None,
            muted_until: None,
            muted_forever: false,
            is_active: true,
            left_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    pub fn is_admin(&self) -> bool {
        self.is_active && self.role == Some(Role::Admin)
    }
}

macro_rules! select_member {
    ($rest:literal) => {
        concat!(
            "SELECT m.conversation_id, m.user_id, m.id, m.role, m.last_read_at, m.muted_until,
                m.muted_forever, m.is_active, m.left_at, m.created_at, m.updated_at
             FROM conversation_members m WHERE m.project_id = $1 ",
            $rest
        )
    };
}
const SELECT: &str = select_member!("");

db::row! {
    /// The first members of a conversation, up to a limit.
    struct Others {
        conversation_id: ConversationId,
        first: Option<UserId>,
        second: Option<UserId>,
        third: Option<UserId>,
        fourth: Option<UserId>,
        fifth: Option<UserId>,
    }
}

/// One member of a conversation, by their position in the list.
macro_rules! other {
    ($before:literal) => {
        concat!(
            "(SELECT o.user_id FROM conversation_members o WHERE o.project_id = $1
                AND o.conversation_id = c.id AND o.is_active AND o.user_id <> $3
              ORDER BY o.created_at, o.id LIMIT 1 OFFSET ",
            $before,
            ")"
        )
    };
}

db::statements! {
    query FIND -> MemberRow = select_member!("AND m.conversation_id = $2 AND m.user_id = $3");
    query OWN -> MemberRow = select_member!("AND m.user_id = $2 AND m.conversation_id {any}($3)");
    query ACTIVE -> UserId = "SELECT m.user_id FROM conversation_members m
        WHERE m.project_id = $1 AND m.conversation_id = $2 AND m.is_active";
    /// Members who wait for approval in the space.
    query WAITING -> MemberRow = select_member!("AND m.conversation_id = $2 AND m.is_active
        AND m.user_id IN (SELECT s.user_id FROM space_members s
            WHERE s.project_id = $1 AND s.space_id = $3 AND s.status = 'pending')
        ORDER BY m.user_id");
    query ADMINS -> i64 = "SELECT count(*) FROM conversation_members m
        WHERE m.project_id = $1 AND m.conversation_id = $2 AND m.is_active AND m.role = 'admin'";
    query ANYBODY -> i64 = "SELECT 1 FROM conversation_members m
        WHERE m.project_id = $1 AND m.conversation_id = $2 LIMIT 1";
    query LONGEST -> MemberRow = select_member!("AND m.conversation_id = $2 AND m.is_active
        ORDER BY m.created_at, m.id LIMIT 1");
    /// The first five of each, except one user.
    query OTHERS -> Others = concat!(
        "SELECT c.id AS conversation_id, ", other!(0), " AS first, ", other!(1), " AS second, ",
        other!(2), " AS third, ", other!(3), " AS fourth, ", other!(4), " AS fifth
        FROM conversations c WHERE c.project_id = $1 AND c.id {any}($2)"
    );

    command INSERT = "INSERT INTO conversation_members (project_id, conversation_id, user_id, id, role,
            last_read_at, muted_until, muted_forever, is_active, left_at, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    /// Everything but the read position, which the member may change at any time.
    command UPDATE = "UPDATE conversation_members SET role = $4, muted_until = $5,
            muted_forever = $6, is_active = $7, left_at = $8, updated_at = $9
        WHERE project_id = $1 AND conversation_id = $2 AND user_id = $3";
    command DELETE = "DELETE FROM conversation_members
        WHERE project_id = $1 AND conversation_id = $2 AND user_id = $3";
    command DELETE_ALL = "DELETE FROM conversation_members WHERE project_id = $1 AND conversation_id = $2";
    /// Never moves backwards.
    command READ_UP_TO = "UPDATE conversation_members SET last_read_at = $4, updated_at = $5
        WHERE project_id = $1 AND conversation_id = $2 AND user_id = $3
            AND (last_read_at IS NULL OR last_read_at < $4)";
}

pub fn waiting(
    c: &Conn<'_>,
    project: ProjectId,
    conversation: ConversationId,
    space: SpaceId,
) -> Result<Vec<MemberRow>> {
    Ok(c.all(&WAITING, args![project, conversation, space])?)
}

pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    conversation: ConversationId,
    user: UserId,
) -> Result<Option<MemberRow>> {
    Ok(c.opt(&FIND, args![project, conversation, user])?)
}

/// The rows of one user in several conversations.
pub fn own(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    ids: &[ConversationId],
) -> Result<Vec<MemberRow>> {
    Ok(c.all(&OWN, args![project, user, ConversationId::list(ids)])?)
}

/// The members that receive events.
pub fn active(c: &Conn<'_>, project: ProjectId, id: ConversationId) -> Result<Vec<UserId>> {
    Ok(c.all(&ACTIVE, args![project, id])?)
}

pub fn admins(c: &Conn<'_>, project: ProjectId, id: ConversationId) -> Result<i64> {
    Ok(c.one(&ADMINS, args![project, id])?)
}

/// Up to five members of each conversation, except one user.
pub fn others(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ConversationId],
    but: UserId,
) -> Result<Vec<(ConversationId, UserId)>> {
    let found = c.all(&OTHERS, args![project, ConversationId::list(ids), but])?;
    let each = found.into_iter().flat_map(|row| {
        let some = [row.first, row.second, row.third, row.fourth, row.fifth].into_iter().flatten();
        some.map(move |user| (row.conversation_id, user))
    });
    Ok(each.collect())
}

/// A page of the active members, and their number.
pub fn page(
    c: &Conn<'_>,
    project: ProjectId,
    id: ConversationId,
    role: Option<Role>,
    page: Page,
) -> Result<(Vec<MemberRow>, i64)> {
    let mut conditions = Builder::all([project.into(), id.into()]);
    conditions.add("m.conversation_id = $2 AND m.is_active");
    if let Some(role) = role {
        conditions.equal("m.role", role);
    }
    let count = format!(
        "SELECT count(*) FROM conversation_members m WHERE m.project_id = $1 AND {conditions}"
    );
    let total = c.one(&Query::<i64>::built("chat::members::count", count), conditions.args())?;
    let (limit, offset) = (conditions.bind(page.limit), conditions.bind(page.offset()));
    let text = format!(
        "{SELECT} AND {conditions} ORDER BY m.created_at, m.id LIMIT {limit} OFFSET {offset}"
    );
    Ok((c.all(&Query::built("chat::members::page", text), conditions.args())?, total))
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    let args = args![
        project,
        row.conversation_id,
        row.user_id,
        row.id,
        row.role,
        row.last_read_at,
        row.muted_until,
        row.muted_forever,
        row.is_active,
        row.left_at,
        row.created_at,
        row.updated_at,
    ];
    Ok(tx.pipeline(&INSERT, args)?)
}

pub fn update(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    let args = args![
        project,
        row.conversation_id,
        row.user_id,
        row.role,
        row.muted_until,
        row.muted_forever,
        row.is_active,
        row.left_at,
        row.updated_at,
    ];
    Ok(tx.pipeline(&UPDATE, args)?)
}

/// Whether it has or had any member.
pub fn is_anybody_left(c: &Conn<'_>, project: ProjectId, id: ConversationId) -> Result<bool> {
    Ok(c.opt(&ANYBODY, args![project, id])?.is_some())
}

/// The member who joined first.
pub fn longest(c: &Conn<'_>, project: ProjectId, id: ConversationId) -> Result<Option<MemberRow>> {
    Ok(c.opt(&LONGEST, args![project, id])?)
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    Ok(tx.pipeline(&DELETE, args![project, row.conversation_id, row.user_id])?)
}

/// Deletes all rows of members, active or not.
pub fn delete_all(tx: &Tx<'_>, project: ProjectId, id: ConversationId) -> Result<()> {
    Ok(tx.pipeline(&DELETE_ALL, args![project, id])?)
}

pub fn read_up_to(
    tx: &Tx<'_>,
    project: ProjectId,
    row: &MemberRow,
    at: Timestamp,
    now: Timestamp,
) -> Result<()> {
    let args = args![project, row.conversation_id, row.user_id, at, now];
    tx.execute(&READ_UP_TO, args)?;
    Ok(())
}
