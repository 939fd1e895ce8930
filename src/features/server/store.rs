//! SQL of the server's own figures.

use db::{Conn, args};

use crate::error::Result;
use crate::metrics::ProjectCount;
use crate::values::ids::ProjectId;

db::statements! {
    query USERS -> (ProjectId, i64), unscoped "the operator asks for every project" =
        "SELECT project_id, COUNT(*) FROM users GROUP BY project_id ORDER BY project_id";
    query ENTITIES -> (ProjectId, i64), unscoped "the operator asks for every project" =
        "SELECT project_id, COUNT(*) FROM entities GROUP BY project_id ORDER BY project_id";
    query COMMENTS -> (ProjectId, i64), unscoped "the operator asks for every project" =
        "SELECT project_id, COUNT(*) FROM comments GROUP BY project_id ORDER BY project_id";
    query MESSAGES -> (ProjectId, i64), unscoped "the operator asks for every project" =
        "SELECT project_id, COUNT(*) FROM chat_messages GROUP BY project_id ORDER BY project_id";
    query SPACES -> (ProjectId, i64), unscoped "the operator asks for every project" =
        "SELECT project_id, COUNT(*) FROM spaces GROUP BY project_id ORDER BY project_id";
    query FILES -> (ProjectId, i64), unscoped "the operator asks for every project" =
        "SELECT project_id, COUNT(*) FROM files GROUP BY project_id ORDER BY project_id";
    query FILE_BYTES -> (ProjectId, i64), unscoped "the operator asks for every project" =
        "SELECT project_id, CAST(SUM(size) AS BIGINT) FROM files GROUP BY project_id ORDER BY project_id";
}

/// How much of everything each project has. Reads whole tables.
pub(super) fn project_counts(c: &Conn<'_>) -> Result<Vec<ProjectCount>> {
    let mut counts = Vec::new();
    for (what, statement) in [
        ("users", &USERS),
        ("entities", &ENTITIES),
        ("comments", &COMMENTS),
        ("messages", &MESSAGES),
        ("spaces", &SPACES),
        ("files", &FILES),
        ("file_bytes", &FILE_BYTES),
    ] {
        for (project, count) in c.all(statement, args![])? {
            counts.push(ProjectCount { project, what, count });
        }
    }
    Ok(counts)
}
