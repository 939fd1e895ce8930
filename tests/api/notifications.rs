//! In-app notifications: the list, the unread count, marking as read.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use townhall::domain_events::Context;
use townhall::features::notifications::store::recount;
use townhall::features::notifications::{self, About, Notification};
use townhall::tenancy::registry;
use townhall::values::ids::{NotificationId, ProjectId, UserId, new_id};
use townhall::values::time::Timestamp;

use crate::support::{Actor, TestApp, User, keys, on_both_engines};

on_both_engines![
    a_notification_is_shown_as_it_was_stored,
    the_list_is_newest_first_in_pages_of_five,
    page_and_limit_must_be_whole_numbers,
    one_is_marked_once_and_for_good,
    all_are_marked_in_steps_and_only_once,
    notifications_committed_late_with_an_earlier_time_are_marked,
];

pub(crate) const UNKNOWN: &str = "01234567-89ab-4def-8123-456789abcdef";
pub(crate) const MARK_ALL: &str = "/app-notifications/mark-all-as-read";

pub(crate) fn told(app: &TestApp, user: UserId, metadata: &Value) -> Notification<'static> {
    Notification {
        id: NotificationId(new_id(app.now(), &app.app.random)),
        user,
        kind: "entity-reaction",
        action: "open-entity",
        metadata: metadata.to_string().into(),
        about: About::NOTHING,
    }
}

pub(crate) async fn add_in(app: &TestApp, project: ProjectId, new: Vec<Notification<'static>>) {
    add_at(app, project, new, app.now()).await;
}

async fn add_at(
    app: &TestApp,
    project: ProjectId,
    new: Vec<Notification<'static>>,
    now: Timestamp,
) {
    let state = app.app.clone();
    let added = app.app.db.write(move |tx| {
        let project = registry::load(tx, project)?.unwrap();
        notifications::add(tx, Context { app: &state, project: &project, now }, &new)
    });
    added.await.unwrap();
}

/// So many notifications for the user, a second apart, numbered in their metadata.
pub(crate) async fn tell(app: &TestApp, user: &User<'_>, numbers: std::ops::Range<usize>) {
    for number in numbers {
        add_in(app, app.project.id, vec![told(app, user.id, &json!({ "number": number }))]).await;
        app.advance(Duration::from_secs(1));
    }
}

/// Ten thousands of a user's notifications would take long one by one.
pub(crate) async fn flood(app: &TestApp, user: UserId, number: usize) {
    let new = (0..number).map(|_| told(app, user, &json!({}))).collect();
    add_in(app, app.project.id, new).await;
}

pub(crate) async fn list(actor: &Actor<'_>, query: &str) -> Value {
    actor.get(&format!("/app-notifications{query}")).await.expect(200)
}

pub(crate) async fn unread(actor: &Actor<'_>) -> Value {
    actor.get("/app-notifications/count").await.expect(200)
}

pub(crate) async fn total(actor: &Actor<'_>) -> Value {
    list(actor, "").await["pagination"]["totalItems"].clone()
}

pub(crate) fn numbers(list: &Value) -> Vec<u64> {
    let each = list["data"].as_array().unwrap().iter();
    each.map(|one| one["metadata"]["number"].as_u64().unwrap()).collect()
}

pub(crate) fn mark_path(list: &Value, index: usize) -> String {
    format!("/app-notifications/{}/mark-as-read", list["data"][index]["id"].as_str().unwrap())
}

/// The stored counts agree with the rows, for everybody.
pub(crate) async fn counts_are_exact(app: &TestApp) {
    let drifted = app.app.db.read_slow(recount::drifted).await.unwrap();
    assert_eq!(app.own(drifted), []);
}

pub(crate) fn in_every_version<'a>(actor: &Actor<'a>) -> [Actor<'a>; 3] {
    [actor.v6(), actor.v7(), actor.clone()]
}

async fn a_notification_is_shown_as_it_was_stored(app: TestApp) {
    let user = app.user().await;
    let metadata = json!({ "entityId": UNKNOWN, "entityTitle": null, "z": 1, "a": [1.50] });
    let new = told(&app, user.id, &metadata);
    let id = new.id;
    add_in(&app, app.project.id, vec![new]).await;
    let at = app.now();
    let expected = json!({
        "id": id,
        "projectId": app.project.id,
        "userId": user.id,
        "type": "entity-reaction",
        "action": "open-entity",
        "isRead": false,
        "metadata": metadata,
        "createdAt": at,
        "updatedAt": at,
    });
    for actor in in_every_version(&user) {
        let listed = list(&actor, "").await;
        assert_eq!(keys(&listed), ["data", "pagination"]);
        assert_eq!(listed["data"], json!([expected]));
    }
    let reply = user.get("/app-notifications/count").await;
    assert_eq!((reply.text().as_str(), reply.status), ("1", 200));
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
}

async fn the_list_is_newest_first_in_pages_of_five(app: TestApp) {
    let user = app.user().await;
    let empty = list(&user, "").await;
    let pagination = |page, size, pages, items, more| {
        json!({ "page": page, "pageSize": size, "totalPages": pages, "totalItems": items,
                "hasMore": more })
    };
    assert_eq!(empty, json!({ "data": [], "pagination": pagination(1, 5, 0, 0, false) }));
    assert_eq!(unread(&user).await, 0);

    tell(&app, &user, 0..7).await;
    let first = list(&user, "").await;
    assert_eq!(numbers(&first), [6, 5, 4, 3, 2]);
    assert_eq!(first["pagination"], pagination(1, 5, 2, 7, true));
    let second = list(&user, "?page=2").await;
    assert_eq!(numbers(&second), [1, 0]);
    assert_eq!(second["pagination"], pagination(2, 5, 2, 7, false));
    let beyond = list(&user, "?page=3").await;
    assert_eq!(beyond, json!({ "data": [], "pagination": pagination(3, 5, 2, 7, false) }));
    let far = list(&user, "?page=4294967295&limit=50").await;
    assert_eq!((numbers(&far), &far["pagination"]["totalItems"]), (vec![], &json!(7)));

    // Made at the same instant, they still have one order, and 50 is the most.
    flood(&app, user.id, 60).await;
    let most = list(&user, "?limit=500").await;
    assert_eq!(most["pagination"], pagination(1, 50, 2, 67, true));
    let ids: Vec<&str> =
        most["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 50);
    assert!(ids.is_sorted_by(|a, b| a > b), "{ids:?}");
    let rest = list(&user, "?limit=50&page=2").await;
    assert_eq!(rest["data"].as_array().unwrap().len(), 17);
    assert!(rest["data"][0]["id"].as_str().unwrap() < ids[49]);
    // Far behind, the same list is read elsewhere.
    flood(&app, user.id, 1_000).await;
    assert_eq!(numbers(&list(&user, "?limit=1&page=1067").await), [0]);
    assert_eq!(unread(&user).await, 1067);
    counts_are_exact(&app).await;
}

async fn page_and_limit_must_be_whole_numbers(app: TestApp) {
    let user = app.user().await;
    for actor in in_every_version(&user) {
        for query in ["page=0", "page=x", "limit=0", "limit=-1", "limit=1.5", "page=", "limit="] {
            let refused = actor.get(&format!("/app-notifications?{query}")).await;
            let error = refused.refused(400, "app-notification/invalid-query");
            let field = query.split('=').next().unwrap();
            assert!(error["error"].as_str().unwrap().starts_with(field), "{error}");
        }
    }
}

async fn one_is_marked_once_and_for_good(app: TestApp) {
    let user = app.user().await;
    tell(&app, &user, 0..3).await;
    let before = list(&user, "").await;
    app.advance(Duration::from_secs(60));
    let marked_at = app.now();
    let path = mark_path(&before, 1);
    for body in [None, Some(json!({})), Some(json!({ "isRead": false }))] {
        let marked = user.send(Method::PATCH, &path, body).await;
        assert_eq!((marked.status, marked.text().as_str()), (200, ""));
        assert_eq!(marked.header("content-type"), None);
        assert_eq!(unread(&user).await, 2);
        app.advance(Duration::from_secs(60));
    }
    let mut expected = before.clone();
    expected["data"][1]["isRead"] = true.into();
    expected["data"][1]["updatedAt"] = marked_at.to_string().into();
    assert_eq!(list(&user, "").await, expected, "the first marking counts, the list is the same");
    for actor in in_every_version(&user) {
        let unknown = format!("/app-notifications/{UNKNOWN}/mark-as-read");
        actor.patch(&unknown, json!({})).await.refused(404, "app-notification/not-found");
        let wrong = "/app-notifications/one/mark-as-read";
        actor.patch(wrong, json!({})).await.refused(400, "app-notification/invalid-params");
    }
    counts_are_exact(&app).await;
}

/// As from a server whose clock is behind, or one that was slow.
async fn notifications_committed_late_with_an_earlier_time_are_marked(app: TestApp) {
    let user = app.user().await;
    let (late, then) = (vec![told(&app, user.id, &json!({}))], app.now());
    app.advance(Duration::from_secs(60));
    tell(&app, &user, 0..2).await;
    assert_eq!(user.patch(MARK_ALL, json!({})).await.expect(200), json!({ "markedAsRead": 2 }));
    add_at(&app, app.project.id, late, then).await;
    assert_eq!(unread(&user).await, 1);
    assert_eq!(list(&user, "").await["data"][2]["isRead"], false, "the oldest");
    assert_eq!(user.patch(MARK_ALL, json!({})).await.expect(200), json!({ "markedAsRead": 1 }));
    assert_eq!(unread(&user).await, 0);
    counts_are_exact(&app).await;
}

async fn all_are_marked_in_steps_and_only_once(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    assert_eq!(user.patch(MARK_ALL, json!({})).await.expect(200), json!({ "markedAsRead": 0 }));
    tell(&app, &user, 0..2).await;
    tell(&app, &other, 0..1).await;
    let newest = mark_path(&list(&user, "").await, 0);
    user.patch(&newest, json!({})).await.expect(200);
    let marked_before = list(&user, "?limit=1").await;
    app.advance(Duration::from_secs(60));
    let marked_at = app.now();
    let marked = user.send(Method::PATCH, MARK_ALL, None).await;
    assert_eq!(marked.expect(200), json!({ "markedAsRead": 1 }));
    let after = list(&user, "").await;
    assert_eq!(after["data"][0], marked_before["data"][0], "what was read is left alone");
    assert_eq!(after["data"][1]["isRead"], true);
    assert_eq!(after["data"][1]["updatedAt"], marked_at.to_string());
    assert_eq!((unread(&user).await, unread(&other).await), (json!(0), json!(1)));

    // More than one transaction takes.
    flood(&app, user.id, 2_345).await;
    assert_eq!(unread(&user).await, 2345);
    let marked = user.patch(MARK_ALL, json!({})).await.expect(200);
    assert_eq!(marked, json!({ "markedAsRead": 2345 }));
    assert_eq!(user.patch(MARK_ALL, json!({})).await.expect(200), json!({ "markedAsRead": 0 }));
    assert_eq!((unread(&user).await, total(&user).await), (json!(0), json!(2347)));
    counts_are_exact(&app).await;
}
