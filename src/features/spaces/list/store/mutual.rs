//! The spaces in which two users are active members.

use db::{Conn, args};

use crate::error::Result;
use crate::http::page::Page;
use crate::values::ids::{ProjectId, SpaceId, UserId};

macro_rules! shared {
    ($columns:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM space_members a CROSS JOIN space_members b CROSS JOIN spaces s
             WHERE a.project_id = $1 AND a.user_id = $2 AND a.status = 'active'
                AND b.project_id = $1 AND b.space_id = a.space_id AND b.user_id = $3
                AND b.status = 'active'
                AND s.project_id = $1 AND s.id = a.space_id AND s.deleted_at IS NULL",
            $rest
        )
    };
}

db::statements! {
    query SHARED -> SpaceId =
        shared!("s.id", " ORDER BY s.name_key, s.created_at DESC, s.id LIMIT $4 OFFSET $5");
    query COUNT_SHARED -> i64 = shared!("count(*)", "");
}

/// The ids of a page, and how many there are.
pub fn shared(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    other: UserId,
    page: Page,
) -> Result<(Vec<SpaceId>, i64)> {
    let total = c.one(&COUNT_SHARED, args![project, user, other])?;
    if page.offset() >= total {
        return Ok((Vec::new(), total));
    }
    Ok((c.all(&SHARED, args![project, user, other, page.limit, page.offset()])?, total))
}
