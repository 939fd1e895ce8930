//! The SQL about the queue and the documents of an index. Its state is in `state.rs`, postings are in `postings.rs`,
//! words in `words.rs`, vectors in `vectors.rs`, what a caller may read in `scope.rs`.

pub mod fill;
pub mod postings;
pub mod scope;
pub mod state;
pub mod texts;
pub mod vectors;
pub mod words;

pub use state::StateRow;

use std::collections::BTreeMap;

use db::{Builder, Conn, Query, Tx, args};
use text_index::Statistics;
use uuid::Uuid;

use crate::error::Result;
use crate::features::search::class::{Class, Section};
use crate::values::ids::{ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// Of a document.
const COLUMNS: [&str; 10] = [
    "project_id",
    "number",
    "class",
    "record_id",
    "parent_id",
    "space_id",
    "author_id",
    "created_at",
    "length",
    "words",
];

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct TodoRow {
        pub record_id: Uuid,
        pub kind: i64,
        pub stamp: i64,
    }
}

db::row! {
    /// A document to take out of the index.
    #[derive(Debug)]
    pub struct IndexedRow {
        pub number: i64,
        pub class: i64,
        pub record_id: Uuid,
        pub length: i64,
        pub words: Vec<u8>,
    }
}

db::row! {
    /// A document that was found.
    #[derive(Debug, Clone)]
    pub struct DocRow {
        pub number: i64,
        pub class: i64,
        pub record_id: Uuid,
        pub parent_id: Option<Uuid>,
        pub space_id: Option<SpaceId>,
        pub author_id: Option<UserId>,
        pub created_at: Timestamp,
    }
}

impl DocRow {
    /// A document without a number yet, and without a place.
    pub fn new(class: Class, record_id: Uuid, created_at: Timestamp) -> Self {
        DocRow {
            number: 0,
            class: class.number(),
            record_id,
            parent_id: None,
            space_id: None,
            author_id: None,
            created_at,
        }
    }
}

db::statements! {
    /// Projects with something to index, or to fill. Not `EXISTS`, for which PostgreSQL may walk the whole queue.
    query DUE -> ProjectId, unscoped "the indexer serves every project" =
        "SELECT s.project_id FROM search_state s WHERE NOT s.is_filled
            OR (SELECT t.record_id FROM search_todo t WHERE t.project_id = s.project_id
                ORDER BY t.record_id LIMIT 1) IS NOT NULL";
    query PROJECTS -> ProjectId, unscoped "the doctor goes through every project" =
        "SELECT project_id FROM search_state ORDER BY project_id";
    query ALL_TODO -> i64, unscoped "a figure over all projects" = "SELECT count(*) FROM search_todo";
    query ALL_DOCUMENTS -> i64, unscoped "a figure over all projects" =
        "SELECT CAST(COALESCE(sum(documents), 0) AS {int}) FROM search_sections";
    query DOCS_AFTER -> (i64, i64, Uuid) =
        "SELECT number, class, record_id FROM search_docs
         WHERE project_id = $1 AND number > $2 ORDER BY number LIMIT $3";
    query TODO -> TodoRow =
        "SELECT record_id, kind, stamp FROM search_todo
         WHERE project_id = $1 AND record_id > $2 AND record_id <= $3 ORDER BY record_id LIMIT $4";
    query LAST_TODO -> Uuid =
        "SELECT record_id FROM search_todo WHERE project_id = $1 ORDER BY record_id DESC LIMIT 1";
    query COUNT_TODO -> i64 = "SELECT count(*) FROM search_todo WHERE project_id = $1";
    query STILL_TODO -> TodoRow =
        "SELECT record_id, kind, stamp FROM search_todo WHERE project_id = $1 AND record_id {any}($2)";
    command DONE =
        "DELETE FROM search_todo WHERE project_id = $1 AND record_id {any}($2) AND stamp = $3";
    query INDEXED -> IndexedRow =
        "SELECT number, class, record_id, length, words FROM search_docs
         WHERE project_id = $1 AND record_id {any}($2)";
    query INDEXED_FROM -> IndexedRow =
        "SELECT number, class, record_id, length, words FROM search_docs
         WHERE project_id = $1 AND number >= $2 ORDER BY number LIMIT $3";
    command REMOVE = "DELETE FROM search_docs WHERE project_id = $1 AND record_id {any}($2)";
    query SECTION -> (i64, i64) =
        "SELECT documents, length FROM search_sections WHERE project_id = $1 AND section = $2";
    command COUNT =
        "INSERT INTO search_sections (project_id, section, documents, length) VALUES ($1, $2, $3, $4)
         ON CONFLICT (project_id, section) DO UPDATE SET
            documents = search_sections.documents + excluded.documents,
            length = search_sections.length + excluded.length";
    /// What depends on a record is looked at again: the comments of an entity, the messages of a conversation.
    command NOTE_BELOW =
        "INSERT INTO search_todo (project_id, record_id, kind, stamp)
         SELECT d.project_id, d.record_id, $3, 1 FROM search_docs d
         WHERE d.project_id = $1 AND d.parent_id = $2
         ON CONFLICT (project_id, record_id) DO UPDATE SET stamp = search_todo.stamp + 1";
    command NOTE_IN_SPACE =
        "INSERT INTO search_todo (project_id, record_id, kind, stamp)
         SELECT d.project_id, d.record_id, $4, 1 FROM search_docs d
         WHERE d.project_id = $1 AND d.space_id = $2 AND d.class = $3
         ON CONFLICT (project_id, record_id) DO UPDATE SET stamp = search_todo.stamp + 1";
    command NOTE_BY =
        "INSERT INTO search_todo (project_id, record_id, kind, stamp)
         SELECT d.project_id, d.record_id, $4, 1 FROM search_docs d
         WHERE d.project_id = $1 AND d.author_id = $2 AND d.class = $3
         ON CONFLICT (project_id, record_id) DO UPDATE SET stamp = search_todo.stamp + 1";
    query COUNT_DOCS -> i64 = "SELECT count(*) FROM search_docs WHERE project_id = $1";
    query WRITTEN_BY -> (i64, Vec<u8>, Timestamp) =
        "SELECT number, words, created_at FROM search_docs {indexed_by_search_docs_author}
         WHERE project_id = $1 AND author_id = $2 AND class = $3 ORDER BY number DESC LIMIT $4";
    query WORDS_OF -> Vec<u8> = "SELECT words FROM search_docs WHERE project_id = $1 AND record_id = $2";
}

/// Measures the tables of the index for the planner. A cluster plans with the arguments, by the size of the tables.
pub fn measure(tx: &Tx<'_>) -> Result<()> {
    if tx.is_on_cluster() {
        return Ok(());
    }
    Ok(tx.analyze(&["search_docs", "search_words", "search_blocks", "search_todo"])?)
}

pub fn due(c: &Conn<'_>) -> Result<Vec<ProjectId>> {
    Ok(c.all(&DUE, args![])?)
}

/// The projects that are indexed.
pub fn projects(c: &Conn<'_>) -> Result<Vec<ProjectId>> {
    Ok(c.all(&PROJECTS, args![])?)
}

/// How many changed records wait and how many open documents there are, of all projects.
pub fn figures(c: &Conn<'_>) -> Result<(i64, i64)> {
    Ok((c.one(&ALL_TODO, args![])?, c.one(&ALL_DOCUMENTS, args![])?))
}

/// Number, class and record of the next documents.
pub fn docs_after(
    c: &Conn<'_>,
    project: ProjectId,
    after: i64,
    most: i64,
) -> Result<Vec<(i64, i64, Uuid)>> {
    Ok(c.all(&DOCS_AFTER, args![project, after, most])?)
}

/// The next records that wait behind `after` and up to `last`, by id.
pub fn todo(
    c: &Conn<'_>,
    project: ProjectId,
    after: Uuid,
    last: Uuid,
    most: i64,
) -> Result<Vec<TodoRow>> {
    Ok(c.all(&TODO, args![project, after, last, most])?)
}

/// The last id that waits.
pub fn last_todo(c: &Conn<'_>, project: ProjectId) -> Result<Option<Uuid>> {
    Ok(c.opt(&LAST_TODO, args![project])?)
}

pub fn count_todo(c: &Conn<'_>, project: ProjectId) -> Result<i64> {
    Ok(c.one(&COUNT_TODO, args![project])?)
}

pub fn count_docs(c: &Conn<'_>, project: ProjectId) -> Result<i64> {
    Ok(c.one(&COUNT_DOCS, args![project])?)
}

pub fn still_todo(c: &Conn<'_>, project: ProjectId, records: Vec<Uuid>) -> Result<Vec<TodoRow>> {
    Ok(c.all(&STILL_TODO, args![project, records])?)
}

/// Unless they have changed again.
pub fn done<'a>(
    tx: &Tx<'_>,
    project: ProjectId,
    rows: impl Iterator<Item = &'a TodoRow>,
) -> Result<()> {
    let mut by_stamp: BTreeMap<i64, Vec<Uuid>> = BTreeMap::new();
    rows.for_each(|row| by_stamp.entry(row.stamp).or_default().push(row.record_id));
    for (stamp, records) in by_stamp {
        tx.pipeline(&DONE, args![project, records, stamp])?;
    }
    Ok(())
}

pub fn indexed(c: &Conn<'_>, project: ProjectId, records: Vec<Uuid>) -> Result<Vec<IndexedRow>> {
    Ok(c.all(&INDEXED, args![project, records])?)
}

/// The first documents from a number on.
pub fn indexed_from(
    c: &Conn<'_>,
    project: ProjectId,
    number: i64,
    most: i64,
) -> Result<Vec<IndexedRow>> {
    Ok(c.all(&INDEXED_FROM, args![project, number, most])?)
}

pub fn remove(tx: &Tx<'_>, project: ProjectId, records: Vec<Uuid>) -> Result<()> {
    Ok(tx.pipeline(&REMOVE, args![project, records])?)
}

/// A document with its length and its packed words.
pub type NewDoc = (DocRow, i64, Vec<u8>);

pub fn add(tx: &Tx<'_>, project: ProjectId, documents: &[NewDoc]) -> Result<()> {
    let rows = documents.iter().map(|(doc, length, words)| {
        vec![
            project.into(),
            doc.number.into(),
            doc.class.into(),
            doc.record_id.into(),
            doc.parent_id.into(),
            doc.space_id.into(),
            doc.author_id.into(),
            doc.created_at.into(),
            (*length).into(),
            words.into(),
        ]
    });
    Ok(tx.append("search_docs", &COLUMNS, &Vec::from_iter(rows))?)
}

pub fn statistics(c: &Conn<'_>, project: ProjectId, section: Section) -> Result<Statistics> {
    let found = c.opt(&SECTION, args![project, section.number()])?;
    Ok(found
        .map_or_else(Statistics::default, |(documents, length)| Statistics { documents, length }))
}

pub fn count(
    tx: &Tx<'_>,
    project: ProjectId,
    section: Section,
    documents: i64,
    length: i64,
) -> Result<()> {
    Ok(tx.pipeline(&COUNT, args![project, section.number(), documents, length])?)
}

/// Documents below an entity or a conversation, which are of one kind.
pub fn note_below(tx: &Tx<'_>, project: ProjectId, parent: Uuid, class: Class) -> Result<()> {
    Ok(tx.pipeline(&NOTE_BELOW, args![project, parent, class.kind().number()])?)
}

pub fn note_in_space(tx: &Tx<'_>, project: ProjectId, space: Uuid, class: Class) -> Result<()> {
    let (number, kind) = (class.number(), class.kind().number());
    Ok(tx.pipeline(&NOTE_IN_SPACE, args![project, space, number, kind])?)
}

pub fn note_by(tx: &Tx<'_>, project: ProjectId, author: Uuid, class: Class) -> Result<()> {
    let (number, kind) = (class.number(), class.kind().number());
    Ok(tx.pipeline(&NOTE_BY, args![project, author, number, kind])?)
}

/// Those of the numbers that are documents, in no particular order.
pub fn docs(c: &Conn<'_>, project: ProjectId, numbers: &[i64]) -> Result<Vec<DocRow>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let mut conditions = Builder::all([project.into()]);
    let numbers = conditions.bind_all(numbers.iter().map(|number| (*number).into()));
    conditions.add(format_args!("d.project_id = $1 AND d.number IN ({numbers})"));
    let text = format!(
        "SELECT d.number, d.class, d.record_id, d.parent_id, d.space_id, d.author_id, d.created_at
         FROM search_docs d WHERE {conditions}"
    );
    Ok(c.all(&Query::built("search::docs", text), conditions.args())?)
}

/// Packed words and time of the last documents of an author in these classes.
pub fn written_by(
    c: &Conn<'_>,
    project: ProjectId,
    author: UserId,
    classes: &[Class],
    most: usize,
) -> Result<Vec<(Vec<u8>, Timestamp)>> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    for class in classes {
        found.extend(c.all(&WRITTEN_BY, args![project, author, class.number(), limit])?);
    }
    found.sort_unstable_by_key(|(number, ..)| std::cmp::Reverse(*number));
    found.truncate(most);
    Ok(found.into_iter().map(|(_, words, at)| (words, at)).collect())
}

/// The packed words of a record.
pub fn words_of(c: &Conn<'_>, project: ProjectId, record: Uuid) -> Result<Option<Vec<u8>>> {
    Ok(c.opt(&WORDS_OF, args![project, record])?)
}
