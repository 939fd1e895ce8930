//! One user who is connected with everybody else, written by the database itself: over HTTP it would
//! take two requests for each. Sides and counts are what the server would have written.

use db::{Db, Engine};
use townhall::values::ids::{ProjectId, UserId};
use uuid::Uuid;

/// Connects the user, who joined before all others, with each of them since they joined.
pub fn seed(db: &Db, project: ProjectId, user: UserId) -> Result<(), String> {
    let literal = |id: Uuid| match db.engine() {
        Engine::Sqlite => format!("x'{}'", id.simple()),
        Engine::Postgres => format!("'{id}'::uuid"),
    };
    let (project, user) = (literal(project.0), literal(user.0));
    let others = format!("FROM users u WHERE u.project_id = {project} AND u.id <> {user}");
    let script = format!(
        "INSERT INTO connections (project_id, id, low_id, high_id, requester_id, status, responded_at,
            created_at)
         SELECT {project}, u.id, {user}, u.id, {user}, 'accepted', u.created_at, u.created_at {others};
         INSERT INTO connection_sides (project_id, user_id, other_id, connection_id, kind, created_at)
         SELECT {project}, {user}, u.id, u.id, 'connected', u.created_at {others};
         INSERT INTO connection_sides (project_id, user_id, other_id, connection_id, kind, created_at)
         SELECT {project}, u.id, {user}, u.id, 'connected', u.created_at {others};
         INSERT INTO connection_counts (project_id, user_id, connected, sent, received)
         SELECT {project}, u.id, 1, 0, 0 {others};
         INSERT INTO connection_counts (project_id, user_id, connected, sent, received)
         SELECT {project}, {user}, count(*), 0, 0 {others};"
    );
    db.execute_script(&script).map_err(|error| error.to_string())
}
