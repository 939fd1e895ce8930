//! Suspensions: the errors that a suspended user gets, and the operations that stay open to them.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::auth::store::suspensions::{self, NewSuspension};
use townhall::error::Error;
use townhall::features;
use townhall::tenancy::Bundle;
use townhall::values::ids::{ProjectId, SuspensionId, UserId, new_id};
use townhall::values::time::Timestamp;

use crate::notifications::UNKNOWN;
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    a_user_sees_their_active_suspensions_furthest_first,
    a_suspension_is_active_from_its_start_to_its_end,
    a_lifted_suspension_is_over_at_once,
    the_effective_suspension_reaches_furthest,
    a_suspended_user_keeps_sessions_profile_and_the_way_out,
    keys_may_act_for_a_suspended_user_where_the_user_may,
    without_moderation_suspensions_are_inert,
    only_what_the_contract_opens_is_open_to_suspended_users,
    a_user_who_may_not_write_is_refused_whatever_else_is_wrong,
];

const HOUR: Duration = Duration::from_secs(3600);

async fn suspend_in(
    app: &TestApp,
    project: ProjectId,
    user: UserId,
    reason: Option<&str>,
    (start, end): (Timestamp, Option<Timestamp>),
) {
    let new = NewSuspension {
        id: SuspensionId(new_id(app.now(), &app.app.random)),
        user,
        reason: reason.map(ToOwned::to_owned),
        end_date: end,
        created_by: "test",
    };
    let inserted = app.app.db.write(move |tx| suspensions::insert(tx, project, &new, start));
    inserted.await.unwrap();
}

pub(crate) async fn suspend(
    app: &TestApp,
    user: &User<'_>,
    reason: Option<&str>,
    end: Option<Timestamp>,
) {
    suspend_in(app, app.project.id, user.id, reason, (app.now(), end)).await;
}

/// The suspensions as the user sees them when signing in.
async fn shown(user: &User<'_>) -> Value {
    user.sign_in_reply().await.expect(200)["user"]["suspensions"].clone()
}

async fn a_user_sees_their_active_suspensions_furthest_first(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let now = app.now();
    let (near, far) = (now.plus(HOUR), now.plus(HOUR * 2));
    suspend(&app, &user, Some("spam"), Some(near)).await;
    suspend(&app, &user, None, None).await;
    suspend(&app, &user, Some("flood"), Some(far)).await;
    let expected = json!([
        { "reason": null, "startDate": now, "endDate": null },
        { "reason": "flood", "startDate": now, "endDate": far },
        { "reason": "spam", "startDate": now, "endDate": near },
    ]);
    assert_eq!(shown(&user).await, expected);
    assert_eq!(shown(&other).await, json!([]));
    let body = json!({ "refreshToken": user.refresh_token });
    let refreshed = app.anonymous().post("/auth/request-new-access-token", body).await.expect(200);
    assert_eq!(refreshed["user"]["suspensions"], expected);
    let path = format!("/users/{}", user.id);
    let updated = user.patch(&path, json!({ "bio": "sorry" })).await.expect(200);
    assert_eq!(updated["suspensions"], expected);
    // Nobody else's business.
    let fetched = other.get(&path).await.expect(200);
    assert!(fetched.get("suspensions").is_none());
}

async fn a_suspension_is_active_from_its_start_to_its_end(app: TestApp) {
    let user = app.user().await;
    let (start, end) = (app.now().plus(HOUR), app.now().plus(HOUR * 2));
    suspend_in(&app, app.project.id, user.id, None, (start, Some(end))).await;
    let expected = json!([{ "reason": null, "startDate": start, "endDate": end }]);
    let millisecond = Duration::from_millis(1);
    for (step, expected) in [
        (HOUR.checked_sub(millisecond).unwrap(), json!([])),
        (millisecond, expected.clone()),
        (HOUR, expected),
        (millisecond, json!([])),
    ] {
        app.advance(step);
        assert_eq!(shown(&user).await, expected, "at {}", app.now());
    }
}

async fn a_lifted_suspension_is_over_at_once(app: TestApp) {
    let user = app.user().await;
    let (project, id) = (app.project.id, user.id);
    suspend(&app, &user, None, None).await;
    suspend(&app, &user, None, Some(app.now().plus(HOUR))).await;
    app.advance(HOUR / 2);
    assert_eq!(shown(&user).await.as_array().unwrap().len(), 2);
    let now = app.now();
    let lifted = app.app.db.write(move |tx| suspensions::lift(tx, project, id, now));
    assert_eq!(lifted.await.unwrap(), 2);
    assert_eq!(shown(&user).await, json!([]));
    let lifted = app.app.db.write(move |tx| suspensions::lift(tx, project, id, now));
    assert_eq!(lifted.await.unwrap(), 0, "there is nothing left to lift");
}

/// No operation is closed to suspended users yet, so the row is asked of the store itself.
async fn the_effective_suspension_reaches_furthest(app: TestApp) {
    let user = app.user().await;
    let (project, id, now) = (app.project.id, user.id, app.now());
    let effective = async || {
        let read = app.app.db.read(move |c| suspensions::status(c, project, id, now));
        read.await.unwrap().unwrap().suspension
    };
    assert!(effective().await.is_none());
    let ends = [now.plus(HOUR * 2), now.plus(HOUR * 3), now.plus(HOUR)];
    for end in ends {
        suspend(&app, &user, Some("for a while"), Some(end)).await;
    }
    assert_eq!(effective().await.unwrap().end_date, Some(ends[1]));
    suspend(&app, &user, Some("for good"), None).await;
    let effective = effective().await.unwrap();
    assert_eq!((effective.reason.as_deref(), effective.end_date), (Some("for good"), None));
    let Error::Refused(refusal) = effective.refusal() else { panic!("not a refusal") };
    assert_eq!((refusal.fault.status, refusal.fault.code), (403, "user/suspended"));
    assert_eq!(Value::Object(refusal.extra), json!({ "reason": "for good", "endDate": null }));
}

async fn a_suspended_user_keeps_sessions_profile_and_the_way_out(app: TestApp) {
    let user = app.user().await;
    suspend(&app, &user, Some("spam"), None).await;
    let again = user.sign_in_again().await;
    again.get("/oauth/identities").await.expect(200);
    again.get(&format!("/users/{}", user.id)).await.expect(200);
    again.patch(&format!("/users/{}", user.id), json!({ "bio": "sorry" })).await.expect(200);
    again.post("/auth/send-verification-email", json!({})).await.expect(200);
    app.next_mail().await;
    let unknown = "/oauth/identities/01234567-89ab-4def-8123-456789abcdef";
    again.delete(unknown).await.refused(404, "oauth/identity-not-found");
    let change = json!({ "password": User::PASSWORD, "newPassword": "battery staple" });
    again.post("/auth/change-password", change).await.expect(200);
    let set = again.post("/auth/set-password", json!({ "newPassword": "battery staple" })).await;
    set.refused(400, "auth/already-password-authenticated");
    again.post("/auth/request-account-deletion", json!({})).await.expect(200);
    let mail = app.next_mail().await;
    let is_code = |line: &&str| line.len() == 6 && line.bytes().all(|b| b.is_ascii_digit());
    let code = mail.lines().find(is_code).unwrap();
    let confirmed = again.post("/auth/confirm-account-deletion", json!({ "code": code })).await;
    confirmed.expect(204);
}

async fn keys_may_act_for_a_suspended_user_where_the_user_may(app: TestApp) {
    let user = app.user().await;
    suspend(&app, &user, None, None).await;
    for key in [app.service(), app.master()] {
        let body = json!({ "userId": user.id });
        key.post("/auth/send-verification-email", body).await.expect(200);
        key.patch(&format!("/users/{}", user.id), json!({ "bio": "by key" })).await.expect(200);
    }
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
}

async fn without_moderation_suspensions_are_inert(app: TestApp) {
    let project = app.project_with(&[Bundle::Entities]).await;
    let anonymous = app.anonymous().in_project(project.id);
    let body = json!({ "email": "ada@example.com", "password": User::PASSWORD });
    let signed_up = anonymous.post("/auth/sign-up", body.clone()).await.expect(201);
    let user = User::from_reply(&app, project.id, &signed_up);
    suspend_in(&app, project.id, user.id, None, (app.now(), None)).await;
    let signed_in = anonymous.post("/auth/sign-in", body).await.expect(200);
    assert_eq!(signed_in["user"]["suspensions"], json!([]));
    let path = format!("/users/{}", user.id);
    let updated = user.patch(&path, json!({ "bio": "free" })).await.expect(200);
    assert_eq!(updated["suspensions"], json!([]));
}

/// The open writes of the contract, by the beginning of their path or by its end.
const OPEN: &[&str] = &[
    "/auth/",
    "/oauth/",
    "/crypto/",
    "/db/",
    "/search/",
    "/match/",
    "/app-notifications/",
    "/push-notifications/",
    "/mail-preferences",
    "PATCH /users/{userId}",
    "/block",
    "/mark-as-read",
    "/read",
    "/mute",
    // Against the suspension, among other decisions.
    "/moderation/appeals",
    // Everybody may have their own data.
    "POST /users/{userId}/export",
    // Not a write of theirs: with it the oldest clients say that something was looked at.
    "/increment-views",
];

async fn only_what_the_contract_opens_is_open_to_suspended_users(_: TestApp) {
    let is_write = |method: &http::Method| *method != http::Method::GET;
    let named = |id: &str, path: &str| {
        OPEN.iter().any(|open| path.starts_with(open) || path.ends_with(open) || id == *open)
    };
    for operation in features::operations() {
        if is_write(&operation.method)
            && operation.is_project_scoped()
            && operation.open_to_suspended
        {
            assert!(named(&operation.id, operation.path), "{operation:?} is open");
        }
    }
}

/// These writes may check the user in their own transaction: no other error comes first, and nothing stays.
async fn a_user_who_may_not_write_is_refused_whatever_else_is_wrong(app: TestApp) {
    let (author, suspended, gone) = (app.user().await, app.user().await, app.user().await);
    let entity = author.post("/entities", json!({ "title": "Hello" })).await.expect(201);
    let entity = entity["id"].as_str().unwrap();
    suspend(&app, &suspended, Some("spam"), Some(app.now().plus(HOUR))).await;
    app.service().delete(&format!("/users/{}", gone.id)).await.expect(204);
    let [react, react_to_nothing] = [entity, UNKNOWN].map(|id| format!("/entities/{id}/reactions"));
    let valid = [
        ("/entities", json!({ "title": "Spam" })),
        ("/entities", json!({ "title": "Spam", "isDraft": true })),
        ("/comments", json!({ "entityId": entity, "content": "Spam" })),
        (&react, json!({ "reactionType": "like" })),
    ];
    let invalid = [
        ("/entities", json!({ "title": 1 })),
        ("/entities", json!({ "title": "Spam", "spaceId": UNKNOWN })),
        ("/entities", json!({ "title": "Spam", "userId": author.id })),
        ("/comments", json!({ "entityId": entity })),
        ("/comments", json!({ "entityId": UNKNOWN, "content": "Spam" })),
        ("/comments", json!({ "entityId": entity, "content": "Spam", "parentId": UNKNOWN })),
        (&react, json!({ "reactionType": "unknown" })),
        (&react_to_nothing, json!({ "reactionType": "like" })),
    ];
    for (path, body) in valid.iter().chain(&invalid) {
        suspended.post(path, body.clone()).await.refused(403, "user/suspended");
        gone.post(path, body.clone()).await.refused(403, "auth/no-user-found");
    }
    for (table, rows) in [("entities", 1), ("comments", 0), ("reactions", 0)] {
        assert_eq!(app.rows(table).await, rows, "{table}");
    }
    app.advance(HOUR * 2);
    let again = suspended.sign_in_again().await;
    for (path, body) in &valid {
        let status = again.post(path, body.clone()).await.status;
        assert!([200, 201].contains(&status), "{path}: {status}");
    }
    for (path, body) in &invalid {
        let status = again.post(path, body.clone()).await.status;
        assert!([400, 403, 404].contains(&status), "{path}: {status}");
    }
}
