//! Which documents a search is limited to, as numbers: a space with its children, and what of the closed content a user
//! may read. A large set is not read: what is found is checked afterwards anyway.

use db::{Builder, Conn, Query, args};

use crate::error::Result;
use crate::features::search::class::Class;
use crate::values::ids::{ConversationId, ProjectId, SpaceId, UserId};

/// Beyond this many documents results are checked in the order of their scores.
pub const MAX_NUMBERS: i64 = 100_000;

db::statements! {
    query SUBTREE -> SpaceId =
        "SELECT l.space_id FROM space_lines l WHERE l.project_id = $1 AND l.ancestor_id = $2";
    /// The members-only spaces that a user belongs to.
    query CLOSED_SPACES -> SpaceId =
        "SELECT m.space_id FROM space_members m
            JOIN spaces s ON s.project_id = m.project_id AND s.id = m.space_id
         WHERE m.project_id = $1 AND m.user_id = $2 AND m.status = 'active' AND NOT s.is_open
            AND s.deleted_at IS NULL";
    query CONVERSATIONS -> ConversationId =
        "SELECT m.conversation_id FROM conversation_members m
         WHERE m.project_id = $1 AND m.user_id = $2 AND m.is_active";
    /// The words of hidden spaces that a user belongs to.
    query OWN_WORDS -> Vec<u8> =
        "SELECT d.words FROM space_members m
            JOIN search_docs d ON d.project_id = m.project_id AND d.record_id = m.space_id
         WHERE m.project_id = $1 AND m.user_id = $2 AND m.status = 'active' AND d.class = 7";
    query JOINED -> SpaceId =
        "SELECT m.space_id FROM space_members m
         WHERE m.project_id = $1 AND m.user_id = $2 AND m.status = 'active'";
}

/// A space and all its descendants.
pub fn subtree(c: &Conn<'_>, project: ProjectId, space: SpaceId) -> Result<Vec<SpaceId>> {
    Ok(c.all(&SUBTREE, args![project, space])?)
}

pub fn closed_spaces(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Vec<SpaceId>> {
    Ok(c.all(&CLOSED_SPACES, args![project, user])?)
}

pub fn conversations(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
) -> Result<Vec<ConversationId>> {
    Ok(c.all(&CONVERSATIONS, args![project, user])?)
}

/// The spaces that a user is an active member of.
pub fn joined(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Vec<SpaceId>> {
    Ok(c.all(&JOINED, args![project, user])?)
}

/// The packed words of each hidden space that a user is an active member of.
pub fn own_words(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Vec<Vec<u8>>> {
    Ok(c.all(&OWN_WORDS, args![project, user])?)
}

/// By what documents are selected.
#[derive(Debug)]
pub enum By<'a> {
    Space(&'a [SpaceId]),
    Conversation(&'a [ConversationId]),
    Author(UserId),
    /// Spaces themselves.
    Record(&'a [SpaceId]),
}

/// The numbers of documents of these classes; none if they are too many.
pub fn numbers(
    c: &Conn<'_>,
    project: ProjectId,
    by: &By<'_>,
    classes: &[Class],
) -> Result<Option<Vec<i64>>> {
    let mut conditions = Builder::all([project.into()]);
    conditions.add("d.project_id = $1");
    // SQLite would rather read all documents.
    let index = match by {
        By::Space(_) => "{indexed_by_search_docs_space}",
        By::Conversation(_) => "{indexed_by_search_docs_parent}",
        By::Author(_) => "{indexed_by_search_docs_author}",
        By::Record(_) => "{indexed_by_search_docs_record}",
    };
    match by {
        By::Space([]) | By::Conversation([]) | By::Record([]) => return Ok(Some(Vec::new())),
        By::Space(spaces) => {
            let spaces = conditions.bind(SpaceId::list(spaces));
            conditions.add(format_args!("d.space_id {{any}}({spaces})"));
        }
        By::Conversation(conversations) => {
            let conversations = conditions.bind(ConversationId::list(conversations));
            conditions.add(format_args!("d.parent_id {{any}}({conversations})"));
        }
        By::Author(author) => conditions.equal("d.author_id", *author),
        By::Record(spaces) => {
            let spaces = conditions.bind(SpaceId::list(spaces));
            conditions.add(format_args!("d.record_id {{any}}({spaces})"));
        }
    }
    match classes {
        [] => return Ok(Some(Vec::new())),
        // PostgreSQL takes a range for a small part of the documents. For `=` it would rather read all of them, if most are of
        // one class and one author.
        [class] => {
            let class = conditions.bind(class.number());
            conditions.add(format_args!("d.class BETWEEN {class} AND {class}"));
        }
        classes => {
            let classes = conditions.bind_all(classes.iter().map(|class| class.number().into()));
            conditions.add(format_args!("d.class IN ({classes})"));
        }
    }
    let limit = conditions.bind(MAX_NUMBERS + 1);
    let text =
        format!("SELECT d.number FROM search_docs d {index} WHERE {conditions} LIMIT {limit}");
    let found = c.all(&Query::<i64>::built("search::numbers", text), conditions.args())?;
    let fits = i64::try_from(found.len()).is_ok_and(|size| size <= MAX_NUMBERS);
    Ok(fits.then_some(found))
}
