//! A database of every earlier schema, with rows as the release of that time left them, is upgraded: the rows stay, and
//! `townhall doctor --deep` finds nothing.

use db::{Db, Query};
use townhall::error::Error;
use townhall::schema::MIGRATIONS;
use uuid::Uuid;

use crate::support::{Installation, installed_on_both_engines};

installed_on_both_engines![every_earlier_schema_is_upgraded];

/// The tables that the rows below are in, and since when there are such rows.
const SEEDED: [(usize, &str, i64); 11] = [
    (1, "projects", 1),
    (1, "users", 2),
    (2, "entities", 1),
    (2, "entity_bodies", 1),
    (2, "reactions", 1),
    (3, "notifications", 1),
    (5, "comments", 2),
    (7, "collections", 2),
    (8, "follows", 1),
    (9, "spaces", 1),
    (11, "conversations", 1),
];

/// What a release with this many migrations has stored.
fn rows(town: &Installation, schema: usize) -> String {
    let id = |number: u128| town.literal(Uuid::from_u128(number));
    let (project, ada, bob, entity) = (id(1), id(2), id(3), id(4 << 80));
    let user = |id: &str, name: &str| {
        format!(
            "INSERT INTO users (project_id, id, role, username, is_verified, is_active, metadata, secure_metadata,
                reputation, last_active, created_at, updated_at)
             VALUES ({project}, {id}, 'visitor', '{name}', FALSE, TRUE, '{{\"a\":1}}', '{{}}', 9, 1, 1, 1);"
        )
    };
    let mut script = format!(
        "INSERT INTO projects (id, name, state, allowed_origins, created_at, updated_at)
         VALUES ({project}, 'p', 'active', '[]', 1, 1);{}{}",
        user(&ada, "ada"),
        user(&bob, "bob")
    );
    if schema >= 2 {
        let reaction = id(5);
        script += &format!(
            "INSERT INTO entities (project_id, id, user_id, is_draft, is_listed, is_wide, nsfw, upvote_count,
                downvote_count, like_count, love_count, wow_count, sad_count, angry_count, funny_count,
                replies_count, shares_count, views, score, score_updated_at, has_attachments, created_at, updated_at)
             VALUES ({project}, {entity}, {ada}, TRUE, FALSE, FALSE, FALSE, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0.5, 1,
                FALSE, 1, 1);
             INSERT INTO entity_bodies (project_id, id, title, mentions, attachments, keywords, metadata)
             VALUES ({project}, {entity}, 'kept', '[]', '[]', '[\"k\"]', '{{}}');
             INSERT INTO reactions (project_id, target_id, user_id, id, target_type, reaction_type, created_at,
                updated_at)
             VALUES ({project}, {entity}, {bob}, {reaction}, 'entity', 'like', 1, 1);"
        );
    }
    if schema >= 3 {
        let (notification, nowhere) = (id(6 << 80), id(0));
        let (more, values) = match schema {
            3..=11 => ("", String::new()),
            12..=14 => (", unread_since", ", 0".to_owned()),
            _ => (", unread_since, space_id", format!(", 0, {nowhere}")),
        };
        script += &format!(
            "INSERT INTO notifications (project_id, id, user_id, type, action, is_read, metadata, created_at, updated_at)
             VALUES ({project}, {notification}, {ada}, 'system', 'open', FALSE, '{{}}', 4, 4);
             INSERT INTO notification_counts (project_id, user_id, total, unread{more})
             VALUES ({project}, {ada}, 1, 1{values});"
        );
    }
    if schema >= 5 {
        let (comment, reply) = (id(7 << 80), id(8 << 80));
        let insert = |id: &str, parent: &str, thread: &str, replies: i64| {
            format!(
                "INSERT INTO comments (project_id, id, entity_id, user_id, parent_id, thread_id, upvote_count,
                    downvote_count, like_count, love_count, wow_count, sad_count, angry_count, funny_count, balance,
                    controversy, replies_count, answers_count, created_at, updated_at)
                 VALUES ({project}, {id}, {entity}, {bob}, {parent}, {thread}, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1,
                    {replies}, {replies}, 2, 2);
                 INSERT INTO comment_bodies (project_id, id, content, mentions, attachments, metadata)
                 VALUES ({project}, {id}, 'said', '[]', '[]', '{{}}');"
            )
        };
        script += &insert(&comment, "NULL", &entity, 1);
        script += &insert(&reply, &comment, &comment, 0);
        script +=
            "UPDATE entities SET replies_count = 2, comments_count = 2, top_comments_count = 1;";
    }
    if schema >= 7 {
        let (root, below) = (id(9), id(10));
        script += &format!(
            "INSERT INTO collections (project_id, id, user_id, parent_id, is_root, name, depth, entity_count,
                created_at, updated_at)
             VALUES ({project}, {root}, {ada}, NULL, TRUE, 'root', 0, 0, 1, 1),
                ({project}, {below}, {ada}, {root}, FALSE, 'below', 1, 0, 1, 1);"
        );
    }
    if schema >= 8 {
        let follow = id(11);
        script += &format!(
            "INSERT INTO follows (project_id, id, follower_id, followed_id, created_at)
             VALUES ({project}, {follow}, {ada}, {bob}, 1);
             INSERT INTO follow_counts (project_id, user_id, followers, following)
             VALUES ({project}, {ada}, 0, 1), ({project}, {bob}, 1, 0);"
        );
    }
    if schema >= 9 {
        let space = id(12);
        script += &format!(
            "INSERT INTO spaces (project_id, id, name, name_key, reading_permission, posting_permission, visibility,
                is_open, nsfw, nsfw_effective, requires_approval, depth, metadata, members_count, children_count,
                created_at, updated_at)
             VALUES ({project}, {space}, 's', 's', 'anyone', 'anyone', 'public', TRUE, FALSE, FALSE, FALSE, 0, '{{}}',
                0, 0, 1, 1);
             INSERT INTO space_lines (project_id, ancestor_id, space_id) VALUES ({project}, {space}, {space});"
        );
    }
    if schema >= 11 {
        let conversation = id(13);
        script += &format!(
            "INSERT INTO conversations (project_id, id, kind, name, created_by_id, metadata, member_count, has_visible,
                created_at, updated_at)
             VALUES ({project}, {conversation}, 'group', 'g', {ada}, '{{}}', 0, FALSE, 1, 1);"
        );
    }
    script
}

fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work).map_err(|error| error.to_string()).unwrap()
}

fn count(db: &Db, table: &str) -> i64 {
    let query = Query::<i64>::built("test", format!("SELECT count(*) FROM {table}"));
    block_on(db.read(move |c| Ok(c.one(&query, &[])?)))
}

fn close(db: &Db) {
    block_on(async {
        db.close().await;
        Ok(())
    });
}

fn migrate_and_close(town: &Installation, schema: usize) {
    let db = town.db();
    db.migrate(&MIGRATIONS[..schema], 1).unwrap();
    close(&db);
}

fn every_earlier_schema_is_upgraded(town: Installation) {
    // Without rows, and one migration further each time: to copy it takes less than to begin with nothing.
    let empty = town.untouched();
    for schema in 1..MIGRATIONS.len() {
        migrate_and_close(&empty, schema);
        let town = empty.copied();
        // A copy has the schema already, but none is made on a cluster.
        migrate_and_close(&town, schema);
        let db = town.db();
        db.execute_script(&rows(&town, schema)).unwrap_or_else(|error| panic!("{schema}: {error}"));
        close(&db);
        town.json(&["migrate", "up"]);
        let report = town.run(&["doctor", "--deep"]);
        assert_eq!(report.code, 0, "from {schema}: {}{}", report.stdout, report.stderr);
        let db = town.db();
        for (since, table, expected) in SEEDED {
            let expected = if schema >= since { expected } else { 0 };
            assert_eq!(count(&db, table), expected, "{table} from {schema}");
        }
    }
}
