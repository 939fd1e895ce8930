//! The SQL about the dictionary: words of content that anybody may read.

use std::collections::{BTreeSet, HashMap};

use db::{Builder, Command, Conn, MAX_CACHED_ARGUMENTS, Query, Tx, args};
use text_index::{StoredWords, spelling};

use crate::error::{Error, Result};
use crate::features::search::class::Section;
use crate::values::ids::ProjectId;

/// Words changed by one statement, so that its text is prepared once.
const CHANGED: usize = (MAX_CACHED_ARGUMENTS - 1) / 2;
const COLUMNS: [&str; 7] =
    ["project_id", "section", "word", "number", "frequency", "letters", "reversed"];
/// Words looked up by one statement.
const READ: usize = 100;

db::statements! {
    query BY_START -> String =
        "SELECT word FROM search_words WHERE project_id = $1 AND section = $2 AND letters = $3
            AND letters > 0 AND word >= $4 AND word < $5";
    query BY_END -> String =
        "SELECT word FROM search_words WHERE project_id = $1 AND section = $2 AND letters = $3
            AND letters > 0 AND reversed >= $4 AND reversed < $5";
    query BY_PREFIX -> (String, i64) =
        "SELECT word, frequency FROM search_words WHERE project_id = $1 AND section = $2
            AND word >= $3 AND word < $4 ORDER BY word LIMIT $5";
    query FREQUENCIES -> (String, i64) =
        "SELECT word, frequency FROM search_words WHERE project_id = $1 AND section = $2 AND word {any}($3)";
    query NUMBERED -> (i64, String) =
        "SELECT number, word FROM search_words WHERE project_id = $1 AND number {any}($2)";
    command DELETE_UNUSED =
        "DELETE FROM search_words WHERE project_id = $1 AND section = $2 AND word {any}($3) AND frequency <= 0";
    command DELETE_ALL_UNUSED = "DELETE FROM search_words WHERE project_id = $1 AND frequency <= 0";
    query COUNT -> i64 = "SELECT count(*) FROM search_words WHERE project_id = $1";
}

/// The first text behind all that begin like this one.
fn end_of(prefix: &str) -> String {
    format!("{prefix}\u{10FFFF}")
}

/// Words that begin or end like a misspelt one.
pub fn like(
    c: &Conn<'_>,
    project: ProjectId,
    section: Section,
    parts: &spelling::Parts,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for letters in parts.letters.clone() {
        let letters = i64::try_from(letters).unwrap_or(i64::MAX);
        let (start, end) = (&parts.start, &parts.reversed_end);
        let by_start = args![project, section.number(), letters, start, end_of(start)];
        found.extend(c.all(&BY_START, by_start)?);
        let by_end = args![project, section.number(), letters, end, end_of(end)];
        found.extend(c.all(&BY_END, by_end)?);
    }
    Ok(found)
}

/// Those of the words that are known, with their frequencies.
pub fn frequencies(
    c: &Conn<'_>,
    project: ProjectId,
    section: Section,
    words: Vec<String>,
) -> Result<Vec<(String, i64)>> {
    Ok(c.all(&FREQUENCIES, args![project, section.number(), words])?)
}

/// Words that begin with a text.
pub fn beginning_with(
    c: &Conn<'_>,
    project: ProjectId,
    section: Section,
    start: &str,
    most: i64,
) -> Result<Vec<(String, i64)>> {
    Ok(c.all(&BY_PREFIX, args![project, section.number(), start, end_of(start), most])?)
}

/// The numbers of those of the words that are known.
pub fn numbers(
    c: &Conn<'_>,
    project: ProjectId,
    section: Section,
    words: &[&str],
) -> Result<Vec<(String, i64)>> {
    let mut found = Vec::new();
    for some in words.chunks(READ) {
        let mut rows = Builder::list([project.into(), section.number().into()]);
        for word in some {
            let word = rows.bind(*word);
            rows.add(format_args!("({word})"));
        }
        // Not `word {any}`: PostgreSQL may walk the whole dictionary for it while it has no statistics.
        let text = format!(
            "SELECT c.column1, (SELECT w.number FROM search_words w
                WHERE w.project_id = $1 AND w.section = $2 AND w.word = c.column1)
             FROM (VALUES {rows}) c"
        );
        let query = Query::<(String, Option<i64>)>::built("search::numbers", text);
        let rows = c.all(&query, rows.args())?;
        found.extend(rows.into_iter().filter_map(|(word, number)| Some((word, number?))));
    }
    Ok(found)
}

/// The words of each of these documents, sorted; none of one that is damaged.
pub fn unpack(
    c: &Conn<'_>,
    project: ProjectId,
    packed: &[&[u8]],
) -> Result<Vec<Option<Vec<String>>>> {
    let stored: Vec<Option<StoredWords>> =
        packed.iter().map(|bytes| StoredWords::unpack(bytes)).collect();
    let numbers = stored.iter().filter_map(|words| match words {
        Some(StoredWords::Numbers(numbers)) => Some(numbers),
        _ => None,
    });
    let numbers: BTreeSet<i64> = numbers.flatten().copied().collect();
    let known: HashMap<i64, String> = match numbers.is_empty() {
        true => HashMap::new(),
        false => c.all(&NUMBERED, args![project, Vec::from_iter(numbers)])?.into_iter().collect(),
    };
    let words = stored.into_iter().map(|words| match words? {
        StoredWords::Texts(texts) => Some(texts),
        StoredWords::Numbers(numbers) => {
            let words = numbers.iter().map(|number| known.get(number).cloned());
            let mut words: Vec<String> = words.collect::<Option<_>>()?;
            words.sort_unstable();
            Some(words)
        }
    });
    Ok(words.collect())
}

/// A word by how much its frequency changes.
#[derive(Debug)]
pub struct ChangedWord {
    pub word: String,
    /// None of a word that the dictionary lacks.
    pub number: Option<i64>,
    pub by: i64,
}

/// Adds words with their numbers. Nothing uses them yet.
pub fn add(tx: &Tx<'_>, project: ProjectId, section: Section, words: &[(&str, i64)]) -> Result<()> {
    let rows = words.iter().map(|(word, number)| {
        let letters = match spelling::is_candidate(word) {
            true => i64::try_from(word.chars().count()).unwrap_or(i64::MAX),
            false => 0,
        };
        let reversed = if letters > 0 { spelling::reversed(word) } else { String::new() };
        vec![
            project.into(),
            section.number().into(),
            (*word).into(),
            (*number).into(),
            0_i64.into(),
            letters.into(),
            reversed.into(),
        ]
    });
    Ok(tx.append("search_words", &COLUMNS, &Vec::from_iter(rows))?)
}

/// Changes the frequencies of words; those that nothing uses any more go.
pub fn change(
    tx: &Tx<'_>,
    project: ProjectId,
    section: Section,
    words: &[ChangedWord],
) -> Result<()> {
    for some in words.chunks(CHANGED) {
        let mut rows = Builder::list([project.into()]);
        for ChangedWord { word, number, by } in some {
            let unknown = || Error::internal(format!("the dictionary lacks {word}"));
            let number = rows.bind(number.ok_or_else(unknown)?);
            let by = rows.bind(*by);
            rows.add(format_args!("(CAST({number} AS {{int}}), CAST({by} AS {{int}}))"));
        }
        let text = format!(
            "UPDATE search_words SET frequency = frequency + c.column2 FROM (VALUES {rows}) c
             WHERE search_words.project_id = $1 AND search_words.number = c.column1"
        );
        tx.pipeline(&Command::<()>::built("search::change_words", text), rows.args())?;
    }
    let fewer: Vec<String> =
        words.iter().filter(|one| one.by < 0).map(|one| one.word.clone()).collect();
    if fewer.is_empty() {
        return Ok(());
    }
    Ok(tx.pipeline(&DELETE_UNUSED, args![project, section.number(), fewer])?)
}

/// Words that were added for documents which are not in the index any more.
pub fn delete_unused(tx: &Tx<'_>, project: ProjectId) -> Result<()> {
    Ok(tx.pipeline(&DELETE_ALL_UNUSED, args![project])?)
}

pub fn count(c: &Conn<'_>, project: ProjectId) -> Result<i64> {
    Ok(c.one(&COUNT, args![project])?)
}
