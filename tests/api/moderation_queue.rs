//! The queue of operators: what an item shows, orders, filters, pages, claims, and how it is read.

use std::time::Duration;

use serde_json::json;
use townhall::error::Error;
use townhall::features::moderation::decisions::{Action, Item};
use townhall::features::moderation::queue::{
    self, ClaimFilter, Cursor, Filter, ItemKind, Order, Page,
};
use townhall::features::moderation::reports::model::Reason;
use townhall::features::moderation::target::TargetKind;
use townhall::values::ids::{OperatorId, ReportId, RuleId, SpaceId, UserId};
use uuid::Uuid;

use crate::comments::{comment, reply};
use crate::feed_plans::{scans, sorts};
use crate::moderation_decisions::{apply, decide_one, moderator, project, queued, reported};
use crate::reactions::publish;
use crate::relation_plans::{Seen, explained};
use crate::reports::{report, reports};
use crate::spaces::{create, id};
use crate::support::chat::{direct, send};
use crate::support::{TestApp, all_at_once, on_both_engines};

on_both_engines![
    an_item_shows_what_a_moderator_needs,
    the_queue_has_three_orders_and_pages,
    the_queue_is_filtered,
    an_item_is_claimed_by_one_operator,
    a_page_takes_a_constant_number_of_statements,
    every_order_of_a_hundred_thousand_reports_is_read_off_an_index,
];

pub(crate) async fn page(app: &TestApp, filter: Filter, order: Order, limit: i64) -> Page {
    page_after(app, filter, order, None, limit).await
}

async fn page_after(
    app: &TestApp,
    filter: Filter,
    order: Order,
    after: Option<Cursor>,
    limit: i64,
) -> Page {
    let (project, now) = (app.project.id, app.now());
    let read =
        app.app.db.read_slow(move |c| queue::list(c, project, &filter, order, after, limit, now));
    read.await.unwrap()
}

async fn an_item_shows_what_a_moderator_needs(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    // Bob was right once and wrong once; Ada was warned before.
    for action in [Action::Warn, Action::Approve] {
        let entity = publish(&ada).await;
        let item = reported(&app, &bob, &entity).await;
        decide_one(&app, item, action).await;
        apply(&app).await;
    }
    let space = create(&eve, json!({ "name": "Gardens" })).await;
    let new = json!({ "title": "Roses", "content": "About roses", "spaceId": space["id"] });
    let entity = eve.post("/entities", new).await.expect(201);
    let entity = format!("/entities/{}", entity["id"].as_str().unwrap());
    let first = comment(&bob, &entity, "First").await;
    let second = reply(&eve, &first, "Second").await;
    let third = reply(&ada, &second, "Third").await;
    app.advance(Duration::from_secs(1));
    for (user, reason) in [(&bob, "spam"), (&eve, "harassment")] {
        let body = json!({
            "targetType": "comment", "targetId": third["id"], "reason": reason, "details": "See",
        });
        user.post("/reports", body).await;
    }
    let page = page(&app, Filter::default(), Order::Newest, 10).await;
    assert_eq!((page.items.len(), page.total, page.total_is_capped), (1, 1, false));
    assert!(page.next.is_none());
    let item = &page.items[0];
    assert_eq!((item.kind, item.target.kind), (ItemKind::Reported, TargetKind::Comment));
    let content = item.content.as_ref().unwrap();
    assert_eq!(content.text.as_deref(), Some("Third"));
    let thread: Vec<_> = item.thread.parents.iter().map(|one| one.text.as_deref()).collect();
    assert_eq!(thread, [Some("Second"), Some("First")]);
    assert_eq!(item.thread.entity_title.as_deref(), Some("Roses"));
    assert_eq!(item.space.as_ref().unwrap().name, "Gardens");
    assert_eq!(item.reporters.count, 2);
    assert_eq!(item.reporters.reasons, [("harassment".to_owned(), 1), ("spam".to_owned(), 1)]);
    let by = item.reporters.first.iter().map(|one| (one.user, one.handled, one.actioned));
    let by: Vec<_> = by.collect();
    assert!(by.contains(&(bob.id, 2, 1)) && by.contains(&(eve.id, 0, 0)), "{by:?}");
    assert_eq!(item.reporters.first[0].details.as_deref(), Some("See"));
    let author = item.author.as_ref().unwrap();
    assert_eq!((author.user, author.strikes, author.decisions.len()), (ada.id, 1, 2));
    assert!(!author.is_suspended);
    app.suspend(ada.id).await;
    let (project, now, report) = (app.project.id, app.now(), item.id);
    let found = app.app.db.read(move |c| queue::find(c, project, report, now)).await.unwrap();
    let author = found.unwrap().author.unwrap();
    assert!(author.is_suspended && author.suspended_until.is_none());
    // It is serialized for pages.
    assert_eq!(json!(item)["content"]["state"], "visible");
}

async fn the_queue_has_three_orders_and_pages(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let mut ids = Vec::new();
    for number in 0..7 {
        let entity = publish(&ada).await;
        reported(&app, &bob, &entity).await;
        if number % 3 == 0 {
            report(&eve, &entity).await;
        }
        ids.push(queued(&app).await[0]);
    }
    let newest: Vec<ReportId> = ids.iter().rev().copied().collect();
    let most = [6, 3, 0, 5, 4, 2, 1].map(|number: usize| ids[number]).to_vec();
    for (order, expected) in
        [(Order::Newest, newest), (Order::Oldest, ids), (Order::MostReported, most)]
    {
        for limit in [1, 3, 7, 100] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = page_after(&app, Filter::default(), order, after, limit).await;
                assert_eq!(page.total, 7);
                found.extend(page.items.iter().map(|item| item.id));
                after = page.next.map(|next| next.to_string().parse().unwrap());
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(found, expected, "{order:?} {limit}");
        }
    }
}

async fn the_queue_is_filtered(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = create(&ada, json!({})).await;
    let new = json!({ "title": "A Tulip", "content": "red", "spaceId": space["id"] });
    let entity = ada.post("/entities", new).await.expect(201);
    let said = comment(&ada, &publish(&bob).await, "a Rose").await;
    let conversation = direct(&ada, &bob).await;
    let sent = send(&ada, &conversation, "a Lily").await;
    for (kind, id, reason) in [
        ("entity", &entity["id"], "spam"),
        ("comment", &said["id"], "violence"),
        ("message", &sent["id"], "spam"),
    ] {
        let body = json!({ "targetType": kind, "targetId": id, "reason": reason });
        app.advance(Duration::from_secs(1));
        bob.post("/reports", body).await.expect(201);
    }
    let project_facts = project(&app).await;
    let by = (OperatorId(Uuid::from_u128(1)), "One");
    let claimed = queued(&app).await[0];
    queue::claim(&app.app, &project_facts, claimed, by, app.now()).await.unwrap();
    let all = Filter::default();
    let search = |text: &str| Filter { search: Some(text.to_owned()), ..Filter::default() };
    let (entity, comment, message) = ("entity", "comment", "message");
    let cases: Vec<(Filter, Vec<&str>)> = vec![
        (all.clone(), vec![message, comment, entity]),
        (Filter { targets: vec![TargetKind::Comment], ..all.clone() }, vec![comment]),
        (
            Filter { targets: vec![TargetKind::Comment, TargetKind::Entity], ..all.clone() },
            vec![comment, entity],
        ),
        (Filter { targets: vec![TargetKind::User], ..all.clone() }, vec![]),
        (Filter { reason: Some(Reason::Spam), ..all.clone() }, vec![message, entity]),
        (Filter { reason: Some(Reason::Other), ..all.clone() }, vec![]),
        (Filter { space: Some(id(&space)), ..all.clone() }, vec![entity]),
        (Filter { kinds: vec![ItemKind::Held], ..all.clone() }, vec![]),
        (Filter { kinds: vec![ItemKind::Flagged], ..all.clone() }, vec![]),
        (
            Filter { kinds: vec![ItemKind::Reported, ItemKind::Held], ..all.clone() },
            vec![message, comment, entity],
        ),
        (Filter { author: Some(ada.id), ..all.clone() }, vec![message, comment, entity]),
        (Filter { author: Some(bob.id), ..all.clone() }, vec![]),
        (Filter { rule: Some(RuleId(Uuid::from_u128(1))), ..all.clone() }, vec![]),
        (Filter { claim: Some(ClaimFilter::By(by.0)), ..all.clone() }, vec![message]),
        (Filter { claim: Some(ClaimFilter::Free), ..all.clone() }, vec![comment, entity]),
        (search("TULIP"), vec![entity]),
        (search("red"), vec![entity]),
        (search("rose"), vec![comment]),
        (search("a li"), vec![message]),
        (search("%"), vec![]),
        (search(" "), vec![message, comment, entity]),
    ];
    for (filter, expected) in cases {
        let found = page(&app, filter.clone(), Order::Newest, 10).await;
        let kinds: Vec<_> = found.items.iter().map(|item| item.target.kind.name()).collect();
        assert_eq!(kinds, expected, "{filter:?}");
        assert_eq!(found.total, i64::try_from(expected.len()).unwrap(), "{filter:?}");
    }
    app.advance(queue::CLAIM_FOR);
    let mine = Filter { claim: Some(ClaimFilter::By(by.0)), ..Filter::default() };
    assert!(page(&app, mine, Order::Newest, 10).await.items.is_empty());
    // What is handled is no longer in the queue, nor is anything of another project.
    let path = format!("/reports/{}", reports(&app, "").await[0]["id"].as_str().unwrap());
    let handled = json!({ "actions": ["dismiss"], "summary": "Fine" });
    app.service().patch(&path, handled).await.expect(200);
    assert_eq!(queued(&app).await.len(), 2);
    let (other, now) = (app.other.id, app.now());
    let elsewhere = app
        .app
        .db
        .read(move |c| queue::list(c, other, &Filter::default(), Order::Newest, None, 10, now));
    assert!(elsewhere.await.unwrap().items.is_empty());
}

async fn an_item_is_claimed_by_one_operator(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let item = reported(&app, &bob, &entity).await;
    let Item::Report(report) = item else { panic!() };
    let of = &project(&app).await;
    let claim = |number: u128, now| {
        let by = (OperatorId(Uuid::from_u128(number)), "Somebody");
        queue::claim(&app.app, of, report, by, now)
    };
    let claims = all_at_once((1..9).map(|number| claim(number, app.now()))).await;
    assert_eq!(claims.iter().filter(|claim| claim.is_ok()).count(), 1);
    let held = claims.into_iter().find_map(Result::ok).unwrap();
    assert_eq!(held.until, app.now().plus(Duration::from_secs(120)));
    let other = if held.operator.0 == Uuid::from_u128(1) { 2 } else { 1 };
    let Error::Refused(refusal) = claim(other, app.now()).await.unwrap_err() else { panic!() };
    assert_eq!((refusal.fault.code, refusal.fault.status), ("moderation/claimed", 409));
    assert_eq!(refusal.extra["by"], "Somebody");
    // Renewed by its holder; free for others two minutes later, or when it is given back.
    app.advance(Duration::from_secs(60));
    let renewed = claim(held.operator.0.as_u128(), app.now()).await.unwrap();
    assert_eq!(renewed.until, app.now().plus(Duration::from_secs(120)));
    let shown = page(&app, Filter::default(), Order::Newest, 1).await.items.remove(0);
    assert_eq!(shown.claim.unwrap(), renewed);
    assert!(queue::release(&app.app, of, report, held.operator).await.unwrap());
    assert!(!queue::release(&app.app, of, report, held.operator).await.unwrap());
    claim(other, app.now()).await.unwrap();
    app.advance(Duration::from_secs(120));
    claim(1, app.now()).await.unwrap();
    // A decision ends it.
    decide_one(&app, item, Action::Warn).await;
    let Error::Refused(refusal) = claim(1, app.now()).await.unwrap_err() else { panic!() };
    assert_eq!(refusal.fault.code, "moderation/item-not-found");
    assert_eq!(moderator(1).operator, Some(OperatorId(Uuid::from_u128(1))));
}

async fn a_page_takes_a_constant_number_of_statements(app: TestApp) {
    let app = app.own_server().await;
    let (ada, bob) = (app.user().await, app.user().await);
    let mut counts = Vec::new();
    for _ in 0..2 {
        for _ in 0..6 {
            let entity = publish(&ada).await;
            report(&bob, &entity).await;
            let said = comment(&ada, &entity, "x").await;
            let answer = reply(&ada, &said, "y").await;
            let body =
                json!({ "targetType": "comment", "targetId": answer["id"], "reason": "spam" });
            bob.post("/reports", body).await.expect(201);
        }
        let seen = app.statements.during(page(&app, Filter::default(), Order::Newest, 50)).await;
        counts.push(seen.len());
    }
    assert_eq!(counts[0], counts[1]);
    assert!(counts[0] <= 22, "{counts:?}");
}

/// So many open reports of one project, about entities that do not exist.
pub(crate) async fn flood(app: &TestApp, count: u32, author: UserId, space: SpaceId) {
    let engine = app.engine();
    let uuid = |id: Uuid| match engine {
        db::Engine::Sqlite => format!("x'{}'", id.simple()),
        db::Engine::Postgres => format!("'{id}'::uuid"),
    };
    let id = match engine {
        db::Engine::Sqlite => "unhex(printf('ffff%028x', n))",
        db::Engine::Postgres => "('ffff' || lpad(to_hex(n), 28, '0'))::uuid",
    };
    let (project, author, space) = (uuid(app.project.id.0), uuid(author.0), uuid(space.0));
    let sql = format!(
        "INSERT INTO reports (project_id, id, space_id, target_type, target_id, status, reporter_count,
            created_at, updated_at, author_id, is_held, rule_id, claimed_by, claimed_until)
         WITH RECURSIVE rows (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM rows WHERE n < {count})
         SELECT {project}, {id}, CASE WHEN n % 100 = 0 THEN {space} END,
            CASE n % 3 WHEN 0 THEN 'entity' WHEN 1 THEN 'comment' ELSE 'message' END, {id}, 'open',
            n % 5, 1000 + n, n, {author}, (n % 1000 = 0), CASE WHEN n % 1000 = 0 THEN {space} END,
            CASE WHEN n % 1000 = 0 THEN {space} END, CASE WHEN n % 1000 = 0 THEN 9999999999999 END
         FROM rows;
         ANALYZE;"
    );
    let db = app.app.db.clone();
    tokio::task::spawn_blocking(move || db.execute_script(&sql).unwrap()).await.unwrap();
}

async fn every_order_of_a_hundred_thousand_reports_is_read_off_an_index(app: TestApp) {
    let app = app.own_server().await;
    let ada = app.user().await;
    let space = create(&ada, json!({})).await;
    flood(&app, 100_000, ada.id, id(&space)).await;
    let all = Filter::default();
    let filters = [
        all.clone(),
        Filter { space: Some(id(&space)), ..all.clone() },
        Filter { targets: vec![TargetKind::Message], ..all.clone() },
        Filter { rule: Some(RuleId(id(&space).0)), ..all.clone() },
        Filter { kinds: vec![ItemKind::Held], ..all.clone() },
        Filter { claim: Some(ClaimFilter::By(OperatorId(id(&space).0))), ..all.clone() },
        Filter { reason: Some(Reason::Spam), ..all.clone() },
        Filter { search: Some("x".to_owned()), ..all },
    ];
    let (mut statements, engine) = (Seen::new(), app.engine());
    for filter in filters {
        for order in [Order::Newest, Order::Oldest, Order::MostReported] {
            let mut after = None;
            for _ in 0..2 {
                let (seen, label) =
                    (app.statements.clone(), format!("{filter:?} {order:?} {after:?}"));
                let mut next = None;
                let work =
                    async { next = page_after(&app, filter.clone(), order, after, 50).await.next };
                let seen = seen.during(work).await;
                let seen = seen.into_iter().filter(|(name, _)| name.starts_with("queue::"));
                statements.extend(seen.map(|seen| (seen, label.clone())));
                after = next;
            }
        }
    }
    assert!(statements.len() > 30, "{}", statements.len());
    for (name, text, label, plan) in explained(&app, statements).await {
        // What looks into other tables is bounded otherwise; here they are empty.
        let searches = text.contains("EXISTS");
        assert!(searches || !scans(&plan), "{label}: {name} {text}\n{}", plan.join("\n"));
        let has_filter = text.contains("EXISTS")
            || text.contains("claimed")
            || text.contains("_id = $2")
            || text.contains("is_held")
            || text.contains("target_type =");
        // The three orders of the whole queue are never sorted.
        if name == "queue::list" && !has_filter {
            assert!(!sorts(engine, &plan), "{label}: {text}\n{}", plan.join("\n"));
        }
    }
    let first = page(&app, Filter::default(), Order::MostReported, 50).await;
    assert_eq!((first.items.len(), first.total, first.total_is_capped), (50, 10_000, true));
}
