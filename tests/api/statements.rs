//! The statement registry and the schema, on both engines: every statement can be prepared, is scoped to its
//! project and uses an index; every key of every table begins with the project.

use std::collections::BTreeSet;
use std::path::Path;

use db::{AnyStatement, Db, Engine, Query, args};
use townhall::features;

use crate::support::project_scope::{apart, unbound};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    every_statement_prepares,
    no_statement_scans_a_large_table,
    every_key_begins_with_the_project,
];

/// What counts or lists everything of a project, and tables of which a project has few rows.
const MAY_WALK: [(&str, &str); 23] = [
    ("entities::store::recount::FEEDS", "the doctor recounts everything"),
    ("entities::store::recount::FORGET_EMPTY", "the doctor recounts everything"),
    ("events::store::recount::LOCK_TOTALS", "the doctor recounts everything"),
    ("events::store::recount::RECOUNT_TOTALS", "the doctor recounts everything"),
    ("digests::store::SEALED", "few spaces have a digest"),
    ("tenancy::store::WEBHOOKS", "a project has few endpoints"),
    ("webhooks::store::FIND_FIRST", "reads an index of one row for each project"),
    ("tenancy::store::LIVE_KEYS", "a project has few keys"),
    ("tenancy::store::RENEW_INDEX", "a project has one row"),
    ("search::store::vectors::CLAIM", "a project has one row"),
    ("search::store::vectors::ADVANCE", "a project has one row"),
    ("search::store::words::DELETE_ALL_UNUSED", "once for a load that was interrupted"),
    ("search::store::DUE", "ends with the first row"),
    ("appeals::store::COUNT_OPEN", "counts an index of open appeals"),
    ("tables::store::catalogue::LIST", "a project has few tables"),
    ("figures::ENTITIES", "counts up to a limit"),
    ("figures::COMMENTS", "counts up to a limit"),
    ("figures::WAITING_JOBS", "counts up to a limit"),
    ("figures::FAILED_JOBS", "counts up to a limit"),
    ("figures::FIRST_DUE", "looks at a bounded number of rows"),
    ("jobs::store::queues::DELETE_JOBS", "an operator removes an endpoint"),
    ("jobs::store::LIST", "an operator lists jobs"),
    ("jobs::store::queues::LIST", "an operator lists jobs"),
];

/// What the operator runs by hand, and what goes through the projects: it may look at every row.
const MAY_SCAN: [(&str, &str); 42] = [
    (
        "queue::store::ACCURACY",
        "counts a subquery of at most a hundred rows, which an index has found",
    ),
    ("audit::store::PROJECTS", "the doctor goes through every project"),
    ("jobs::store::FIND", "an operator names a job"),
    ("queue::store::LAST_DECISIONS", "numbers the rows of a subquery, which an index has found"),
    (
        "reactions::store::UNBLOCKED_VOTES",
        "filters the rows of a subquery, which an index has found",
    ),
    ("jobs::store::LIST_ALL", "an operator lists all jobs"),
    ("jobs::store::figures::BACKLOG", "the operator's figures, at most every ten seconds"),
    ("server::store::USERS", "the operator asks how much there is"),
    ("server::store::ENTITIES", "the operator asks how much there is"),
    ("server::store::COMMENTS", "the operator asks how much there is"),
    ("server::store::MESSAGES", "the operator asks how much there is"),
    ("server::store::SPACES", "the operator asks how much there is"),
    ("server::store::FILES", "the operator asks how much there is"),
    ("server::store::FILE_BYTES", "the operator asks how much there is"),
    ("files::store::FIRST", "ends with the first row"),
    ("tables::store::catalogue::PROJECTS", "the doctor goes through every table"),
    ("tenancy::store::LIST", "lists every project"),
    ("tenancy::store::NEWEST", "the doctor asks once"),
    ("notifications::store::recount::DRIFTED", "the doctor recounts everybody"),
    ("collections::store::recount::DRIFTED", "the doctor recounts everything"),
    ("follows::store::recount::DRIFTED", "the doctor recounts everybody"),
    ("connections::store::recount::DRIFTED", "the doctor recounts everybody"),
    ("entities::store::recount::PROJECTS", "the doctor goes through every project"),
    ("entities::store::recount::MISCOUNTED", "the doctor recounts everything"),
    ("spaces::store::recount::MISCOUNTED", "the doctor recounts everything"),
    ("reports::store::recount::DRIFTED", "the doctor recounts everything"),
    ("comments::store::recount::MISCOUNTED_ENTITIES", "the doctor recounts everything"),
    ("comments::store::recount::MISCOUNTED_COMMENTS", "the doctor recounts everything"),
    ("comments::store::recount::MISCOUNTED_REACTIONS", "the doctor recounts everything"),
    ("comments::store::recount::UNBALANCED", "the doctor recounts everything"),
    ("search::store::DUE", "has one row for each indexed project"),
    ("search::store::vectors::DUE", "has one row for each indexed project"),
    ("search::store::PROJECTS", "the doctor goes through every project"),
    ("search::store::ALL_TODO", "counts what waits, which is little"),
    ("search::store::ALL_DOCUMENTS", "has three rows for each indexed project"),
    ("chat::store::recount::MISCOUNTED", "the doctor recounts everything"),
    ("events::store::recount::MISCOUNTED", "the doctor recounts everything"),
    ("events::store::recount::DRIFTED_TOTALS", "the doctor recounts everything"),
    ("grants::store::recount::DRIFTED", "the doctor recounts everything"),
    ("chat::store::recount::MISCOUNTED_REPLIES", "the doctor recounts everything"),
    ("chat::store::recount::REACTED", "the doctor recounts everything"),
    (
        "auth::store::sessions::PROJECT_OF",
        "looks a user up in each project, of which there are few",
    ),
];

/// Runs on a thread of its own: these calls block.
async fn with_db<T: Send + 'static>(app: &TestApp, work: fn(&Db) -> T) -> T {
    let db = app.app.db.clone();
    tokio::task::spawn_blocking(move || work(&db)).await.unwrap()
}

#[test]
fn what_may_scan_exists() {
    for (end, _) in MAY_SCAN {
        assert!(features::statements().any(|one| one.name().ends_with(end)), "{end}");
    }
}

async fn every_statement_prepares(app: TestApp) {
    let app = app.own_server().await;
    let wrong = with_db(&app, |db| {
        let prepared = features::statements().map(|one| (one.name(), db.prepare(one)));
        prepared.filter_map(|(name, result)| Some((name, result.err()?))).collect::<Vec<_>>()
    });
    let wrong = wrong.await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_statement_keeps_to_its_project() {
    for statement in features::statements() {
        let (name, text) = (statement.name(), flat(statement.text()));
        let scoped = match text.strip_prefix("insert into ") {
            Some(rest) => {
                let columns = rest.split_once('(').unwrap().1;
                columns.trim_start().starts_with("project_id,")
            }
            None => {
                let condition = text.split_once(" where ").map_or("", |(_, condition)| condition);
                // Under the name of its table or alone, but first.
                let first = condition.split_once("project_id = $1").map(|(before, _)| before);
                first.is_some_and(|before| !before.contains(' '))
            }
        };
        match statement.unscoped() {
            None => assert!(scoped, "{name} is not bound to its project: {text}"),
            Some(why) => {
                assert!(!scoped, "{name} is bound to its project and need not say `{why}`");
                assert!(!why.is_empty(), "{name} does not say why it has no project");
            }
        }
    }
}

#[test]
fn every_table_of_a_statement_is_in_its_project() {
    let mut wrong = Vec::new();
    for statement in features::statements() {
        let (name, text) = (statement.name(), statement.text());
        let elsewhere = match statement.unscoped() {
            None => unbound(text),
            Some(_) => apart(text),
        };
        if !elsewhere.is_empty() {
            wrong.push(format!("{name}: {elsewhere:?}: {}", flat(text)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In lower case and on one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[test]
fn every_module_with_statements_is_in_the_registry() {
    let mut modules = BTreeSet::new();
    find_modules(Path::new("src"), "townhall", &mut modules);
    assert!(modules.len() >= 7, "{modules:?}");
    let listed: BTreeSet<String> = features::statements()
        .map(|statement| statement.name().rsplit_once("::").unwrap().0.to_owned())
        .collect();
    assert_eq!(modules, listed);
}

fn find_modules(directory: &Path, module: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let inner = match name {
            "mod" | "lib" | "main" => module.to_owned(),
            name => format!("{module}::{name}"),
        };
        if path.is_dir() {
            find_modules(&path, &inner, found);
        } else if std::fs::read_to_string(&path).unwrap().contains("db::statements!") {
            found.insert(inner);
        }
    }
}

async fn no_statement_scans_a_large_table(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let plans = with_db(&app, |db| {
        let explain = |one: &dyn AnyStatement| (one.name(), db.explain(one).unwrap());
        features::statements().map(explain).collect::<Vec<_>>()
    });
    let mut wrong = Vec::new();
    for (name, plan) in plans.await {
        let scans = plan.iter().any(|line| is_full_scan(line));
        let is_about_operators = name.contains("::admin::store::") && !name.contains("::figures::");
        // There are few operators.
        let excused = is_about_operators || MAY_SCAN.iter().any(|(end, _)| name.ends_with(end));
        if scans && !excused {
            wrong.push(format!("{name} scans:\n  {}", plan.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All keys begin with the project: a statement that asks for more must use more of a key.
#[tokio::test]
async fn no_statement_walks_a_project_on_sqlite() {
    let app = TestApp::start(Engine::Sqlite, "statements").await.own_server().await;
    let plans = with_db(&app, |db| {
        let asks_for_more = |one: &&dyn AnyStatement| flat(one.text()).contains(" and ");
        let explain = |one: &dyn AnyStatement| (one.name(), db.explain(one).unwrap());
        features::statements().filter(asks_for_more).map(explain).collect::<Vec<_>>()
    });
    let mut wrong = Vec::new();
    for (name, plan) in plans.await {
        let walks = plan.iter().any(|line| line.ends_with("(project_id=?)"));
        if walks && !MAY_WALK.iter().any(|(end, _)| name.ends_with(end)) {
            wrong.push(format!("{name}:\n  {}", plan.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// SQLite says `SCAN x`, with `USING …` when it walks an index; PostgreSQL `Seq Scan on x`.
pub fn is_full_scan(line: &str) -> bool {
    let walks = line.strip_prefix("SCAN ").is_some_and(|rest| {
        // A list of literals, a list as an argument, or the rows of a subquery are no table.
        let no_table = ["CONSTANT ROW", "rarray ", "(", "bounded"];
        let is_list = rest.ends_with("VALUES CLAUSE");
        !rest.contains(" USING ")
            && !is_list
            && !no_table.iter().any(|start| rest.starts_with(start))
    });
    walks || line.contains("Seq Scan on ")
}

/// Table, name and first column of every primary key, unique index and foreign key.
const KEYS_ON_SQLITE: &str =
    "SELECT m.name, 'primary key', p.name FROM sqlite_schema m, pragma_table_info(m.name) p
        WHERE m.type = 'table' AND p.pk = 1
     UNION ALL
     SELECT m.name, i.name, c.name
        FROM sqlite_schema m, pragma_index_list(m.name) i, pragma_index_info(i.name) c
        WHERE m.type = 'table' AND i.\"unique\" = 1 AND c.seqno = 0
     UNION ALL
     SELECT m.name, 'foreign key', f.\"from\" FROM sqlite_schema m, pragma_foreign_key_list(m.name) f
        WHERE m.type = 'table' AND f.seq = 0";
const KEYS_ON_POSTGRES: &str =
    "SELECT c.relname::text, CASE WHEN x.indisprimary THEN 'primary key' ELSE i.relname::text END,
        a.attname::text
        FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid
            JOIN pg_class i ON i.oid = x.indexrelid
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0]
        WHERE c.relnamespace = 'public'::regnamespace AND x.indisunique
     UNION ALL
     SELECT c.relname::text, 'foreign key', a.attname::text
        FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = f.conkey[1]
        WHERE f.contype = 'f' AND c.relnamespace = 'public'::regnamespace";
const TABLES_ON_SQLITE: &str =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
const TABLES_ON_POSTGRES: &str = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";

async fn every_key_begins_with_the_project(app: TestApp) {
    let app = app.own_server().await;
    let (keys, tables) = match app.engine() {
        Engine::Sqlite => (KEYS_ON_SQLITE, TABLES_ON_SQLITE),
        Engine::Postgres => (KEYS_ON_POSTGRES, TABLES_ON_POSTGRES),
    };
    let read = app.app.db.read(move |c| {
        let keys = c.all(&Query::<(String, String, String)>::built("keys", keys), args![])?;
        let tables = c.all(&Query::<String>::built("tables", tables), args![])?;
        Ok::<_, db::Error>((keys, tables))
    });
    let (keys, tables) = read.await.unwrap();
    let of_projects = |table: &str| {
        !["projects", "schema_migrations", "installation"].contains(&table)
            && !table.starts_with("operator")
    };
    let tables: BTreeSet<&str> =
        tables.iter().map(String::as_str).filter(|table| of_projects(table)).collect();
    assert!(tables.contains("users") && tables.contains("jobs"), "{tables:?}");
    for (table, key, first) in keys.iter().filter(|(table, _, _)| of_projects(table)) {
        assert_eq!(first, "project_id", "{key} of {table}");
    }
    for kind in ["primary key", "foreign key"] {
        let with: BTreeSet<&str> = keys
            .iter()
            .filter(|(table, key, _)| key == kind && of_projects(table))
            .map(|(table, _, _)| table.as_str())
            .collect();
        // The log also has entries about the whole installation; an index is written under the lock of its state.
        let is_index = |table: &str| {
            app.engine() == Engine::Postgres
                && ["search_docs", "search_blocks", "search_words"].contains(&table)
        };
        let refers = |table: &&str| !table.starts_with("audit_") && !is_index(table);
        let expected = tables.iter().copied();
        let expected: BTreeSet<&str> =
            expected.filter(|table| kind == "primary key" || refers(table)).collect();
        assert_eq!(with, expected, "tables with a {kind}");
    }
}
