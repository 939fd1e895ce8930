//! Storing notifications: many at once, and concurrently with other writes. The stored counts stay exact.

use db::{Engine, Query, Tx, args};
use serde_json::json;
use townhall::features::users;
use townhall::values::ids::UserId;

use crate::notifications::{
    MARK_ALL, UNKNOWN, add_in, counts_are_exact, list, mark_path, numbers, tell, told, total,
    unread,
};
use crate::support::{TestApp, all_at_once, count, on_both_engines, somebody_waits_for};

on_both_engines![
    many_are_stored_at_once_and_unknown_recipients_are_left_out,
    notifications_go_with_their_user,
    adding_and_marking_at_once_keeps_the_counts,
    adding_for_a_user_who_is_being_deleted_leaves_them_out,
    who_marks_while_being_deleted_is_deleted,
];

async fn many_are_stored_at_once_and_unknown_recipients_are_left_out(app: TestApp) {
    let (user, other, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let nobody: UserId = UNKNOWN.parse().unwrap();
    add_in(&app, app.project.id, vec![]).await;
    add_in(&app, app.project.id, vec![told(&app, nobody, &json!({}))]).await;
    add_in(
        &app,
        app.project.id,
        vec![told(&app, nobody, &json!({})), told(&app, nobody, &json!({}))],
    )
    .await;
    // Each keeps its own words, wherever it stands and whatever its neighbours say.
    let about = |number: usize| json!({ "number": number, "quote": "it's $1 {uuid}" });
    let recipients = [user.id, nobody, other.id, stranger.id, user.id];
    let new = (0..601).map(|n| told(&app, recipients[n % 5], &about(n / 2))).collect();
    add_in(&app, app.project.id, new).await;
    let of = |actor: UserId| (0..601).filter(move |n| recipients[n % 5] == actor);
    for actor in [&user, &other] {
        let number = of(actor.id).count();
        assert_eq!((unread(actor).await, total(actor).await), (json!(number), json!(number)));
        let mut shown = Vec::new();
        for page in 1..=number.div_ceil(50) {
            shown.extend(numbers(&list(actor, &format!("?limit=50&page={page}")).await));
        }
        shown.sort_unstable();
        let mut expected: Vec<u64> = of(actor.id).map(|n| n as u64 / 2).collect();
        expected.sort_unstable();
        assert_eq!(shown, expected);
    }
    assert_eq!(list(&user, "").await["data"][0]["metadata"]["quote"], "it's $1 {uuid}");
    assert_eq!(unread(&stranger).await, 0);
    counts_are_exact(&app).await;
}

async fn notifications_go_with_their_user(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    tell(&app, &user, 0..3).await;
    tell(&app, &other, 0..1).await;
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    user.get("/app-notifications").await.refused(403, "auth/no-user-found");
    assert_eq!(unread(&other).await, 1);
    counts_are_exact(&app).await;
}

/// What is done at the same time to the same users.
async fn adding_and_marking_at_once_keeps_the_counts(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let ids = [user.id, other.id];
    tell(&app, &user, 0..8).await;
    let shown = list(&user, "?limit=8").await;
    let adding = (0..40).map(|n| {
        let about = json!({ "n": n });
        // One by one, and several at once in either order.
        let recipients = match n % 3 {
            0 => vec![ids[n / 3 % 2]],
            1 => vec![ids[0], ids[1], ids[0]],
            _ => vec![ids[1], ids[0]],
        };
        let new: Vec<_> = recipients.into_iter().map(|id| told(&app, id, &about)).collect();
        (new.iter().filter(|one| one.user == user.id).count(), new)
    });
    let adding: Vec<_> = adding.collect();
    let expected: usize = 8 + adding.iter().map(|(to_user, _)| to_user).sum::<usize>();
    let (adds, _, marks, alls) = tokio::join!(
        all_at_once(adding.into_iter().map(|(_, new)| add_in(&app, app.project.id, new))),
        all_at_once((0..4).map(|_| {
            let (service, body) = (app.service(), json!({ "title": "Hello", "userIds": ids }));
            async move { service.post("/app-notifications/system", body).await }
        })),
        all_at_once((0..16).map(|n| {
            let (path, user) = (mark_path(&shown, n % 8), &user);
            async move { user.patch(&path, json!({})).await }
        })),
        all_at_once((0..6).map(|_| user.patch(MARK_ALL, json!({})))),
    );
    assert_eq!((adds.len(), count(&marks, 200), count(&alls, 200)), (40, 16, 6));
    counts_are_exact(&app).await;
    assert_eq!(total(&user).await, expected + 4);
    let left = unread(&user).await;
    let marked = user.patch(MARK_ALL, json!({})).await.expect(200)["markedAsRead"].clone();
    assert_eq!(left, marked, "the count said how many there were to mark");
    assert_eq!(unread(&user).await, 0);
    counts_are_exact(&app).await;
}

/// Who is being deleted at this moment is there to be seen, and is gone when it counts.
async fn adding_for_a_user_who_is_being_deleted_leaves_them_out(app: TestApp) {
    let other = app.user().await;
    for number in 1..=2 {
        let user = app.user().await;
        let (project, id, engine) = (app.project.id, user.id, app.engine());
        let (tell_deleted, mut deleted) = tokio::sync::mpsc::unbounded_channel();
        let db = app.app.db.clone();
        let deleting = tokio::spawn(async move {
            let work = move |tx: &Tx<'_>| {
                users::store::delete(tx, project, id)?;
                tell_deleted.send(()).unwrap();
                // Nobody writes beside another on SQLite: there is nobody to wait for.
                while engine == Engine::Postgres && somebody_waits_for(tx)? == 0 {
                    std::thread::yield_now();
                }
                Ok::<_, townhall::error::Error>(())
            };
            db.write(work).await
        });
        deleted.recv().await.unwrap();
        // One alone is stored in another way than several.
        let mut new = vec![told(&app, user.id, &json!({})), told(&app, other.id, &json!({}))];
        new.truncate(number);
        add_in(&app, app.project.id, new).await;
        deleting.await.unwrap().unwrap();
        counts_are_exact(&app).await;
    }
    assert_eq!(unread(&other).await, 1);
}

async fn who_marks_while_being_deleted_is_deleted(app: TestApp) {
    let before = deadlocks(&app).await;
    for _ in 0..4 {
        let user = app.user().await;
        tell(&app, &user, 0..8).await;
        let shown = list(&user, "?limit=8").await;
        let (service, path) = (app.service(), format!("/users/{}", user.id));
        let (marks, alls, deleted) = tokio::join!(
            all_at_once((0..16).map(|n| {
                let (path, user) = (mark_path(&shown, n % 8), &user);
                async move { user.patch(&path, json!({})).await }
            })),
            all_at_once((0..6).map(|_| user.patch(MARK_ALL, json!({})))),
            service.delete(&path),
        );
        deleted.expect(204);
        for reply in marks.iter().chain(&alls) {
            assert!([200, 403, 404].contains(&reply.status), "{} {}", reply.status, reply.text());
        }
        user.get("/app-notifications").await.refused(403, "auth/no-user-found");
    }
    counts_are_exact(&app).await;
    assert_eq!(deadlocks(&app).await, before, "deadlocks");
}

/// What PostgreSQL counted in this database, as far as its processes have reported.
async fn deadlocks(app: &TestApp) -> i64 {
    let count = match app.engine() {
        Engine::Sqlite => "SELECT 0",
        Engine::Postgres => {
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        }
    };
    let count = Query::<i64>::built("deadlocks", count);
    app.app
        .db
        .read(move |c| c.one(&count, args![]))
        .await
        .unwrap_or_else(|error: db::Error| panic!("{error}"))
}
