//! Who may read and publish in a space. The only place: every feature asks here, and treats what may not be
//! read as not found.
//!
//! A single fetch calls [`may_read`], a new entity [`admit`], a notification [`shut_out`]. A list adds
//! [`Reader::reads`] to its conditions, and subtracts [`Reader::unreadable`] from its stored total. Private
//! spaces stay private even if the project no longer has the bundle.

use std::collections::HashSet;

use db::{Builder, Conn, Query, Tx, args};

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::spaces::permissions::{Permissions, SpaceMembership};
use crate::features::spaces::rules::{Posting, Reading, Role, Status};
use crate::features::spaces::store::{self, SpaceRow};
use crate::features::spaces::{BANNED, POSTING_NOT_ALLOWED};
use crate::features::visibility::store::spaces::member_opens;
use crate::values::ids::{ProjectId, SpaceId, UserId};

db::row! {
    /// The settings of a space and a user's membership in it.
    #[derive(Debug)]
    struct AccessRow {
        reading_permission: Reading,
        posting_permission: Posting,
        role: Option<Role>,
        status: Option<Status>,
    }
}

db::statements! {
    /// $3 is null for somebody without a membership. Compared with null, the join would be always false, and a
    /// cluster would not see by which column the tables are joined.
    query ACCESS -> AccessRow =
        "SELECT s.reading_permission, s.posting_permission, m.role, m.status
         FROM spaces s LEFT JOIN space_members m
            ON m.project_id = s.project_id AND m.space_id = s.id AND m.user_id = COALESCE($3, {nil})
         WHERE s.project_id = $1 AND s.id = $2 AND s.deleted_at IS NULL";
    query MEMBERS -> (UserId, Role, Status) =
        "SELECT user_id, role, status FROM space_members
         WHERE project_id = $1 AND space_id = $2 AND user_id {any}($3)";
    query SHUT_OUT -> UserId =
        "SELECT u.id FROM users u
            JOIN spaces s ON s.project_id = u.project_id AND s.id = $2
            LEFT JOIN space_members m
                ON m.project_id = s.project_id AND m.space_id = s.id AND m.user_id = u.id
         WHERE u.project_id = $1 AND u.id {any}($3)
            AND CASE m.status WHEN 'active' THEN FALSE WHEN 'banned' THEN TRUE ELSE NOT s.is_open END";
}

/// The permissions of this perspective in a space; none if there is no such space.
pub fn permissions(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
    perspective: Perspective,
) -> Result<Option<Permissions>> {
    let user = if perspective.is_key() { None } else { perspective.viewer() };
    let found = c.opt(&ACCESS, args![project, space, user])?;
    Ok(found.map(|row| {
        let AccessRow { reading_permission, posting_permission, role, status } = row;
        let standing = role.zip(status).map(|(role, status)| SpaceMembership { role, status });
        match perspective.is_key() {
            true => Permissions::KEY,
            false => Permissions::new(reading_permission, posting_permission, standing),
        }
    }))
}

/// Whether this perspective may read content in the space. Content outside of all spaces is readable, and
/// authors may always read their own.
pub fn may_read(
    c: &Conn<'_>,
    project: ProjectId,
    space: Option<SpaceId>,
    author: Option<UserId>,
    perspective: Perspective,
) -> Result<bool> {
    let Some(space) = space else { return Ok(true) };
    let is_own = author.is_some() && author == perspective.viewer();
    let allowed = permissions(c, project, space, perspective)?;
    Ok(allowed.is_some_and(|allowed| allowed.can_read || is_own))
}

/// Refuses users who may not publish in the space, and locks it against changes until the transaction ends;
/// false if there is no such space for them.
pub fn admit(
    tx: &Tx<'_>,
    project: ProjectId,
    space: SpaceId,
    perspective: Perspective,
) -> Result<bool> {
    match store::lock_shared(tx, project, space)? {
        Some(space) => may_post(tx, project, &space, perspective),
        None => Ok(false),
    }
}

/// Refuses users who may not publish in the space; false if they may not even read it.
pub fn may_post(
    c: &Conn<'_>,
    project: ProjectId,
    space: &SpaceRow,
    perspective: Perspective,
) -> Result<bool> {
    if perspective.is_key() {
        return Ok(true);
    }
    let member = match perspective.viewer() {
        Some(user) => store::standing(c, project, space.id, user)?,
        None => None,
    };
    if member.is_some_and(|member| member.status == Status::Banned) {
        return Err(BANNED.into());
    }
    let allowed = Permissions::new(space.reading_permission, space.posting_permission, member);
    let is_stranger = member.is_none_or(|member| member.status == Status::Rejected);
    match allowed.can_post {
        true => Ok(true),
        false if is_stranger && !allowed.can_read => Ok(false),
        false => Err(POSTING_NOT_ALLOWED.into()),
    }
}

/// Whether a user is banned from the space, if there is such a space.
pub fn is_banned(c: &Conn<'_>, project: ProjectId, space: SpaceId, user: UserId) -> Result<bool> {
    let found = c.opt(&ACCESS, args![project, space, user])?;
    Ok(found.is_some_and(|row| row.status == Some(Status::Banned)))
}

/// Whether a user waits for approval in a members-only space.
pub fn waits(c: &Conn<'_>, project: ProjectId, space: SpaceId, user: UserId) -> Result<bool> {
    let found = c.opt(&ACCESS, args![project, space, user])?;
    Ok(found.is_some_and(|row| {
        row.reading_permission == Reading::Members && row.status == Some(Status::Pending)
    }))
}

/// Content in a space, or in none, and its author.
pub type Written = (Option<SpaceId>, Option<UserId>);

/// [`may_read`] for many.
pub fn among(
    c: &Conn<'_>,
    project: ProjectId,
    mut written: Vec<Written>,
    perspective: Perspective,
) -> Result<HashSet<Written>> {
    let spaces = |all: &[Written]| all.iter().filter_map(|(space, _)| *space).collect();
    let readable = readable(c, project, spaces(&written), perspective)?;
    let is_own = |author: Option<UserId>| author.is_some() && author == perspective.viewer();
    let mut left = written.clone();
    left.retain(|(space, author)| {
        space.is_some_and(|space| !readable.contains(&space)) && is_own(*author)
    });
    let live = self::readable(c, project, spaces(&left), Perspective::Key)?;
    written.retain(|(space, author)| {
        space.is_none_or(|space| {
            readable.contains(&space) || (is_own(*author) && live.contains(&space))
        })
    });
    Ok(written.into_iter().collect())
}

/// Those of the spaces that this perspective may read.
pub fn readable(
    c: &Conn<'_>,
    project: ProjectId,
    mut spaces: Vec<SpaceId>,
    perspective: Perspective,
) -> Result<Vec<SpaceId>> {
    spaces.sort_unstable();
    spaces.dedup();
    if spaces.is_empty() {
        return Ok(spaces);
    }
    let reader = Reader::from(perspective);
    let mut conditions = Builder::all([project.into(), SpaceId::list(&spaces)]);
    conditions.add("s.project_id = $1 AND s.id {any}($2)");
    let opens = reader.opens(&mut conditions);
    conditions.add(opens);
    let text = format!("SELECT s.id FROM spaces s WHERE {conditions}");
    Ok(c.all(&Query::<SpaceId>::built("spaces::access::readable", text), conditions.args())?)
}

/// Those of the users who may not read the space.
pub fn shut_out(
    c: &Conn<'_>,
    project: ProjectId,
    space: Option<SpaceId>,
    users: &[UserId],
) -> Result<Vec<UserId>> {
    match space {
        Some(space) if !users.is_empty() => {
            Ok(c.all(&SHUT_OUT, args![project, space, UserId::list(users)])?)
        }
        _ => Ok(Vec::new()),
    }
}

/// A space and the memberships of some users, for a write that asks several times.
#[derive(Debug)]
pub struct KnownSpace {
    /// None: it was deleted.
    pub row: Option<SpaceRow>,
    members: Vec<(UserId, Role, Status)>,
}

impl KnownSpace {
    pub fn load(tx: &Tx<'_>, project: ProjectId, id: SpaceId, users: &[UserId]) -> Result<Self> {
        let row = tx.later(&store::FIND, args![project, id])?;
        let members = tx.later(&MEMBERS, args![project, id, UserId::list(users)])?;
        tx.flush()?;
        Ok(KnownSpace { row: row.opt()?, members: members.all()? })
    }

    /// [`may_read`] of a perspective whose user is one of them.
    pub fn may_read(&self, author: Option<UserId>, perspective: Perspective) -> bool {
        let is_own = author.is_some() && author == perspective.viewer();
        let user = perspective.viewer().filter(|_| !perspective.is_key());
        self.row.is_some() && (is_own || perspective.is_key() || self.opens_to(user))
    }

    /// [`shut_out`] of one of them.
    pub fn shuts_out(&self, user: UserId) -> bool {
        !self.opens_to(Some(user))
    }

    fn opens_to(&self, user: Option<UserId>) -> bool {
        let member = self.members.iter().find(|(member, _, _)| Some(*member) == user);
        let member =
            member.map(|(_, role, status)| SpaceMembership { role: *role, status: *status });
        self.row.as_ref().is_some_and(|row| {
            Permissions::new(row.reading_permission, row.posting_permission, member).can_read
        })
    }
}

/// The reader of a list, as SQL decides what they may read. `$1` is always the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader(Perspective);

impl From<Perspective> for Reader {
    fn from(perspective: Perspective) -> Self {
        Reader(perspective)
    }
}

impl Reader {
    /// A reader of their own content.
    pub const AUTHOR: Reader = Reader(Perspective::Key);

    /// Whether they may read the space.
    pub fn may_read(self, c: &Conn<'_>, project: ProjectId, space: SpaceId) -> Result<bool> {
        may_read(c, project, Some(space), None, self.0)
    }

    /// The condition that the space in a column may be read; content outside of all spaces passes. Binds
    /// the user whose memberships count.
    pub fn reads(self, column: &str, sql: &mut Builder<'_>) -> String {
        let condition = self.opens(sql);
        format!(
            "({column} IS NULL OR COALESCE((SELECT {condition} FROM spaces s
                WHERE s.project_id = $1 AND s.id = {column}), FALSE))"
        )
    }

    /// The condition that the space `s` may be read.
    fn opens(self, sql: &mut Builder<'_>) -> String {
        match self.0 {
            Perspective::Key | Perspective::KeyAs(_) => "s.deleted_at IS NULL".to_owned(),
            Perspective::Anonymous => "s.is_open".to_owned(),
            Perspective::User(user) => format!(member_opens!("{}"), sql.bind(user)),
        }
    }

    /// A query for the `space_id` of every space that may not be read.
    pub fn unreadable(self, sql: &mut Builder<'_>) -> String {
        let shut = "SELECT s.id AS space_id FROM spaces s WHERE s.project_id = $1";
        match self.0 {
            Perspective::Key | Perspective::KeyAs(_) => {
                format!("{shut} AND s.deleted_at IS NOT NULL")
            }
            Perspective::Anonymous => format!("{shut} AND NOT s.is_open"),
            Perspective::User(user) => {
                let member = sql.bind(user);
                format!(
                    "{shut} AND NOT s.is_open AND NOT {}
                     UNION ALL SELECT m.space_id FROM space_members m
                        JOIN spaces s ON s.project_id = m.project_id AND s.id = m.space_id
                     WHERE m.project_id = $1 AND m.user_id = {member} AND m.status = 'banned'
                        AND s.is_open",
                    format_args!(member_opens!("{}"), member)
                )
            }
        }
    }
}
