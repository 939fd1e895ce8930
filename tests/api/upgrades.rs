//! Upgrades: a new release on a database that an older one has filled.

use db::Db;
use townhall::error::Error;
use townhall::features::entities::store::recount as feeds;
use townhall::features::notifications::store::recount;
use townhall::features::notifications::store::{self as notifications, Counts};
use townhall::features::users::store::points;
use townhall::http::page::Page;
use townhall::schema::MIGRATIONS;
use townhall::values::ids::{ProjectId, SpaceId, UserId};
use townhall::values::time::Timestamp;
use uuid::Uuid;

use crate::support::{Installation, installed_on_both_engines, outcome};

installed_on_both_engines![
    notifications_and_points_stay_as_they_were,
    older_notifications_learn_what_they_are_about,
    keywords_of_entities_with_a_source_are_counted,
    a_database_with_data_is_copied_before_it_is_migrated,
    an_upgrade_is_rehearsed_on_a_copy,
    an_upgrade_is_rehearsed_while_others_write,
];

fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work).map_err(|error| error.to_string()).unwrap()
}

fn upgraded(town: &Installation, from: usize, script: &str) -> Db {
    let db = town.db();
    db.migrate(&MIGRATIONS[..from], 1).unwrap();
    db.execute_script(script).unwrap();
    db.migrate(MIGRATIONS, 2).unwrap();
    db
}

fn notifications_and_points_stay_as_they_were(town: Installation) {
    let town = town.untouched();
    let id = |number| town.literal(Uuid::from_u128(number));
    let (project, user, space) = (id(1), id(2), id(3));
    // Older versions kept what was earned outside of spaces in a bucket of a space without an id.
    let (general, read, unread) = (id(0), id(4 << 80), id(5 << 80));
    let script = format!(
        "INSERT INTO projects (id, name, state, allowed_origins, created_at, updated_at)
         VALUES ({project}, 'p', 'active', '[]', 1, 1);
         INSERT INTO users (project_id, id, role, is_verified, is_active, metadata, secure_metadata,
            reputation, last_active, created_at, updated_at)
         VALUES ({project}, {user}, 'visitor', FALSE, TRUE, '{{}}', '{{}}', 9, 1, 1, 1);
         INSERT INTO spaces (project_id, id, name, name_key, reading_permission, posting_permission,
            visibility, is_open, nsfw, nsfw_effective, requires_approval, depth, metadata,
            members_count, children_count, created_at, updated_at)
         VALUES ({project}, {space}, 's', 's', 'anyone', 'anyone', 'public', TRUE, FALSE, FALSE,
            FALSE, 0, '{{}}', 0, 0, 1, 1);
         INSERT INTO reputation_buckets (project_id, user_id, space_id, points)
         VALUES ({project}, {user}, {general}, 5), ({project}, {user}, {space}, 4);
         INSERT INTO notifications (project_id, id, user_id, type, action, is_read, metadata,
            created_at, updated_at)
         VALUES ({project}, {read}, {user}, 'old', 'a', TRUE, '{{}}', 4, 6),
            ({project}, {unread}, {user}, 'new', 'a', FALSE, '{{}}', 5, 5);
         INSERT INTO notification_counts (project_id, user_id, total, unread)
         VALUES ({project}, {user}, 2, 1)"
    );
    let db = upgraded(&town, 11, &script);
    let (project, user) = (ProjectId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
    let space = SpaceId(Uuid::from_u128(3));

    let outside = block_on(db.read(move |c| points::points_outside(c, project, &[user])));
    assert_eq!(outside, [(user, 5)]);
    let inside = block_on(db.read(move |c| points::points(c, project, &[user], &[space])));
    assert_eq!(inside, [(user, space, 4)]);

    let page = Page { page: 1, limit: 5 };
    let listed = block_on(db.read(move |c| notifications::list(c, project, user, page)));
    let listed =
        listed.iter().map(|row| (row.r#type.as_str(), row.is_read, row.updated_at.millis()));
    assert_eq!(listed.collect::<Vec<_>>(), [("new", false, 5), ("old", true, 6)]);
    let now = Timestamp::from_millis(7);
    let mark = move |tx: &db::Tx<'_>| notifications::mark_some(tx, project, user, now, 100);
    assert_eq!(block_on(db.write(mark)), 1);
    let Counts { total, unread, .. } =
        block_on(db.read(move |c| notifications::counts(c, project, user)));
    assert_eq!((total, unread), (2, 0));
}

fn older_notifications_learn_what_they_are_about(town: Installation) {
    let town = town.untouched();
    let id = |number: u128| town.literal(Uuid::from_u128(number));
    let text = |number: u128| Uuid::from_u128(number).to_string();
    let (project, ada, space) = (id(1), id(2), id(3));
    let entity = |number: u128, status: &str, space: &str| {
        format!(
            "INSERT INTO entities (project_id, id, space_id, is_draft, is_listed, is_wide, nsfw,
                upvote_count, downvote_count, like_count, love_count, wow_count, sad_count,
                angry_count, funny_count, replies_count, shares_count, views, score,
                score_updated_at, has_attachments, moderation_status, created_at, updated_at)
             VALUES ({project}, {}, {space}, FALSE, TRUE, FALSE, FALSE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                0, 1, FALSE, {status}, 1, 1);",
            id(number)
        )
    };
    // Reactions of one user: two to an entity that is there, and one each to one in a closed space, to a
    // removed one and to one that is gone; and what the project said itself.
    let reacted = |number: u128, entity: u128, more: &str| {
        let about =
            format!("{{\"entityId\":\"{}\",\"initiatorId\":\"{}\"{more}}}", text(entity), text(9));
        format!(
            "INSERT INTO notifications (project_id, id, user_id, type, action, is_read, metadata,
                created_at, updated_at)
             VALUES ({project}, {}, {ada}, 'entity-reaction', 'open-entity', FALSE, '{about}', 5, 5);",
            id(number << 80)
        )
    };
    let script = [
        format!(
            "INSERT INTO projects (id, name, state, allowed_origins, created_at, updated_at)
             VALUES ({project}, 'p', 'active', '[]', 1, 1);
             INSERT INTO users (project_id, id, role, is_verified, is_active, metadata,
                secure_metadata, reputation, last_active, created_at, updated_at)
             VALUES ({project}, {ada}, 'visitor', FALSE, TRUE, '{{}}', '{{}}', 9, 1, 1, 1);
             INSERT INTO spaces (project_id, id, name, name_key, reading_permission,
                posting_permission, visibility, is_open, nsfw, nsfw_effective, requires_approval,
                depth, metadata, members_count, children_count, created_at, updated_at)
             VALUES ({project}, {space}, 's', 's', 'members', 'anyone', 'public', FALSE, FALSE, FALSE,
                FALSE, 0, '{{}}', 0, 0, 1, 1);"
        ),
        entity(20, "NULL", "NULL"),
        entity(21, "NULL", &space),
        entity(22, "'removed'", "NULL"),
        reacted(30, 20, ""),
        reacted(31, 20, ""),
        reacted(32, 21, &format!(",\"spaceId\":\"{}\"", text(3))),
        reacted(33, 22, ""),
        reacted(34, 23, ""),
        format!(
            "INSERT INTO notifications (project_id, id, user_id, type, action, is_read, metadata,
                created_at, updated_at)
             VALUES ({project}, {}, {ada}, 'system', 'open-entity', TRUE, '{{\"title\":\"t\"}}', 5, 5);
             INSERT INTO notification_counts (project_id, user_id, total, unread, unread_since)
             VALUES ({project}, {ada}, 6, 5, 0)",
            id(35 << 80)
        ),
    ];
    let db = upgraded(&town, 12, &script.concat());
    let (project, user) = (ProjectId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
    let page = Page { page: 1, limit: 50 };
    let listed = block_on(db.read(move |c| notifications::list(c, project, user, page)));
    let ids: Vec<u128> = listed.iter().map(|row| row.id.0.as_u128() >> 80).collect();
    assert_eq!(ids, [35, 30]);
    let Counts { total, unread } =
        block_on(db.read(move |c| notifications::counts(c, project, user)));
    assert_eq!((total, unread), (2, 1));
    assert_eq!(block_on(db.read_slow(recount::drifted)), []);
}

fn keywords_of_entities_with_a_source_are_counted(town: Installation) {
    let town = town.untouched();
    let id = |number: u128| town.literal(Uuid::from_u128(number));
    let (project, space) = (id(1), id(0xabcd_ef01_2345_4678_9abc_def0_1234_5678));
    let entity = |number: u128, source: &str, space: &str, keywords: &str| {
        let id = id(number);
        format!(
            "INSERT INTO entities (project_id, id, source_id, space_id, is_draft, is_listed, is_wide, nsfw,
                upvote_count, downvote_count, like_count, love_count, wow_count, sad_count,
                angry_count, funny_count, replies_count, shares_count, views, score,
                score_updated_at, has_attachments, created_at, updated_at)
             VALUES ({project}, {id}, {source}, {space}, FALSE, TRUE, FALSE, FALSE, 0, 0, 0, 0, 0, 0, 0, 0,
                0, 0, 0, 0, 1, FALSE, 1, 1);
             INSERT INTO entity_bodies (project_id, id, mentions, attachments, keywords, metadata)
             VALUES ({project}, {id}, '[]', '[]', '{keywords}', '{{}}');"
        )
    };
    let script = [
        format!(
            "INSERT INTO projects (id, name, state, allowed_origins, created_at, updated_at)
             VALUES ({project}, 'p', 'active', '[]', 1, 1);"
        ),
        entity(0x20, "'s'", "NULL", r#"["a", "b", "a"]"#),
        entity(0x30, "'t'", "NULL", r#"["a"]"#),
        entity(0x3f, "'s'", &space, r#"["a"]"#),
        entity(0x40, "NULL", &space, r#"["a"]"#),
    ];
    let db = upgraded(&town, 16, &script.concat());
    let project = ProjectId(Uuid::from_u128(1));
    let counts = move |c: &db::Conn<'_>| {
        let text = "SELECT scope || ' of ' || COALESCE(within, ''), shard, total FROM entity_counts
            WHERE project_id = $1 AND scope LIKE '%sourced-keyword:%' ORDER BY 1, 2";
        let query = db::Query::<(String, i64, i64)>::built("test::counts", text);
        Ok::<_, Error>(c.all(&query, db::args![project])?)
    };
    let upgraded = block_on(db.read(counts));
    assert_eq!(upgraded.len(), 4, "{upgraded:?}");
    // The doctor counts everything anew.
    let repaired = block_on(db.write(move |tx| feeds::repair_feeds(tx, project)));
    assert!(repaired > 0);
    assert_eq!(block_on(db.read(counts)), upgraded);
}

fn a_database_with_data_is_copied_before_it_is_migrated(town: Installation) {
    let town = town.untouched();
    let copies = || -> Vec<String> {
        let entries = std::fs::read_dir(&town.data_dir).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(".before-")).collect()
    };
    std::fs::write(town.data_dir.join("townhall.db.before-3"), "of an earlier upgrade").unwrap();
    fill_older(&town, 1);
    let running = town.serve();
    let log = running.log.clone();
    drop(running);
    if !town.is_sqlite() {
        assert_eq!(copies(), ["townhall.db.before-3"], "PostgreSQL has tools of its own");
        return;
    }
    assert_eq!(copies(), ["townhall.db.before-16"]);
    assert!(log.contains("townhall.db.before-16") && log.contains("to go back"), "{log}");
    // Going back, as the line says.
    let name = |end: &str| town.data_dir.join(format!("townhall.db{end}"));
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(name(end));
    }
    std::fs::copy(name(".before-16"), name("")).unwrap();
    let db = town.db();
    assert_eq!(db.pending_migrations(MIGRATIONS).unwrap(), MIGRATIONS.len() - 16);
    // Not every column of today is there.
    let found = block_on(db.read(townhall::tenancy::store::newest));
    assert_eq!(found.map(|at| at.millis()), Some(1));
    // Again, and then there is nothing to do.
    drop(db);
    drop(town.serve());
    std::fs::remove_file(name(".before-16")).unwrap();
    drop(town.serve());
    assert!(copies().is_empty());
}

/// A database of an older release, with a project of that time in it.
fn fill_older(town: &Installation, created_at: i64) {
    let (db, project) = (town.db(), town.literal(Uuid::from_u128(1)));
    db.migrate(&MIGRATIONS[..16], 1).unwrap();
    db.execute_script(&format!(
        "INSERT INTO projects (id, name, state, allowed_origins, created_at, updated_at)
         VALUES ({project}, 'p', 'active', '[]', {created_at}, 1)"
    ))
    .unwrap();
    block_on(async {
        db.close().await;
        Ok(())
    });
}

fn an_upgrade_is_rehearsed_on_a_copy(town: Installation) {
    const LONG_AFTER: i64 = 9_999_999_999_999;
    for (created_at, code) in [(1, 0), (LONG_AFTER, 1)] {
        let town = town.untouched();
        let empty = town.untouched();
        fill_older(&town, created_at);
        let mut command = town.command();
        command.args(["upgrade", "rehearse", "--json"]);
        if !town.is_sqlite() {
            let line = town.fails(&["upgrade", "rehearse"]);
            assert!(line.contains("--to"), "{line}");
            command.args(["--to", &empty.database_url]);
        }
        let done = outcome(&mut command);
        assert_eq!(done.code, code, "{}{}", done.stdout, done.stderr);
        let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(report["applied"].as_array().unwrap().len(), MIGRATIONS.len() - 16);
        let checks = report["checks"].as_array().unwrap();
        let wrong = checks.iter().filter(|check| check["status"] == "fail");
        let wrong: Vec<&str> = wrong.map(|check| check["check"].as_str().unwrap()).collect();
        assert_eq!(wrong, if code == 0 { vec![] } else { vec!["clock"] });
        assert!(checks.iter().any(|check| check["check"] == "integrity"), "deep");
        assert!(!town.data_dir.join("rehearsal").exists());
        assert_eq!(town.db().pending_migrations(MIGRATIONS).unwrap(), MIGRATIONS.len() - 16);
    }
}

fn an_upgrade_is_rehearsed_while_others_write(town: Installation) {
    let (town, empty) = (town.untouched(), town.untouched());
    fill_older(&town, 1);
    town.db()
        .bulk(|bulk| {
            bulk.execute("BEGIN; UPDATE projects SET name = 'not committed yet'")?;
            let done =
                outcome(town.command().args(["upgrade", "rehearse", "--to", &empty.database_url]));
            assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
            bulk.execute("COMMIT")
        })
        .unwrap();
    let name = block_on(empty.db().read(|c| Ok(townhall::tenancy::store::list(c)?.remove(0).name)));
    assert_eq!(name, "p");
}
