//! The tokens for which the two engines need different SQL, and the rewriting of a text for one of them.
//! String literals, quoted identifiers and comments are never touched.

use std::borrow::Cow;

use crate::Engine;

/// `{token}`, its text on SQLite, its text on PostgreSQL.
const TOKENS: &[(&str, &str, &str)] = &[
    ("uuid", "BLOB", "UUID"),
    // The id that is all zeros.
    (
        "nil",
        "x'00000000000000000000000000000000'",
        "CAST('00000000-0000-0000-0000-000000000000' AS UUID)",
    ),
    ("json", "TEXT", "JSONB"),
    // JSON that is stored byte by byte as it was written, on both.
    ("document", "TEXT", "JSON"),
    ("time", "INTEGER", "BIGINT"),
    ("int", "INTEGER", "BIGINT"),
    ("bool", "INTEGER", "BOOLEAN"),
    ("bytes", "BLOB", "BYTEA"),
    ("real", "REAL", "DOUBLE PRECISION"),
    ("text", "TEXT", "TEXT COLLATE \"C\""),
    ("strict", "STRICT", ""),
    // A clustered table (stored in the order of its primary key), where the engine supports it.
    ("clustered", "STRICT, WITHOUT ROWID", ""),
    // `id {any}($2)`: one of a list bound as one argument.
    ("any", "IN rarray", "= ANY"),
    ("contains", "instr", "strpos"),
    ("for_update", "", "FOR UPDATE"),
    // Locks only the rows of the tables named `c` and `b` in a join.
    ("for_update_of_c_b", "", "FOR UPDATE OF c, b"),
    // The same, after a shared lock on the rows of `e`.
    ("for_update_of_c_b_keeping_e", "", "FOR KEY SHARE OF e FOR UPDATE OF c, b"),
    // Locks a row, but lets others refer to it by foreign keys.
    ("for_no_key_update", "", "FOR NO KEY UPDATE"),
    ("for_no_key_update_of_e", "", "FOR NO KEY UPDATE OF e"),
    // Locks a row against changes; shared.
    ("for_share", "", "FOR SHARE"),
    // Locks a row against deletion; shared.
    ("for_key_share", "", "FOR KEY SHARE"),
    ("greatest", "max", "GREATEST"),
    // Microseconds of the database's own clock: greater for a transaction that begins after another's commit.
    ("moment", "moment()", "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"),
    ("least", "min", "LEAST"),
    // Statistics for the planner. Those of SQLite are always there.
    ("analyze", "", "ANALYZE"),
];

/// The text of a statement for one engine: tokens expanded, and `$n` as `?n` on SQLite, which would
/// number `$n` by order of appearance.
pub(crate) fn statement(text: &str, engine: Engine) -> Result<String, String> {
    rewrite(text, engine, engine == Engine::Sqlite)
}

/// The text of a script for one engine: tokens expanded, nothing else.
pub(crate) fn script(text: &str, engine: Engine) -> Result<String, String> {
    rewrite(text, engine, false)
}

/// The text with every `$n` as `$(n + before)`, for a place behind that many other parameters.
pub(crate) fn renumbered(text: &str, before: usize) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(first) = rest.as_bytes().first() {
        let taken = match first {
            b'\'' | b'"' => quoted(rest, *first),
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'$' => {
                let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
                let number = rest[1..=digits].parse::<usize>().ok();
                if let Some(number) = number {
                    out.push_str(&format!("${}", number + before));
                    rest = &rest[1 + digits..];
                    continue;
                }
                1
            }
            _ => plain(rest),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// The statements of a script, without the semicolons between them.
pub(crate) fn split(script: &str) -> Vec<&str> {
    let (mut statements, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(first) = script.as_bytes().get(at) {
        let rest = &script[at..];
        at += match first {
            b'\'' | b'"' => quoted(rest, *first),
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b';' => {
                statements.push(&script[start..at]);
                start = at + 1;
                1
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    statements.push(&script[start..]);
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

fn rewrite(text: &str, engine: Engine, question_marks: bool) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.as_bytes().first() {
        let taken = match first {
            b'\'' | b'"' => quoted(rest, *first),
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'{' => match token(rest) {
                Some(name) => {
                    out.push_str(&expansion(name, engine)?);
                    rest = &rest[name.len() + 2..];
                    continue;
                }
                None => 1,
            },
            b'$' if question_marks && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {
                out.push('?');
                rest = &rest[1..];
                continue;
            }
            _ => plain(rest),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    Ok(out)
}

/// Bytes up to the closing quote. A doubled quote ends one literal and opens the next, with the same result.
fn quoted(text: &str, quote: u8) -> usize {
    text.bytes().skip(1).position(|byte| byte == quote).map_or(text.len(), |at| at + 2)
}

/// Bytes up to the next special one; at least one character.
fn plain(text: &str) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    text.bytes()
        .skip(first)
        .position(|byte| matches!(byte, b'\'' | b'"' | b'-' | b'/' | b'{' | b'$'))
        .map_or(text.len(), |at| at + first)
}

/// The name in `{name}` at the start of the text.
fn token(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.split_once('}')?.0;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

/// `FROM t {indexed_by_t_new}` makes SQLite use the index `t_new`, with statistics or without; PostgreSQL chooses.
const INDEXED_BY: &str = "indexed_by_";

fn expansion(name: &str, engine: Engine) -> Result<Cow<'static, str>, String> {
    if let Some(index) = name.strip_prefix(INDEXED_BY) {
        return Ok(match engine {
            Engine::Sqlite => format!("INDEXED BY {index}").into(),
            Engine::Postgres => "".into(),
        });
    }
    let (_, sqlite, postgres) = TOKENS
        .iter()
        .find(|(token, ..)| *token == name)
        .ok_or_else(|| format!("unknown dialect token {{{name}}}"))?;
    Ok(Cow::Borrowed(match engine {
        Engine::Sqlite => sqlite,
        Engine::Postgres => postgres,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_keep_their_numbers_on_sqlite() {
        let text = "SELECT $2, $10 WHERE a = $1";
        assert_eq!(statement(text, Engine::Sqlite).unwrap(), "SELECT ?2, ?10 WHERE a = ?1");
        assert_eq!(statement(text, Engine::Postgres).unwrap(), text);
    }

    #[test]
    fn literals_identifiers_and_comments_are_left_alone() {
        let text = "SELECT '$1 {uuid} it''s $2', \"a$1\" /* $3 {what} */ -- $4 {huh}\n, 'é$1'";
        assert_eq!(statement(text, Engine::Sqlite).unwrap(), text);
        assert_eq!(statement("SELECT 'open $1", Engine::Sqlite).unwrap(), "SELECT 'open $1");
    }

    #[test]
    fn tokens_expand_per_engine() {
        let text = "CREATE TABLE t (id {uuid}, name {text}) {strict}";
        assert_eq!(
            script(text, Engine::Sqlite).unwrap(),
            "CREATE TABLE t (id BLOB, name TEXT) STRICT"
        );
        assert_eq!(
            script(text, Engine::Postgres).unwrap(),
            "CREATE TABLE t (id UUID, name TEXT COLLATE \"C\") "
        );
    }

    #[test]
    fn an_index_is_named_for_sqlite_alone() {
        let text = "FROM t {indexed_by_t_new} WHERE a = 1";
        assert_eq!(statement(text, Engine::Sqlite).unwrap(), "FROM t INDEXED BY t_new WHERE a = 1");
        assert_eq!(statement(text, Engine::Postgres).unwrap(), "FROM t  WHERE a = 1");
    }

    #[test]
    fn unknown_tokens_are_named_and_other_braces_kept() {
        let error = statement("SELECT {nonsense}", Engine::Sqlite).unwrap_err();
        assert!(error.contains("{nonsense}"), "{error}");
        for text in ["{}", "{1}", "{A}", "{a b}", "{"] {
            assert_eq!(statement(text, Engine::Sqlite).unwrap(), text);
        }
    }

    #[test]
    fn a_script_is_split_at_its_own_semicolons() {
        let text = "CREATE a (b ';'); -- c; d\n /* ; */ DELETE \";\";\n INSERT 'é;';\n";
        let parts: Vec<&str> = split(text).iter().map(|part| part.trim()).collect();
        let second = "-- c; d\n /* ; */ DELETE \";\"";
        assert_eq!(parts, ["CREATE a (b ';')", second, "INSERT 'é;'"]);
        assert!(split(" \n").is_empty());
    }

    #[test]
    fn text_of_every_alphabet_survives() {
        let text = "SELECT é, 日本 - 1 / 2 $ x";
        assert_eq!(statement(text, Engine::Sqlite).unwrap(), text);
    }
}
