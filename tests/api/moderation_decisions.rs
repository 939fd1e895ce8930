//! Decisions of operators: they take effect after ten seconds and can be undone until then.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use townhall::features::moderation::decisions::{
    Action, Decision, DecisionState, Item, Outcome, Refused, Suspend, decide, enqueue_overdue,
    store, undo,
};
use townhall::features::moderation::target::{Target, TargetKind};
use townhall::features::moderation::{Moderator, queue};
use townhall::tenancy::Project;
use townhall::values::ids::{DecisionId, OperatorId, ReportId};
use uuid::Uuid;

use crate::comments::{UNKNOWN, comment, id_of, read};
use crate::reactions::publish;
use crate::reports::{report, reports};
use crate::support::chat::{direct, messages, send, texts};
use crate::support::{TestApp, all_at_once, on_both_engines};

on_both_engines![
    a_decision_takes_effect_after_ten_seconds,
    an_undone_decision_changes_nothing,
    of_undoing_and_applying_one_happens,
    approving_dismisses_the_report,
    an_author_is_suspended_for_a_while_or_for_ever,
    an_author_is_warned,
    comments_messages_and_users_are_decided_about,
    items_that_cannot_be_decided_are_refused_one_by_one,
    a_report_that_was_handled_meanwhile_fails_the_decision,
    five_hundred_items_are_decided_at_once,
    a_deleted_user_is_forgotten,
    a_decision_whose_job_was_lost_is_applied_later,
];

pub(crate) const UNDONE_AFTER: Duration = Duration::from_secs(10);

pub(crate) async fn project(app: &TestApp) -> Arc<Project> {
    let (id, app) = (app.project.id, &app.app);
    app.projects.get(&app.db, id, app.clock.uptime()).await.unwrap().unwrap()
}

pub(crate) fn moderator(number: u128) -> Moderator {
    let operator = Some(OperatorId(Uuid::from_u128(number)));
    Moderator { operator, name: format!("Moderator {number}") }
}

pub(crate) async fn decided(app: &TestApp, items: &[Item], action: Action) -> Outcome {
    let (project, now) = (project(app).await, app.now());
    let by = moderator(1);
    decide(&app.app, &project, &by, items, action, Some("Because"), now).await.unwrap()
}

/// Decides about one item that can be decided.
pub(crate) async fn decide_one(app: &TestApp, item: Item, action: Action) -> Decision {
    let mut outcome = decided(app, &[item], action).await;
    assert!(outcome.refused.is_empty(), "{outcome:?}");
    outcome.decided.remove(0)
}

pub(crate) async fn apply(app: &TestApp) {
    app.advance(UNDONE_AFTER);
    app.run_jobs().await;
}

pub(crate) async fn state(app: &TestApp, id: DecisionId) -> (DecisionState, Option<String>) {
    let project = app.project.id;
    let found = app.app.db.read(move |c| store::find_all(c, project, &[id])).await.unwrap();
    (found[0].state, found[0].error.clone())
}

/// The ids of the queue, newest first.
pub(crate) async fn queued(app: &TestApp) -> Vec<ReportId> {
    let (project, now) = (app.project.id, app.now());
    let page = app.app.db.read(move |c| {
        let filter = queue::Filter::default();
        queue::list(c, project, &filter, queue::Order::Newest, None, 100, now)
    });
    page.await.unwrap().items.iter().map(|item| item.id).collect()
}

/// Reports an entity; the item of the queue.
pub(crate) async fn reported(app: &TestApp, by: &crate::support::Actor<'_>, entity: &str) -> Item {
    app.advance(Duration::from_secs(1));
    report(by, entity).await;
    Item::Report(queued(app).await[0])
}

fn target(kind: TargetKind, id: &Value) -> Item {
    Item::Target(Target { kind, id: id.as_str().unwrap().parse().unwrap() })
}

async fn a_decision_takes_effect_after_ten_seconds(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let decision = decide_one(&app, item, Action::Remove).await;
    assert_eq!(decision.state, DecisionState::Pending);
    assert_eq!(decision.author_id, Some(ada.id));
    assert!(queued(&app).await.is_empty(), "it leaves the queue at once");
    // Whoever reports it meanwhile joins the same report.
    assert_eq!(report(&eve, &entity).await, "report/updated");
    app.advance(UNDONE_AFTER - Duration::from_millis(1));
    assert_eq!(app.run_jobs().await, 0);
    assert_eq!(app.service().get(&entity).await.expect(200)["moderationStatus"], Value::Null);

    app.advance(Duration::from_millis(1));
    assert_eq!(app.run_jobs().await, 1);
    assert_eq!(state(&app, decision.id).await, (DecisionState::Applied, None));
    let shown = app.service().get(&entity).await.expect(200);
    assert_eq!(
        (&shown["moderationStatus"], &shown["moderationReason"]),
        (&json!("removed"), &json!("Because"))
    );
    assert_eq!(bob.get("/entities").await.expect(200)["pagination"]["totalItems"], 0);
    let all = reports(&app, "").await;
    assert_eq!(
        (all.len(), &all[0]["status"], &all[0]["actionTaken"]),
        (1, &json!("actioned"), &json!("Because"))
    );
    // The author gets a statement of reasons.
    let told = ada.get("/app-notifications").await.expect(200)["data"][0].clone();
    assert_eq!((&told["type"], &told["action"]), (&json!("system"), &json!("do-nothing")));
    let told = &told["metadata"];
    assert_eq!(
        (&told["title"], &told["content"]),
        (&json!("Your post was removed"), &json!("Because"))
    );
    assert_eq!(told["moderation"]["decisionId"], json!(decision.id));
    assert_eq!(
        (&told["moderation"]["grounds"], &told["moderation"]["isAutomated"]),
        (&json!("report"), &json!(false))
    );
    assert_eq!(bob.get("/app-notifications/count").await.expect(200), 0);
}

async fn an_undone_decision_changes_nothing(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let before = queued(&app).await;
    let decision = decide_one(&app, item, Action::Remove).await;
    let project = project(&app).await;
    assert_eq!(undo(&app.app, &project, &[decision.id]).await.unwrap(), [decision.id]);
    assert_eq!(undo(&app.app, &project, &[decision.id]).await.unwrap(), []);
    assert_eq!(queued(&app).await, before);
    apply(&app).await;
    assert_eq!(state(&app, decision.id).await, (DecisionState::Undone, None));
    assert_eq!(app.service().get(&entity).await.expect(200)["moderationStatus"], Value::Null);
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 0);
    // It can be decided again; then it is too late.
    let decision = decide_one(&app, item, Action::Remove).await;
    apply(&app).await;
    assert_eq!(undo(&app.app, &project, &[decision.id]).await.unwrap(), []);
    assert_eq!(state(&app, decision.id).await.0, DecisionState::Applied);
}

async fn of_undoing_and_applying_one_happens(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let project = &project(&app).await;
    let decision = decide_one(&app, item, Action::Warn).await;
    let ids = [decision.id];
    let undone = all_at_once((0..8).map(|_| undo(&app.app, project, &ids))).await;
    let undone: usize = undone.into_iter().map(|ids| ids.unwrap().len()).sum();
    assert_eq!(undone, 1);
    // Enough workers at once, and a late undo: applied once.
    let decision = decide_one(&app, item, Action::Warn).await;
    app.advance(UNDONE_AFTER);
    let ids = [decision.id];
    let (_, undone) =
        tokio::join!(all_at_once((0..4).map(|_| app.run_jobs())), undo(&app.app, project, &ids),);
    assert_eq!(undone.unwrap(), []);
    assert_eq!(state(&app, decision.id).await.0, DecisionState::Applied);
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 1);
}

async fn approving_dismisses_the_report(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    decide_one(&app, item, Action::Approve).await;
    apply(&app).await;
    assert_eq!(reports(&app, "").await[0]["status"], "dismissed");
    assert_eq!(app.service().get(&entity).await.expect(200)["moderationStatus"], Value::Null);
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 0);
}

async fn an_author_is_suspended_for_a_while_or_for_ever(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let post = || ada.post("/entities", json!({ "title": "t" }));
    let item = reported(&app, &bob, &entity).await;
    decide_one(&app, item, Action::Suspend(Suspend::Week)).await;
    apply(&app).await;
    let refused = post().await.refused(403, "user/suspended");
    assert_eq!(refused["reason"], "Because");
    assert_eq!(reports(&app, "").await[0]["status"], "actioned");
    app.advance(Duration::from_secs(7 * 24 * 3600 + 1));
    let again = ada.sign_in_again().await;
    again.post("/entities", json!({ "title": "t" })).await.expect(201);
    // Without a report.
    let user = target(TargetKind::User, &json!(ada.id));
    let decision = decide_one(&app, user, Action::Suspend(Suspend::Forever)).await;
    assert_eq!((decision.report_id, decision.ends_at), (None, None));
    apply(&app).await;
    app.advance(Duration::from_secs(1000 * 24 * 3600));
    let again = ada.sign_in_reply().await;
    assert!(again.status == 403 || again.status == 200, "{}", again.text());
    let (project, user, now) = (app.project.id, ada.id, app.now());
    let active =
        app.app.db.read(move |c| townhall::auth::store::suspensions::active(c, project, user, now));
    assert_eq!(active.await.unwrap()[0].end_date, None);
}

async fn an_author_is_warned(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    decide_one(&app, item, Action::Warn).await;
    apply(&app).await;
    let told = ada.get("/app-notifications").await.expect(200);
    assert_eq!(told["data"][0]["metadata"]["moderation"]["action"], "warn");
    assert_eq!(reports(&app, "").await[0]["status"], "actioned");
    assert_eq!(app.service().get(&entity).await.expect(200)["moderationStatus"], Value::Null);
}

async fn comments_messages_and_users_are_decided_about(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = comment(&ada, &entity, "Bad").await;
    let conversation = direct(&ada, &bob).await;
    let sent = send(&ada, &conversation, "Worse").await;
    let items =
        [target(TargetKind::Comment, &said["id"]), target(TargetKind::Message, &sent["id"])];
    let outcome = decided(&app, &items, Action::Remove).await;
    assert_eq!((outcome.decided.len(), outcome.refused.len()), (2, 0));
    apply(&app).await;
    assert_eq!(read(&bob, &said).await["content"], Value::Null);
    assert!(texts(&messages(&bob, &conversation, "").await).is_empty());
    let titles = ada.get("/app-notifications").await.expect(200);
    let titles: Vec<_> = titles["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["metadata"]["title"].clone())
        .collect();
    assert!(titles.contains(&json!("Your comment was removed")), "{titles:?}");
    assert!(titles.contains(&json!("Your message was removed")), "{titles:?}");
    // Approving the comment lifts the removal.
    decide_one(&app, items[0], Action::Approve).await;
    apply(&app).await;
    assert_eq!(read(&bob, &said).await["content"], "Bad");
    decide_one(&app, target(TargetKind::User, &json!(ada.id)), Action::Warn).await;
    apply(&app).await;
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 3);
}

async fn items_that_cannot_be_decided_are_refused_one_by_one(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (entity, other) = (publish(&ada).await, publish(&ada).await);
    let of_nobody = app.anonymous().post("/entities", json!({ "title": "t" })).await.expect(201);
    let item = reported(&app, &bob, &entity).await;
    let claimed = reported(&app, &bob, &other).await;
    let Item::Report(id) = claimed else { panic!() };
    let (project, now) = (project(&app).await, app.now());
    let by = (OperatorId(Uuid::from_u128(2)), "Eve");
    queue::claim(&app.app, &project, id, by, now).await.unwrap();
    let entity_target = target(TargetKind::Entity, &json!(id_of(&entity)));
    let items = [
        item,
        // The same once more.
        entity_target,
        claimed,
        Item::Report(ReportId(UNKNOWN)),
        Item::Target(Target { kind: TargetKind::Entity, id: UNKNOWN }),
        target(TargetKind::Entity, &of_nobody["id"]),
    ];
    let outcome = decided(&app, &items, Action::Warn).await;
    let why: Vec<_> = outcome.refused.iter().map(|one| one.why.clone()).collect();
    let claimed = Refused::Claimed { by: "Eve".to_owned() };
    let expected =
        [Refused::AlreadyDecided, claimed, Refused::NotFound, Refused::NotFound, Refused::NoAuthor];
    assert_eq!(why, expected);
    assert_eq!(outcome.decided.len(), 1);
    // It is decided, though it can still be undone.
    for one in [item, entity_target] {
        assert_eq!(
            decided(&app, &[one], Action::Remove).await.refused[0].why,
            Refused::AlreadyDecided
        );
    }
    let user = target(TargetKind::User, &json!(ada.id));
    assert_eq!(decided(&app, &[user], Action::Approve).await.refused[0].why, Refused::NotContent);
    // A claim ends by itself.
    app.advance(queue::CLAIM_FOR);
    assert_eq!(decided(&app, &[Item::Report(id)], Action::Warn).await.decided.len(), 1);
    // Nothing of another project.
    let stranger = app.stranger().await;
    let foreign = publish(&stranger).await;
    let foreign = target(TargetKind::Entity, &json!(id_of(&foreign)));
    assert_eq!(decided(&app, &[foreign], Action::Warn).await.refused[0].why, Refused::NotFound);
    let long = "x".repeat(1_001);
    let by = moderator(1);
    let refused = decide(&app.app, &project, &by, &[], Action::Warn, Some(&long), now);
    assert!(refused.await.is_err());
}

async fn a_report_that_was_handled_meanwhile_fails_the_decision(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let decision = decide_one(&app, item, Action::Remove).await;
    let path = format!("/reports/{}", reports(&app, "").await[0]["id"].as_str().unwrap());
    let handled = json!({ "actions": ["dismiss"], "summary": "Fine" });
    app.service().patch(&path, handled).await.expect(200);
    apply(&app).await;
    let (became, error) = state(&app, decision.id).await;
    assert_eq!(became, DecisionState::Failed);
    assert!(error.unwrap().starts_with("report/already-handled"));
    assert_eq!(app.service().get(&entity).await.expect(200)["moderationStatus"], Value::Null);
    assert!(queued(&app).await.is_empty());
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 0);
    // What is deleted meanwhile cannot be removed; its report comes back.
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let decision = decide_one(&app, item, Action::Remove).await;
    ada.delete(&entity).await.expect(204);
    apply(&app).await;
    assert_eq!(state(&app, decision.id).await.0, DecisionState::Failed);
    assert_eq!(queued(&app).await.len(), 1);
}

async fn five_hundred_items_are_decided_at_once(app: TestApp) {
    let ada = app.user().await;
    let mut items = Vec::new();
    let entity = publish(&ada).await;
    for _ in 0..20 {
        let said = comment(&ada, &entity, "x").await;
        items.push(target(TargetKind::Comment, &said["id"]));
    }
    let unknown = Target { kind: TargetKind::Comment, id: UNKNOWN };
    items.resize(500, Item::Target(unknown));
    let outcome = decided(&app, &items, Action::Remove).await;
    assert_eq!((outcome.decided.len(), outcome.refused.len()), (20, 480));
    apply(&app).await;
    for decision in outcome.decided {
        assert_eq!(state(&app, decision.id).await.0, DecisionState::Applied);
    }
    items.push(Item::Target(unknown));
    let (project, now) = (project(&app).await, app.now());
    let many = decide(&app.app, &project, &moderator(1), &items, Action::Remove, None, now).await;
    let townhall::error::Error::Refused(refusal) = many.unwrap_err() else { panic!() };
    assert_eq!(refusal.fault.code, "moderation/too-many-items");
}

async fn a_deleted_user_is_forgotten(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    comment(&bob, &entity, "so that it stays").await;
    let item = reported(&app, &bob, &entity).await;
    let about_content = decide_one(&app, item, Action::Warn).await;
    decide_one(&app, target(TargetKind::User, &json!(ada.id)), Action::Warn).await;
    apply(&app).await;
    let pending = decide_one(&app, target(TargetKind::User, &json!(ada.id)), Action::Warn).await;
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    apply(&app).await;
    assert_eq!(app.rows("moderation_decisions").await, 1);
    let (project, ids) = (app.project.id, [about_content.id, pending.id]);
    let left = app.app.db.read(move |c| store::find_all(c, project, &ids)).await.unwrap();
    assert_eq!((left.len(), left[0].author_id), (1, None));
}

/// An imported project has its decisions, but no jobs.
async fn a_decision_whose_job_was_lost_is_applied_later(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let decision = decide_one(&app, item, Action::Remove).await;
    let (db, project) = (&app.app.db, app.project.id);
    let sql = "DELETE FROM jobs WHERE project_id = $1".to_owned();
    let command = db::Command::<()>::built("test::forget_jobs", sql);
    db.write(move |tx| tx.execute(&command, db::args![project]).map(drop)).await.unwrap();
    let sweep = || {
        let now = app.now();
        app.app.db.write(move |tx| enqueue_overdue(tx, now, 100))
    };
    app.advance(Duration::from_secs(600));
    assert_eq!(sweep().await.unwrap(), 0, "its job may be late");
    assert_eq!(state(&app, decision.id).await.0, DecisionState::Pending);
    app.advance(Duration::from_secs(11));
    let enqueued = all_at_once((0..4).map(|_| sweep())).await;
    let enqueued: u64 = enqueued.into_iter().map(Result::unwrap).sum();
    assert_eq!(enqueued, 1);
    app.run_jobs().await;
    assert_eq!(state(&app, decision.id).await, (DecisionState::Applied, None));
    assert_eq!(reports(&app, "").await[0]["status"], "actioned");
    assert_eq!(sweep().await.unwrap(), 0);
}
