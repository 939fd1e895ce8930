//! The SQL that checks sessions and accounts for requests and sockets.

use db::{Conn, args};

use crate::error::{Result, faults};
use crate::values::ids::{ProjectId, SessionId, UserId};

faults! {
    pub USER_NOT_FOUND = 404 "user/not-found": "User not found";
}

db::statements! {
    query COUNT_FAMILY -> i64 =
        "SELECT count(*) FROM refresh_tokens
         WHERE project_id = $1 AND family_id = $2 AND user_id = $3";
    query PROJECT_OF -> ProjectId, unscoped "the project is what is asked for" =
        "SELECT p.id FROM projects p CROSS JOIN users u WHERE u.project_id = p.id AND u.id = $1 LIMIT 1";
}

/// Whether the session has neither ended nor expired.
pub fn is_alive(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    session: SessionId,
) -> Result<bool> {
    Ok(c.one(&COUNT_FAMILY, args![project, session, user])? > 0)
}

/// The project that a user belongs to.
pub fn project_of(c: &Conn<'_>, user: UserId) -> Result<Option<ProjectId>> {
    Ok(c.opt(&PROJECT_OF, args![user])?)
}
