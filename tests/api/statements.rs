//! The statement registry and the schema, on both engines: every statement can be prepared, is scoped to its
//! project and uses an index; every key of every table begins with the project.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use db::{AnyStatement, Db, Engine, Query, args};
use townhall::features;

use crate::support::{TestApp, on_both_engines};

on_both_engines![
    every_statement_prepares,
    no_statement_scans_a_large_table,
    every_key_begins_with_the_project,
];

/// What the operator runs by hand, and what goes through the projects: it may look at every row.
const MAY_SCAN: [(&str, &str); 20] = [
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
    ("chat::store::recount::MISCOUNTED", "the doctor recounts everything"),
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
    let app = app.own_server().await;
    let plans = with_db(&app, |db| {
        db.execute_script(&seed(db.engine())).unwrap();
        db.execute_script("ANALYZE").unwrap();
        let explain = |one: &dyn AnyStatement| (one.name(), db.explain(one).unwrap());
        features::statements().map(explain).collect::<Vec<_>>()
    });
    let mut wrong = Vec::new();
    for (name, plan) in plans.await {
        let scans = plan.iter().any(|line| is_full_scan(line));
        let excused = MAY_SCAN.iter().any(|(end, _)| name.ends_with(end));
        if scans && !excused {
            wrong.push(format!("{name} scans:\n  {}", plan.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// SQLite says `SCAN x`, with `USING …` when it walks an index; PostgreSQL `Seq Scan on x`.
pub fn is_full_scan(line: &str) -> bool {
    let walks = line.strip_prefix("SCAN ").is_some_and(|rest| {
        // A list of literals, a list as an argument, or the rows of a subquery are no table.
        let no_table = ["CONSTANT ROW", "rarray ", "("];
        let is_list = rest.ends_with("VALUES CLAUSE");
        !rest.contains(" USING ")
            && !is_list
            && !no_table.iter().any(|start| rest.starts_with(start))
    });
    walks || line.contains("Seq Scan on ")
}

/// Thousands of rows in every table, over many projects: enough that an engine prefers an index
/// wherever there is one that helps.
pub fn seed(engine: Engine) -> String {
    let uuid = |n: &str| match engine {
        Engine::Sqlite => format!("unhex(printf('%032x', {n}))"),
        Engine::Postgres => format!("lpad(to_hex({n}), 32, '0')::uuid"),
    };
    let (project, id) = (uuid("n / 10"), uuid("n"));
    // Another one of the same project.
    let other = uuid("n / 10 * 10 + (n + 1) % 10");
    let hash = match engine {
        Engine::Sqlite => "unhex(printf('%064x', n))",
        Engine::Postgres => "decode(lpad(to_hex(n), 64, '0'), 'hex')",
    };
    let tables = [
        ("projects (id, name, state, allowed_origins, created_at, updated_at)", 600, {
            format!("{id}, 'p', 'active', '[]', n, n")
        }),
        ("project_bundles (project_id, bundle)", 5_999, format!("{project}, 'bundle' || n")),
        ("project_keys (project_id, id, kind, hash, created_at)", 5_999, {
            format!("{project}, {id}, 'service', {hash}, n")
        }),
        (
            "users (project_id, id, foreign_id, role, username, email, is_verified, is_active,
                metadata, secure_metadata, reputation, last_active, created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, 'f' || n, 'visitor', 'user' || n, n || '@x.org', FALSE, TRUE,
                 '{{}}', '{{}}', 0, n, n, n"
            ),
        ),
        (
            "identities (project_id, id, user_id, provider, provider_account_id, is_verified,
                created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, 'external', 'f' || n, FALSE, n, n"),
        ),
        (
            "refresh_tokens (project_id, id, user_id, family_id, expires_at, created_at,
                updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, n, n, n"),
        ),
        ("password_resets (project_id, user_id, token_hash, expires_at)", 5_999, {
            format!("{project}, {id}, {hash}, n")
        }),
        (
            "email_verifications (project_id, id, user_id, token_hash, guessable, wrong_tries,
                expires_at)",
            5_999,
            format!("{project}, {id}, {id}, {hash}, TRUE, 0, n"),
        ),
        ("account_deletions (project_id, user_id, code_hash, wrong_tries, expires_at)", 5_999, {
            format!("{project}, {id}, {hash}, 0, n")
        }),
        ("mail_quotas (project_id, address_hash, sent_at, expires_at)", 5_999, {
            format!("{project}, {hash}, '[]', n")
        }),
        (
            "suspensions (project_id, id, user_id, start_date, created_by, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, n, 'test', n, n"),
        ),
        (
            "spaces (project_id, id, slug, name, name_key, user_id, reading_permission,
                posting_permission, visibility, is_open, nsfw, nsfw_effective, requires_approval,
                parent_id, depth, metadata, members_count, children_count, created_at, updated_at,
                deleted_at)",
            5_999,
            format!(
                "{project}, {id}, 's' || n, 'n' || n, 'n' || n, {id}, 'anyone', 'members', 'public',
                 n % 10 > 2, FALSE, FALSE, TRUE, {other}, 0, '{{}}', 1, 0, n, n,
                 CASE n % 10 WHEN 0 THEN n END"
            ),
        ),
        ("space_lines (project_id, ancestor_id, space_id)", 5_999, {
            format!("{project}, {id}, {id}")
        }),
        (
            "space_members (project_id, space_id, user_id, id, role, rank, status, joined_at,
                created_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'admin', 0, 'active', n, n"),
        ),
        (
            "space_bans (project_id, space_id, user_id, id, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, n, n"),
        ),
        (
            "space_rules (project_id, id, space_id, title, position, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, 't', 0, n, n"),
        ),
        (
            "custom_tables (project_id, id, name, timestamps, paranoid, access, created_at)",
            5_999,
            format!("{project}, {id}, 't' || n, TRUE, FALSE, 'open', n"),
        ),
        (
            "custom_columns (project_id, table_id, position, name, data_type, nullable, indexed,
                references_id, on_delete)",
            5_999,
            format!("{project}, {id}, 0, 'c', 'uuid', TRUE, FALSE, {other}, 'restrict'"),
        ),
        ("reputation_buckets (project_id, user_id, space_id, points)", 5_999, {
            format!("{project}, {id}, {id}, 1")
        }),
        (
            "files (project_id, id, user_id, entity_id, path, size, mime, position, metadata,
                created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'p', 1, 'text/plain', 0, '{{}}', n, n"),
        ),
        (
            "notifications (project_id, id, user_id, type, action, is_read, metadata, created_at,
                updated_at, subject_id, target_id, actor_id, space_id)",
            5_999,
            format!(
                "{project}, {id}, {id}, 'entity-reaction', 'open-entity', FALSE, '{{}}', n, n, {id},
                 {id}, {id}, {id}"
            ),
        ),
        (
            "notification_counts (project_id, user_id, space_id, total, unread, unread_since)",
            5_999,
            format!("{project}, {id}, {id}, 1, 1, 1"),
        ),
        (
            "entities (project_id, id, foreign_id, source_id, space_id, user_id, is_draft, is_listed,
                is_wide, nsfw, upvote_count, downvote_count, like_count, love_count, wow_count,
                sad_count, angry_count, funny_count, replies_count, shares_count, views, score,
                score_updated_at, has_attachments, created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, 'f' || n, 's' || n, {id}, {id}, FALSE, TRUE, FALSE, FALSE, n, 0, n, 0,
                 0, 0, 0, 0, 0, 0, n, n, n, FALSE, n, n"
            ),
        ),
        (
            "entity_bodies (project_id, id, title, mentions, attachments, keywords, metadata)",
            5_999,
            format!("{project}, {id}, 't' || n, '[]', '[]', '[]', '{{}}'"),
        ),
        ("entity_terms (project_id, term, created_at, entity_id)", 5_999, {
            format!("{project}, {id}, n, {id}")
        }),
        ("entity_counts (project_id, scope, shard, total, within, space_id)", 5_999, {
            format!("{project}, 'in:' || n, 0, 1, 'source:' || n, {id}")
        }),
        (
            "comments (project_id, id, foreign_id, entity_id, user_id, parent_id, thread_id,
                upvote_count, downvote_count, like_count, love_count, wow_count, sad_count,
                angry_count, funny_count, balance, controversy, replies_count, answers_count,
                created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, 'f' || n, {id}, {id}, NULL, {id}, n, 0, 0, 0, 0, 0, 0, 0, n, 0, 0,
                 0, n, n"
            ),
        ),
        (
            "comment_bodies (project_id, id, content, mentions, attachments, metadata)",
            5_999,
            format!("{project}, {id}, 't' || n, '[]', '[]', '{{}}'"),
        ),
        (
            "reports (project_id, id, space_id, target_type, target_id, status, reporter_count,
                created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, 'entity', {id}, 'open', 1, n, n"),
        ),
        ("report_entries (project_id, report_id, user_id, id, reason, created_at)", 5_999, {
            format!("{project}, {id}, {id}, {id}, 'spam', n")
        }),
        (
            "conversations (project_id, id, kind, space_id, created_by_id, avatar_file_id, metadata,
                first_id, second_id, member_count, has_visible, last_message_at, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, 'group', {id}, {id}, {id}, '{{}}', {id}, {id}, 1, TRUE, n, n, n"),
        ),
        (
            "conversation_members (project_id, conversation_id, user_id, id, role, muted_forever,
                is_active, created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'admin', FALSE, n % 10 > 2, n, n"),
        ),
        (
            "chat_messages (project_id, id, conversation_id, user_id, content, mentions, metadata,
                parent_message_id, has_files, thread_reply_count, reaction_counts, is_removed,
                created_at, updated_at)",
            5_999,
            format!(
                "{project}, {id}, {id}, {id}, 't' || n, '[]', '{{}}',
                 CASE WHEN n % 10 > 5 THEN {other} END, FALSE, 0, '{{}}', FALSE, n, n"
            ),
        ),
        ("chat_mentions (project_id, user_id, message_id)", 5_999, {
            format!("{project}, {id}, {id}")
        }),
        ("chat_reactions (project_id, message_id, user_id, emoji, created_at)", 5_999, {
            format!("{project}, {id}, {id}, 'x', n")
        }),
        ("comment_mentions (project_id, user_id, comment_id)", 5_999, {
            format!("{project}, {id}, {id}")
        }),
        (
            "reactions (project_id, target_id, user_id, id, target_type, reaction_type, created_at,
                updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, 'entity', 'like', n, n"),
        ),
        ("reaction_milestones (project_id, target_id, kind, threshold)", 5_999, {
            format!("{project}, {id}, 'total', n")
        }),
        (
            "collections (project_id, id, user_id, parent_id, is_root, name, depth, entity_count,
                created_at, updated_at)",
            5_999,
            format!("{project}, {id}, {id}, {id}, TRUE, 'n' || n, 0, 1, n, n"),
        ),
        ("collection_entities (project_id, collection_id, entity_id, id, user_id, created_at)", 5_999, {
            format!("{project}, {id}, {id}, {id}, {id}, n")
        }),
        ("blocks (project_id, blocker_id, blocked_id, id, created_at)", 5_999, {
            format!("{project}, {id}, {other}, {id}, n")
        }),
        ("follows (project_id, id, follower_id, followed_id, created_at)", 5_999, {
            format!("{project}, {id}, {id}, {other}, n")
        }),
        ("follow_counts (project_id, user_id, followers, following)", 5_999, {
            format!("{project}, {id}, 1, 1")
        }),
        (
            "connections (project_id, id, low_id, high_id, requester_id, status, created_at)",
            5_999,
            format!("{project}, {id}, {id}, {other}, {id}, 'accepted', n"),
        ),
        (
            "connection_sides (project_id, user_id, other_id, connection_id, kind, created_at)",
            5_999,
            format!("{project}, {id}, {other}, {id}, 'connected', n"),
        ),
        ("connection_counts (project_id, user_id, connected, sent, received)", 5_999, {
            format!("{project}, {id}, 1, 0, 0")
        }),
        ("user_grams (project_id, gram, user_id)", 5_999, format!("{project}, 'g' || n, {id}")),
        ("installation (name, value)", 5_999, "'n' || n, 'v'".to_owned()),
        ("jobs (project_id, id, payload, attempts, run_at, created_at)", 5_999, {
            format!("{project}, {id}, '{{}}', 0, n, n")
        }),
    ];
    let mut sql = String::new();
    for (table, count, values) in tables {
        let _ = writeln!(
            sql,
            "INSERT INTO {table}
             WITH RECURSIVE rows (n) AS
                (SELECT 0 UNION ALL SELECT n + 1 FROM rows WHERE n < {count})
             SELECT {values} FROM rows;"
        );
    }
    sql
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
    let of_projects =
        |table: &str| !["projects", "schema_migrations", "installation"].contains(&table);
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
        assert_eq!(with, tables, "tables with a {kind}");
    }
}
