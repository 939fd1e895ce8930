//! Rules that check what users write: each condition, each action, shadow mode, back-tests; and what is held.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::features::comments::store::recount;
use townhall::features::moderation::decisions::{Action, Item};
use townhall::features::moderation::queue::{Filter, ItemKind, Order};
use townhall::features::moderation::reports::model::TargetType;
use townhall::features::moderation::rules::{
    self, Condition, LinkMode, NewRule, Rule, RuleAction, RuleState, Saved,
};
use townhall::values::ids::RuleId;

use crate::comments::{UNKNOWN, comment, path, read};
use crate::moderation_decisions::{apply, decide_one, project, queued};
use crate::moderation_queue::page;
use crate::notifications::counts_are_exact;
use crate::reactions::publish;
use crate::reports::reports;
use crate::support::chat::{direct, messages, send, texts};
use crate::support::receiver::subscribed;
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    a_held_post_is_its_authors_alone_until_it_is_approved,
    a_held_comment_is_counted_when_it_is_approved,
    a_held_message_arrives_when_it_is_approved,
    an_edit_is_held_too,
    what_is_held_can_be_removed_or_approved_by_the_api,
    a_flag_opens_a_report_of_the_rule,
    a_rule_removes_and_warns,
    conditions_about_the_author_and_the_past,
    the_first_rule_that_is_on_decides,
    a_rule_in_shadow_only_notes,
    a_back_test_counts_what_would_have_matched,
    rules_are_checked_ordered_and_deleted,
    webhooks_hear_of_what_is_held_once_it_is_approved,
];

pub(crate) fn words(word: &str) -> Condition {
    Condition::Words { words: vec![word.to_owned()] }
}

pub(crate) fn rule(condition: Condition, action: RuleAction) -> NewRule {
    NewRule {
        name: "Test".to_owned(),
        targets: vec![TargetType::Entity, TargetType::Comment, TargetType::Message],
        condition,
        action,
        state: RuleState::On,
        message: Some("Not here".to_owned()),
    }
}

/// Adds a rule; by the time this returns every node knows.
pub(crate) async fn add(app: &TestApp, rule: NewRule) -> Rule {
    let saved = rules::create(&app.app, &project(app).await, &rule, app.now()).await.unwrap();
    app.advance(Duration::from_secs(1));
    app.app.projects.forget_all();
    match saved {
        Saved::Rule(rule) => *rule,
        Saved::Invalid(why) => panic!("{why:?}"),
    }
}

async fn remove_all(app: &TestApp) {
    let (of, id) = (project(app).await, app.project.id);
    for rule in app.app.db.read(move |c| rules::list(c, id)).await.unwrap() {
        assert!(rules::delete(&app.app, &of, rule.id).await.unwrap());
    }
    app.advance(Duration::from_secs(1));
    app.app.projects.forget_all();
}

async fn post(user: &User<'_>, title: &str) -> Value {
    user.post("/entities", json!({ "title": title })).await.expect(201)
}

fn entity(shown: &Value) -> String {
    format!("/entities/{}", shown["id"].as_str().unwrap())
}

async fn total(user: &User<'_>) -> Value {
    user.get("/entities").await.expect(200)["pagination"]["totalItems"].clone()
}

async fn a_held_post_is_its_authors_alone_until_it_is_approved(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let hold = add(&app, rule(words("casino"), RuleAction::Hold)).await;
    let mention = json!([{ "type": "user", "id": bob.id, "username": "bob" }]);
    let new = json!({ "title": "The Casino opens", "content": "Come", "mentions": mention });
    let held = ada.post("/entities", new).await.expect(201);
    assert_eq!(held["moderationStatus"], "held");
    assert_eq!(
        (&held["title"], &held["moderatedByType"]),
        (&json!("The Casino opens"), &json!("client"))
    );
    // Its author and the project see it, nobody else does, and it is in no feed.
    for actor in [&*ada, &app.service()] {
        assert_eq!(actor.get(&entity(&held)).await.expect(200)["moderationStatus"], "held");
    }
    for actor in [&*bob, &app.anonymous()] {
        actor.get(&entity(&held)).await.refused(404, "entity/not-found");
        actor.post("/comments", json!({ "entityId": held["id"], "content": "x" })).await;
    }
    assert_eq!((total(&ada).await, total(&bob).await), (json!(0), json!(0)));
    assert_eq!(bob.get("/app-notifications/count").await.expect(200), 0);
    let item = page(&app, Filter::default(), Order::Newest, 10).await.items.remove(0);
    assert_eq!((item.kind, item.rule), (ItemKind::Held, Some(hold.id)));
    let text = item.content.unwrap().title.unwrap();
    let found: Vec<_> = item.matches.iter().map(|one| &text[one.start..one.end]).collect();
    assert_eq!(found, ["Casino"]);
    assert_eq!(item.author.unwrap().user, ada.id);

    decide_one(&app, Item::Report(item.id), Action::Approve).await;
    apply(&app).await;
    let shown = bob.get(&entity(&held)).await.expect(200);
    assert_eq!(shown["moderationStatus"], "approved");
    assert_eq!(total(&bob).await, 1);
    assert_eq!(bob.get("/app-notifications/count").await.expect(200), 1);
    assert_eq!(reports(&app, "").await[0]["status"], "dismissed");
    assert!(queued(&app).await.is_empty());
    counts_are_exact(&app).await;
}

async fn a_held_comment_is_counted_when_it_is_approved(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let below = publish(&bob).await;
    let parent = comment(&bob, &below, "Parent").await;
    add(&app, rule(words("casino"), RuleAction::Hold)).await;
    let new =
        json!({ "entityId": parent["entityId"], "parentId": parent["id"], "content": "casino" });
    let held = ada.post("/comments", new).await.expect(201);
    assert_eq!((&held["content"], &held["moderationStatus"]), (&json!("casino"), &json!("held")));
    bob.get(&path(&held)).await.refused(404, "comment/not-found");
    // Its author sees it, alone and in lists, and can delete it.
    assert_eq!(read(&ada, &held).await["content"], "casino");
    let below_it = parent["entityId"].as_str().unwrap();
    let of_parent = format!("/comments?parentId={}", parent["id"].as_str().unwrap());
    for (query, others) in [(format!("/comments?entityId={below_it}"), 1), (of_parent, 0)] {
        for (user, expected) in [(&ada, others + 1), (&bob, others)] {
            let page = user.get(&query).await.expect(200);
            assert_eq!(page["pagination"]["totalItems"], expected, "{query}");
            assert_eq!(page["data"].as_array().unwrap().len(), expected, "{query}");
        }
    }
    let own = ada.get(&format!("/comments?userId={}", ada.id)).await.expect(200);
    assert_eq!(own["data"][0]["moderationStatus"], "held");
    app.advance(Duration::from_secs(1));
    let another = comment(&ada, &below, "casino, deleted").await;
    ada.delete(&path(&another)).await.expect(204);
    ada.get(&path(&another)).await.refused(404, "comment/not-found");
    let decided = Item::Report(queued(&app).await[0]);
    decide_one(&app, decided, Action::Warn).await;
    apply(&app).await;
    let replies = || async {
        let entity = bob.get(&below).await.expect(200)["repliesCount"].clone();
        (entity, read(&bob, &parent).await["repliesCount"].clone())
    };
    assert_eq!(replies().await, (json!(1), json!(0)));
    assert_eq!(bob.get("/app-notifications/count").await.expect(200), 0);
    let item = queued(&app).await[0];
    decide_one(&app, Item::Report(item), Action::Approve).await;
    apply(&app).await;
    assert_eq!(replies().await, (json!(2), json!(1)));
    assert_eq!(read(&bob, &held).await["content"], "casino");
    assert_eq!(bob.get("/app-notifications/count").await.expect(200), 1);
    let list = format!("/comments?entityId={}", parent["entityId"].as_str().unwrap());
    assert_eq!(bob.get(&list).await.expect(200)["pagination"]["totalItems"], 2);
    // One that is removed instead is never counted.
    let said = comment(&ada, &below, "casino again").await;
    let item = queued(&app).await[0];
    decide_one(&app, Item::Report(item), Action::Remove).await;
    apply(&app).await;
    bob.get(&path(&said)).await.refused(404, "comment/not-found");
    assert_eq!(replies().await, (json!(2), json!(1)));
    let drifted = app.app.db.read(recount::miscounted_entities);
    assert_eq!(app.own(drifted.await.unwrap()), []);
}

async fn a_held_message_arrives_when_it_is_approved(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let conversation = direct(&ada, &bob).await;
    send(&ada, &conversation, "Hello").await;
    add(&app, rule(words("casino"), RuleAction::Hold)).await;
    let held = send(&ada, &conversation, "casino").await;
    assert_eq!((&held["content"], &held["moderationStatus"]), (&json!("casino"), &json!("held")));
    assert_eq!(texts(&messages(&bob, &conversation, "").await), ["Hello"]);
    app.advance(Duration::from_secs(1));
    send(&bob, &conversation, "Anybody?").await;
    let item = queued(&app).await[0];
    decide_one(&app, Item::Report(item), Action::Approve).await;
    apply(&app).await;
    // As if it had been sent now.
    let newest = messages(&bob, &conversation, "").await;
    assert_eq!(newest["messages"][0]["content"], "casino");
    assert_eq!(texts(&newest).len(), 3);
    send(&ada, &conversation, "casino no more").await;
    let item = queued(&app).await[0];
    decide_one(&app, Item::Report(item), Action::Remove).await;
    apply(&app).await;
    assert_eq!(texts(&messages(&bob, &conversation, "").await).len(), 3);
}

async fn an_edit_is_held_too(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let first = post(&ada, "Fine").await;
    let said = comment(&ada, &publish(&bob).await, "Fine").await;
    add(&app, rule(words("casino"), RuleAction::Hold)).await;
    let edited = ada.patch(&entity(&first), json!({ "title": "casino" })).await.expect(200);
    assert_eq!(edited["moderationStatus"], "held");
    bob.get(&entity(&first)).await.refused(404, "entity/not-found");
    assert_eq!(total(&bob).await, 1);
    ada.patch(&path(&said), json!({ "content": "casino" })).await.expect(200);
    assert_eq!(read(&bob, &said).await["content"], Value::Null);
    for item in queued(&app).await {
        decide_one(&app, Item::Report(item), Action::Approve).await;
    }
    apply(&app).await;
    assert_eq!(bob.get(&entity(&first)).await.expect(200)["title"], "casino");
    assert_eq!(total(&bob).await, 2);
    assert_eq!(read(&bob, &said).await["content"], "casino");
}

async fn what_is_held_can_be_removed_or_approved_by_the_api(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    add(&app, rule(words("casino"), RuleAction::Hold)).await;
    let held = post(&ada, "casino").await;
    let open = reports(&app, "status=open").await.remove(0);
    assert_eq!((&open["reporterCount"], &open["userReports"]), (&json!(0), &json!([])));
    let report = format!("/reports/{}", open["id"].as_str().unwrap());
    let dismiss = json!({ "actions": ["dismiss"], "summary": "Fine" });
    app.service().patch(&report, dismiss).await.expect(200);
    bob.get(&entity(&held)).await.expect(200);
    assert_eq!(total(&bob).await, 1);
    app.advance(Duration::from_secs(1));
    let held = post(&ada, "casino two").await;
    let open = reports(&app, "status=open").await.remove(0);
    let report = format!("/reports/{}", open["id"].as_str().unwrap());
    let remove = json!({ "actions": ["remove-content"], "summary": "Spam" });
    app.service().patch(&report, remove).await.expect(200);
    assert_eq!(ada.get(&entity(&held)).await.expect(200)["moderationStatus"], "removed");
    assert_eq!(total(&bob).await, 1);
}

async fn a_flag_opens_a_report_of_the_rule(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let flag = add(&app, rule(words("casino"), RuleAction::Flag)).await;
    let seen = post(&ada, "casino").await;
    bob.get(&entity(&seen)).await.expect(200);
    let items = page(&app, Filter { rule: Some(flag.id), ..Filter::default() }, Order::Newest, 5);
    let item = items.await.items.remove(0);
    assert_eq!((item.kind, item.reporters.count), (ItemKind::Flagged, 0));
    // Users join it.
    let body = json!({ "targetType": "entity", "targetId": seen["id"], "reason": "spam" });
    assert_eq!(bob.post("/reports", body).await.expect(200)["code"], "report/updated");
    // Their deletion leaves the report of the rule.
    app.service().delete(&format!("/users/{}", bob.id)).await.expect(204);
    assert_eq!(queued(&app).await, [item.id]);
}

async fn a_rule_removes_and_warns(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    add(&app, rule(words("casino"), RuleAction::Remove)).await;
    add(&app, rule(words("lottery"), RuleAction::Warn)).await;
    let removed = post(&ada, "casino").await;
    assert_eq!(
        (&removed["moderationStatus"], &removed["moderationReason"]),
        (&json!("removed"), &json!("Not here"))
    );
    assert_eq!(total(&bob).await, 0);
    let warned = post(&ada, "lottery").await;
    assert_eq!(warned["moderationStatus"], Value::Null);
    let told = ada.get("/app-notifications").await.expect(200);
    let told: Vec<_> =
        told["data"].as_array().unwrap().iter().map(|one| &one["metadata"]["moderation"]).collect();
    assert_eq!(told.len(), 2);
    for one in told {
        assert_eq!((&one["isAutomated"], &one["grounds"]), (&json!(true), &json!("rule")));
    }
    assert_eq!(app.rows("moderation_decisions").await, 2);
}

/// Whether a new post comes into the queue.
async fn is_flagged(app: &TestApp, user: &User<'_>, title: &str) -> bool {
    let before = queued(app).await.len();
    app.advance(Duration::from_secs(1));
    let new = json!({ "title": title, "userId": user.id });
    app.service().post("/entities", new).await.expect(201);
    queued(app).await.len() > before
}

async fn conditions_about_the_author_and_the_past(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let flag = |condition| rule(condition, RuleAction::Flag);
    add(&app, flag(Condition::FirstPost)).await;
    assert!(is_flagged(&app, &ada, "first").await);
    assert!(!is_flagged(&app, &ada, "second").await);
    remove_all(&app).await;
    add(&app, flag(Condition::Duplicate { minutes: 60 })).await;
    assert!(!is_flagged(&app, &ada, "The same text").await);
    assert!(is_flagged(&app, &bob, "the  SAME text").await);
    assert!(!is_flagged(&app, &bob, "another text").await);
    app.advance(Duration::from_secs(3_600));
    assert!(!is_flagged(&app, &bob, "the same text").await);
    remove_all(&app).await;
    add(&app, flag(Condition::Rate { posts: 2, minutes: 10 })).await;
    app.advance(Duration::from_secs(600));
    assert!(!is_flagged(&app, &ada, "a").await);
    assert!(!is_flagged(&app, &ada, "b").await);
    assert!(is_flagged(&app, &ada, "c").await);
    assert!(!is_flagged(&app, &bob, "d").await);
    app.advance(Duration::from_secs(600));
    assert!(!is_flagged(&app, &ada, "e").await);
    remove_all(&app).await;
    add(&app, flag(Condition::NewAccount { hours: 2 })).await;
    assert!(is_flagged(&app, &ada, "f").await);
    app.advance(Duration::from_secs(2 * 3_600));
    assert!(!is_flagged(&app, &ada, "g").await);
    remove_all(&app).await;
    let domains = vec!["bad.example".to_owned()];
    add(&app, flag(Condition::Links { mode: LinkMode::Deny, domains })).await;
    assert!(is_flagged(&app, &ada, "see https://bad.example/x").await);
    assert!(!is_flagged(&app, &ada, "see https://good.example/x").await);
}

async fn the_first_rule_that_is_on_decides(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let first =
        add(&app, NewRule { state: RuleState::Off, ..rule(words("x"), RuleAction::Remove) }).await;
    let second = add(&app, rule(words("x"), RuleAction::Flag)).await;
    let third = add(
        &app,
        NewRule { targets: vec![TargetType::Comment], ..rule(words("x"), RuleAction::Hold) },
    )
    .await;
    let seen = post(&ada, "x").await;
    bob.get(&entity(&seen)).await.expect(200);
    let of = project(&app).await;
    let ordered = rules::reorder(&app.app, &of, &[third.id, RuleId(UNKNOWN)]).await.unwrap();
    let ids: Vec<_> = ordered.iter().map(|rule| rule.id).collect();
    assert_eq!(ids, [third.id, first.id, second.id]);
    app.advance(Duration::from_secs(1));
    app.app.projects.forget_all();
    let said = comment(&ada, &entity(&seen), "x").await;
    assert_eq!(said["moderationStatus"], "held");
    // Another project has its own rules.
    let stranger = app.stranger().await;
    assert_eq!(post(&stranger, "x").await["moderationStatus"], Value::Null);
    assert_eq!(app.rows_of(app.other.id, "reports").await, 0);
}

async fn a_rule_in_shadow_only_notes(app: TestApp) {
    let ada = app.user().await;
    let shadow = NewRule { state: RuleState::Shadow, ..rule(words("casino"), RuleAction::Remove) };
    let shadow = add(&app, shadow).await;
    let seen = post(&ada, "casino").await;
    post(&ada, "harmless").await;
    assert_eq!(seen["moderationStatus"], Value::Null);
    assert!(queued(&app).await.is_empty());
    let (project, rule) = (app.project.id, shadow.id);
    let hits = app.app.db.read(move |c| rules::shadow_hits(c, project, rule, 10));
    let (hits, count) = hits.await.unwrap();
    assert_eq!((hits.len(), count), (1, 1));
    assert_eq!(hits[0].target_id.to_string(), seen["id"].as_str().unwrap());
    // What is old is swept.
    let now = app.now().plus(Duration::from_secs(31 * 24 * 3600));
    let swept = app.app.db.write(move |tx| rules::store::sweep(tx, now, 100)).await.unwrap();
    assert!(swept >= 1);
    assert_eq!(app.rows("moderation_rule_hits").await, 0);
}

async fn a_back_test_counts_what_would_have_matched(app: TestApp) {
    let ada = app.user().await;
    post(&ada, "casino long ago").await;
    app.advance(Duration::from_secs(31 * 24 * 3600));
    let ada = ada.sign_in_again().await;
    for number in 0..30 {
        app.advance(Duration::from_secs(1));
        post(&ada, if number % 3 == 0 { "the casino" } else { "harmless" }).await;
    }
    let (of, now) = (project(&app).await, app.now());
    let tried = rule(words("casino"), RuleAction::Remove);
    let result = rules::backtest(&app.app.db, of.id, &tried, now).await.unwrap().unwrap();
    assert_eq!((result.examined, result.matched, result.is_cut_off), (30, 10, false));
    assert_eq!(result.samples.len(), 10);
    assert_eq!(result.samples[0].matches[0].start, 4);
    let tried = rule(Condition::Duplicate { minutes: 1 }, RuleAction::Remove);
    let result = rules::backtest(&app.app.db, of.id, &tried, now).await.unwrap().unwrap();
    assert_eq!(result.matched, 28);
    let tried = rule(Condition::Rate { posts: 10, minutes: 1 }, RuleAction::Remove);
    let result = rules::backtest(&app.app.db, of.id, &tried, now).await.unwrap().unwrap();
    assert_eq!(result.matched, 20);
    let wrong = rule(Condition::Pattern { pattern: "(".to_owned() }, RuleAction::Remove);
    assert_eq!(
        rules::backtest(&app.app.db, of.id, &wrong, now).await.unwrap().unwrap_err()[0].field,
        "pattern"
    );
}

async fn rules_are_checked_ordered_and_deleted(app: TestApp) {
    let (of, now) = (project(&app).await, app.now());
    let valid = rule(words("x"), RuleAction::Flag);
    let wrong: [(&str, NewRule); 9] = [
        ("name", NewRule { name: " ".to_owned(), ..valid.clone() }),
        ("targets", NewRule { targets: vec![], ..valid.clone() }),
        ("message", NewRule { message: Some("x".repeat(1_001)), ..valid.clone() }),
        ("words", rule(Condition::Words { words: vec![] }, RuleAction::Flag)),
        ("pattern", rule(Condition::Pattern { pattern: "[".to_owned() }, RuleAction::Flag)),
        (
            "domains",
            rule(Condition::Links { mode: LinkMode::Deny, domains: vec![] }, RuleAction::Flag),
        ),
        ("hours", rule(Condition::NewAccount { hours: 0 }, RuleAction::Flag)),
        ("posts", rule(Condition::Rate { posts: 0, minutes: 1 }, RuleAction::Flag)),
        ("minutes", rule(Condition::Duplicate { minutes: 1_441 }, RuleAction::Flag)),
    ];
    for (field, rule) in &wrong {
        match rules::create(&app.app, &of, rule, now).await.unwrap() {
            Saved::Invalid(why) => assert_eq!(why[0].field, *field, "{why:?}"),
            Saved::Rule(rule) => panic!("{rule:?}"),
        }
    }
    let made = add(&app, valid.clone()).await;
    let changed = NewRule { name: "Changed".to_owned(), ..valid.clone() };
    let saved = rules::update(&app.app, &of, made.id, &changed, app.now()).await.unwrap();
    assert!(matches!(saved, Saved::Rule(rule) if rule.rule.name == "Changed"));
    assert!(rules::update(&app.app, &of, RuleId(UNKNOWN), &changed, now).await.is_err());
    assert!(rules::delete(&app.app, &of, made.id).await.unwrap());
    assert!(!rules::delete(&app.app, &of, made.id).await.unwrap());
    for _ in 0..100 {
        assert!(matches!(rules::create(&app.app, &of, &valid, now).await.unwrap(), Saved::Rule(_)));
    }
    assert!(matches!(rules::create(&app.app, &of, &valid, now).await.unwrap(), Saved::Invalid(_)));
}

async fn webhooks_hear_of_what_is_held_once_it_is_approved(app: TestApp) {
    let (app, receiver) =
        subscribed(app, &["entity.created.complete", "comment.created.complete"]).await;
    let ada = app.user().await;
    let below = publish(&ada).await;
    app.run_jobs().await;
    assert_eq!(receiver.take_names(), ["entity.created.complete"]);
    add(&app, rule(words("casino"), RuleAction::Hold)).await;
    post(&ada, "casino").await;
    comment(&ada, &below, "casino").await;
    app.run_jobs().await;
    assert_eq!(receiver.take_names(), [""; 0]);
    for item in queued(&app).await {
        decide_one(&app, Item::Report(item), Action::Approve).await;
    }
    apply(&app).await;
    app.run_jobs().await;
    let mut names = receiver.take_names();
    names.sort();
    assert_eq!(names, ["comment.created.complete", "entity.created.complete"]);
}
