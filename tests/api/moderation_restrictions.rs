//! What moderators of spaces and admins of groups take from users without a report: bans and messages. Decisions,
//! statements of reasons, appeals, and what an appeal brings back.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::auth::operators::Role;
use townhall::features::moderation::decisions::{Action, Item};
use townhall::values::ids::AppealId;

use crate::comments::id_of;
use crate::moderation_appeals::strikes;
use crate::moderation_decisions::{apply, decide_one, reported};
use crate::moderation_statements::{notices, states_over_api};
use crate::space_members::{membership, of, open_space};
use crate::spaces::{join, path};
use crate::support::chat::{at, group, messages, send, texts};
use crate::support::visitor::Visitor;
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    a_ban_is_stated_and_ends_with_an_appeal,
    without_the_setting_a_ban_is_stored_and_notifies_nobody,
    a_ban_that_handles_a_report_is_stated,
    an_appeal_against_one_ban_leaves_the_next,
    an_appeal_after_the_space_is_gone_takes_only_the_strike_back,
    an_admin_of_a_group_removes_a_message,
    an_admin_of_a_group_gives_no_strike,
    who_deletes_their_own_message_needs_no_statement,
];

const APPEALS: &str = "/moderation/appeals";

/// Lets time pass, and appeals against the decision that a notice is about.
async fn appeal(app: &TestApp, user: &User<'_>, notice: &Value) -> Item {
    app.advance(Duration::from_secs(1));
    let body = json!({ "decisionId": notice["moderation"]["decisionId"], "text": "I was polite" });
    let made = user.post(APPEALS, body).await.expect(201);
    Item::Appeal(AppealId(made["id"].as_str().unwrap().parse().unwrap()))
}

async fn accept(app: &TestApp, item: Item) {
    decide_one(app, item, Action::Approve).await;
    apply(app).await;
}

async fn status(app: &TestApp, space: &Value, user: &User<'_>) -> Value {
    membership(app, space, user).await["status"].clone()
}

async fn a_ban_is_stated_and_ends_with_an_appeal(app: TestApp) {
    states_over_api(&app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let member = join(&bob, &space).await;
    let ban = json!({ "reason": "No dogs" });
    for _ in 0..2 {
        ada.patch(&of(&space, &member, "/ban"), ban.clone()).await.expect(200);
    }
    let told = notices(&bob).await;
    assert_eq!(told.len(), 1, "once: {told:?}");
    let told = &told[0];
    assert_eq!(
        (&told["title"], &told["content"]),
        (&json!("You are banned from the space Space"), &json!("No dogs"))
    );
    let moderation = &told["moderation"];
    assert_eq!(
        (&moderation["action"], &moderation["targetType"], &moderation["targetId"]),
        (&json!("ban"), &json!("user"), &json!(bob.id))
    );
    assert_eq!(moderation["spaceId"], space["id"]);
    let statement = &moderation["statement"];
    assert_eq!(
        (&statement["restriction"]["kind"], &statement["restriction"]["scope"]),
        (&json!("ban"), &json!("space"))
    );
    assert_eq!(statement["facts"], json!({ "text": "No dogs", "source": "moderator" }));
    assert_eq!(statement["redress"]["appeal"]["path"], APPEALS);
    assert!(notices(&ada).await.is_empty());

    let item = appeal(&app, &bob, told).await;
    let listed = bob.get(APPEALS).await.expect(200);
    let decision = &listed["data"][0]["decision"];
    assert_eq!((&decision["action"], &decision["spaceId"]), (&json!("ban"), &space["id"]));
    // Operators see what it is about.
    let operator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    let queue = operator.get(&format!("/admin/p/{}/queue", app.project.id)).await.text();
    assert!(queue.contains("against ban user") && queue.contains("I was polite"), "{queue}");
    assert!(queue.contains(&format!("{}\"", path(&space))));
    assert!(!queue.contains("nothing left to restore"), "{queue}");
    assert_eq!(status(&app, &space, &bob).await, "banned");
    accept(&app, item).await;
    assert_eq!(status(&app, &space, &bob).await, "active");
    bob.post("/entities", json!({ "title": "Cats", "spaceId": space["id"] })).await.expect(201);
    assert_eq!(notices(&bob).await[0]["title"], "Your appeal was successful");
    let log = ada.get(&format!("{}/moderation-log", path(&space))).await.expect(200);
    let first = &log["data"][0];
    assert_eq!((&first["action"], &first["decidedBy"]), (&json!("unban"), &json!("project")));
    assert_eq!(log["pagination"]["totalItems"], 2);
}

async fn without_the_setting_a_ban_is_stored_and_notifies_nobody(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let member = join(&bob, &space).await;
    ada.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 1);
    assert!(notices(&bob).await.is_empty());
}

async fn a_ban_that_handles_a_report_is_stated(app: TestApp) {
    states_over_api(&app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&bob, &space).await;
    let entity = bob.post("/entities", json!({ "title": "t", "spaceId": space["id"] })).await;
    let entity = format!("/entities/{}", entity.expect(201)["id"].as_str().unwrap());
    let Item::Report(report) = reported(&app, &ada, &entity).await else { panic!() };
    let body = json!({
        "entityId": id_of(&entity), "actions": ["ban-user", "remove-entity"], "summary": "Done",
        "userId": bob.id, "reason": "Spam",
    });
    let address = format!("{}/reports/entity/{report}", path(&space));
    ada.patch(&address, body).await.expect(201);
    let told = notices(&bob).await;
    let mut actions: Vec<&str> =
        told.iter().map(|one| one["moderation"]["action"].as_str().unwrap()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["ban", "remove"]);
    for one in &told {
        let facts = &one["moderation"]["statement"]["facts"];
        assert_eq!(*facts, json!({ "text": "Spam", "source": "report" }));
        let item = appeal(&app, &bob, one).await;
        accept(&app, item).await;
    }
    assert_eq!(status(&app, &space, &bob).await, "active");
    ada.get(&entity).await.expect(200);
}

async fn an_appeal_against_one_ban_leaves_the_next(app: TestApp) {
    states_over_api(&app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let member = join(&bob, &space).await;
    ada.patch(&of(&space, &member, "/ban"), json!({ "reason": "One" })).await.expect(200);
    ada.patch(&of(&space, &member, "/unban"), json!({})).await.expect(200);
    app.advance(Duration::from_secs(1));
    ada.patch(&of(&space, &member, "/ban"), json!({ "reason": "Two" })).await.expect(200);
    let told = notices(&bob).await;
    let of_reason = |reason: &str| told.iter().find(|one| one["content"] == reason).unwrap();
    let item = appeal(&app, &bob, of_reason("One")).await;
    let operator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    let queue = operator.get(&format!("/admin/p/{}/queue", app.project.id)).await.text();
    assert!(queue.contains("nothing left to restore"), "{queue}");
    accept(&app, item).await;
    assert_eq!(status(&app, &space, &bob).await, "banned");
    let item = appeal(&app, &bob, of_reason("Two")).await;
    accept(&app, item).await;
    assert_eq!(status(&app, &space, &bob).await, "active");
}

async fn an_appeal_after_the_space_is_gone_takes_only_the_strike_back(app: TestApp) {
    states_over_api(&app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let member = join(&bob, &space).await;
    ada.patch(&of(&space, &member, "/ban"), json!({})).await.expect(200);
    let told = notices(&bob).await;
    let item = appeal(&app, &bob, &told[0]).await;
    ada.delete(&path(&space)).await;
    accept(&app, item).await;
    assert_eq!(bob.get(APPEALS).await.expect(200)["data"][0]["status"], "reversed");
}

async fn an_admin_of_a_group_removes_a_message(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let crew = group(&ada, &[&bob]).await;
    let quiet = send(&bob, &crew, "First").await;
    ada.delete(&at(&crew, &quiet)).await.expect(200);
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 1);
    assert!(notices(&bob).await.is_empty(), "only where the project wants it");

    states_over_api(&app).await;
    let sent = send(&bob, &crew, "Second").await;
    ada.delete(&at(&crew, &sent)).await.expect(200);
    let told = notices(&bob).await;
    assert_eq!(told.len(), 1, "{told:?}");
    let moderation = &told[0]["moderation"];
    assert_eq!(
        (&moderation["action"], &moderation["targetType"], &moderation["targetId"]),
        (&json!("remove"), &json!("message"), &sent["id"])
    );
    assert_eq!(told[0]["content"], "The moderators gave no reason.");
    assert!(texts(&messages(&ada, &crew, "").await).is_empty());
    let item = appeal(&app, &bob, &told[0]).await;
    accept(&app, item).await;
    assert_eq!(texts(&messages(&ada, &crew, "").await), ["Second"]);
}

/// Anybody can create a group and add other users to it.
async fn an_admin_of_a_group_gives_no_strike(app: TestApp) {
    states_over_api(&app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let crew = group(&ada, &[&bob]).await;
    let sent = send(&bob, &crew, "Here").await;
    ada.delete(&at(&crew, &sent)).await.expect(200);
    assert_eq!(notices(&bob).await.len(), 1, "it is stated");
    assert_eq!(strikes(&app, &bob).await, 0);
    let operator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    let page = operator.get(&format!("/admin/p/{}/users/{}", app.project.id, bob.id)).await.text();
    assert!(page.contains(&format!("user {} decided to remove", ada.id)), "{page}");

    // In the conversation of a space its moderators decide.
    let space = open_space(&ada).await;
    join(&bob, &space).await;
    let room = bob.get(&format!("{}/conversation", path(&space))).await.expect(200);
    let sent = send(&bob, room["id"].as_str().unwrap(), "There").await;
    let address =
        format!("{}/chat/messages/{}/moderation", path(&space), sent["id"].as_str().unwrap());
    ada.patch(&address, json!({ "moderationStatus": "removed" })).await.expect(200);
    assert_eq!(strikes(&app, &bob).await, 1);
    let told = notices(&bob).await;
    assert_eq!(told.len(), 2, "{told:?}");
}

async fn who_deletes_their_own_message_needs_no_statement(app: TestApp) {
    states_over_api(&app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let crew = group(&ada, &[&bob]).await;
    for user in [&ada, &bob] {
        let sent = send(user, &crew, "Mine").await;
        user.delete(&at(&crew, &sent)).await.expect(200);
    }
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 0);
    // Nobody else may, and nothing is stored then.
    let sent = send(&ada, &crew, "Mine").await;
    bob.delete(&at(&crew, &sent)).await.expect(403);
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 0);
}
