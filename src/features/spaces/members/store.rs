//! The SQL about memberships. They change while their space is held, and its count of members with
//! them.

use std::collections::HashSet;

use db::{Builder, Command, Conn, Placeholder, Query, Tx, args};

use crate::error::Result;
use crate::features::spaces::permissions::SpaceMembership;
use crate::features::spaces::rules::{Role, Status};
use crate::features::spaces::store::{self as spaces, SpaceRow};
use crate::features::visibility::store::blocks::Hidden;
use crate::http::page::Page;
use crate::values::ids::{MemberId, ProjectId, ReportId, SpaceBanId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct MemberRow {
        pub id: MemberId,
        pub space_id: SpaceId,
        pub user_id: UserId,
        pub role: Role,
        pub status: Status,
        pub joined_at: Timestamp,
        pub created_at: Timestamp,
    }
}

impl MemberRow {
    pub fn standing(&self) -> SpaceMembership {
        SpaceMembership { role: self.role, status: self.status }
    }

    pub fn is_active_admin(&self) -> bool {
        self.status == Status::Active && self.role == Role::Admin
    }
}

/// Why somebody is banned.
#[derive(Debug, Clone)]
pub struct Ban<'a> {
    pub id: SpaceBanId,
    /// Nobody if the project itself did it, with a key.
    pub by: Option<UserId>,
    pub reason: Option<&'a str>,
    pub report: Option<ReportId>,
    pub at: Timestamp,
}

macro_rules! select_member {
    ($rest:literal) => {
        concat!(
            "SELECT m.id, m.space_id, m.user_id, m.role, m.status, m.joined_at, m.created_at
             FROM space_members m WHERE m.project_id = $1 ",
            $rest
        )
    };
}

const SELECT: &str = select_member!("");

db::statements! {
    query FIND -> MemberRow = select_member!("AND m.space_id = $2 AND m.user_id = $3");
    query FIND_BY_ID -> MemberRow = select_member!("AND m.id = $2");
    query FIND_ALL -> MemberRow = select_member!("AND m.id {any}($2)");
    query TEAM -> MemberRow =
        select_member!("AND m.space_id = $2 AND m.status = 'active' AND m.rank < 2
            ORDER BY m.rank, m.joined_at, m.id");
    query COUNT_ADMINS -> i64 =
        "SELECT count(*) FROM space_members
         WHERE project_id = $1 AND space_id = $2 AND status = 'active' AND rank = 0";
    query JOINED -> SpaceId =
        "SELECT space_id FROM space_members
         WHERE project_id = $1 AND space_id {any}($2) AND user_id = $3 AND status = 'active'";
    command UPDATE =
        "UPDATE space_members SET role = $4, rank = $5, status = $6, joined_at = $7
         WHERE project_id = $1 AND space_id = $2 AND user_id = $3";
    command DELETE =
        "DELETE FROM space_members WHERE project_id = $1 AND space_id = $2 AND user_id = $3";
    command INSERT_BAN =
        "INSERT INTO space_bans (project_id, space_id, user_id, id, banned_by_id, reason, report_id,
            created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)";
    query FIND_BAN -> SpaceBanId =
        "SELECT id FROM space_bans WHERE project_id = $1 AND space_id = $2 AND user_id = $3";
    query BANS_AMONG -> SpaceBanId =
        "SELECT b.id FROM space_bans b JOIN spaces s ON s.project_id = b.project_id AND s.id = b.space_id
         WHERE b.project_id = $1 AND b.space_id {any}($2) AND b.user_id {any}($3) AND s.deleted_at IS NULL";
    command DELETE_BAN =
        "DELETE FROM space_bans WHERE project_id = $1 AND space_id = $2 AND user_id = $3";
}

pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    user: UserId,
) -> Result<Option<MemberRow>> {
    Ok(c.opt(&FIND, args![project, space, user])?)
}

/// A membership of this space and no other.
pub fn find_by_id(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    id: MemberId,
) -> Result<Option<MemberRow>> {
    Ok(c.opt(&FIND_BY_ID, args![project, id])?.filter(|row| row.space_id == space))
}

/// Those of the ids that are there, in no particular order.
pub fn find_all(c: &Conn<'_>, project: ProjectId, ids: &[MemberId]) -> Result<Vec<MemberRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL, args![project, MemberId::list(ids)])?)
}

/// Its active admins and moderators, in the order in which they are listed.
pub fn team(c: &Conn<'_>, project: ProjectId, space: SpaceId) -> Result<Vec<MemberRow>> {
    Ok(c.all(&TEAM, args![project, space])?)
}

pub fn count_admins(c: &Conn<'_>, project: ProjectId, space: SpaceId) -> Result<i64> {
    Ok(c.one(&COUNT_ADMINS, args![project, space])?)
}

/// Those of the spaces that the user is an active member of.
pub fn joined(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    spaces: &[SpaceId],
) -> Result<HashSet<SpaceId>> {
    if spaces.is_empty() {
        return Ok(HashSet::new());
    }
    let joined = c.all(&JOINED, args![project, SpaceId::list(spaces), user])?;
    Ok(joined.into_iter().collect())
}

fn counts(status: Status) -> i64 {
    i64::from(status == Status::Active)
}

/// Members that one statement inserts.
const BATCH_SIZE: usize = 100;

/// New members of one space.
pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    space: SpaceId,
    members: &[MemberRow],
) -> Result<()> {
    for some in members.chunks(BATCH_SIZE) {
        let mut rows = Builder::list([project.into(), space.into()]);
        for row in some {
            let MemberRow { id, user_id, role, status, joined_at, created_at, .. } = *row;
            let row = rows.bind_all([
                user_id.into(),
                id.into(),
                role.into(),
                role.rank().into(),
                status.into(),
                joined_at.into(),
                created_at.into(),
            ]);
            rows.add(format_args!("($1, $2, {row})"));
        }
        let text = format!(
            "INSERT INTO space_members (project_id, space_id, user_id, id, role, rank, status,
                joined_at, created_at) VALUES {rows}"
        );
        tx.pipeline(&Command::<()>::built("spaces::members::insert", text), rows.args())?;
    }
    let active = members.iter().map(|row| counts(row.status)).sum();
    spaces::count_members(tx, project, space, active)
}

/// Of a membership as it was found while its space was held.
pub fn update(
    tx: &Tx<'_>,
    project: ProjectId,
    before: &MemberRow,
    after: &MemberRow,
) -> Result<()> {
    let MemberRow { space_id, user_id, role, status, joined_at, .. } = *after;
    tx.pipeline(&UPDATE, args![project, space_id, user_id, role, role.rank(), status, joined_at])?;
    spaces::count_members(tx, project, space_id, counts(status) - counts(before.status))
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    tx.pipeline(&DELETE, args![project, row.space_id, row.user_id])?;
    spaces::count_members(tx, project, row.space_id, -counts(row.status))
}

pub fn insert_ban(tx: &Tx<'_>, project: ProjectId, row: &MemberRow, ban: &Ban<'_>) -> Result<()> {
    let Ban { id, by, reason, report, at } = *ban;
    let args = args![project, row.space_id, row.user_id, id, by, reason, report, at];
    Ok(tx.pipeline(&INSERT_BAN, args)?)
}

pub fn find_ban(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    user: UserId,
) -> Result<Option<SpaceBanId>> {
    Ok(c.opt(&FIND_BAN, args![project, space, user])?)
}

/// The bans of these users from these spaces that stand.
pub fn bans_among(
    c: &Conn<'_>,
    project: ProjectId,
    spaces: &[SpaceId],
    users: &[UserId],
) -> Result<Vec<SpaceBanId>> {
    if spaces.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&BANS_AMONG, args![project, SpaceId::list(spaces), UserId::list(users)])?)
}

pub fn delete_ban(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    Ok(tx.pipeline(&DELETE_BAN, args![project, row.space_id, row.user_id])?)
}

/// A query for the ids of all spaces that the user in this place moderates; `$1` is the project.
pub fn moderated_by(user: Placeholder) -> String {
    format!(
        "SELECT s.id FROM space_members m CROSS JOIN spaces s
         WHERE m.project_id = $1 AND m.user_id = {user} AND m.status = 'active' AND m.rank < 2
            AND s.project_id = $1 AND s.id = m.space_id AND s.deleted_at IS NULL
         UNION SELECT s.id FROM spaces s
         WHERE s.project_id = $1 AND s.user_id = {user} AND s.deleted_at IS NULL
            AND COALESCE((SELECT m.status FROM space_members m WHERE m.project_id = $1
                AND m.space_id = s.id AND m.user_id = {user}), '') <> 'banned'"
    )
}

/// Which members: admins first, then moderators, each by how long they have been there.
#[derive(Debug, Clone, Copy)]
pub struct List {
    pub status: Status,
    pub role: Option<Role>,
}

impl List {
    /// Whether the space knows how many they are.
    pub fn is_counted(self) -> bool {
        self.status == Status::Active && self.role.is_none()
    }

    pub fn page(
        self,
        c: &Conn<'_>,
        project: ProjectId,
        space: &SpaceRow,
        hidden: &Hidden,
        page: Page,
    ) -> Result<(Vec<MemberRow>, i64)> {
        let mut conditions = Builder::all([project.into(), space.id.into(), self.status.into()]);
        conditions.add("m.space_id = $2 AND m.status = $3");
        if let Some(role) = self.role {
            conditions.equal("m.rank", role.rank());
        }
        if let Some(viewer) = hidden.viewer() {
            let viewer = conditions.bind(viewer);
            conditions.add(hidden.condition("m.user_id", viewer));
        }
        let total = if self.is_counted() && hidden.is_nobody() {
            space.members_count
        } else {
            let text = format!(
                "SELECT count(*) FROM space_members m WHERE m.project_id = $1 AND {conditions}"
            );
            c.one(&Query::<i64>::built("spaces::members::count", text), conditions.args())?
        };
        if page.offset() >= total {
            return Ok((Vec::new(), total));
        }
        let text = format!(
            "{SELECT} AND {conditions} ORDER BY m.rank, m.joined_at, m.id LIMIT {} OFFSET {}",
            page.limit,
            page.offset()
        );
        Ok((c.all(&Query::built("spaces::members::page", text), conditions.args())?, total))
    }
}
