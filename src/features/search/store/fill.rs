//! Queues everything that a project has, in the order in which it was made.

use db::{Conn, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::search_queue::Kind;
use crate::values::ids::ProjectId;

/// The next ids after $2.
macro_rules! after {
    ($table:literal) => {
        concat!(
            "SELECT id FROM ",
            $table,
            " WHERE project_id = $1 AND id > $2 ORDER BY id LIMIT $3"
        )
    };
}

/// Those of the ids that exist.
macro_rules! among {
    ($table:literal) => {
        concat!("SELECT id FROM ", $table, " WHERE project_id = $1 AND id {any}($2)")
    };
}

/// The rows with these ids, of a kind.
macro_rules! queue {
    ($table:literal) => {
        concat!(
            "INSERT INTO search_todo (project_id, record_id, kind, stamp)
             SELECT r.project_id, r.id, $3, 1 FROM ",
            $table,
            " r WHERE r.project_id = $1 AND r.id {any}($2) ON CONFLICT DO NOTHING"
        )
    };
}

db::statements! {
    query ENTITIES -> Uuid = after!("entities");
    query COMMENTS -> Uuid = after!("comments");
    query MESSAGES -> Uuid = after!("chat_messages");
    query USERS -> Uuid = after!("users");
    query SPACES -> Uuid = after!("spaces");
    query EXISTING_ENTITIES -> Uuid = among!("entities");
    query EXISTING_COMMENTS -> Uuid = among!("comments");
    query EXISTING_MESSAGES -> Uuid = among!("chat_messages");
    query EXISTING_USERS -> Uuid = among!("users");
    query EXISTING_SPACES -> Uuid = among!("spaces");
    command QUEUE_ENTITIES = queue!("entities");
    command QUEUE_COMMENTS = queue!("comments");
    command QUEUE_MESSAGES = queue!("chat_messages");
    command QUEUE_USERS = queue!("users");
    command QUEUE_SPACES = queue!("spaces");
    /// Comments of entities that were hidden before.
    command COMMENTS_OF =
        "INSERT INTO search_todo (project_id, record_id, kind, stamp)
         SELECT c.project_id, c.id, $3, 1 FROM comments c
         WHERE c.project_id = $1 AND c.entity_id {any}($2) AND c.deleted_at IS NULL
         ON CONFLICT DO NOTHING";
}

pub fn after(
    c: &Conn<'_>,
    project: ProjectId,
    kind: Kind,
    id: Uuid,
    most: i64,
) -> Result<Vec<Uuid>> {
    let query = match kind {
        Kind::Entity => &ENTITIES,
        Kind::Comment => &COMMENTS,
        Kind::Message => &MESSAGES,
        Kind::User => &USERS,
        Kind::Space => &SPACES,
    };
    Ok(c.all(query, args![project, id, most])?)
}

pub fn existing(c: &Conn<'_>, project: ProjectId, kind: Kind, ids: Vec<Uuid>) -> Result<Vec<Uuid>> {
    let query = match kind {
        Kind::Entity => &EXISTING_ENTITIES,
        Kind::Comment => &EXISTING_COMMENTS,
        Kind::Message => &EXISTING_MESSAGES,
        Kind::User => &EXISTING_USERS,
        Kind::Space => &EXISTING_SPACES,
    };
    Ok(c.all(query, args![project, ids])?)
}

pub fn queue(tx: &Tx<'_>, project: ProjectId, kind: Kind, ids: Vec<Uuid>) -> Result<()> {
    let command = match kind {
        Kind::Entity => &QUEUE_ENTITIES,
        Kind::Comment => &QUEUE_COMMENTS,
        Kind::Message => &QUEUE_MESSAGES,
        Kind::User => &QUEUE_USERS,
        Kind::Space => &QUEUE_SPACES,
    };
    Ok(tx.pipeline(command, args![project, ids, kind.number()])?)
}

pub fn queue_comments_of(tx: &Tx<'_>, project: ProjectId, entities: Vec<Uuid>) -> Result<()> {
    Ok(tx.pipeline(&COMMENTS_OF, args![project, entities, Kind::Comment.number()])?)
}
