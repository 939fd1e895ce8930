//! Deleting comments: what is deleted, what stays, and which replies are marked.

use std::time::Duration;

use db::{Command, args};
use serde_json::{Value, json};
use townhall::values::ids::{CommentId, EntityId};

use crate::comments::{UNKNOWN, comment, id_of, path, read, reply};
use crate::reactions::{publish, react, reputation};
use crate::support::{Actor, Form, Part, TestApp, all_at_once, on_both_engines};

on_both_engines![
    a_deleted_comment_leaves_a_placeholder,
    v6_hides_deleted_comments,
    who_may_delete,
    an_id_is_required,
    replies_stay_and_are_marked_at_every_depth,
    a_new_reply_below_a_deleted_comment_is_marked,
    counts_exclude_deleted_comments,
    many_who_delete_at_once_delete_once,
    a_long_thread_is_marked_in_small_steps,
    a_marking_that_was_cut_off_is_finished,
    replies_written_while_a_thread_is_marked_are_marked,
    files_of_a_deleted_comment_go,
    comments_of_a_deleted_entity_are_removed,
    a_deleted_user_leaves_empty_comments,
];

async fn replies(app: &TestApp, entity: &str) -> i64 {
    app.anonymous().get(entity).await.expect(200)["repliesCount"].as_i64().unwrap()
}

async fn a_deleted_comment_leaves_a_placeholder(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let new = json!({
        "entityId": id_of(&entity), "content": "Secret", "foreignId": "f", "metadata": { "a": 1 },
        "mentions": [{ "id": ada.id, "username": "ada" }], "attachments": [{ "a": 1 }],
    });
    let said = bob.post("/comments", new).await.expect(201);
    bob.post(&format!("{}/reactions", path(&said)), json!({ "reactionType": "love" }))
        .await
        .expect(200);
    app.advance(Duration::from_secs(1));
    let reply = bob.delete(&path(&said)).await;
    assert_eq!((reply.status, reply.body.len()), (204, 0));
    for actor in [&*ada, &*bob, &app.anonymous(), &app.service(), &bob.v7()] {
        let shown = read(actor, &said).await;
        for key in ["userId", "content", "gif", "mentions", "attachments"] {
            assert_eq!(shown[key], Value::Null, "{key}");
        }
        assert_eq!(shown["userDeletedAt"], json!(app.now()));
        assert_eq!((&shown["foreignId"], &shown["metadata"]), (&json!("f"), &json!({ "a": 1 })));
        assert_eq!(shown["reactionCounts"]["love"], 1, "reactions stay");
        assert_eq!(shown["deletedAt"], Value::Null);
    }
    bob.v6().get(&path(&said)).await.refused(404, "comment/not-found");
    bob.delete(&path(&said)).await.refused(404, "comment/already-deleted");
    bob.v6().delete(&path(&said)).await.refused(404, "comment/not-found");
    let listed = ada.get(&format!("{}/reactions", path(&said))).await.expect(200);
    assert_eq!(listed["pagination"]["total"], 1);
    react(&ada, &entity, "like").await;
    let refused =
        ada.post(&format!("{}/reactions", path(&said)), json!({ "reactionType": "like" })).await;
    refused.refused(404, "comment/not-found");
}

async fn v6_hides_deleted_comments(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let said = comment(&ada, &entity, "x").await;
    ada.v6().delete(&path(&said)).await.expect(204);
    for actor in [&*ada, &app.service(), &ada.v6()] {
        actor.get(&path(&said)).await.refused(404, "comment/not-found");
        actor.delete(&path(&said)).await.refused(404, "comment/not-found");
        actor.get(&format!("{}/reactions", path(&said))).await.refused(404, "comment/not-found");
    }
    assert_eq!(replies(&app, &entity).await, 0);
}

async fn who_may_delete(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let say = async || comment(&bob, &entity, "x").await;
    for version in [Actor::v6, Actor::v7, Actor::clone] {
        let said = say().await;
        version(&ada).delete(&path(&said)).await.refused(403, "comment/not-authorized");
        version(&app.anonymous()).delete(&path(&said)).await.expect(401);
        read(&ada, &said).await;
        version(&app.master()).delete(&path(&said)).await.expect(204);
    }
    let said = say().await;
    app.service().v6().delete(&path(&said)).await.refused(403, "comment/not-authorized");
    app.service().v7().delete(&path(&said)).await.expect(204);
    let said = say().await;
    app.service().delete(&path(&said)).await.expect(204);
    let stranger = app.stranger().await;
    let said = say().await;
    stranger.delete(&path(&said)).await.refused(404, "comment/not-found");
}

async fn an_id_is_required(app: TestApp) {
    let ada = app.user().await;
    for address in ["/comments", "/comments/", "/comments/x"] {
        for actor in [(*ada).clone(), ada.v6()] {
            actor.delete(address).await.refused(400, "comment/missing-comment-id");
        }
    }
    ada.delete(&format!("/comments/{UNKNOWN}")).await.refused(404, "comment/not-found");
}

async fn replies_stay_and_are_marked_at_every_depth(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    for version in [Actor::v6, Actor::clone] {
        let root = comment(&ada, &entity, "root").await;
        let mut chain = vec![reply(&bob, &root, "0").await];
        for n in 1..6 {
            chain.push(reply(&bob, chain.last().unwrap(), &n.to_string()).await);
        }
        // A part is deleted earlier, and keeps its earlier mark.
        app.advance(Duration::from_secs(1));
        let earlier = app.now();
        bob.delete(&path(&chain[3])).await.expect(204);
        app.advance(Duration::from_secs(1));
        version(&ada).delete(&path(&root)).await.expect(204);
        for (n, one) in chain.iter().enumerate() {
            let shown = read(&ada, one).await;
            let expected = if n > 3 { earlier } else { app.now() };
            assert_eq!(shown["parentDeletedAt"], json!(expected), "{n}");
            if n != 3 {
                assert_eq!(shown["content"], n.to_string(), "answers are kept");
            }
        }
        assert_eq!(replies(&app, &entity).await, 0);
    }
}

async fn a_new_reply_below_a_deleted_comment_is_marked(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let root = comment(&ada, &entity, "root").await;
    let below = reply(&bob, &root, "below").await;
    ada.delete(&path(&root)).await.expect(204);
    let marked = app.now();
    app.advance(Duration::from_secs(1));
    let late = reply(&bob, &below, "late").await;
    assert_eq!(late["parentDeletedAt"], json!(marked));
    assert_eq!(replies(&app, &entity).await, 0);
    assert_eq!(read(&ada, &below).await["repliesCount"], 1);
    // Deleting it takes nothing off the entity again.
    bob.delete(&path(&late)).await.expect(204);
    assert_eq!(replies(&app, &entity).await, 0);
    assert_eq!(read(&ada, &below).await["repliesCount"], 0);
    let new = json!({ "entityId": id_of(&entity), "parentId": root["id"], "content": "x" });
    bob.post("/comments", new).await.refused(404, "comment/parent-not-found");
}

async fn counts_exclude_deleted_comments(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let root = comment(&ada, &entity, "root").await;
    let (a, b) = (reply(&ada, &root, "a").await, reply(&ada, &root, "b").await);
    reply(&ada, &a, "c").await;
    assert_eq!(replies(&app, &entity).await, 4);
    ada.delete(&path(&b)).await.expect(204);
    assert_eq!(replies(&app, &entity).await, 3);
    assert_eq!(read(&ada, &root).await["repliesCount"], 1);
    ada.v6().delete(&path(&a)).await.expect(204);
    assert_eq!(replies(&app, &entity).await, 1, "with it went what is below");
    assert_eq!(read(&ada, &root).await["repliesCount"], 0);
    assert_eq!(reputation(&app, &ada).await, 5 + 4 * 2 - 2 * 2);
    let drifted = app.app.db.read(|c| {
        use townhall::features::comments::store::recount;
        let entities = recount::miscounted_entities(c)?;
        Ok::<_, townhall::error::Error>((entities, recount::miscounted_comments(c)?))
    });
    let (entities, comments) = drifted.await.unwrap();
    assert_eq!((app.own(entities), app.own(comments)), (vec![], vec![]));
}

async fn many_who_delete_at_once_delete_once(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    for version in [Actor::v6, Actor::clone] {
        let root = comment(&ada, &entity, "root").await;
        reply(&ada, &root, "x").await;
        let before = reputation(&app, &ada).await;
        let actor = version(&ada);
        let delete = async || actor.delete(&path(&root)).await.status;
        let mut statuses = all_at_once((0..16).map(|_| delete())).await;
        statuses.sort_unstable();
        let mut expected = vec![404; 16];
        expected[0] = 204;
        assert_eq!(statuses, expected);
        assert_eq!(reputation(&app, &ada).await, before - 2);
        assert_eq!(replies(&app, &entity).await, 0);
    }
}

/// A comment with a chain of this many replies, each below the one before.
async fn long_thread(app: &TestApp, actor: &Actor<'_>, entity: &str, length: i64) -> Value {
    let root = comment(actor, entity, "root").await;
    let (project, now) = (app.project.id, app.now());
    let root_id: CommentId = root["id"].as_str().unwrap().parse().unwrap();
    let entity: EntityId = id_of(entity).parse().unwrap();
    let id = |n: &str| match app.engine() {
        db::Engine::Sqlite => format!("unhex(printf('%032x', {n}))"),
        db::Engine::Postgres => format!("lpad(to_hex({n}), 32, '0')::uuid"),
    };
    let above = format!("CASE WHEN n = 1 THEN $2 ELSE {} END", id("n - 1"));
    let rows =
        "WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < $4)";
    let insert = format!(
        "INSERT INTO comments (project_id, id, entity_id, parent_id, thread_id, upvote_count,
            downvote_count, like_count, love_count, wow_count, sad_count, angry_count, funny_count,
            balance, controversy, replies_count, answers_count, created_at, updated_at)
         {rows} SELECT $1, {}, $3, {above}, {above}, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 1, 1, $5, $5
         FROM rows",
        id("n")
    );
    let bodies = format!(
        "INSERT INTO comment_bodies (project_id, id, mentions, attachments, metadata)
         WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < $2)
         SELECT $1, {}, '[]', '[]', '{{}}' FROM rows",
        id("n")
    );
    let written = app.app.db.write(move |tx| {
        let insert = Command::<()>::built("test::thread", insert.clone());
        tx.execute(&insert, args![project, root_id, entity, length, now])?;
        let bodies = Command::<()>::built("test::bodies", bodies.clone());
        tx.execute(&bodies, args![project, length])?;
        let count = "UPDATE entities SET replies_count = replies_count + $3,
            comments_count = comments_count + $3 WHERE project_id = $1 AND id = $2";
        tx.execute(&Command::<()>::built("test::count", count), args![project, entity, length])?;
        Ok::<_, db::Error>(())
    });
    written.await.unwrap();
    root
}

/// How many of the entity's comments are not marked.
async fn unmarked(app: &TestApp) -> i64 {
    let project = app.project.id;
    let count = "SELECT count(*) FROM comments
        WHERE project_id = $1 AND parent_id IS NOT NULL AND parent_deleted_at IS NULL";
    let found = app
        .app
        .db
        .read(move |c| c.one(&db::Query::<i64>::built("test::unmarked", count), args![project]));
    found.await.unwrap()
}

async fn a_long_thread_is_marked_in_small_steps(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let root = long_thread(&app, &ada, &entity, 1_200).await;
    assert_eq!((replies(&app, &entity).await, unmarked(&app).await), (1_201, 1_200));
    ada.delete(&path(&root)).await.expect(204);
    assert_eq!(read(&ada, &root).await["content"], Value::Null);
    let seen = app.statements.during(app.run_jobs()).await;
    let marks = seen.iter().filter(|(name, _)| name.ends_with("mark_replies::MARK")).count();
    assert_eq!(marks, 3, "500 at once");
    assert_eq!((replies(&app, &entity).await, unmarked(&app).await), (0, 0));
}

async fn a_marking_that_was_cut_off_is_finished(app: TestApp) {
    use townhall::features::comments::delete::mark_replies::{Marking, mark_or_enqueue};
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let root = long_thread(&app, &ada, &entity, 600).await;
    let marking = Marking {
        comment: root["id"].as_str().unwrap().parse().unwrap(),
        entity: id_of(&entity).parse().unwrap(),
        at: app.now(),
    };
    let (project, job) = (app.project.id, townhall::values::ids::JobId(UNKNOWN));
    // The deletion has committed, and the process is gone before it goes on.
    let left =
        app.app.db.write(move |tx| mark_or_enqueue(tx, project, marking, job)).await.unwrap();
    assert!(left);
    assert_eq!(unmarked(&app).await, 600);
    app.run_jobs().await;
    assert_eq!((replies(&app, &entity).await, unmarked(&app).await), (1, 0));
}

async fn replies_written_while_a_thread_is_marked_are_marked(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let root = long_thread(&app, &ada, &entity, 600).await;
    let last = json!({ "entityId": id_of(&entity), "id": format!("00000000-0000-0000-0000-{:012x}", 600) });
    let answer = async |n: usize| {
        let new = json!({ "entityId": last["entityId"], "parentId": last["id"], "content": n.to_string() });
        bob.post("/comments", new).await.status
    };
    let root = path(&root);
    let (deleted, answered) = tokio::join!(ada.delete(&root), all_at_once((0..8).map(answer)));
    assert_eq!(deleted.status, 204);
    assert_eq!(answered, [201; 8]);
    app.run_jobs().await;
    assert_eq!((unmarked(&app).await, replies(&app, &entity).await), (0, 0));
}

async fn files_of_a_deleted_comment_go(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&ada).await, "x").await;
    let file = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };
    let form =
        |id: &str| Form::new().file(file).json("pathParts", json!(["a"])).text("commentId", id);
    let id = said["id"].as_str().unwrap();
    bob.post_form("/storage", &form(id)).await.refused(403, "storage/unauthorized");
    let file = ada.post_form("/storage", &form(id)).await.expect(201);
    let address = format!("/storage/{}", file["fileId"].as_str().unwrap());
    assert_eq!(bob.get(&address).await.expect(200)["commentId"], said["id"]);
    ada.delete(&path(&said)).await.expect(204);
    bob.get(&address).await.refused(404, "storage/file-not-found");
    ada.post_form("/storage", &form(id)).await.refused(404, "storage/target-not-found");
}

async fn comments_of_a_deleted_entity_are_removed(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (entity, other) = (publish(&ada).await, publish(&ada).await);
    let kept = comment(&bob, &other, "kept").await;
    let root = comment(&bob, &entity, "x").await;
    bob.post(&format!("{}/reactions", path(&root)), json!({ "reactionType": "like" }))
        .await
        .expect(200);
    let hidden = reply(&bob, &root, "y").await;
    bob.v6().delete(&path(&hidden)).await.expect(204);
    ada.delete(&entity).await.expect(204);
    bob.get(&path(&root)).await.refused(404, "comment/not-found");
    app.run_jobs().await;
    let project = app.project.id;
    let left = app.app.db.read(move |c| {
        let count = |table: &str| {
            let text = format!("SELECT count(*) FROM {table} WHERE project_id = $1");
            c.one(&db::Query::<i64>::built("test::left", text), args![project])
        };
        Ok::<_, db::Error>((count("comments")?, count("comment_bodies")?, count("reactions")?))
    });
    assert_eq!(left.await.unwrap(), (1, 1, 0));
    assert_eq!(read(&ada, &kept).await["content"], "kept");
}

async fn a_deleted_user_leaves_empty_comments(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = comment(&bob, &entity, "Bob's").await;
    let new = json!({
        "entityId": id_of(&entity), "content": "About Bob",
        "mentions": [{ "id": bob.id, "username": "bob" }, { "id": eve.id, "username": "eve" }],
    });
    let about = ada.post("/comments", new).await.expect(201);
    for kind in ["upvote", "love"] {
        let body = json!({ "reactionType": kind });
        bob.post(&format!("{}/reactions", path(&about)), body).await.expect(200);
    }
    app.service().delete(&format!("/users/{}", bob.id)).await.expect(204);
    let shown = read(&ada, &said).await;
    assert_eq!((&shown["userId"], &shown["content"]), (&Value::Null, &Value::Null));
    assert_eq!((&shown["mentions"], &shown["userDeletedAt"]), (&json!([]), &Value::Null));
    let shown = read(&ada, &about).await;
    assert_eq!(shown["mentions"], json!([{ "type": "user", "id": eve.id, "username": "eve" }]));
    assert_eq!(shown["reactionCounts"]["love"], 0);
    assert_eq!(replies(&app, &entity).await, 2, "what is there is counted");
    let listed = ada.get(&format!("/comments?entityId={}", id_of(&entity))).await.expect(200);
    assert_eq!(listed["pagination"]["totalItems"], 2);
}
