//! One decision about everything that a filter of the queue matches: confirmed by its number, undone until it begins, stopped
//! while it runs, in batches.

use std::time::Duration;

use serde_json::json;
use townhall::audit::store::{Filter, list};
use townhall::auth::operators::Role;
use townhall::jobs;

use crate::moderation_decisions::{UNDONE_AFTER, apply, queued, reported};
use crate::moderation_queue::flood;
use crate::reports::report;
use crate::spaces::{create, id};
use crate::support::visitor::Visitor;
use crate::support::{Reply, TestApp, User, on_both_engines};

on_both_engines![
    everything_that_matches_is_decided,
    it_can_be_undone_until_it_begins,
    many_are_decided_in_batches,
    it_can_be_stopped,
    only_moderators_of_the_project_decide,
];

fn at(app: &TestApp) -> String {
    format!("/admin/p/{}/queue/all", app.project.id)
}

async fn moderator(app: &TestApp) -> Visitor<'_> {
    Visitor::operator(app, Role::Moderator, Some(app.project.id)).await
}

/// Entities of a user, each reported by another one.
async fn spam(app: &TestApp, count: usize) -> (User<'_>, User<'_>, Vec<String>) {
    let (ada, bob) = (app.user().await, app.user().await);
    let mut made = Vec::new();
    for n in 0..count {
        let entity = ada.post("/entities", json!({ "title": format!("Spam {n}") })).await;
        let path = format!("/entities/{}", entity.expect(201)["id"].as_str().unwrap());
        report(&bob, &path).await;
        made.push(path);
    }
    (ada, bob, made)
}

/// What the page has in a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let found = page.split_once(&format!("name=\"{name}\" value=\""));
    let (_, rest) = found.unwrap_or_else(|| panic!("{page}"));
    rest.split('"').next().unwrap().to_owned()
}

/// Opens the page of a filter and sends its form with this number typed.
async fn start(moderator: &Visitor<'_>, query: &str, typed: &str) -> Reply {
    let address = format!("{}?{query}", at(moderator.app));
    let page = moderator.get(&address).await.text();
    let (total, until) = (hidden(&page, "total"), hidden(&page, "until"));
    let fields = [
        ("total", &*total),
        ("until", &*until),
        ("confirm", typed),
        ("do", "remove"),
        ("reason", "Spam wave"),
    ];
    moderator.submit(&address, &fields).await
}

/// The address of the progress of one that was started.
#[track_caller]
fn started(reply: &Reply) -> String {
    assert_eq!(reply.status, 303, "{}", reply.text());
    reply.header("location").unwrap().to_owned()
}

async fn everything_that_matches_is_decided(app: TestApp) {
    let (ada, bob, made) = spam(&app, 25).await;
    let comment = json!({ "entityId": made[0].rsplit('/').next().unwrap(), "content": "Fine" });
    let comment = ada.post("/comments", comment).await.expect(201);
    let about = json!({ "targetType": "comment", "targetId": comment["id"], "reason": "spam" });
    bob.post("/reports", about).await.expect(201);
    let moderator = moderator(&app).await;
    let queue = moderator.get(&format!("/admin/p/{}/queue?target=entity", app.project.id)).await;
    assert!(queue.text().contains("Decide about all 25 of them"), "{}", queue.text());
    assert!(queue.text().contains(&format!("{}?target=entity\"", at(&app))));
    for typed in ["", "24", "yes"] {
        assert_eq!(start(&moderator, "target=entity", typed).await.status, 400, "{typed}");
    }
    let progress = started(&start(&moderator, "target=entity", "25").await);
    // What comes in later is not part of it.
    let late = ada.post("/entities", json!({ "title": "Late" })).await.expect(201);
    let late = format!("/entities/{}", late["id"].as_str().unwrap());
    reported(&app, &bob, &late).await;
    let page = moderator.get(&progress).await.text();
    assert!(page.contains("0 of 25 decided") && page.contains("It has not begun."), "{page}");
    assert_eq!(queued(&app).await.len(), 27);

    apply(&app).await;
    let page = moderator.get(&progress).await.text();
    assert!(page.contains("25 of 25 decided") && page.contains("It is done."), "{page}");
    assert_eq!(queued(&app).await.len(), 2);
    apply(&app).await;
    for entity in &made {
        let found = app.service().get(entity).await.expect(200);
        assert_eq!(
            (&found["moderationStatus"], &found["moderationReason"]),
            (&json!("removed"), &json!("Spam wave"))
        );
    }
    bob.get(&late).await.expect(200);
    let over = moderator.submit(&progress, &[]).await;
    assert_eq!(over.status, 400, "{}", over.text());
    let project = app.project.id;
    let entries = app.app.db.read(move |c| list(c, project, &Filter::default(), 10)).await.unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!((&*entries[0].action, &*entries[0].target), ("Decide All Matching", "remove"));
}

async fn it_can_be_undone_until_it_begins(app: TestApp) {
    let (_, _, made) = spam(&app, 3).await;
    let moderator = moderator(&app).await;
    // Few need no number.
    let progress = started(&start(&moderator, "", "").await);
    let page = moderator.get(&progress).await.text();
    assert!(page.contains(">Undo</button>"), "{page}");
    assert_eq!(moderator.submit(&progress, &[]).await.status, 303);
    let page = moderator.get(&progress).await.text();
    assert!(page.contains("It was undone."), "{page}");
    apply(&app).await;
    apply(&app).await;
    assert_eq!(queued(&app).await.len(), made.len());
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 0);
}

async fn many_are_decided_in_batches(app: TestApp) {
    let app = app.own_server().await;
    let ada = app.user().await;
    let space = create(&ada, json!({})).await;
    flood(&app, 450, ada.id, id(&space)).await;
    let moderator = moderator(&app).await;
    let progress = started(&start(&moderator, "", "451").await);
    app.advance(UNDONE_AFTER);
    app.run_jobs().await;
    let page = moderator.get(&progress).await.text();
    // One is claimed by somebody.
    assert!(page.contains("450 of 451 decided") && page.contains("1 left to others"), "{page}");
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 450);
    // Each batch was a transaction, with a job of its own to apply it.
    app.advance(UNDONE_AFTER);
    assert_eq!(app.run_jobs().await, 3);
    // Another run of the job decides nothing twice.
    let (project, job, now) = (app.project.id, progress.rsplit('/').next().unwrap(), app.now());
    let job = job.parse().unwrap();
    let again = app.app.db.write(move |tx| jobs::store::retry(tx, project, job, now)).await;
    assert!(again.unwrap());
    app.run_jobs().await;
    assert_eq!(app.rows_of(app.project.id, "moderation_decisions").await, 450);
}

async fn it_can_be_stopped(app: TestApp) {
    let (_, _, made) = spam(&app, 3).await;
    let moderator = moderator(&app).await;
    let progress = started(&start(&moderator, "", "").await);
    app.advance(UNDONE_AFTER + Duration::from_secs(1));
    let page = moderator.get(&progress).await.text();
    assert!(page.contains("It runs.") && page.contains(">Stop</button>"), "{page}");
    assert_eq!(moderator.submit(&progress, &[]).await.status, 303);
    app.run_jobs().await;
    assert_eq!(queued(&app).await.len(), made.len());
    assert_eq!(moderator.submit(&progress, &[]).await.status, 400);
}

async fn only_moderators_of_the_project_decide(app: TestApp) {
    spam(&app, 1).await;
    let moderator = moderator(&app).await;
    let progress = started(&start(&moderator, "", "").await);
    let analyst = Visitor::operator(&app, Role::Analyst, Some(app.project.id)).await;
    let elsewhere = Visitor::operator(&app, Role::Owner, Some(app.other.id)).await;
    for (visitor, status) in [(&analyst, 403), (&elsewhere, 404)] {
        for address in [&at(&app), &progress] {
            assert_eq!(visitor.get(address).await.status, status);
            assert_eq!(visitor.submit(address, &[("do", "remove")]).await.status, status);
        }
    }
    // Nor under the address of another project.
    let moved = progress.replace(&app.project.id.to_string(), &app.other.id.to_string());
    assert_eq!(elsewhere.get(&moved).await.status, 404);
    assert_eq!(elsewhere.submit(&moved, &[]).await.status, 404);
    let nothing = moderator.submit(&at(&app), &[("do", "remove")]).await;
    assert_eq!(nothing.status, 400);
}
