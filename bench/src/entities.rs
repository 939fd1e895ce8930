//! Many entities, written by the database itself in a handful of statements: a million of them
//! would take hours over HTTP. Bodies, terms and counts are what the server would have written.

use std::fmt::Write as _;

use db::{Db, JsonText};
use townhall::features::entities::rules::{Keywords, Mentions};
use townhall::features::entities::store::EntityRow;
use townhall::features::entities::terms::{self, Terms};
use townhall::values::ids::{EntityId, ProjectId};
use townhall::values::metadata::Metadata;
use townhall::values::time::Timestamp;
use uuid::Uuid;

/// On every entity but the first.
pub const COMMON: &str = "common";
/// The first entity gets thousands of votes, which `/v6` lists one by one: no list by keyword shows it.
const WITH_KEYWORDS: &str = "n > 0";
/// Each entity has one of so many others.
const RARE: usize = 1000;

/// Keywords that one entity in a thousand has.
pub fn rare() -> impl Iterator<Item = String> {
    (0..RARE).map(|number| format!("rare{number}"))
}

const METADATA: &str = r#"{"status":"published"}"#;
/// Of each entity, as long as a short post.
const CONTENT: &str = "There is a bench under the old lime tree where people who do not know each \
    other sit down, look at the fountain, and begin to talk about the weather; after a while they \
    talk about something else. The town has thought of removing it twice and has found, twice, \
    that nobody could say why.";
/// Kept counts are spread over so many rows, by the last digit of the id.
const SHARDS: usize = 16;
/// Between one entity and the next.
const STEP: i64 = 1000;

#[derive(Debug, Clone, Copy)]
pub struct Entities {
    pub count: usize,
    /// When the first of them was created; the last one was just now.
    first: i64,
}

/// Numbers the users in their order, for [`Entities::seed`] and the seeding of comments.
pub fn number_users(db: &Db, project: ProjectId) -> Result<(), String> {
    let project = literal(db.engine(), project.0);
    let script = format!(
        "CREATE TABLE bench_authors (nr {{int}} PRIMARY KEY, id {{uuid}} NOT NULL);
         INSERT INTO bench_authors (nr, id)
         SELECT row_number() OVER (ORDER BY id) - 1, id FROM users WHERE project_id = {project};"
    );
    db.execute_script(&script).map_err(|error| error.to_string())
}

/// Drops what [`number_users`] made.
pub fn forget_numbers(db: &Db) -> Result<(), String> {
    db.execute_script("DROP TABLE bench_authors").map_err(|error| error.to_string())
}

fn literal(engine: db::Engine, id: Uuid) -> String {
    match engine {
        db::Engine::Sqlite => format!("x'{}'", id.simple()),
        db::Engine::Postgres => format!("'{id}'::uuid"),
    }
}

impl Entities {
    pub fn seed(db: &Db, project: ProjectId, count: usize, now: Timestamp) -> Result<Self, String> {
        let length = i64::try_from(count).map_err(|error| error.to_string())?;
        let entities = Entities { count, first: now.millis() - length * STEP };
        let words = Words::of(db.engine(), project, entities, now);
        for script in [words.entities(), words.bodies(), words.terms()?, words.counts()] {
            db.execute_script(&script).map_err(|error| error.to_string())?;
        }
        Ok(entities)
    }

    /// What is written in an entity, without the numbers.
    pub fn row(id: EntityId, now: Timestamp) -> EntityRow {
        EntityRow {
            title: Some("Post number 1234 about the bench".to_owned()),
            content: Some(CONTENT.to_owned()),
            keywords: JsonText(format!(r#"["{COMMON}","rare123"]"#)),
            metadata: JsonText(METADATA.to_owned()),
            ..EntityRow::blank(id, now)
        }
    }

    /// Comments of many authors on the first entity, with votes; numbered like the entities.
    pub fn seed_comments(
        &self,
        db: &Db,
        project: ProjectId,
        count: usize,
        now: Timestamp,
    ) -> Result<Self, String> {
        // Half a step beside the entities, so that no id is used twice.
        self.seed_comments_on(db, project, count, self.first_alone(), STEP / 2, now)
    }

    /// The same, on all entities in turn.
    pub fn spread_comments(
        &self,
        db: &Db,
        project: ProjectId,
        count: usize,
        now: Timestamp,
    ) -> Result<Self, String> {
        self.seed_comments_on(db, project, count, *self, STEP / 4, now)
    }

    fn seed_comments_on(
        &self,
        db: &Db,
        project: ProjectId,
        count: usize,
        targets: Entities,
        offset: i64,
        now: Timestamp,
    ) -> Result<Self, String> {
        let length = i64::try_from(count).map_err(|error| error.to_string())?;
        let comments = Entities { count, first: now.millis() - length * STEP + offset };
        if count == 0 {
            return Ok(comments);
        }
        let target = targets.id_sql(db.engine(), &format!("(n % {})", targets.count));
        let words = Words::of(db.engine(), project, comments, now);
        for script in words.comments(&target) {
            db.execute_script(&script).map_err(|error| error.to_string())?;
        }
        Ok(comments)
    }

    /// The first of them alone.
    pub fn first_alone(&self) -> Self {
        Entities { count: 1, ..*self }
    }

    /// Whether this is the id of one of them.
    pub fn contain(&self, id: Uuid) -> bool {
        let number = id.as_u128() & ((1 << 60) - 1);
        usize::try_from(number).is_ok_and(|n| n < self.count && self.id(n).0 == id)
    }

    /// SQL: the id of the entity whose number is the result of this expression.
    pub fn id_sql(&self, engine: db::Engine, number: &str) -> String {
        let created = format!("({} + {STEP} * {number})", self.first);
        match engine {
            db::Engine::Sqlite => {
                format!("unhex(printf('%012x4%03x8%015x', {created}, {number} % 4096, {number}))")
            }
            db::Engine::Postgres => format!(
                "(lpad(to_hex({created}), 12, '0') || '4' || lpad(to_hex({number} % 4096), 3, '0')
                    || '8' || lpad(to_hex({number}), 15, '0'))::uuid"
            ),
        }
    }

    /// When the entity with this number was created, in milliseconds.
    pub fn created(&self, number: usize) -> i64 {
        self.first + STEP * number as i64
    }

    /// The id of the entity with this number: its time first, as the server would make it.
    pub fn id(&self, number: usize) -> EntityId {
        let created = u128::from(self.created(number).unsigned_abs());
        let number = number as u128;
        let random = (number % 4096) << 64 | number;
        EntityId(Uuid::from_u128(created << 80 | 4 << 76 | 8 << 60 | random))
    }
}

/// What the engines spell differently.
#[derive(Debug)]
struct Words {
    /// Said before anything else.
    first: &'static str,
    /// The numbers of all entities, as `rows (n)`.
    rows: String,
    project: String,
    id: String,
    created: String,
    now: i64,
    /// A user's id as text.
    user_text: &'static str,
    engine: db::Engine,
}

impl Words {
    fn of(engine: db::Engine, project: ProjectId, entities: Entities, now: Timestamp) -> Self {
        let Entities { count, first } = entities;
        let created = format!("({first} + {STEP} * n)");
        let id = entities.id_sql(engine, "n");
        let rows = format!(
            "WITH RECURSIVE rows (n) AS
                (SELECT 0 UNION ALL SELECT n + 1 FROM rows WHERE n + 1 < {count})"
        );
        let (first, user_text) = match engine {
            db::Engine::Sqlite => (
                "",
                "lower(substr(hex(u.id), 1, 8) || '-' || substr(hex(u.id), 9, 4) || '-' ||
                    substr(hex(u.id), 13, 4) || '-' || substr(hex(u.id), 17, 4) || '-' ||
                    substr(hex(u.id), 21))",
            ),
            db::Engine::Postgres => (
                // What references what is known to be right; checking it takes longer than writing.
                "SET LOCAL session_replication_role = replica;",
                "u.id::text",
            ),
        };
        let project = literal(engine, project.0);
        Words { first, rows, project, id, created, now: now.millis(), user_text, engine }
    }

    fn insert(&self, table: &str, values: &str, from: &str) -> String {
        let Words { first, rows, project, .. } = self;
        format!("{first} INSERT INTO {table} {rows} SELECT {project}, {values} FROM rows {from};")
    }

    /// Entities go round the users.
    fn authors(&self) -> &'static str {
        "JOIN bench_authors u ON u.nr = n % (SELECT count(*) FROM bench_authors)"
    }

    fn entities(&self) -> String {
        let Words { id, created, now, .. } = self;
        self.insert(
            "entities (project_id, id, user_id, is_draft, is_listed, is_wide, nsfw, upvote_count,
                downvote_count, like_count, love_count, wow_count, sad_count, angry_count,
                funny_count, replies_count, shares_count, views, score, score_updated_at,
                has_attachments, created_at, updated_at)",
            &format!(
                "{id}, u.id, FALSE, TRUE, FALSE, FALSE, n % 1000 * 6131 % 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                 (n % 1000 * 7919 % 1000) / 100.0, {now}, FALSE, {created}, {created}"
            ),
            self.authors(),
        )
    }

    fn bodies(&self) -> String {
        self.insert(
            "entity_bodies (project_id, id, title, content, mentions, attachments, keywords,
                metadata)",
            &format!(
                "{}, 'Post number ' || n || ' about the bench', '{CONTENT}', '[]', '[]',
                 CAST(CASE n WHEN 0 THEN '[]' ELSE '[\"{COMMON}\",\"rare' || (n % {RARE}) || '\"]' END
                    AS {{document}}), '{METADATA}'",
                self.id
            ),
            "",
        )
    }

    fn terms(&self) -> Result<String, String> {
        let metadata: Metadata = serde_json::from_str(METADATA).map_err(|e| e.to_string())?;
        let keywords = Keywords::try_from(vec![COMMON.to_owned()])?;
        let of_all = Terms::of(false, &keywords, &metadata, &Mentions::default()).terms.into_iter();
        let of_all = of_all.map(|term| format!("(-1, {})", literal(self.engine, term)));
        let of_some = rare().enumerate().map(|(number, keyword)| {
            let term = terms::keyword(&keyword);
            format!("({number}, {})", literal(self.engine, term))
        });
        let values: Vec<String> = of_all.chain(of_some).collect();
        let mut sql = format!(
            "CREATE TABLE bench_terms (nr {{int}} NOT NULL, term {{uuid}} NOT NULL);
             INSERT INTO bench_terms (nr, term) VALUES {};
             CREATE INDEX bench_terms_nr ON bench_terms (nr);",
            values.join(", ")
        );
        let insert = self.insert(
            "entity_terms (project_id, term, created_at, entity_id)",
            &format!("t.term, {}, {}", self.created, self.id),
            &format!("JOIN bench_terms t ON t.nr IN (-1, n % {RARE}) AND {WITH_KEYWORDS}"),
        );
        let _ = writeln!(sql, "{insert} DROP TABLE bench_terms;");
        Ok(sql)
    }

    /// `entity`: the id of the entity that the comment with the number `n` is on.
    fn comments(&self, entity: &str) -> [String; 3] {
        let Words { first, id, created, project, .. } = self;
        let comments = self.insert(
            "comments (project_id, id, entity_id, user_id, thread_id, upvote_count, downvote_count,
                like_count, love_count, wow_count, sad_count, angry_count, funny_count, balance,
                controversy, replies_count, answers_count, created_at, updated_at)",
            &format!(
                "{id}, {entity}, u.id, {entity}, n % 1000 * 7919 % 1000, 0, 0, 0, 0, 0, 0, 0,
                 n % 1000 * 7919 % 1000, 0, 0, 0, {created}, {created}"
            ),
            self.authors(),
        );
        let bodies = self.insert(
            "comment_bodies (project_id, id, content, mentions, attachments, metadata)",
            &format!("{id}, 'Comment number ' || n, '[]', '[]', '{{}}'"),
            "",
        );
        let count = format!(
            "{first} UPDATE entities SET replies_count = c.total, comments_count = c.total,
                top_comments_count = c.total
             FROM (SELECT entity_id, count(*) AS total FROM comments
                WHERE project_id = {project} AND deleted_at IS NULL GROUP BY entity_id) c
             WHERE entities.project_id = {project} AND entities.id = c.entity_id;"
        );
        [comments, bodies, count]
    }

    fn counts(&self) -> String {
        let table = "entity_counts (project_id, scope, shard, total)";
        let mut sql = String::new();
        for scope in ["project", "no-space", "no-source", "loose"] {
            sql += &self.insert(
                table,
                &format!("'{scope}', n % {SHARDS}, count(*)"),
                &format!("GROUP BY n % {SHARDS}"),
            );
        }
        sql += &self.insert(
            table,
            &format!("'keyword:{COMMON}', n % {SHARDS}, count(*)"),
            &format!("WHERE {WITH_KEYWORDS} GROUP BY n % {SHARDS}"),
        );
        sql += &self.insert(
            table,
            &format!("'keyword:rare' || (n % {RARE}), n % {SHARDS}, count(*)"),
            &format!("WHERE {WITH_KEYWORDS} GROUP BY n % {RARE}, n % {SHARDS}"),
        );
        sql += &self.insert(
            table,
            &format!("'author:' || {}, n % {SHARDS}, count(*)", self.user_text),
            &format!("{} GROUP BY u.id, n % {SHARDS}", self.authors()),
        );
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_server() {
        let entities = Entities { count: 2, first: 0x0123_4567_89ab };
        let id = entities.id(0).to_string();
        assert_eq!(id, "01234567-89ab-4000-8000-000000000000");
        assert_eq!(entities.id(1).to_string(), "01234567-8d93-4001-8000-000000000001");
        assert!(entities.contain(entities.id(1).0) && !entities.contain(entities.id(2).0));
        assert!(!entities.contain(Uuid::max()) && !entities.contain(Uuid::nil()));
    }
}
