//! `schema.sqlite.sql` and `schema.postgres.sql`: the schema after all migrations, for reading. They are
//! generated from the catalogs of the engines.

use std::fmt::Write as _;

use db::{Db, Engine, Query, args};
use townhall::schema::MIGRATIONS;

use crate::support::{Installation, assert_generated, installed_on_both_engines};

installed_on_both_engines![the_schema_file_shows_the_schema_after_all_migrations];

const HEADER: &str = "\
-- The schema after all migrations, for reading: the migrations create it, nothing loads this file.
-- Generated. Regenerate it with: UPDATE_GENERATED=1 cargo test --test api generated_
";

/// The queries whose rows make the file of an engine.
struct Catalog {
    /// Tables with their columns and constraints: table and text.
    tables: &'static str,
    /// Table and text.
    indexes: &'static str,
    /// The text of everything else: functions, triggers, views.
    others: &'static str,
}

/// SQLite keeps the statements as the migrations wrote them; `ALTER TABLE` edits that text.
const SQLITE: Catalog = Catalog {
    tables: "SELECT name, sql FROM sqlite_schema
        WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name",
    indexes: "SELECT tbl_name, sql FROM sqlite_schema
        WHERE type = 'index' AND sql IS NOT NULL ORDER BY tbl_name, name",
    others: "SELECT sql FROM sqlite_schema WHERE type NOT IN ('table', 'index') ORDER BY name",
};

/// Not `pg_dump`, whose text differs between versions of PostgreSQL.
const POSTGRES: Catalog = Catalog {
    tables: r#"
    WITH tables AS (
        SELECT oid, relname::text COLLATE "C" AS name FROM pg_class
        WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
    ), definitions AS (
        SELECT t.oid AS table_id, 0 AS part, a.attnum::int AS position, '' AS name,
            quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
                || CASE WHEN a.attcollation <> y.typcollation
                    THEN ' COLLATE ' || quote_ident(o.collname) ELSE '' END
                || CASE WHEN a.attgenerated = 's'
                    THEN ' GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid, true) || ') STORED'
                    ELSE coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid, true), '') END
                || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS text
        FROM tables t
            JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
            JOIN pg_type y ON y.oid = a.atttypid
            LEFT JOIN pg_collation o ON o.oid = a.attcollation
            LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
        UNION ALL
        SELECT t.oid, 1, position(k.contype::text IN 'pufcx'), k.conname::text COLLATE "C",
            'CONSTRAINT ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid, true)
        FROM tables t JOIN pg_constraint k ON k.conrelid = t.oid
        WHERE k.contype IN ('p', 'u', 'f', 'c', 'x')
    )
    SELECT t.name, 'CREATE TABLE ' || quote_ident(t.name) || ' ('
        || string_agg(d.text, ', ' ORDER BY d.part, d.position, d.name) || ')'
    FROM tables t JOIN definitions d ON d.table_id = t.oid
    GROUP BY t.name ORDER BY t.name"#,
    indexes: r#"
    SELECT t.relname::text, pg_get_indexdef(x.indexrelid, 0, true)
    FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
    WHERE t.relnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_constraint k
            WHERE k.conindid = x.indexrelid AND k.contype IN ('p', 'u', 'x'))
    ORDER BY t.relname COLLATE "C", i.relname COLLATE "C""#,
    others: "
    SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT pg_get_triggerdef(oid, true) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL
    SELECT 'CREATE VIEW ' || oid::regclass || ' AS ' || pg_get_viewdef(oid, true) FROM pg_class
    WHERE relkind IN ('v', 'm') AND relnamespace = 'public'::regnamespace
    ORDER BY text",
};

fn the_schema_file_shows_the_schema_after_all_migrations(town: Installation) {
    if town.is_on_a_cluster() {
        return;
    }
    let db = town.db();
    db.migrate(MIGRATIONS, 1).unwrap();
    let (path, catalog) = match db.engine() {
        Engine::Sqlite => ("schema.sqlite.sql", SQLITE),
        Engine::Postgres => ("schema.postgres.sql", POSTGRES),
    };
    assert_generated(path, &schema(&db, &catalog));
}

fn schema(db: &Db, catalog: &Catalog) -> String {
    let Catalog { tables, indexes, others } = *catalog;
    let read = db.read(move |c| {
        let pairs = |sql| c.all(&Query::<(String, String)>::built("catalog", sql), args![]);
        let others = c.all(&Query::<String>::built("catalog", others), args![])?;
        Ok::<_, db::Error>((pairs(tables)?, pairs(indexes)?, others))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (tables, indexes, others) = runtime.block_on(read).unwrap();
    let mut text = HEADER.to_owned();
    for other in others {
        let _ = write!(text, "\n{};\n", other.trim_end());
    }
    for (name, sql) in tables {
        let _ = write!(text, "\n{}", table(&name, &sql));
        for (_, index) in indexes.iter().filter(|(table, _)| *table == name) {
            let _ = writeln!(text, "{};", on_one_line(index));
        }
    }
    text
}

/// `CREATE TABLE` with one column or constraint in each line.
fn table(name: &str, sql: &str) -> String {
    let sql = on_one_line(sql);
    let (_, rest) = sql.split_once('(').unwrap();
    let (body, options) = rest.rsplit_once(')').unwrap();
    let lines: Vec<String> = definitions(body).iter().map(|one| format!("    {one}")).collect();
    format!("CREATE TABLE {name} (\n{}\n){options};\n", lines.join(",\n"))
}

/// Splits at the commas outside of parentheses and string literals.
fn definitions(body: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut is_literal) = (Vec::new(), 0, 0, false);
    for (at, character) in body.char_indices() {
        match character {
            '\'' => is_literal = !is_literal,
            '(' if !is_literal => depth += 1,
            ')' if !is_literal => depth -= 1,
            ',' if !is_literal && depth == 0 => {
                parts.push(body[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(body[start..].trim());
    parts
}

/// Without comments.
fn on_one_line(sql: &str) -> String {
    let code = sql.lines().map(|line| line.split_once("--").map_or(line, |(code, _)| code));
    code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}
