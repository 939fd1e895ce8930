//! Automatic pushes: what happens to users reaches their devices, unless the project, a mute or the user says no.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use townhall::features::push::admin::{self, Template};

use crate::support::fake::Fake;
use crate::support::openid::allowing_this_machine;
use crate::support::push::{Browser, DEVICES, with_fcm, with_web_push};
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    a_notification_is_pushed_once,
    a_message_is_pushed_to_the_other_members,
    the_user_decides,
    the_project_decides_first,
    muted_conversations_are_silent_for_a_while,
    blocked_users_push_nothing,
    a_failing_service_is_tried_again_for_its_device_alone,
    a_service_is_left_alone_for_as_long_as_it_asks,
    without_a_service_nothing_is_queued,
    a_deleted_user_is_not_pushed_to,
];

const SERVICE: &str = "/wp";

/// The first user has a browser.
async fn start(app: TestApp) -> (TestApp, Fake) {
    let (app, service) = (allowing_this_machine(app).await, Fake::start().await);
    with_web_push(&app).await;
    (app, service)
}

/// What the browser has been sent, by its data and without.
async fn pushed(app: &TestApp, service: &Fake, browser: &Browser) -> Vec<Value> {
    app.run_jobs().await;
    service.requests(SERVICE).iter().map(|request| browser.read(request)).collect()
}

async fn follow(follower: &User<'_>, user: &User<'_>) {
    follower.post(&format!("/users/{}/follow", user.id), json!({})).await.expect(201);
}

async fn unfollow(follower: &User<'_>, user: &User<'_>) {
    follower.delete(&format!("/users/{}/follow", user.id)).await.expect(204);
}

async fn change(app: &TestApp, kind: &'static str, template: Value) {
    let (project, now) = (app.project.id, app.now());
    let changed = app.app.db.write(move |tx| {
        let new: Template = serde_json::from_value(template.clone()).unwrap();
        admin::change_template(tx, project, kind, |old| *old = new, now)
    });
    changed.await.unwrap();
}

async fn direct(a: &User<'_>, b: &User<'_>) -> String {
    let body = json!({ "userId": b.id });
    let reply = a.post("/chat/conversations/direct", body).await.json();
    reply["id"].as_str().unwrap().to_owned()
}

async fn say(user: &User<'_>, conversation: &str, content: &str) -> Value {
    let path = format!("/chat/conversations/{conversation}/messages");
    user.post(&path, json!({ "content": content })).await.expect(201)
}

async fn a_notification_is_pushed_once(app: TestApp) {
    let (app, service) = start(app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let browser = Browser::new(&service, SERVICE);
    browser.register(&ada).await;
    let entity = ada.post("/entities", json!({ "title": "Tulips" })).await.expect(201);
    let body = json!({ "entityId": entity["id"], "content": "Lovely!" });
    let comment = bob.post("/comments", body).await.expect(201);
    assert!(service.requests(SERVICE).is_empty(), "not in the request");
    let messages = pushed(&app, &service, &browser).await;
    assert_eq!(messages.len(), 1);
    let name = messages[0]["title"].as_str().unwrap();
    assert_eq!(name, "user1 commented on your post");
    assert_eq!(messages[0]["body"], "Lovely!");
    let data = &messages[0]["data"];
    let listed = ada.get("/app-notifications").await.expect(200);
    assert_eq!(data["notificationId"], listed["data"][0]["id"]);
    assert_eq!(
        (&data["type"], &data["action"]),
        (&json!("entity-comment"), &json!("open-comment"))
    );
    assert_eq!((&data["entityId"], &data["commentId"]), (&entity["id"], &comment["id"]));
    assert_eq!(data["recipientUserId"], json!(ada.id));
    assert_eq!(data.get("entityContent"), None);
    // An unread notification is not repeated, and neither is its push.
    follow(&bob, &ada).await;
    unfollow(&bob, &ada).await;
    follow(&bob, &ada).await;
    let messages = pushed(&app, &service, &browser).await;
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1]["title"], "user1 follows you");
    // What the project says by itself is for the app alone.
    let system = json!({ "userIds": [ada.id], "title": "Hi" });
    app.service().post("/app-notifications/system", system).await.expect(201);
    assert_eq!(pushed(&app, &service, &browser).await.len(), 2);
}

async fn a_message_is_pushed_to_the_other_members(app: TestApp) {
    let (app, service) = start(app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let browser = Browser::new(&service, SERVICE);
    browser.register(&ada).await;
    browser.register(&bob).await;
    let conversation = direct(&bob, &ada).await;
    let message = say(&bob, &conversation, "Hello").await;
    let messages = pushed(&app, &service, &browser).await;
    assert_eq!(messages.len(), 1);
    assert_eq!((&messages[0]["title"], &messages[0]["body"]), (&json!("user1"), &json!("Hello")));
    let expected = json!({
        "type": "message", "action": "open-conversation", "conversationId": conversation,
        "messageId": message["id"], "initiatorId": bob.id, "recipientUserId": ada.id,
    });
    assert_eq!(messages[0]["data"], expected);
    // Deleted before it was sent.
    let regretted = say(&bob, &conversation, "Oops").await;
    let path = format!(
        "/chat/conversations/{conversation}/messages/{}",
        regretted["id"].as_str().unwrap()
    );
    bob.delete(&path).await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 1);
    // In a group all others hear of it; whoever left does not.
    let eve = app.user().await;
    browser.register(&eve).await;
    let body = json!({ "type": "group", "name": "Club", "memberIds": [ada.id, eve.id] });
    let group = bob.post("/chat/conversations", body).await.expect(201);
    let group = group["id"].as_str().unwrap();
    say(&bob, group, "All").await;
    let messages = pushed(&app, &service, &browser).await;
    let mut recipients: Vec<String> = messages[1..]
        .iter()
        .map(|message| message["data"]["recipientUserId"].as_str().unwrap().to_owned())
        .collect();
    recipients.sort();
    let mut expected = vec![ada.id.to_string(), eve.id.to_string()];
    expected.sort();
    assert_eq!(recipients, expected);
}

async fn the_user_decides(app: TestApp) {
    let (app, service) = start(app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let browser = Browser::new(&service, SERVICE);
    browser.register(&ada).await;
    let set = async |types: Value| {
        let body = json!({ "disabledTypes": types });
        ada.send(Method::PUT, "/push-notifications/preferences", Some(body)).await.expect(200);
    };
    set(json!(["new-follow", "message"])).await;
    follow(&bob, &ada).await;
    let conversation = direct(&bob, &ada).await;
    say(&bob, &conversation, "Hello").await;
    assert!(pushed(&app, &service, &browser).await.is_empty());
    let listed = ada.get("/app-notifications").await.expect(200);
    assert_eq!(listed["data"][0]["type"], "new-follow", "in the app it is shown");
    set(json!([])).await;
    say(&bob, &conversation, "Hello again").await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 1);
}

async fn the_project_decides_first(app: TestApp) {
    let (app, service) = start(app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let browser = Browser::new(&service, SERVICE);
    browser.register(&ada).await;
    change(&app, "new-follow", json!({ "enabled": false })).await;
    follow(&bob, &ada).await;
    assert!(pushed(&app, &service, &browser).await.is_empty());
    let template = json!({ "title": "News from {initiatorUsername}", "body": "{nothing}Look" });
    change(&app, "message", template).await;
    change(&app, "default", json!({ "priority": "normal" })).await;
    let conversation = direct(&bob, &ada).await;
    say(&bob, &conversation, "Hello").await;
    let messages = pushed(&app, &service, &browser).await;
    assert_eq!(messages[0]["title"], "News from user1");
    assert_eq!(messages[0]["body"], "Look");
    assert_eq!(service.requests(SERVICE)[0].headers["urgency"], "normal");
    change(&app, "default", json!({ "enabled": false })).await;
    say(&bob, &conversation, "Hello").await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 1);
    change(&app, "message", json!({ "enabled": true })).await;
    say(&bob, &conversation, "Hello").await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 2);
}

async fn muted_conversations_are_silent_for_a_while(app: TestApp) {
    let (app, service) = start(app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let browser = Browser::new(&service, SERVICE);
    browser.register(&ada).await;
    let conversation = direct(&bob, &ada).await;
    say(&bob, &conversation, "one").await;
    let mute = format!("/chat/conversations/{conversation}/mute");
    ada.post(&mute, json!({ "duration": "8h" })).await.expect(200);
    say(&bob, &conversation, "two").await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 0, "also for what waits");
    app.advance(Duration::from_secs(8 * 60 * 60));
    let (ada, bob) = (ada.sign_in_again().await, bob.sign_in_again().await);
    say(&bob, &conversation, "three").await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 1);
    ada.post(&mute, json!({ "duration": "forever" })).await.expect(200);
    say(&bob, &conversation, "four").await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 1);
    ada.post(&mute, json!({ "duration": null })).await.expect(200);
    say(&bob, &conversation, "five").await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 2);
}

async fn blocked_users_push_nothing(app: TestApp) {
    let (app, service) = start(app).await;
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let browser = Browser::new(&service, SERVICE);
    browser.register(&ada).await;
    let body = json!({ "type": "group", "name": "Club", "memberIds": [ada.id, eve.id] });
    let group = bob.post("/chat/conversations", body).await.expect(201);
    let group = group["id"].as_str().unwrap();
    ada.post(&format!("/users/{}/block", bob.id), json!({})).await;
    say(&bob, group, "Hello").await;
    assert!(pushed(&app, &service, &browser).await.is_empty());
    say(&eve, group, "Hello").await;
    assert_eq!(pushed(&app, &service, &browser).await.len(), 1);
}

async fn a_failing_service_is_tried_again_for_its_device_alone(app: TestApp) {
    let (app, service) = start(app).await;
    let google = Fake::start().await;
    with_fcm(&app, &google).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let browser = Browser::new(&service, SERVICE);
    browser.register(&ada).await;
    ada.post(DEVICES, json!({ "platform": "android", "token": "a" })).await.expect(200);
    service.reply(SERVICE, 503, json!({}));
    follow(&bob, &ada).await;
    let sent = |service: &Fake| service.requests(SERVICE).len();
    app.run_jobs().await;
    assert_eq!(sent(&service), 1);
    app.run_jobs().await;
    assert_eq!(sent(&service), 1, "not at once");
    // With growing distances.
    for (wait, tries) in [(10, 2), (11, 3), (10, 3), (11, 4)] {
        app.advance(Duration::from_secs(wait));
        app.run_jobs().await;
        assert_eq!(sent(&service), tries, "after {wait} s more");
    }
    service.reply(SERVICE, 201, json!({}));
    app.advance(Duration::from_secs(60));
    app.run_jobs().await;
    app.advance(Duration::from_secs(24 * 60 * 60));
    app.run_jobs().await;
    assert_eq!(sent(&service), 5);
    assert_eq!(google.requests(crate::support::push::FCM_SEND).len(), 1);
    assert_eq!(app.rows("jobs").await, 0);
}

/// Minutes after which the service is asked again, twice, while it says this.
async fn tried_after(app: &TestApp, says: &str) -> [u64; 2] {
    let service = Fake::start().await;
    let (ada, bob) = (app.user().await, app.user().await);
    Browser::new(&service, SERVICE).register(&ada).await;
    service.reply(SERVICE, 429, json!({}));
    service.retry_after(says);
    follow(&bob, &ada).await;
    app.run_jobs().await;
    assert_eq!(service.requests(SERVICE).len(), 1);
    let mut after = [0, 0];
    for (round, minutes) in after.iter_mut().enumerate() {
        while service.requests(SERVICE).len() < round + 2 {
            app.advance(Duration::from_secs(60));
            app.run_jobs().await;
            *minutes += 1;
        }
    }
    after
}

async fn a_service_is_left_alone_for_as_long_as_it_asks(app: TestApp) {
    let (app, _) = start(app).await;
    assert_eq!(tried_after(&app, "nonsense").await, [1, 1]);
    assert_eq!(tried_after(&app, "0").await, [1, 1]);
    assert_eq!(tried_after(&app, "600").await, [10, 10]);
    assert_eq!(tried_after(&app, "999999999").await, [60, 60], "at most an hour");
    assert_eq!(tried_after(&app, "Sun, 06 Nov 1994 08:49:37 GMT").await, [1, 1]);
}

async fn without_a_service_nothing_is_queued(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    ada.post(DEVICES, json!({ "platform": "ios", "token": "a" })).await.expect(200);
    follow(&bob, &ada).await;
    let conversation = direct(&bob, &ada).await;
    say(&bob, &conversation, "Hello").await;
    assert_eq!(app.rows("jobs").await, 0);
    // A user without a device needs no job either.
    with_web_push(&app).await;
    app.advance(Duration::from_secs(1));
    follow(&ada, &bob).await;
    assert_eq!(app.rows("jobs").await, 0);
}

async fn a_deleted_user_is_not_pushed_to(app: TestApp) {
    let (app, service) = start(app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let browser = Browser::new(&service, SERVICE);
    browser.register(&ada).await;
    follow(&bob, &ada).await;
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    assert!(pushed(&app, &service, &browser).await.is_empty());
}
