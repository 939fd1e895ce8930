//! The SQL about vectors: how far they are made, their bytes, and the blocks of their signs.

use std::collections::BTreeMap;

use db::{Builder, Command, Conn, Query, Tx, args};
use text_index::vectors::{self, BLOCK};

use crate::error::Result;
use crate::features::search::class::Class;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

/// Rows written by one statement, so that its text is prepared once.
const ROWS: usize = 20;

db::row! {
    #[derive(Debug, Clone)]
    pub struct VectorState {
        pub vector_model: Option<String>,
        pub vectors_to: i64,
    }
}

db::statements! {
    /// Projects with documents that have no vectors of this model yet.
    query DUE -> ProjectId, unscoped "the indexer serves every project" =
        "SELECT s.project_id FROM search_state s
         WHERE s.vectors_to + 1 < s.next_number OR s.vector_model IS NULL OR s.vector_model <> $1";
    query STATE -> VectorState =
        "SELECT vector_model, vectors_to FROM search_state WHERE project_id = $1";
    command CLAIM =
        "UPDATE search_state SET vectors_claimed_until = $3
         WHERE project_id = $1 AND (vectors_claimed_until IS NULL OR vectors_claimed_until < $2)";
    command RELEASE = "UPDATE search_state SET vectors_claimed_until = NULL WHERE project_id = $1";
    command START_OVER =
        "UPDATE search_state SET vector_model = $2, vectors_to = 0 WHERE project_id = $1";
    command DELETE_ALL = "DELETE FROM search_vectors WHERE project_id = $1";
    command DELETE_BLOCKS = "DELETE FROM search_vector_blocks WHERE project_id = $1";
    command ADVANCE =
        "UPDATE search_state SET vectors_to = $3 WHERE project_id = $1 AND vectors_to = $2
            AND vector_model = $4";
    query BLOCK_OF -> Vec<u8> =
        "SELECT bytes FROM search_vector_blocks WHERE project_id = $1 AND class = $2 AND block = $3";
    command WRITE_BLOCK =
        "INSERT INTO search_vector_blocks (project_id, class, block, bytes) VALUES ($1, $2, $3, $4)
         ON CONFLICT (project_id, class, block) DO UPDATE SET bytes = excluded.bytes";
    command DELETE_BLOCK =
        "DELETE FROM search_vector_blocks WHERE project_id = $1 AND class = $2 AND block = $3";
    query COUNT -> i64 = "SELECT count(*) FROM search_vectors WHERE project_id = $1";
}

pub fn due(c: &Conn<'_>, model: &str) -> Result<Vec<ProjectId>> {
    Ok(c.all(&DUE, args![model])?)
}

pub fn state(c: &Conn<'_>, project: ProjectId) -> Result<Option<VectorState>> {
    Ok(c.opt(&STATE, args![project])?)
}

/// Whether this node makes the next vectors; others leave the project alone until then.
pub fn claim(tx: &Tx<'_>, project: ProjectId, now: Timestamp, until: Timestamp) -> Result<bool> {
    Ok(tx.execute(&CLAIM, args![project, now, until])? > 0)
}

pub fn release(tx: &Tx<'_>, project: ProjectId) -> Result<()> {
    Ok(tx.pipeline(&RELEASE, args![project])?)
}

/// Drops the vectors of another model. The caller has locked the state.
pub fn start_over(tx: &Tx<'_>, project: ProjectId, model: &str) -> Result<()> {
    tx.pipeline(&DELETE_ALL, args![project])?;
    tx.pipeline(&DELETE_BLOCKS, args![project])?;
    Ok(tx.pipeline(&START_OVER, args![project, model])?)
}

/// False if somebody else has advanced, or begun anew with another model.
pub fn advance(tx: &Tx<'_>, project: ProjectId, model: &str, from: i64, to: i64) -> Result<bool> {
    Ok(tx.execute(&ADVANCE, args![project, from, to, model])? > 0)
}

/// A document's vectors, one for each of its chunks.
#[derive(Debug, Clone)]
pub struct NewVectors {
    pub number: i64,
    pub class: i64,
    pub chunks: Vec<Vec<f32>>,
}

pub fn add(tx: &Tx<'_>, project: ProjectId, documents: &[&NewVectors]) -> Result<()> {
    let all: Vec<(i64, i64, &Vec<f32>)> = documents
        .iter()
        .flat_map(|one| one.chunks.iter().zip(0..).map(|(vector, n)| (one.number, n, vector)))
        .collect();
    for some in all.chunks(ROWS) {
        let mut rows = Builder::list([project.into()]);
        for (number, chunk, vector) in some {
            let bytes = vectors::quantise(vector);
            let values = rows.bind_all([(*number).into(), (*chunk).into(), bytes.into()]);
            rows.add(format_args!("($1, {values})"));
        }
        let text =
            format!("INSERT INTO search_vectors (project_id, number, chunk, bytes) VALUES {rows}");
        tx.pipeline(&Command::<()>::built("search::write_vectors", text), rows.args())?;
    }
    let mut blocks = Blocks::default();
    for one in documents {
        let bytes = blocks.get(tx, project, one.class, one.number)?;
        one.chunks.iter().for_each(|vector| vectors::add(bytes, one.number, vector));
    }
    blocks.write(tx, project)
}

/// Documents, by class and number, that are taken out of the index.
pub fn remove(tx: &Tx<'_>, project: ProjectId, documents: &[(i64, i64)]) -> Result<()> {
    let mut blocks = Blocks::default();
    for (class, number) in documents {
        let bytes = blocks.get(tx, project, *class, *number)?;
        *bytes = vectors::remove(bytes, *number);
    }
    for some in documents.chunks(100) {
        let mut conditions = Builder::all([project.into()]);
        let numbers = conditions.bind_all(some.iter().map(|(_, number)| (*number).into()));
        conditions.add(format_args!("project_id = $1 AND number IN ({numbers})"));
        let text = format!("DELETE FROM search_vectors WHERE {conditions}");
        tx.pipeline(&Command::<()>::built("search::remove_vectors", text), conditions.args())?;
    }
    blocks.write(tx, project)
}

/// Blocks that a transaction changes, by class and place.
#[derive(Default)]
struct Blocks(BTreeMap<(i64, i64), Vec<u8>>);

impl Blocks {
    fn get(
        &mut self,
        tx: &Tx<'_>,
        project: ProjectId,
        class: i64,
        number: i64,
    ) -> Result<&mut Vec<u8>> {
        let block = number.div_euclid(BLOCK);
        let bytes = match self.0.entry((class, block)) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let found = tx.opt(&BLOCK_OF, args![project, class, block])?;
                new.insert(found.unwrap_or_default())
            }
        };
        Ok(bytes)
    }

    fn write(self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        for ((class, block), bytes) in self.0 {
            match bytes.is_empty() {
                true => tx.pipeline(&DELETE_BLOCK, args![project, class, block])?,
                false => tx.pipeline(&WRITE_BLOCK, args![project, class, block, bytes])?,
            }
        }
        Ok(())
    }
}

/// The signs of all documents of these classes: class, block and bytes.
pub fn each_block(
    c: &Conn<'_>,
    project: ProjectId,
    classes: &[Class],
    mut take: impl FnMut((i64, i64, Vec<u8>)),
) -> Result<()> {
    if classes.is_empty() {
        return Ok(());
    }
    let mut conditions = Builder::all([project.into()]);
    let classes = conditions.bind_all(classes.iter().map(|class| class.number().into()));
    conditions.add(format_args!("b.project_id = $1 AND b.class IN ({classes})"));
    let text =
        format!("SELECT b.class, b.block, b.bytes FROM search_vector_blocks b WHERE {conditions}");
    let query = Query::<(i64, i64, Vec<u8>)>::built("search::vector_blocks", text);
    Ok(c.each(&query, conditions.args(), &mut take)?)
}

/// The bytes of these documents' vectors.
pub fn of_documents(
    c: &Conn<'_>,
    project: ProjectId,
    numbers: &[i64],
) -> Result<Vec<(i64, Vec<u8>)>> {
    let mut found = Vec::new();
    for some in numbers.chunks(100) {
        let mut conditions = Builder::all([project.into()]);
        let numbers = conditions.bind_all(some.iter().map(|number| (*number).into()));
        conditions.add(format_args!("v.project_id = $1 AND v.number IN ({numbers})"));
        let text = format!("SELECT v.number, v.bytes FROM search_vectors v WHERE {conditions}");
        let query = Query::<(i64, Vec<u8>)>::built("search::vectors", text);
        found.extend(c.all(&query, conditions.args())?);
    }
    Ok(found)
}

pub fn count(c: &Conn<'_>, project: ProjectId) -> Result<i64> {
    Ok(c.one(&COUNT, args![project])?)
}
