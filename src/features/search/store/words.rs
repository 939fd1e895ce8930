//! The SQL about the dictionary: words of content that anybody may read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use db::{Builder, Command, Conn, Tx, args};
use text_index::{StoredWords, spelling};

use crate::error::Result;
use crate::features::search::class::Section;
use crate::values::ids::ProjectId;

/// Rows written by one statement, so that its text is prepared once.
const ROWS: usize = 30;

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
    query NUMBERS -> (String, i64) =
        "SELECT word, number FROM search_words WHERE project_id = $1 AND section = $2 AND word {any}($3)";
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
    words: Vec<String>,
) -> Result<Vec<(String, i64)>> {
    Ok(c.all(&NUMBERS, args![project, section.number(), words])?)
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

/// Adds words with their numbers. Nothing uses them yet.
pub fn add(tx: &Tx<'_>, project: ProjectId, section: Section, words: &[(&str, i64)]) -> Result<()> {
    for some in words.chunks(ROWS) {
        let mut rows = Builder::list([project.into(), section.number().into()]);
        for (word, number) in some {
            let letters = match spelling::is_candidate(word) {
                true => i64::try_from(word.chars().count()).unwrap_or(i64::MAX),
                false => 0,
            };
            let reversed = if letters > 0 { spelling::reversed(word) } else { String::new() };
            let values =
                rows.bind_all([(*word).into(), (*number).into(), letters.into(), reversed.into()]);
            rows.add(format_args!("($1, $2, 0, {values})"));
        }
        let text = format!(
            "INSERT INTO search_words (project_id, section, frequency, word, number, letters, reversed)
             VALUES {rows}"
        );
        tx.pipeline(&Command::<()>::built("search::add_words", text), rows.args())?;
    }
    Ok(())
}

/// Changes the frequency of each word by a number; words that nothing uses any more go.
pub fn change(
    tx: &Tx<'_>,
    project: ProjectId,
    section: Section,
    words: &[(Arc<str>, i64)],
) -> Result<()> {
    for some in words.chunks(ROWS) {
        let mut rows = Builder::list([project.into(), section.number().into()]);
        for (word, by) in some {
            let (word, by) = (rows.bind(&**word), rows.bind(*by));
            rows.add(format_args!("({word}, CAST({by} AS {{int}}))"));
        }
        let text = format!(
            "UPDATE search_words SET frequency = frequency + c.column2 FROM (VALUES {rows}) c
             WHERE project_id = $1 AND section = $2 AND word = c.column1"
        );
        tx.pipeline(&Command::<()>::built("search::change_words", text), rows.args())?;
    }
    let fewer: Vec<String> =
        words.iter().filter(|(_, by)| *by < 0).map(|(word, _)| word.to_string()).collect();
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
