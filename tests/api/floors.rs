//! The modules are layered: each imports only lower ones. This test reads every `use` and every path in
//! `src/`, and names the file and line of each import that points up. Another one checks where SQL is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// From the bottom to the top. A room imports only rooms in earlier rows; rooms in one row do not import
/// each other.
const ROOMS: &[&[&str]] = &[
    // Values.
    &["values"],
    &["error", "recount"],
    &["search_queue"],
    // Tenancy.
    &["tenancy"],
    // Auth.
    &["auth"],
    // Machinery.
    &["outbound"],
    &["mail", "storage"],
    &["config", "installation"],
    &["network", "rate_limits", "traces"],
    &["realtime"],
    &["metrics"],
    &["state"],
    &["jobs"],
    &["audit", "domain_events", "mail_quota"],
    &["http"],
    &["sockets"],
    // Features, in the one order that they may import each other in.
    &["features::visibility"],
    &[
        "features::crypto",
        "features::files",
        "features::link_previews",
        "features::projects",
        "features::webhooks",
    ],
    &["features::users"],
    &["features::notifications"],
    &["features::follows"],
    &["features::connections"],
    &["features::blocks"],
    &["features::workspaces"],
    &["features::spaces"],
    &["features::grants"],
    &["features::reactions"],
    &["features::entities"],
    &["features::comments"],
    &["features::collections"],
    &["features::chat"],
    &["features::live", "features::events"],
    &["features::moderation"],
    &["features::deletion"],
    &["features::push", "features::digests", "features::search"],
    &["features::identities"],
    &["features::auth"],
    &["features::oauth", "features::notification_mails"],
    &["features::tables"],
    &["features::project_deletion", "features::exports"],
    &["features::server"],
    &["features::admin"],
    // The lists of all features.
    &["features"],
    // The program.
    &["logs", "schema"],
    &["transfer"],
    &["app"],
    &["server", "start"],
    &["cli"],
];

#[test]
fn no_module_imports_one_above_it() {
    let floors: BTreeMap<&str, usize> = ROOMS
        .iter()
        .enumerate()
        .flat_map(|(n, rooms)| rooms.iter().map(move |r| (*r, n)))
        .collect();
    let mut upward = Vec::new();
    for (file, text) in sources(Path::new("src")) {
        let here = module_of(&file);
        let Some(room) = room_of(&here, &floors) else {
            assert!(here.len() <= 1, "{file}: its room is not in the list of floors");
            continue;
        };
        for (line, path) in imports(&text, &here) {
            let Some(target) = room_of(&path, &floors) else { continue };
            if target != room && floors[target] >= floors[room] {
                upward.push(format!("{file}:{line}: `{room}` imports `{}`", path.join("::")));
            }
        }
    }
    assert!(upward.is_empty(), "imports that point up:\n{}", upward.join("\n"));
}

#[test]
fn imports_are_read_from_every_form() {
    let text =
        "use crate::a::{b, c::{d, self}};\nfn f() { super::x::y(); crate::z::w() } // crate::no\n";
    let here = ["features".to_owned(), "m".to_owned(), "n".to_owned()];
    let found: Vec<String> = imports(text, &here)
        .into_iter()
        .map(|(line, path)| format!("{line} {}", path.join("::")))
        .collect();
    let expected =
        ["1 a::b", "1 a::c::d", "1 a::c", "2 features::m::x::y", "2 z::w"].map(str::to_owned);
    assert_eq!(found, expected);
}

/// SQL is only in `store.rs`, `sql.rs`, or below a folder of that name, in plain functions; handlers, jobs
/// and everything else that needs the application are elsewhere.
#[test]
fn sql_is_only_in_stores() {
    let mut misplaced = Vec::new();
    for (file, text) in sources(Path::new("src")) {
        let (code, literals) = code_and_literals(&text);
        if is_store(&file) {
            let found =
                ["Call<", "App", "async", "await"].map(|word| (word, lines_with(&code, word)));
            for (word, lines) in found {
                let lines = lines.into_iter();
                misplaced.extend(lines.map(|line| format!("{file}:{line}: `{word}` in a store")));
            }
            continue;
        }
        for call in ["statements!", "Query::built", "Command::built", ">::built"] {
            let lines = lines_with(&code, call).into_iter();
            misplaced
                .extend(lines.map(|line| format!("{file}:{line}: `{call}` outside of a store")));
        }
        for (line, literal) in literals.iter().filter(|(_, literal)| is_sql(literal)) {
            let literal = literal.split_whitespace().collect::<Vec<_>>().join(" ");
            misplaced.push(format!("{file}:{line}: SQL outside of a store: {literal}"));
        }
    }
    assert!(misplaced.is_empty(), "{} misplaced:\n{}", misplaced.len(), misplaced.join("\n"));
}

/// What implements one of these is called through a list alone: left out of it, it compiles and never runs.
const LISTED: [&str; 5] = ["Job", "FileHolder", "GrantTarget", "SpaceObserver", "Screen"];

#[test]
fn every_implementor_is_in_its_list() {
    let lists = fs::read_to_string("src/features/mod.rs").unwrap();
    let (mut found, mut missing) = (0, Vec::new());
    for (file, text) in sources(Path::new("src")) {
        let (code, _) = code_and_literals(&text);
        for line in code.lines() {
            let Some((listed, rest)) =
                line.strip_prefix("impl ").and_then(|rest| rest.split_once(" for "))
            else {
                continue;
            };
            if LISTED.contains(&listed) {
                found += 1;
                let name = rest.split([' ', '<', '{']).next().unwrap();
                if ![">", ",", "]"].iter().any(|end| lists.contains(&format!("::{name}{end}"))) {
                    missing.push(format!("{file}: {name} is no {listed} of src/features/mod.rs"));
                }
            }
        }
    }
    assert!(found > 10, "{found}");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn sql_is_distinguished_from_other_text() {
    let text = r##"
// "SELECT 1" in a comment
let quote = '"'; let _ = "say \"SELECT id FROM t\"";
const A: &str = r#"ORDER BY "name""#; /* "WHERE" */
allow("GET, DELETE"); "Delete the row where it is"; f::<'a>("x = $2"); "costs $ 5";
"a
 b" "UPDATE t
    SET a = 1"
"##;
    let (code, literals) = code_and_literals(text);
    let found: Vec<usize> =
        literals.iter().filter(|(_, text)| is_sql(text)).map(|(line, _)| *line).collect();
    assert_eq!(found, [3, 4, 5, 7]);
    assert!(lines_with(&code, "SELECT").is_empty());
    assert_eq!(lines_with(&code, "allow"), [5]);
    assert_eq!(lines_with("App\nApplication Apps WebApp\nCall<A>", "App"), [1]);
    let stores = ["src/a/store.rs", "src/a/sql.rs", "src/a/store/b.rs", "src/a/sql/mod.rs"];
    assert!(stores.iter().all(|file| is_store(file)));
    assert!(!is_store("src/a/restore.rs") && !is_store("src/storage/mod.rs"));
}

fn is_store(file: &str) -> bool {
    let mut parts = file.trim_end_matches(".rs").split('/');
    parts.any(|part| part == "store" || part == "sql")
}

/// Keywords in capitals, one after the other, or the place of an argument.
fn is_sql(literal: &str) -> bool {
    const PHRASES: [&str; 11] = [
        "SELECT",
        "INSERT INTO",
        "DELETE FROM",
        "SET",
        "WHERE",
        "JOIN",
        "ORDER BY",
        "GROUP BY",
        "IS NULL",
        "IS NOT NULL",
        "COALESCE",
    ];
    let words: Vec<&str> = literal
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|w| !w.is_empty())
        .collect();
    let has_phrase = |phrase: &&str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).any(|some| some == phrase)
    };
    let has_argument = literal
        .match_indices('$')
        .any(|(at, _)| literal[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    has_argument || PHRASES.iter().any(has_phrase)
}

/// The lines of code with a word, which is not a part of a longer one.
fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let ends_open = word.ends_with(|c: char| !is_letter(c));
    let begins_open = word.starts_with(|c: char| !is_letter(c));
    let has_word = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            (begins_open || !line[..at].ends_with(is_letter))
                && (ends_open || !line[at + word.len()..].starts_with(is_letter))
        })
    };
    let lines = code.lines().zip(1..);
    lines.filter(|(line, _)| has_word(line)).map(|(_, number)| number).collect()
}

/// The code without comments and texts, with its line breaks, and each text with the line that it begins in.
fn code_and_literals(text: &str) -> (String, Vec<(usize, String)>) {
    let (mut code, mut literals) = (String::new(), Vec::new());
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
        let is_name = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == 'r' && !is_name && rest[1 + hashes..].starts_with('"') {
            let (begin, end) = (hashes + 2, format!("\"{}", "#".repeat(hashes)));
            let length = rest[begin..].find(&end).unwrap_or(rest.len() - begin);
            literals.push((line, rest[begin..begin + length].to_owned()));
            begin + length + end.len()
        } else if first == '"' {
            let length = quoted(&rest[1..]);
            literals.push((line, rest[1..=length].to_owned()));
            length + 2
        } else if rest.starts_with("'\"'") {
            3
        } else {
            code.push(first);
            line += usize::from(first == '\n');
            rest = &rest[first.len_utf8()..];
            continue;
        };
        let length = length.min(rest.len());
        let breaks = rest[..length].matches('\n').count();
        line += breaks;
        code.push_str(&"\n".repeat(breaks));
        code.push(' ');
        rest = &rest[length..];
    }
    (code, literals)
}

/// How long a text is, up to the quote that ends it.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.find(|c: char| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// Every Rust file below a folder, with its text.
pub fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    all.sort();
    all
}

/// `src/http/mod.rs` and `src/http.rs` are both `http`.
fn module_of(file: &str) -> Vec<String> {
    let inner = file.trim_start_matches("src/").trim_end_matches(".rs");
    let parts = inner.split('/').filter(|part| !["mod", "lib", "main"].contains(part));
    parts.map(str::to_owned).collect()
}

/// The longest room that a path begins with.
fn room_of<'a>(path: &[String], floors: &BTreeMap<&'a str, usize>) -> Option<&'a str> {
    (1..=path.len().min(2)).rev().find_map(|length| {
        floors.get_key_value(path[..length].join("::").as_str()).map(|(room, _)| *room)
    })
}

/// Each path into this crate with its line, absolute.
fn imports(text: &str, here: &[String]) -> Vec<(usize, Vec<String>)> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect();
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(at) = next_path(&code, rest) {
        let line = code[..at].matches('\n').count() + 1;
        let end = expand(&code, at, &mut Vec::new(), &mut |path| found.push((line, path.to_vec())));
        rest = end.max(at + 1);
    }
    found.into_iter().filter_map(|(line, path)| Some((line, absolute(path, here)?))).collect()
}

fn next_path(code: &str, from: usize) -> Option<usize> {
    let begins = |at: usize| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$')
    };
    let all = ["crate::", "super::"];
    let starts = all.iter().flat_map(|word| {
        code[from..].match_indices(word).map(|(at, _)| from + at).filter(|at| begins(*at)).take(1)
    });
    starts.min()
}

/// Walks one path, braces and all; where it ends.
fn expand(
    code: &str,
    at: usize,
    prefix: &mut Vec<String>,
    found: &mut dyn FnMut(&[String]),
) -> usize {
    let depth = prefix.len();
    let mut at = at;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if code[at..].starts_with('{') {
            at += 1;
            while !code[at..].trim_start().starts_with('}') && at < code.len() {
                at = expand(code, at, prefix, found);
                at += code[at..].len() - code[at..].trim_start_matches([',', ' ', '\n']).len();
            }
            at += code[at..].find('}').map_or(0, |end| end + 1);
            break;
        }
        let name: String =
            code[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        at += name.len().max(usize::from(name.is_empty()));
        if name != "self" && !name.is_empty() {
            prefix.push(name);
        }
        if let Some(rest) = code[at..].strip_prefix("::")
            && rest.trim_start().starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '{')
        {
            at += 2;
            continue;
        }
        if let Some(alias) = code[at..].strip_prefix(" as ") {
            let name = alias.chars().take_while(|c| c.is_alphanumeric() || *c == '_').count();
            at += 4 + name;
        }
        found(prefix);
        break;
    }
    prefix.truncate(depth);
    at
}

fn absolute(path: Vec<String>, here: &[String]) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    if ups > 0 {
        let base = here.get(..here.len().checked_sub(ups)?)?;
        return Some([base, &path[ups..]].concat());
    }
    (path.first()? == "crate").then(|| path[1..].to_vec())
}
