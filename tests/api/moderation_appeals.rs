//! Appeals: who may object to which decision, what operators do about it, and what follows.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::auth::operators::Role;
use townhall::error::Error;
use townhall::features::moderation::appeals::{self, APPEAL_WITHIN, OpenAppeals};
use townhall::features::moderation::decisions::{
    Action, DecisionState, Item, Refused, Suspend, decide, undo,
};
use townhall::features::moderation::people;
use townhall::features::moderation::queue;
use townhall::features::moderation::rules::RuleAction;
use townhall::features::moderation::target::{Target, TargetKind};
use townhall::values::ids::{AppealId, DecisionId, OperatorId};
use uuid::Uuid;

use crate::comments::{UNKNOWN, comment, id_of, read};
use crate::moderation_decisions::{
    apply, decide_one, decided, moderator, project, queued, reported, state,
};
use crate::moderation_rules::{add, rule, words};
use crate::reactions::publish;
use crate::support::chat::{direct, messages, send, texts};
use crate::support::visitor::Visitor;
use crate::support::{TestApp, User, all_at_once, on_both_engines};

on_both_engines![
    a_removed_post_comes_back_after_an_appeal,
    an_appeal_that_is_rejected_changes_nothing_else,
    only_the_author_of_a_decision_against_them_may_appeal,
    of_many_appeals_at_once_one_is_made,
    suspended_and_blocked_users_may_appeal,
    a_decision_about_an_appeal_can_be_undone,
    comments_and_messages_come_back,
    what_a_rule_removed_comes_back,
    what_was_held_and_then_removed_comes_back,
    a_later_removal_stays,
    it_can_be_too_late,
    appeals_are_in_the_queue_of_the_admin,
    an_appeal_is_claimed_by_one_operator,
    more_appeals_than_a_page_are_found_page_by_page,
    own_decisions_come_behind_those_of_others_on_all_pages,
    an_author_who_is_deleted_takes_the_appeal_along,
];

const APPEALS: &str = "/moderation/appeals";

fn against(decision: DecisionId) -> Value {
    json!({ "decisionId": decision, "text": "I meant no harm" })
}

/// The author's appeal against a decision.
async fn appeal(author: &User<'_>, decision: DecisionId) -> Item {
    let made = author.post(APPEALS, against(decision)).await.expect(201);
    Item::Appeal(AppealId(made["id"].as_str().unwrap().parse().unwrap()))
}

async fn open(app: &TestApp, operator: u128) -> OpenAppeals {
    let (project, now) = (app.project.id, app.now());
    let operator = Some(OperatorId(Uuid::from_u128(operator)));
    app.app.db.read(move |c| appeals::open(c, project, operator, None, 100, now)).await.unwrap()
}

async fn an_appeal_is_claimed_by_one_operator(app: TestApp) {
    let ada = app.user().await;
    let (_, decision) = removed(&app, &ada).await;
    let item = appeal(&ada, decision).await;
    let of = &project(&app).await;
    let (eve, mo) =
        ((OperatorId(Uuid::from_u128(2)), "Eve"), (OperatorId(Uuid::from_u128(3)), "Mo"));
    queue::claim(&app.app, of, item, eve, app.now()).await.unwrap();
    assert_eq!(open(&app, 1).await.items[0].claim.as_ref().unwrap().name, "Eve");
    let refused = queue::claim(&app.app, of, item, mo, app.now()).await.unwrap_err();
    let Error::Refused(refusal) = refused else { panic!("{refused}") };
    assert_eq!((refusal.fault.code, &refusal.extra["by"]), ("moderation/claimed", &json!("Eve")));
    // The one who decides here is another.
    let outcome = decided(&app, &[item], Action::Approve).await;
    assert_eq!(outcome.refused[0].why, Refused::Claimed { by: "Eve".to_owned() });
    assert!(queue::release(&app.app, of, item, eve.0).await.unwrap());
    assert!(!queue::release(&app.app, of, item, eve.0).await.unwrap());
    queue::claim(&app.app, of, item, mo, app.now()).await.unwrap();
    app.advance(queue::CLAIM_FOR);
    assert!(open(&app, 1).await.items[0].claim.is_none(), "a claim ends by itself");
    let decision = decide_one(&app, item, Action::Approve).await;
    let late = queue::claim(&app.app, of, item, mo, app.now()).await.unwrap_err();
    let Error::Refused(refusal) = late else { panic!("{late}") };
    assert_eq!(refusal.fault.code, "moderation/item-not-found");
    undo(&app.app, of, &[decision.id]).await.unwrap();
    assert!(open(&app, 1).await.items[0].claim.is_none());
}

async fn more_appeals_than_a_page_are_found_page_by_page(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let waiting = reported(&app, &bob, &publish(&ada).await).await;
    let Item::Report(waiting) = waiting else { panic!("{waiting:?}") };
    let mut made = Vec::new();
    for _ in 0..22 {
        let (_, decision) = removed(&app, &ada).await;
        let Item::Appeal(id) = appeal(&ada, decision).await else { panic!() };
        made.push(format!("appeal:{id}"));
    }
    let moderator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    let path = format!("/admin/p/{}/queue", app.project.id);
    let items = |page: &str| -> Vec<String> {
        let parts = page.split("data-item=\"").skip(1);
        parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
    };
    let next = |page: &str| {
        let (_, rest) = page.split_once("id=\"next\" rel=\"next\" href=\"")?;
        Some(rest.split('"').next().unwrap().replace("&amp;", "&"))
    };
    // Appeals alone, and before everything else.
    for (first, behind) in [("?kind=appeal", vec![]), ("", vec![waiting.to_string()])] {
        let page = moderator.get(&format!("{path}{first}")).await.text();
        assert_eq!(items(&page), made[..20], "{first}");
        assert!(page.contains("22 appeals"), "{page}");
        let more = next(&page).unwrap_or_else(|| panic!("{page}"));
        let page = moderator.get(&format!("{path}{more}")).await.text();
        assert_eq!(items(&page), [&made[20..], &behind[..]].concat(), "{more}");
        assert_eq!(next(&page), None);
    }
}

async fn own_decisions_come_behind_those_of_others_on_all_pages(app: TestApp) {
    let ada = app.user().await;
    let mut made = Vec::new();
    for number in [1, 1, 1, 2, 1, 3] {
        let entity = publish(&ada).await;
        let id = id_of(&entity).parse().unwrap();
        let item = [Item::Target(Target { kind: TargetKind::Entity, id })];
        let (of, by) = (project(&app).await, moderator(number));
        let decided = decide(&app.app, &of, &by, &item, Action::Remove, None, app.now());
        let decision = decided.await.unwrap().decided[0].id;
        apply(&app).await;
        let Item::Appeal(id) = appeal(&ada, decision).await else { panic!() };
        made.push(id);
    }
    let seen = async |operator: Option<u128>| {
        let operator = operator.map(|number| OperatorId(Uuid::from_u128(number)));
        let (project, now) = (app.project.id, app.now());
        let (mut seen, mut own, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let page = app.app.db.read(move |c| {
                // As a page names it in its address.
                let after = after.map(|after: appeals::AppealCursor| after.to_string());
                let after = after.map(|after| after.parse().unwrap());
                appeals::open(c, project, operator, after, 2, now)
            });
            let page = page.await.unwrap();
            assert_eq!(page.total, 6);
            for item in page.items {
                let place = made.iter().position(|id| *id == item.id).unwrap();
                seen.push(place);
                own.extend(item.is_own.then_some(place));
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return (seen, own),
            }
        }
    };
    assert_eq!(seen(Some(1)).await, (vec![3, 5, 0, 1, 2, 4], vec![0, 1, 2, 4]));
    assert_eq!(seen(Some(2)).await, (vec![0, 1, 2, 4, 5, 3], vec![3]));
    assert_eq!(seen(Some(9)).await, (vec![0, 1, 2, 3, 4, 5], vec![]));
    assert_eq!(seen(None).await, (vec![0, 1, 2, 3, 4, 5], vec![]));
}

/// A post of the author that a moderator has removed.
async fn removed(app: &TestApp, author: &User<'_>) -> (String, DecisionId) {
    let entity = publish(author).await;
    let reporter = app.user().await;
    let item = reported(app, &reporter, &entity).await;
    let decision = decide_one(app, item, Action::Remove).await;
    apply(app).await;
    (entity, decision.id)
}

async fn status_of(app: &TestApp, entity: &str) -> Value {
    app.service().get(entity).await.expect(200)["moderationStatus"].clone()
}

pub async fn strikes(app: &TestApp, user: &User<'_>) -> i64 {
    let (project, id, now) = (app.project.id, user.id, app.now());
    let record = app.app.db.read(move |c| people::record(c, project, id, now)).await.unwrap();
    record.unwrap().strikes
}

async fn last_notice(user: &User<'_>) -> Value {
    user.get("/app-notifications").await.expect(200)["data"][0]["metadata"].clone()
}

async fn a_removed_post_comes_back_after_an_appeal(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (entity, decision) = removed(&app, &ada).await;
    // The statement of reasons names the way.
    let told = &last_notice(&ada).await["moderation"];
    assert_eq!(told["decisionId"], json!(decision));
    assert_eq!(told["statement"]["redress"]["appeal"]["path"], APPEALS);
    let made = ada.post(APPEALS, against(decision)).await.expect(201);
    assert_eq!(
        (&made["status"], &made["decisionId"], &made["text"]),
        (&json!("open"), &json!(decision), &json!("I meant no harm"))
    );
    let first = &made["decision"];
    assert_eq!((&first["action"], &first["targetId"]), (&json!("remove"), &json!(id_of(&entity))));
    assert_eq!(first["reason"], "Because");

    let waiting = open(&app, 2).await;
    assert_eq!((waiting.items.len(), waiting.total), (1, 1));
    let item = &waiting.items[0];
    assert_eq!((item.decision.id, &*item.text), (decision, "I meant no harm"));
    assert!(!item.is_own && item.content.is_some());
    assert_eq!(item.author.as_ref().unwrap().user, ada.id);
    assert!(open(&app, 1).await.items[0].is_own, "the one who decided sees it, too");
    assert_eq!(strikes(&app, &ada).await, 1);

    app.advance(Duration::from_secs(1));
    let outcome = decide_one(&app, Item::Appeal(item.id), Action::Approve).await;
    assert!(open(&app, 2).await.items.is_empty(), "it leaves the queue at once");
    assert_eq!(status_of(&app, &entity).await, "removed");
    apply(&app).await;
    assert_eq!(status_of(&app, &entity).await, "approved");
    bob.get(&entity).await.expect(200);
    assert_eq!(bob.get("/entities").await.expect(200)["pagination"]["totalItems"], 1);
    assert_eq!(state(&app, decision).await.0, DecisionState::Reversed);
    assert_eq!(state(&app, outcome.id).await.0, DecisionState::Applied);
    assert_eq!(strikes(&app, &ada).await, 0);
    let told = last_notice(&ada).await;
    assert_eq!(
        (&told["title"], &told["content"]),
        (&json!("Your appeal was successful"), &json!("Because"))
    );
    assert_eq!(told["moderation"]["action"], "reverse");
    let listed = ada.get(APPEALS).await.expect(200);
    assert_eq!(listed["pagination"]["totalItems"], 1);
    let listed = &listed["data"][0];
    assert_eq!((&listed["status"], &listed["answer"]), (&json!("reversed"), &json!("Because")));
    assert!(listed["decidedAt"].is_string());
}

async fn an_appeal_that_is_rejected_changes_nothing_else(app: TestApp) {
    let ada = app.user().await;
    let (entity, decision) = removed(&app, &ada).await;
    let item = appeal(&ada, decision).await;
    decide_one(&app, item, Action::Remove).await;
    apply(&app).await;
    assert_eq!(status_of(&app, &entity).await, "removed");
    assert_eq!(state(&app, decision).await.0, DecisionState::Applied);
    assert_eq!(strikes(&app, &ada).await, 1);
    assert_eq!(last_notice(&ada).await["title"], "Your appeal was rejected");
    assert_eq!(ada.get(APPEALS).await.expect(200)["data"][0]["status"], "upheld");
    // Once is enough.
    ada.post(APPEALS, against(decision)).await.refused(409, "moderation/already-appealed");
    let again = decided(&app, &[item], Action::Approve).await;
    assert_eq!(again.refused[0].why, Refused::AlreadyDecided);
}

async fn only_the_author_of_a_decision_against_them_may_appeal(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (_, decision) = removed(&app, &ada).await;
    let unknown = ada.post(APPEALS, against(DecisionId(UNKNOWN))).await;
    unknown.refused(404, "moderation/decision-not-found");
    let same = |reply: crate::support::Reply| {
        assert_eq!((reply.status, &reply.body), (unknown.status, &unknown.body));
    };
    same(bob.post(APPEALS, against(decision)).await);
    same(app.stranger().await.post(APPEALS, against(decision)).await);
    app.anonymous().post(APPEALS, against(decision)).await.expect(401);
    // Not while it can be undone, nor after it was, nor in favour of the author.
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let pending = decide_one(&app, item, Action::Remove).await;
    same(ada.post(APPEALS, against(pending.id)).await);
    undo(&app.app, &project(&app).await, &[pending.id]).await.unwrap();
    same(ada.post(APPEALS, against(pending.id)).await);
    let approved = decide_one(&app, Item::Report(queued(&app).await[0]), Action::Approve).await;
    apply(&app).await;
    same(ada.post(APPEALS, against(approved.id)).await);
    for text in [String::new(), "  ".to_owned(), "x".repeat(5_001)] {
        let body = json!({ "decisionId": decision, "text": text });
        ada.post(APPEALS, body).await.refused(400, "moderation/invalid-body");
    }
    // A key names the user.
    app.service().post(APPEALS, against(decision)).await.refused(400, "moderation/missing-user-id");
    let mut named = against(decision);
    named["userId"] = json!(bob.id);
    same(app.service().post(APPEALS, named.clone()).await);
    named["userId"] = json!(ada.id);
    app.service().post(APPEALS, named).await.expect(201);
    assert_eq!(bob.get(APPEALS).await.expect(200)["data"], json!([]));
    assert_eq!(ada.get(APPEALS).await.expect(200)["pagination"]["totalItems"], 1);
    // Nothing else is decided about an appeal.
    let item = Item::Appeal(open(&app, 1).await.items[0].id);
    let refused = decided(&app, &[item], Action::Warn).await.refused;
    assert_eq!(refused[0].why, Refused::NotForAppeal);
    let nobody = decided(&app, &[Item::Appeal(AppealId(UNKNOWN))], Action::Approve).await;
    assert_eq!(nobody.refused[0].why, Refused::NotFound);
}

async fn of_many_appeals_at_once_one_is_made(app: TestApp) {
    let ada = app.user().await;
    let (entity, decision) = removed(&app, &ada).await;
    let made = all_at_once((0..64).map(|_| ada.post(APPEALS, against(decision)))).await;
    let created = made.iter().filter(|reply| reply.status == 201).count();
    let refused = made.iter().filter(|reply| reply.status == 409).count();
    assert_eq!((created, refused), (1, 63));
    let waiting = open(&app, 2).await;
    assert_eq!(waiting.total, 1);
    // And of many decisions about it one counts.
    let item = [Item::Appeal(waiting.items[0].id)];
    let (of, now) = (&project(&app).await, app.now());
    let by: Vec<_> = (1..=8).map(moderator).collect();
    let decided = by.iter().map(|by| decide(&app.app, of, by, &item, Action::Approve, None, now));
    let decided = all_at_once(decided).await;
    let count: usize = decided.into_iter().map(|outcome| outcome.unwrap().decided.len()).sum();
    assert_eq!(count, 1);
    app.advance(Duration::from_secs(10));
    all_at_once((0..4).map(|_| app.run_jobs())).await;
    assert_eq!(status_of(&app, &entity).await, "approved");
}

async fn suspended_and_blocked_users_may_appeal(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    bob.post(&format!("/users/{}/block", ada.id), json!({})).await;
    let entity = publish(&ada).await;
    let user = Item::Target(Target { kind: TargetKind::User, id: ada.id.0 });
    let decision = decide_one(&app, user, Action::Suspend(Suspend::Forever)).await;
    apply(&app).await;
    ada.post("/entities", json!({ "title": "t" })).await.refused(403, "user/suspended");
    // Another suspension, which the appeal is not about.
    let shorter = decide_one(&app, user, Action::Suspend(Suspend::Day)).await;
    apply(&app).await;
    let item = appeal(&ada, decision.id).await;
    decide_one(&app, item, Action::Approve).await;
    apply(&app).await;
    ada.post("/entities", json!({ "title": "t" })).await.refused(403, "user/suspended");
    let item = appeal(&ada, shorter.id).await;
    decide_one(&app, item, Action::Approve).await;
    apply(&app).await;
    ada.post("/entities", json!({ "title": "t" })).await.expect(201);
    ada.get(&entity).await.expect(200);
}

async fn a_decision_about_an_appeal_can_be_undone(app: TestApp) {
    let ada = app.user().await;
    let (entity, decision) = removed(&app, &ada).await;
    let item = appeal(&ada, decision).await;
    let outcome = decide_one(&app, item, Action::Approve).await;
    let of = project(&app).await;
    assert_eq!(undo(&app.app, &of, &[outcome.id]).await.unwrap(), [outcome.id]);
    assert_eq!(open(&app, 2).await.total, 1);
    apply(&app).await;
    assert_eq!(status_of(&app, &entity).await, "removed");
    decide_one(&app, item, Action::Approve).await;
    apply(&app).await;
    assert_eq!(status_of(&app, &entity).await, "approved");
}

async fn comments_and_messages_come_back(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&bob).await, "Fine").await;
    let conversation = direct(&ada, &bob).await;
    let sent = send(&ada, &conversation, "Hello").await;
    send(&bob, &conversation, "Later").await;
    let target =
        |kind, id: &Value| Item::Target(Target { kind, id: id.as_str().unwrap().parse().unwrap() });
    let items =
        [target(TargetKind::Comment, &said["id"]), target(TargetKind::Message, &sent["id"])];
    let made = decided(&app, &items, Action::Remove).await.decided;
    apply(&app).await;
    assert_eq!(read(&bob, &said).await["content"], Value::Null);
    assert_eq!(texts(&messages(&bob, &conversation, "").await), ["Later"]);
    for decision in made {
        let item = appeal(&ada, decision.id).await;
        decide_one(&app, item, Action::Approve).await;
        apply(&app).await;
    }
    assert_eq!(read(&bob, &said).await["content"], "Fine");
    let back = messages(&bob, &conversation, "").await;
    let mut back = texts(&back);
    back.sort_unstable();
    assert_eq!(back, ["Hello", "Later"]);
}

async fn what_a_rule_removed_comes_back(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&bob).await;
    add(&app, rule(words("casino"), RuleAction::Remove)).await;
    let post = ada.post("/entities", json!({ "title": "casino" })).await.expect(201);
    let said = comment(&ada, &entity, "casino").await;
    let conversation = direct(&ada, &bob).await;
    send(&ada, &conversation, "casino").await;
    assert_eq!(bob.get(&entity).await.expect(200)["repliesCount"], 0);
    assert!(texts(&messages(&bob, &conversation, "").await).is_empty());
    let notices = ada.get("/app-notifications?limit=10").await.expect(200);
    let told: Vec<Value> = notices["data"].as_array().unwrap().clone();
    assert_eq!(told.len(), 3);
    for one in &told {
        let moderation = &one["metadata"]["moderation"];
        assert_eq!(
            moderation["statement"]["automation"],
            json!({ "detection": true, "decision": true })
        );
        let id = moderation["decisionId"].as_str().unwrap().parse().unwrap();
        let item = appeal(&ada, DecisionId(id)).await;
        decide_one(&app, item, Action::Approve).await;
        apply(&app).await;
    }
    bob.get(&format!("/entities/{}", post["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(read(&bob, &said).await["content"], "casino");
    assert_eq!(bob.get(&entity).await.expect(200)["repliesCount"], 1);
    assert_eq!(texts(&messages(&bob, &conversation, "").await), ["casino"]);
}

async fn what_was_held_and_then_removed_comes_back(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&bob).await;
    add(&app, rule(words("casino"), RuleAction::Hold)).await;
    let said = comment(&ada, &entity, "casino").await;
    let item = Item::Report(queued(&app).await[0]);
    let decision = decide_one(&app, item, Action::Remove).await;
    apply(&app).await;
    ada.get(&crate::comments::path(&said)).await.expect(404);
    let item = appeal(&ada, decision.id).await;
    decide_one(&app, item, Action::Approve).await;
    apply(&app).await;
    assert_eq!(read(&bob, &said).await["content"], "casino");
    assert_eq!(bob.get(&entity).await.expect(200)["repliesCount"], 1);
}

async fn a_later_removal_stays(app: TestApp) {
    let ada = app.user().await;
    let (entity, first) = removed(&app, &ada).await;
    let id = id_of(&entity).parse().unwrap();
    let target = Item::Target(Target { kind: TargetKind::Entity, id });
    app.advance(Duration::from_secs(1));
    decide_one(&app, target, Action::Approve).await;
    apply(&app).await;
    let second = decide_one(&app, target, Action::Remove).await;
    apply(&app).await;
    let item = appeal(&ada, first).await;
    decide_one(&app, item, Action::Approve).await;
    apply(&app).await;
    assert_eq!(status_of(&app, &entity).await, "removed");
    let item = appeal(&ada, second.id).await;
    decide_one(&app, item, Action::Approve).await;
    apply(&app).await;
    assert_eq!(status_of(&app, &entity).await, "approved");
}

async fn it_can_be_too_late(app: TestApp) {
    let ada = app.user().await;
    let (_, decision) = removed(&app, &ada).await;
    app.advance(APPEAL_WITHIN);
    let ada = ada.sign_in_again().await;
    ada.post(APPEALS, against(decision)).await.refused(400, "moderation/appeal-too-late");
}

async fn appeals_are_in_the_queue_of_the_admin(app: TestApp) {
    let ada = app.user().await;
    let (entity, decision) = removed(&app, &ada).await;
    let Item::Appeal(id) = appeal(&ada, decision).await else { panic!() };
    let operator = Visitor::operator(&app, Role::Moderator, Some(app.project.id)).await;
    let queue = format!("/admin/p/{}/queue", app.project.id);
    for page in [&queue, &format!("{queue}?kind=appeal")] {
        let text = operator.get(page).await.text();
        assert!(text.contains("I meant no harm") && text.contains("1 appeal"), "{page}: {text}");
        assert!(!text.contains("You made this decision"), "{page}");
    }
    let held = operator.get(&format!("{queue}?kind=held")).await.text();
    assert!(!held.contains("I meant no harm"));
    let item = format!("appeal:{id}");
    let fields = [("item", &*item), ("do", "approve"), ("reason", "You are right")];
    assert_eq!(operator.submit(&queue, &fields).await.status, 303);
    app.advance(Duration::from_secs(10));
    app.run_jobs().await;
    assert_eq!(status_of(&app, &entity).await, "approved");
    assert_eq!(last_notice(&ada).await["content"], "You are right");
    assert!(!operator.get(&queue).await.text().contains("I meant no harm"));
}

async fn an_author_who_is_deleted_takes_the_appeal_along(app: TestApp) {
    let ada = app.user().await;
    let (_, decision) = removed(&app, &ada).await;
    let item = appeal(&ada, decision).await;
    let outcome = decide_one(&app, item, Action::Approve).await;
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    apply(&app).await;
    assert_eq!(open(&app, 1).await.total, 0);
    assert_ne!(state(&app, outcome.id).await.0, DecisionState::Pending);
}
