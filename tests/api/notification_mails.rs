//! Notifications by mail: when one is sent, to whom, and what it says. How users want them is in `mail_preferences`.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use townhall::features::notification_mails::enqueue_due;
use townhall::features::notification_mails::template::{self, Template};
use townhall::values::time::Timestamp;

use crate::blocks::block;
use crate::comments::{comment, path as comment_path};
use crate::follows::follow;
use crate::mail::{SmtpServer, with_smtp};
use crate::reactions::publish;
use crate::space_members::{membership, of, open_space};
use crate::spaces::{join, path as space_path};
use crate::support::{TestApp, User, on_both_engines};
use crate::workspaces::{verified, verify};

on_both_engines![
    mails_are_off_until_the_project_sends_them,
    ten_replies_make_one_mail,
    many_notifications_make_a_short_mail,
    a_user_gets_at_most_one_mail_in_an_hour,
    quiet_hours_are_kept,
    digests_come_at_eight_in_the_zone_of_the_user,
    what_is_read_or_unwanted_is_not_mailed,
    blocked_users_and_unreadable_content_are_left_out,
    only_verified_addresses_of_active_users_get_mails,
    projects_are_apart,
    words_are_the_projects_own,
    a_template_leaves_open_what_a_more_general_one_says,
    a_failed_mail_is_sent_again_without_repeating_anything,
    a_failed_mail_waits_for_the_end_of_the_quiet_hours,
    a_maintained_project_sends_its_mails_later,
    two_nodes_send_one_mail,
];

pub const PREFERENCES: &str = "/mail-preferences";
const MINUTE: Duration = Duration::from_secs(60);
/// After this a mail is due.
pub const BATCH: Duration = Duration::from_secs(300);
const HOUR: Duration = Duration::from_secs(3600);

/// The project sends mails; a user whose address is verified, and another one.
pub async fn start(app: &TestApp) -> (User<'_>, User<'_>) {
    switch(app, true).await;
    (verified(app).await, app.user().await)
}

async fn switch(app: &TestApp, is_on: bool) {
    app.change_settings(app.project.id, |settings| settings.notification_mails = is_on).await;
}

/// What the worker does once a minute.
async fn work(app: &TestApp) {
    let now = app.now();
    app.app.db.write(move |tx| enqueue_due(tx, now, 100)).await.unwrap();
    app.run_jobs().await;
}

/// The mails that are due now.
pub async fn sent(app: &TestApp) -> Vec<String> {
    let before = app.mails();
    work(app).await;
    app.mails().into_iter().filter(|mail| !before.contains(mail)).collect()
}

/// The one mail that is due now.
pub async fn mail(app: &TestApp) -> String {
    let mut mails = sent(app).await;
    assert_eq!(mails.len(), 1, "{mails:#?}");
    mails.remove(0)
}

pub async fn set(user: &User<'_>, preferences: Value) {
    user.send(Method::PUT, PREFERENCES, Some(preferences)).await.expect(200);
}

/// Lets the clock reach a moment.
fn reach(app: &TestApp, moment: &str) {
    let to = Timestamp::parse(moment).unwrap();
    let wait = u64::try_from(to.millis() - app.now().millis()).unwrap();
    app.advance(Duration::from_millis(wait));
}

/// A new user follows this one, so there is something to say.
pub async fn notify(app: &TestApp, user: &User<'_>) {
    let other = app.user().await;
    follow(&other, user.id).await;
}

async fn mails_are_off_until_the_project_sends_them(app: TestApp) {
    let ada = verified(&app).await;
    notify(&app, &ada).await;
    app.advance(BATCH);
    assert!(sent(&app).await.is_empty());
    assert_eq!(app.rows("mail_schedules").await, 0);
    switch(&app, true).await;
    app.advance(BATCH);
    assert!(sent(&app).await.is_empty(), "what happened before is not mailed");
    notify(&app, &ada).await;
    switch(&app, false).await;
    app.advance(BATCH);
    assert!(sent(&app).await.is_empty(), "switched off meanwhile");
    switch(&app, true).await;
    app.advance(HOUR);
    notify(&app, &ada).await;
    app.advance(BATCH);
    let mail = mail(&app).await;
    assert!(mail.contains(&format!("To: {}\r\n", ada.email)), "{mail}");
    assert!(mail.contains("Subject: user3 follows you\r\n"), "{mail}");
}

async fn ten_replies_make_one_mail(app: TestApp) {
    let (ada, bob) = start(&app).await;
    let entity = publish(&ada).await;
    for number in 0..10 {
        comment(&bob, &entity, &format!("<b>reply {number}</b>")).await;
        app.advance(Duration::from_secs(29));
        assert!(sent(&app).await.is_empty());
    }
    app.advance(Duration::from_secs(10));
    let mail = mail(&app).await;
    for part in [
        "Subject: 10 new notifications in Test\r\n",
        "MIME-Version: 1.0\r\n",
        "Content-Type: multipart/alternative;",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Type: text/html; charset=utf-8",
        "Auto-Submitted: auto-generated\r\n",
        "\r\n* user1 commented on your post\r\n  <b>reply 0</b>\r\n",
    ] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    for number in 0..10 {
        assert!(mail.contains(&format!("&lt;b&gt;reply {number}&lt;/b&gt;")), "{mail}");
    }
    let (newest, oldest) = (mail.find("<b>reply 9").unwrap(), mail.find("<b>reply 0").unwrap());
    assert!(newest < oldest, "{mail}");
    app.advance(24 * HOUR);
    assert!(sent(&app).await.is_empty(), "each notification is mailed once");
}

async fn many_notifications_make_a_short_mail(app: TestApp) {
    let (ada, bob) = start(&app).await;
    let entity = publish(&ada).await;
    for number in 0..22 {
        comment(&bob, &entity, &format!("reply {number:02}.")).await;
        app.advance(Duration::from_secs(1));
    }
    app.advance(BATCH);
    let mail = mail(&app).await;
    assert!(mail.contains("Subject: 22 new notifications in Test\r\n"), "{mail}");
    assert!(mail.contains("\r\nAnd 2 more.\r\n"), "{mail}");
    assert!(mail.contains("reply 02.") && !mail.contains("reply 01."), "{mail}");
}

async fn a_user_gets_at_most_one_mail_in_an_hour(app: TestApp) {
    let (ada, _) = start(&app).await;
    let mut mails = Vec::new();
    // Somebody new every ten minutes, for three hours.
    for minute in 0..180 {
        if minute % 10 == 0 {
            notify(&app, &ada).await;
        }
        mails.extend(sent(&app).await.into_iter().map(|_| minute));
        app.advance(MINUTE);
    }
    assert_eq!(mails, [5, 65, 125]);
    app.advance(HOUR);
    assert!(mail(&app).await.contains("Subject: 5 new notifications in Test\r\n"));
}

async fn quiet_hours_are_kept(app: TestApp) {
    let (ada, _) = start(&app).await;
    // It is 14:00 in Berlin.
    let quiet = json!({ "from": 13, "until": 18 });
    let zone = "Europe/Berlin";
    set(&ada, json!({ "frequency": "immediate", "timezone": zone, "quietHours": quiet })).await;
    notify(&app, &ada).await;
    reach(&app, "2026-08-01T15:59:59Z");
    assert!(sent(&app).await.is_empty());
    reach(&app, "2026-08-01T16:00:00Z");
    mail(&app).await;
    // The gap after the last mail would end in them.
    notify(&app, &ada).await;
    reach(&app, "2026-08-02T11:00:00Z");
    assert!(sent(&app).await.is_empty());
    reach(&app, "2026-08-02T16:00:00Z");
    mail(&app).await;
}

async fn digests_come_at_eight_in_the_zone_of_the_user(app: TestApp) {
    let (ada, _) = start(&app).await;
    let times = async |user: &User<'_>, frequency: &str, moments: &[(&str, usize)]| {
        let user = user.sign_in_again().await;
        set(&user, json!({ "frequency": frequency, "timezone": "America/New_York" })).await;
        for (moment, expected) in moments {
            reach(&app, moment);
            assert_eq!(sent(&app).await.len(), *expected, "{frequency} {moment}");
            notify(&app, &user).await;
        }
    };
    // Four hours behind in summer.
    let daily = [
        ("2026-08-01T12:30:00Z", 0),
        ("2026-08-02T11:59:59Z", 0),
        ("2026-08-02T12:00:00Z", 1),
        ("2026-08-02T18:00:00Z", 0),
        ("2026-08-03T11:59:59Z", 0),
        ("2026-08-03T12:00:00Z", 1),
        ("2026-08-04T12:00:00Z", 1),
        // The clocks go back on 1 November.
        ("2026-10-31T12:00:00Z", 1),
        ("2026-11-01T12:00:00Z", 0),
        ("2026-11-01T13:00:00Z", 1),
    ];
    times(&ada, "daily", &daily).await;
    // 2 and 9 November are Mondays.
    let weekly = [
        ("2026-11-02T12:59:59Z", 0),
        ("2026-11-02T13:00:00Z", 1),
        ("2026-11-08T13:00:00Z", 0),
        ("2026-11-09T12:59:59Z", 0),
        ("2026-11-09T13:00:00Z", 1),
        ("2026-11-16T12:59:59Z", 0),
        ("2026-11-16T13:00:00Z", 1),
        // The clocks go forward on 14 March.
        ("2027-03-08T13:00:00Z", 1),
        ("2027-03-15T11:59:59Z", 0),
        ("2027-03-15T12:00:00Z", 1),
    ];
    times(&ada, "weekly", &weekly).await;
}

async fn what_is_read_or_unwanted_is_not_mailed(app: TestApp) {
    let (ada, bob) = start(&app).await;
    notify(&app, &ada).await;
    ada.patch("/app-notifications/mark-all-as-read", json!({})).await.expect(200);
    app.advance(BATCH);
    assert!(sent(&app).await.is_empty());

    let body = json!({ "disabledTypes": ["new-follow"] });
    ada.send(Method::PUT, "/push-notifications/preferences", Some(body)).await.expect(200);
    let entity = publish(&ada).await;
    notify(&app, &ada).await;
    comment(&bob, &entity, "hello").await;
    let system = json!({ "userIds": [ada.id], "title": "Maintenance", "content": "tonight" });
    app.service().post("/app-notifications/system", system).await.expect(201);
    app.advance(HOUR);
    let mail = mail(&app).await;
    assert!(mail.contains("Subject: user1 commented on your post\r\n"), "{mail}");
    assert!(!mail.contains("follows you") && !mail.contains("Maintenance"), "{mail}");
}

async fn blocked_users_and_unreadable_content_are_left_out(app: TestApp) {
    let (ada, bob) = start(&app).await;
    let (eve, team) = (app.user().await, app.user().await);
    let (space, moderated) = (open_space(&team).await, open_space(&team).await);
    let post_in = async |space: &Value| {
        join(&ada, space).await;
        let new = json!({ "title": "t", "spaceId": space["id"] });
        crate::entities::path(&crate::entities::create(&ada, new).await)
    };
    let (inside, in_other) = (post_in(&space).await, post_in(&moderated).await);
    let outside = publish(&ada).await;
    comment(&bob, &inside, "in the space").await;
    comment(&eve, &outside, "of eve").await;
    let deleted = comment(&bob, &outside, "deleted").await;
    let removed = comment(&bob, &in_other, "removed").await;
    comment(&bob, &outside, "the one that stays").await;

    block(&ada, &eve).await;
    bob.delete(&comment_path(&deleted)).await.expect(204);
    let moderation = format!("{}{}/moderation", space_path(&moderated), comment_path(&removed));
    team.patch(&moderation, json!({ "action": "remove" })).await.expect(200);
    let member = membership(&app, &space, &ada).await;
    team.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);
    app.advance(BATCH);
    let mail = mail(&app).await;
    assert!(mail.contains("the one that stays"), "{mail}");
    for hidden in ["in the space", "of eve", "deleted", "removed"] {
        assert!(!mail.contains(hidden), "{hidden}: {mail}");
    }
}

async fn only_verified_addresses_of_active_users_get_mails(app: TestApp) {
    let (ada, bob) = start(&app).await;
    // An address that nobody has verified.
    notify(&app, &bob).await;
    assert_eq!(app.rows("mail_schedules").await, 0);
    let (gone, idle, suspended) =
        (verified(&app).await, verified(&app).await, verified(&app).await);
    for user in [&ada, &gone, &idle, &suspended] {
        notify(&app, user).await;
    }
    assert_eq!(app.rows("mail_schedules").await, 4);
    app.suspend(suspended.id).await;
    app.service().delete(&format!("/users/{}", gone.id)).await.expect(204);
    let (project, id) = (app.project.id, idle.id);
    let text = "UPDATE users SET is_active = FALSE WHERE project_id = $1 AND id = $2";
    let deactivate = db::Command::<()>::built("test::deactivate", text.to_owned());
    let done = app.app.db.write(move |tx| tx.execute(&deactivate, db::args![project, id]));
    done.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
    assert_eq!(app.rows("mail_schedules").await, 3);
    app.advance(BATCH);
    let mail = mail(&app).await;
    assert!(mail.contains(&format!("To: {}\r\n", ada.email)), "{mail}");
}

async fn projects_are_apart(app: TestApp) {
    start(&app).await;
    let (one, two) = (app.stranger().await, app.stranger().await);
    verify(&app, app.other.id, one.id).await;
    follow(&two, one.id).await;
    app.advance(BATCH);
    assert!(sent(&app).await.is_empty(), "the other project sends none");
    assert_eq!(app.rows("mail_schedules").await, 0);
}

async fn set_template(app: &TestApp, language: &'static str, text: Value) {
    let (project, now) = (app.project.id, app.now());
    let parsed = Template::parse(&text.to_string()).unwrap();
    let set = app.app.db.write(move |tx| template::set(tx, project, language, &parsed, now));
    set.await.unwrap();
}

async fn words_are_the_projects_own(app: TestApp) {
    let (ada, bob) = start(&app).await;
    let german = json!({
        "subject": "{count} Neuigkeiten in {project}", "greeting": "Hallo {name},",
        "footer": "Bis bald", "unsubscribe": "Keine Mails mehr",
        "link": "https://app.example/n/{notificationId}?by={initiatorUsername}",
        "layout": "<html lang=\"de\"><style>p { color: red }</style>{content}</html>",
        "types": {
            "new-follow": { "title": "{initiatorUsername} folgt dir", "body": "Wie nett" },
            "entity-comment": { "link": "https://app.example/post/{entityId}" },
        },
    });
    set_template(&app, "de", german).await;
    set(&ada, json!({ "frequency": "immediate", "language": "de-AT" })).await;
    let entity = publish(&ada).await;
    comment(&bob, &entity, "hello").await;
    app.advance(MINUTE);
    follow(&bob, ada.id).await;
    app.advance(BATCH);
    let mail = mail(&app).await;
    let id = entity.rsplit('/').next().unwrap();
    let notifications = ada.get("/app-notifications").await.expect(200);
    let newest = notifications["data"][0]["id"].as_str().unwrap();
    for words in [
        "Subject: 2 Neuigkeiten in Test\r\n",
        "Hallo user0,\r\n",
        &format!(
            "* user1 folgt dir\r\n  Wie nett\r\n  https://app.example/n/{newest}?by=user1\r\n"
        ),
        &format!(
            "* user1 commented on your post\r\n  hello\r\n  https://app.example/post/{id}\r\n"
        ),
        "Bis bald\r\nKeine Mails mehr: https://community.example/",
        "<html lang=\"de\"><style>p { color: red }</style><p>Hallo user0,</p>",
        &format!("<li><a href=\"https://app.example/post/{id}\">user1 commented on your post</a>"),
    ] {
        assert!(mail.contains(words), "{words}: {mail}");
    }
}

async fn a_template_leaves_open_what_a_more_general_one_says(app: TestApp) {
    let (ada, _) = start(&app).await;
    set_template(&app, "default", json!({ "subject": "Default", "footer": "Default footer" }))
        .await;
    set_template(&app, "pt", json!({ "subject": "Portugues", "greeting": "Ola" })).await;
    set_template(&app, "pt-br", json!({ "subject": "Brasil" })).await;
    for (language, subject, greeting) in [
        (json!("pt-BR"), "Brasil", "Ola"),
        (json!("pt-PT"), "Portugues", "Ola"),
        (json!("pt"), "Portugues", "Ola"),
        (json!("de"), "Default", "This is new in Test:"),
        (json!(null), "Default", "This is new in Test:"),
    ] {
        let ada = ada.sign_in_again().await;
        set(&ada, json!({ "frequency": "immediate", "language": language })).await;
        notify(&app, &ada).await;
        app.advance(2 * HOUR);
        let mail = mail(&app).await;
        for words in [format!("Subject: {subject}\r\n"), format!("\r\n{greeting}\r\n")] {
            assert!(mail.contains(&words), "{language} {words}: {mail}");
        }
        assert!(mail.contains("Default footer"), "{language}: {mail}");
    }
}

async fn a_failed_mail_is_sent_again_without_repeating_anything(app: TestApp) {
    let server = SmtpServer::start(1).await;
    let app = with_smtp(app, &server).await;
    let (ada, bob) = start(&app).await;
    let entity = publish(&ada).await;
    comment(&bob, &entity, "first.").await;
    app.advance(BATCH);
    work(&app).await;
    assert!(server.mails().is_empty());
    app.advance(MINUTE);
    comment(&bob, &entity, "second.").await;
    work(&app).await;
    assert_eq!(server.mails().len(), 1);
    app.advance(HOUR);
    work(&app).await;
    let mails = server.mails();
    assert_eq!(mails.len(), 2);
    for (mail, said, other) in [(&mails[0], "first.", "second."), (&mails[1], "second.", "first.")]
    {
        assert!(mail.contains(said) && !mail.contains(other), "{mail}");
    }
}

async fn a_failed_mail_waits_for_the_end_of_the_quiet_hours(app: TestApp) {
    let server = SmtpServer::start(1).await;
    let app = with_smtp(app, &server).await;
    let (ada, _) = start(&app).await;
    set(&ada, json!({ "frequency": "immediate", "quietHours": { "from": 13, "until": 6 } })).await;
    reach(&app, "2026-08-01T12:50:00Z");
    notify(&app, &ada).await;
    reach(&app, "2026-08-01T12:59:59Z");
    work(&app).await;
    for moment in ["2026-08-01T13:01:00Z", "2026-08-02T05:59:59Z"] {
        reach(&app, moment);
        work(&app).await;
        assert!(server.mails().is_empty(), "{moment}");
    }
    reach(&app, "2026-08-02T06:00:00Z");
    work(&app).await;
    assert_eq!(server.mails().len(), 1);
}

async fn a_maintained_project_sends_its_mails_later(app: TestApp) {
    let (ada, _) = start(&app).await;
    notify(&app, &ada).await;
    let id = app.project.id;
    let state = async |name: &'static str| {
        let now = app.now();
        let set = move |tx: &db::Tx<'_>| townhall::tenancy::store::set_state(tx, id, name, now);
        assert!(app.app.db.write(set).await.unwrap());
        app.advance(BATCH);
    };
    state("migrating").await;
    assert!(sent(&app).await.is_empty());
    state("active").await;
    mail(&app).await;
}

async fn two_nodes_send_one_mail(app: TestApp) {
    if app.engine() == db::Engine::Sqlite {
        return;
    }
    let app = app.own_server().await;
    let node = app.second_node().await;
    let (ada, _) = start(&app).await;
    let users = [verified(&app).await, verified(&app).await, verified(&app).await, ada];
    for user in &users {
        notify(&app, user).await;
    }
    app.advance(BATCH);
    tokio::join!(work(&app), work(&node));
    let (of_one, of_other) = (app.mails(), node.mails());
    let all: Vec<&String> = if app.data_dir() == node.data_dir() {
        of_one.iter().collect()
    } else {
        of_one.iter().chain(&of_other).collect()
    };
    for user in &users {
        let to = format!("To: {}\r\n", user.email);
        assert_eq!(all.iter().filter(|mail| mail.contains(&to)).count(), 1, "{}", user.email);
    }
}
