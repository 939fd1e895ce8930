//! Reads SQL as a cluster does that is distributed by project: which tables does a statement touch, and is the
//! project of each bound to `$1`, by itself or through a table of the same query that is? Otherwise its rows may be on several
//! workers, and a join of them is refused or asks all of them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The tables of a statement whose project is not bound, as `table alias`.
pub fn unbound(sql: &str) -> Vec<String> {
    let mut found = Vec::new();
    examine(&tokens(sql), false, &[], &mut found);
    found
}

/// The same for a statement across projects: the first table may be in any, the others have to be in the same. So
/// may that of a query inside whose first column is the project, to be joined by it.
pub fn apart(sql: &str) -> Vec<String> {
    let sql = match sources(&tokens(sql)).iter().find(|source| source.table.is_some()) {
        Some(first) => format!("{sql} WHERE {}.project_id = $1", first.alias),
        None => sql.to_owned(),
    };
    let mut found = Vec::new();
    examine(&tokens(&sql), true, &[], &mut found);
    found
}

/// Every table that has a `project_id`.
fn tables() -> &'static BTreeSet<String> {
    static TABLES: OnceLock<BTreeSet<String>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let schema = include_str!("../../../schema.postgres.sql");
        let definitions = schema.split("CREATE TABLE ").skip(1);
        let scoped = definitions.filter(|text| {
            text.split(");").next().is_some_and(|columns| columns.contains("\n    project_id "))
        });
        scoped.filter_map(|text| Some(text.split_once(' ')?.0.to_owned())).collect()
    })
}

/// In lower case: names with their dots, numbers, parameters, single signs. Literals are `'`.
fn tokens(sql: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = sql.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '{' | '}');
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            '"' => {
                let end = rest[1..].find('"').map_or(rest.len(), |end| end + 2);
                // The rest of a quoted path: "schema"."table".
                if rest[end..].starts_with(".\"") {
                    rest = &rest[end + 1..];
                    continue;
                }
                end
            }
            '-' if rest.starts_with("--") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]).trim_start();
                continue;
            }
            first if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        tokens.push(if first == '\'' { "'".to_owned() } else { rest[..length].to_lowercase() });
        rest = rest[length..].trim_start();
    }
    tokens
}

/// A table of a query, as the conditions call it, and whether its project is bound.
#[derive(Debug, Clone)]
struct Source {
    /// `None` for a subquery, a function, or a table without projects.
    table: Option<String>,
    alias: String,
    bound: bool,
    /// Rows are inserted into it; the rule that the project is their first column is tested elsewhere.
    is_target: bool,
}

const QUERY: [&str; 5] = ["select", "with", "insert", "update", "delete"];
/// What ends a list of tables, or one of conditions.
const CLAUSES: [&str; 17] = [
    "where",
    "group",
    "order",
    "limit",
    "offset",
    "returning",
    "set",
    "values",
    "having",
    "window",
    "for",
    "union",
    "except",
    "intersect",
    "select",
    "on",
    "join",
];

/// Looks at a query and, inside out of its conditions, at the queries in it.
fn examine(tokens: &[String], across: bool, outer: &[Source], found: &mut Vec<String>) {
    let parts = split_at(tokens, &["union", "except", "intersect"]);
    if parts.len() > 1 {
        parts.into_iter().for_each(|part| examine(part, across, outer, found));
        return;
    }
    let mut sources = sources(tokens);
    let names_the_project =
        tokens.iter().find(|word| !["select", "distinct"].contains(&word.as_str()));
    if across && names_the_project.is_some_and(|first| first.ends_with("project_id")) {
        sources.iter_mut().take(1).for_each(|first| first.bound = true);
    }
    let equal = equalities(tokens, &sources);
    let is_project = |name: &str| name == "$1";
    let mut is_new = true;
    while std::mem::take(&mut is_new) {
        for at in 0..sources.len() {
            let alias = &sources[at].alias;
            let binds = |name: &str| {
                is_project(name) || sources.iter().chain(outer).any(|s| s.bound && name == s.alias)
            };
            let is_bound = equal.iter().any(|(one, other)| {
                (one == alias && binds(other)) || (other == alias && binds(one))
            });
            if is_bound && !sources[at].bound {
                (sources[at].bound, is_new) = (true, true);
            }
        }
    }
    let unbound = sources.iter().filter(|s| !s.bound && s.table.is_some());
    found.extend(unbound.map(|s| format!("{} {}", s.table.as_deref().unwrap_or(""), s.alias)));
    // Citus sees that the project of a subquery is that of the outer query in simple cases only; in others it asks
    // all shards, or refuses.
    let outer = if across { outer } else { &[] };
    let sources = if across { sources } else { Vec::new() };
    let visible: Vec<Source> = sources.into_iter().chain(outer.iter().cloned()).collect();
    for group in groups(tokens) {
        inner_queries(group, across, &visible, found);
    }
}

/// The queries in parentheses, also in those of functions and conditions.
fn inner_queries(group: &[String], across: bool, visible: &[Source], found: &mut Vec<String>) {
    if group.first().is_some_and(|word| QUERY.contains(&word.as_str())) {
        return examine(group, across, visible, found);
    }
    groups(group).into_iter().for_each(|group| inner_queries(group, across, visible, found));
}

/// The tokens inside each pair of parentheses of this level.
fn groups(tokens: &[String]) -> Vec<&[String]> {
    let (mut groups, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            ")" => {
                depth -= 1;
                if depth == 0 {
                    groups.push(&tokens[start..at]);
                }
            }
            _ => {}
        }
    }
    groups
}

/// This level without what is in parentheses; a pair that is left is empty.
fn level(tokens: &[String]) -> Vec<&str> {
    let mut depth = 0;
    let mut level = Vec::new();
    for token in tokens {
        depth -= i32::from(token == ")");
        if depth == 0 {
            level.push(token.as_str());
        }
        depth += i32::from(token == "(");
    }
    level
}

fn split_at<'t>(tokens: &'t [String], words: &[&str]) -> Vec<&'t [String]> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, token) in tokens.iter().enumerate() {
        depth += i32::from(token == "(") - i32::from(token == ")");
        if depth == 0 && words.contains(&token.as_str()) {
            parts.push(&tokens[start..at]);
            start = at + 1 + usize::from(tokens.get(at + 1).is_some_and(|next| next == "all"));
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// The tables of this level: what is changed, and what is in FROM, JOIN and USING.
fn sources(tokens: &[String]) -> Vec<Source> {
    let level = level(tokens);
    let ctes: Vec<&str> =
        level.windows(3).filter(|words| words[1..] == ["as", "("]).map(|words| words[0]).collect();
    let (mut sources, mut in_from, mut at) = (Vec::new(), false, 0);
    while at < level.len() {
        let word = level[at];
        let is_for_update =
            word == "update" && at > 0 && ["for", "do", "key"].contains(&level[at - 1]);
        let begins = match word {
            "from" | "join" | "into" => true,
            "update" => !is_for_update,
            "using" => level.get(at + 1) != Some(&"("),
            "," => in_from,
            _ => false,
        };
        match word {
            "from" | "using" => in_from = true,
            word if CLAUSES.contains(&word) && !["on", "join"].contains(&word) => in_from = false,
            _ => {}
        }
        at += 1;
        if !begins {
            continue;
        }
        if ["lateral", "only"].iter().any(|word| level.get(at) == Some(word)) {
            at += 1;
        }
        let Some(&name) = level.get(at) else { break };
        at += if name == "(" { 2 } else { 1 };
        let is_call = name != "(" && level.get(at) == Some(&"(") && word != "into";
        at += if is_call { 2 } else { 0 };
        at += usize::from(level.get(at) == Some(&"as"));
        // Tokens of SQLite alone are no alias: {indexed_by_…}.
        while level.get(at).is_some_and(|next| next.starts_with('{')) {
            at += 1;
        }
        let is_name = |next: &&&str| {
            next.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && !CLAUSES.contains(*next)
                && ![
                    "left", "right", "inner", "cross", "full", "natural", "using", "from",
                    "default", "as",
                ]
                .contains(*next)
        };
        let alias = level.get(at).filter(is_name).copied().unwrap_or(name).to_owned();
        let is_table = !is_call && tables().contains(name) && !ctes.contains(&name);
        let (table, is_target) = (is_table.then(|| name.to_owned()), word == "into");
        sources.push(Source { table, alias, bound: is_target, is_target });
    }
    sources
}

/// What is equal to the project of what, among the conditions that must hold: aliases and parameters.
fn equalities(tokens: &[String], sources: &[Source]) -> Vec<(String, String)> {
    let mut equal = Vec::new();
    let mut level: Vec<&str> = level(tokens);
    // The conditions in parentheses belong to the level, unless they are alternatives.
    for group in groups(tokens) {
        let is_query = group.first().is_some_and(|word| QUERY.contains(&word.as_str()));
        if !is_query && !group.iter().any(|word| word == "or") {
            level.push("and");
            level.extend(group.iter().map(String::as_str));
        }
    }
    let project_of = |name: &str| match name.strip_suffix("project_id") {
        Some("") => {
            // Only what is read or changed can be meant, not what is inserted into.
            let is_meant = |source: &&Source| source.table.is_some() && !source.is_target;
            let mut known = sources.iter().filter(is_meant);
            known.next().map(|source| source.alias.clone())
        }
        Some(alias) => alias.strip_suffix('.').map(str::to_owned),
        None => (name == "$1").then(|| name.to_owned()),
    };
    for at in 1..level.len().saturating_sub(1) {
        if level[at] != "=" {
            continue;
        }
        let before = at.checked_sub(2).map(|before| level[before]);
        let is_alternative = before == Some("or") || level.get(at + 2) == Some(&"or");
        let (one, other) = (project_of(level[at - 1]), project_of(level[at + 1]));
        if let (Some(one), Some(other), false) = (one, other, is_alternative) {
            equal.push((one, other));
        }
    }
    equal
}

#[cfg(test)]
mod tests {
    use super::{apart, unbound};

    #[test]
    fn a_table_is_bound_by_the_project_or_by_a_bound_table() {
        for sql in [
            "SELECT 1 FROM users WHERE project_id = $1 AND id = $2",
            "SELECT 1 FROM users u JOIN follows f ON f.project_id = u.project_id WHERE u.project_id = $1",
            "SELECT (SELECT 1 FROM follows f WHERE f.project_id = $1) FROM users u WHERE u.project_id = $1",
            "UPDATE users SET id = f.id FROM follows f WHERE users.project_id = $1 AND f.project_id = users.project_id",
            "INSERT INTO users (project_id, id) SELECT f.project_id, f.id FROM follows AS f WHERE f.project_id = $1",
            "INSERT INTO users (project_id, id) SELECT project_id, id FROM follows WHERE project_id = $1",
            "WITH x AS (SELECT id FROM users WHERE project_id = $1) SELECT 1 FROM x",
            "SELECT 1 FROM projects WHERE id = $1",
            "SELECT 1 FROM users WHERE project_id = $1 UNION ALL SELECT 1 FROM follows WHERE project_id = $1",
        ] {
            assert_eq!(unbound(sql), Vec::<String>::new(), "{sql}");
        }
    }

    #[test]
    fn a_table_that_is_not_bound_is_named() {
        for (sql, expected) in [
            ("SELECT 1 FROM users WHERE id = $1", "users users"),
            (
                "SELECT 1 FROM users u JOIN follows f ON f.id = u.id WHERE u.project_id = $1",
                "follows f",
            ),
            ("SELECT 1 FROM users u, follows AS f WHERE u.project_id = $1", "follows f"),
            (
                "SELECT 1 FROM users u WHERE u.project_id = $1 AND EXISTS (SELECT 1 FROM follows f WHERE f.id = u.id)",
                "follows f",
            ),
            (
                "SELECT (SELECT 1 FROM follows f WHERE f.project_id = u.project_id) FROM users u WHERE u.project_id = $1",
                "follows f",
            ),
            ("SELECT 1 FROM users u WHERE (u.project_id = $1 OR u.id = $2)", "users u"),
            ("SELECT 1 FROM users u WHERE u.project_id = $2", "users u"),
            ("DELETE FROM users USING follows f WHERE users.project_id = $1", "follows f"),
            (
                "SELECT 1 FROM users WHERE project_id = $1 UNION SELECT 1 FROM follows",
                "follows follows",
            ),
        ] {
            assert_eq!(unbound(sql), [expected], "{sql}");
        }
    }

    #[test]
    fn across_projects_tables_are_joined_by_the_project() {
        for sql in [
            "SELECT u.id FROM users u JOIN follows f ON f.project_id = u.project_id",
            "DELETE FROM users WHERE (project_id, id) IN (SELECT project_id, id FROM users LIMIT 1)",
            "SELECT 1 FROM users u JOIN (SELECT f.project_id FROM follows f) x ON x.project_id = u.project_id",
        ] {
            assert_eq!(apart(sql), Vec::<String>::new(), "{sql}");
        }
        for (sql, expected) in [
            ("SELECT u.id FROM users u JOIN follows f ON f.id = u.id", "follows f"),
            ("DELETE FROM users WHERE id IN (SELECT id FROM follows)", "follows follows"),
        ] {
            assert_eq!(apart(sql), [expected], "{sql}");
        }
    }
}
