//! The SQL about blocks of postings.

use db::{Builder, Command, Conn, MAX_CACHED_ARGUMENTS, Query, Tx, args};

use crate::error::Result;
use crate::features::search::class::Class;
use crate::values::ids::ProjectId;

/// `last` of the block that new documents are added to.
pub const TAIL: i64 = i64::MAX;
/// Blocks replaced by one statement, so that its text is prepared once.
const REPLACED: usize = (MAX_CACHED_ARGUMENTS - 1) / 5;
const COLUMNS: [&str; 6] = ["project_id", "term", "class", "last", "count", "bytes"];
/// Terms read by one statement.
const TERMS: usize = 500;

db::row! {
    #[derive(Debug)]
    pub struct BlockRow {
        pub term: String,
        pub class: i64,
        pub last: i64,
        pub count: i64,
        pub bytes: Vec<u8>,
    }
}

db::statements! {
    /// The number is `TAIL`.
    query TAILS -> BlockRow =
        "SELECT term, class, last, count, bytes FROM search_blocks
         WHERE project_id = $1 AND term {any}($2) AND class = $3 AND last = 9223372036854775807";
    /// The block that a document is in, if it is in any.
    query HOLDING -> BlockRow =
        "SELECT term, class, last, count, bytes FROM search_blocks
         WHERE project_id = $1 AND term = $2 AND class = $3 AND last >= $4 ORDER BY last LIMIT 1";
    command DELETE =
        "DELETE FROM search_blocks WHERE project_id = $1 AND term = $2 AND class = $3 AND last = $4";
    query SIZE -> (i64, i64) =
        "SELECT count(*) AS blocks, CAST(COALESCE(sum(length(bytes)), 0) AS {int}) AS size
         FROM search_blocks WHERE project_id = $1";
}

/// The blocks that new documents of the terms are added to.
pub fn tails(
    c: &Conn<'_>,
    project: ProjectId,
    terms: &[String],
    class: i64,
) -> Result<Vec<BlockRow>> {
    let mut found = Vec::new();
    for some in terms.chunks(TERMS) {
        found.extend(c.all(&TAILS, args![project, some.to_vec(), class])?);
    }
    Ok(found)
}

pub fn holding(
    c: &Conn<'_>,
    project: ProjectId,
    term: &str,
    class: i64,
    number: i64,
) -> Result<Option<BlockRow>> {
    Ok(c.opt(&HOLDING, args![project, term, class, number])?)
}

/// All blocks of the terms in these classes.
pub fn of_terms(
    c: &Conn<'_>,
    project: ProjectId,
    terms: &[String],
    classes: &[Class],
    mut take: impl FnMut(BlockRow),
) -> Result<()> {
    if terms.is_empty() || classes.is_empty() {
        return Ok(());
    }
    let mut conditions = Builder::all([project.into(), terms.to_vec().into()]);
    let classes = conditions.bind_all(classes.iter().map(|class| class.number().into()));
    conditions
        .add(format_args!("b.project_id = $1 AND b.term {{any}}($2) AND b.class IN ({classes})"));
    let text = format!(
        "SELECT b.term, b.class, b.last, b.count, b.bytes FROM search_blocks b WHERE {conditions}"
    );
    Ok(c.each(&Query::<BlockRow>::built("search::blocks", text), conditions.args(), &mut take)?)
}

/// How many documents of these classes have each term.
pub fn frequencies(
    c: &Conn<'_>,
    project: ProjectId,
    terms: &[String],
    classes: &[Class],
) -> Result<Vec<(String, i64)>> {
    if terms.is_empty() || classes.is_empty() {
        return Ok(Vec::new());
    }
    let mut conditions = Builder::all([project.into(), terms.to_vec().into()]);
    let classes = conditions.bind_all(classes.iter().map(|class| class.number().into()));
    conditions
        .add(format_args!("b.project_id = $1 AND b.term {{any}}($2) AND b.class IN ({classes})"));
    let text = format!(
        "SELECT b.term, CAST(sum(b.count) AS {{int}}) FROM search_blocks b WHERE {conditions}
         GROUP BY b.term"
    );
    Ok(c.all(&Query::<(String, i64)>::built("search::frequencies", text), conditions.args())?)
}

/// Adds blocks.
pub fn add(tx: &Tx<'_>, project: ProjectId, blocks: &[BlockRow]) -> Result<()> {
    let rows = blocks.iter().map(|block| {
        vec![
            project.into(),
            (&block.term).into(),
            block.class.into(),
            block.last.into(),
            block.count.into(),
            (&block.bytes).into(),
        ]
    });
    Ok(tx.append("search_blocks", &COLUMNS, &Vec::from_iter(rows))?)
}

/// Replaces blocks.
pub fn replace(tx: &Tx<'_>, project: ProjectId, blocks: &[BlockRow]) -> Result<()> {
    for some in blocks.chunks(REPLACED) {
        let mut rows = Builder::list([project.into()]);
        for block in some {
            let term = rows.bind(&block.term);
            let class = rows.bind(block.class);
            let last = rows.bind(block.last);
            let count = rows.bind(block.count);
            let bytes = rows.bind(&block.bytes);
            rows.add(format_args!(
                "({term}, CAST({class} AS {{int}}), CAST({last} AS {{int}}),
                  CAST({count} AS {{int}}), CAST({bytes} AS {{bytes}}))"
            ));
        }
        let text = format!(
            "UPDATE search_blocks SET count = c.column4, bytes = c.column5 FROM (VALUES {rows}) c
             WHERE search_blocks.project_id = $1 AND search_blocks.term = c.column1
                AND search_blocks.class = c.column2 AND search_blocks.last = c.column3"
        );
        tx.pipeline(&Command::<()>::built("search::replace_blocks", text), rows.args())?;
    }
    Ok(())
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, term: &str, class: i64, last: i64) -> Result<()> {
    Ok(tx.pipeline(&DELETE, args![project, term, class, last])?)
}

/// How many blocks there are, and their bytes.
pub fn size(c: &Conn<'_>, project: ProjectId) -> Result<(i64, i64)> {
    Ok(c.one(&SIZE, args![project])?)
}
