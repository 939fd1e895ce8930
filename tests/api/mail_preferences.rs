//! How users want notifications by mail, and the link in each mail that ends them.

use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::notification_mails::{BATCH, PREFERENCES, mail, notify, sent, set, start};
use crate::support::{TestApp, local_part, on_both_engines};

on_both_engines![
    preferences_replace_each_other,
    preferences_that_are_none_are_refused,
    everybody_else_is_refused,
    new_preferences_move_a_scheduled_mail,
    preferences_go_with_their_user,
    one_click_ends_the_mails,
    a_page_asks_first,
    a_link_that_is_not_whole_changes_nothing,
    a_link_works_for_half_a_year,
    a_link_works_without_an_origin_and_without_the_bundle,
];

const FORM: &str = "application/x-www-form-urlencoded";
/// What mail programs post (RFC 8058).
const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
const DAY: Duration = Duration::from_secs(24 * 3600);

async fn preferences_replace_each_other(app: TestApp) {
    let user = app.user().await;
    let usual =
        json!({ "frequency": "immediate", "timezone": null, "quietHours": null, "language": null });
    assert_eq!(user.get(PREFERENCES).await.expect(200), usual);
    let own = json!({
        "frequency": "weekly", "timezone": "Europe/Berlin", "quietHours": { "from": 22, "until": 7 },
        "language": "de-AT",
    });
    for actor in [user.v7(), (*user).clone()] {
        let set = actor.send(Method::PUT, PREFERENCES, Some(own.clone())).await;
        assert_eq!(set.expect(200), own);
        assert_eq!(actor.get(PREFERENCES).await.expect(200), own);
    }
    // A key names the user.
    let query = format!("{PREFERENCES}?userId={}", user.id);
    assert_eq!(app.service().get(&query).await.expect(200), own);
    let off = json!({ "userId": user.id, "frequency": "off", "timezone": "utc" });
    let set = app.service().send(Method::PUT, PREFERENCES, Some(off)).await.expect(200);
    let expected =
        json!({ "frequency": "off", "timezone": "UTC", "quietHours": null, "language": null });
    assert_eq!(set, expected);
    assert_eq!(user.get(PREFERENCES).await.expect(200), expected);
    app.suspend(user.id).await;
    user.send(Method::PUT, PREFERENCES, Some(own)).await.expect(200);
    user.v6().get(PREFERENCES).await.expect(404);
}

async fn preferences_that_are_none_are_refused(app: TestApp) {
    let user = app.user().await;
    for body in [
        json!({}),
        json!({ "frequency": null }),
        json!({ "frequency": "hourly" }),
        json!({ "frequency": "daily", "timezone": "Berlin" }),
        json!({ "frequency": "daily", "quietHours": { "from": 24, "until": 1 } }),
        json!({ "frequency": "daily", "quietHours": { "from": -1, "until": 1 } }),
        json!({ "frequency": "daily", "quietHours": { "from": 7, "until": 7 } }),
        json!({ "frequency": "daily", "quietHours": { "from": 1 } }),
        json!({ "frequency": "daily", "language": "x" }),
        json!({ "frequency": "daily", "language": "de<script>" }),
    ] {
        let refused = user.send(Method::PUT, PREFERENCES, Some(body)).await;
        refused.refused(400, "mail-preferences/invalid-body");
    }
    assert_eq!(app.rows("mail_preferences").await, 0);
}

async fn everybody_else_is_refused(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let query = format!("{PREFERENCES}?userId={}", user.id);
    other.get(&query).await.refused(403, "mail-preferences/unauthorized");
    let body = json!({ "userId": user.id, "frequency": "off" });
    let refused = other.send(Method::PUT, PREFERENCES, Some(body.clone())).await;
    refused.refused(403, "mail-preferences/unauthorized");
    app.service().get(PREFERENCES).await.refused(400, "mail-preferences/missing-user-id");
    app.anonymous().get(PREFERENCES).await.says(401, "Unauthorized");
    let elsewhere = app.bearer(&app.other.service_key).in_project(app.other.id);
    elsewhere.get(&query).await.refused(404, "user/not-found");
    let refused = elsewhere.send(Method::PUT, PREFERENCES, Some(body)).await;
    refused.refused(404, "user/not-found");
    let bare = app.project_with(&[]).await;
    let key = app.bearer(&bare.service_key).in_project(bare.id);
    key.get(&query).await.refused(403, "database/tables-not-available");
}

async fn new_preferences_move_a_scheduled_mail(app: TestApp) {
    let (ada, _) = start(&app).await;
    set(&ada, json!({ "frequency": "weekly" })).await;
    notify(&app, &ada).await;
    set(&ada, json!({ "frequency": "immediate" })).await;
    app.advance(BATCH);
    mail(&app).await;

    notify(&app, &ada).await;
    set(&ada, json!({ "frequency": "daily" })).await;
    app.advance(Duration::from_secs(2 * 3600));
    assert!(sent(&app).await.is_empty());
    app.advance(DAY);
    mail(&app).await;

    let ada = ada.sign_in_again().await;
    notify(&app, &ada).await;
    set(&ada, json!({ "frequency": "off" })).await;
    notify(&app, &ada).await;
    set(&ada, json!({ "frequency": "immediate" })).await;
    app.advance(DAY);
    assert!(sent(&app).await.is_empty(), "what happened while they were off is not mailed");
}

async fn preferences_go_with_their_user(app: TestApp) {
    let (ada, _) = start(&app).await;
    set(&ada, json!({ "frequency": "daily" })).await;
    notify(&app, &ada).await;
    let tables = ["mail_preferences", "mail_schedules"];
    for table in tables {
        assert_eq!(app.rows(table).await, 1, "{table}");
    }
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    for table in tables {
        assert_eq!(app.rows(table).await, 0, "{table}");
    }
}

/// The path in the header of a new mail, which may be folded.
async fn link(app: &TestApp) -> String {
    app.advance(BATCH);
    let mail = mail(app).await;
    assert!(mail.contains(&format!("List-Unsubscribe-Post: {ONE_CLICK}\r\n")), "{mail}");
    let unfolded = mail.replace("\r\n ", "").replace("\r\n\t", "");
    let start = "List-Unsubscribe: <";
    let header = unfolded.lines().find_map(|line| line.strip_prefix(start)?.strip_suffix('>'));
    let link = header.unwrap_or_else(|| panic!("{mail}"));
    assert!(mail.contains(&format!("\r\nUnsubscribe: {link}\r\n")), "{mail}");
    assert!(mail.contains(&format!("<a href=\"{link}\">Unsubscribe</a>")), "{mail}");
    local_part(link).to_owned()
}

async fn one_click_ends_the_mails(app: TestApp) {
    let (ada, _) = start(&app).await;
    set(&ada, json!({ "frequency": "immediate", "language": "de" })).await;
    notify(&app, &ada).await;
    let path = link(&app).await;
    notify(&app, &ada).await;
    // Twice, and as either kind of form: mail programs repeat what they are not sure of.
    let parts = "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n";
    for (kind, body) in [(FORM, ONE_CLICK), ("multipart/form-data; boundary=x", parts), ("", "")] {
        let done = app.anonymous().raw(Method::POST, &path, kind, body).await;
        assert_eq!((done.status, done.header("location")), (200, None));
        assert!(done.text().contains("Unsubscribed"), "{}", done.text());
    }
    let left = ada.get(PREFERENCES).await.expect(200);
    assert_eq!((&left["frequency"], &left["language"]), (&json!("off"), &json!("de")));
    notify(&app, &ada).await;
    app.advance(DAY);
    assert!(sent(&app).await.is_empty());
    // Also for a user who is gone.
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    assert_eq!(app.anonymous().raw(Method::POST, &path, FORM, ONE_CLICK).await.status, 200);
    assert_eq!(app.rows("mail_preferences").await, 0);
}

async fn a_page_asks_first(app: TestApp) {
    let (ada, _) = start(&app).await;
    notify(&app, &ada).await;
    let path = link(&app).await;
    let page = app.anonymous().open(&path).await;
    assert_eq!(page.status, 200);
    let token = path.split_once('?').unwrap().1;
    let form = format!("<form method=\"post\" action=\"?{token}\">");
    assert!(page.text().contains(&form), "{}", page.text());
    assert_eq!(ada.get(PREFERENCES).await.expect(200)["frequency"], "immediate");
}

async fn a_link_that_is_not_whole_changes_nothing(app: TestApp) {
    let (ada, _) = start(&app).await;
    notify(&app, &ada).await;
    let path = link(&app).await;
    let anybody = app.anonymous();
    let elsewhere = path.replace(&app.project.id.to_string(), &app.other.id.to_string());
    let bare = path.split('?').next().unwrap();
    for wrong in [
        elsewhere,
        path[..path.len() - 4].to_owned(),
        format!("{path}AAAA"),
        path.replacen("token=A", "token=B", 1),
        bare.to_owned(),
        format!("{bare}?token="),
        format!("{bare}?token=%22%3E%3Cscript%3E"),
        format!("{bare}?token={}", ada.access_token),
    ] {
        if wrong == path {
            continue;
        }
        let page = anybody.open(&wrong).await;
        assert_eq!(page.status, 400, "{wrong}");
        assert!(!page.text().contains("<form"), "{}", page.text());
        let refused = anybody.raw(Method::POST, &wrong, FORM, ONE_CLICK).await;
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(refused.text().contains("Nothing was changed"), "{}", refused.text());
    }
    assert_eq!(ada.get(PREFERENCES).await.expect(200)["frequency"], "immediate");
    assert_eq!(app.rows("mail_preferences").await, 0);
}

async fn a_link_works_for_half_a_year(app: TestApp) {
    let (ada, _) = start(&app).await;
    notify(&app, &ada).await;
    let path = link(&app).await;
    app.advance(180 * DAY - Duration::from_secs(1));
    assert_eq!(app.anonymous().open(&path).await.status, 200);
    app.advance(Duration::from_secs(1));
    assert_eq!(app.anonymous().open(&path).await.status, 400);
    assert_eq!(app.anonymous().raw(Method::POST, &path, FORM, ONE_CLICK).await.status, 400);
    assert_eq!(app.rows("mail_preferences").await, 0);
}

async fn a_link_works_without_an_origin_and_without_the_bundle(app: TestApp) {
    let (ada, _) = start(&app).await;
    notify(&app, &ada).await;
    let path = link(&app).await;
    app.allow_origins(&["https://app.example"]).await;
    let project = app.project.id;
    let remove = move |tx: &db::Tx<'_>| {
        townhall::tenancy::store::remove_bundle(tx, project, "notifications")
    };
    app.app.db.write(remove).await.unwrap();
    app.advance(Duration::from_secs(1));
    // Browsers send this for the form of a page without a referrer.
    let browser = app.anonymous().with_header("origin", "null");
    assert_eq!(browser.raw(Method::POST, &path, FORM, " ").await.status, 200);
    assert_eq!(app.rows("mail_preferences").await, 1);
}
