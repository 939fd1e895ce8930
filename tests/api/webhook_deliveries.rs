//! Deliveries: retried in order with the same id, shared by all nodes, given up after a day.

use std::time::Duration;

use http::Method;
use serde_json::json;
use townhall::jobs::store as jobs;
use townhall::values::ids::QueueId;

use crate::support::receiver::{Answer, Receiver, SECRET, subscribe, subscribed};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    a_failed_delivery_is_repeated_with_the_same_id,
    later_events_wait_behind_one_that_fails,
    the_delay_doubles_up_to_an_hour,
    a_delivery_is_given_up_after_a_day_and_its_endpoint_paused,
    a_dead_endpoint_delays_no_other_project,
    two_nodes_share_the_queue,
    the_queue_of_a_killed_node_is_taken_over,
    both_secrets_sign_while_one_is_replaced,
    an_endpoint_without_an_address_drops_what_waits,
    many_deliveries_wait_without_being_read,
    what_joins_a_failing_queue_wakes_nobody,
];

const SECOND: Duration = Duration::from_secs(1);
const EVENT: &str = "entity.created.complete";

async fn posts(app: &TestApp, titles: &[&str]) {
    let service = app.service();
    for title in titles {
        service.post("/entities", json!({ "title": title })).await.expect(201);
    }
}

fn titles(hook: &Receiver) -> Vec<String> {
    let title = |one: crate::support::receiver::Received| {
        one.json["data"]["title"].as_str().unwrap().to_owned()
    };
    hook.take().into_iter().map(title).collect()
}

async fn a_failed_delivery_is_repeated_with_the_same_id(app: TestApp) {
    let (app, hook) = subscribed(app, &[EVENT]).await;
    hook.reply_next([Answer::Status(500), Answer::Nothing, Answer::Status(302)]);
    posts(&app, &["T"]).await;
    app.run_jobs().await;
    app.run_jobs().await;
    let first = hook.take();
    assert_eq!(first.len(), 1, "not before its time");
    let mut tries = first;
    for seconds in [2, 4, 8] {
        app.advance(seconds * SECOND);
        app.run_jobs().await;
        tries.extend(hook.take());
    }
    assert_eq!(tries.len(), 4);
    assert!(tries.iter().all(|one| one.id == tries[0].id && one.text == tries[0].text));
    assert_ne!(tries[0].timestamp, tries[1].timestamp, "each try has a time of its own");
    app.advance(3600 * SECOND);
    assert_eq!((app.run_jobs().await, hook.take().len()), (0, 0));
    let project = app.project.id;
    let listed = app.app.db.read(move |c| jobs::list(c, Some(project), false, 10)).await.unwrap();
    assert_eq!((listed.len(), listed[0].attempts, &listed[0].last_error), (1, 4, &None));
    assert!(listed[0].ended_at.is_some() && !listed[0].has_failed);
}

async fn later_events_wait_behind_one_that_fails(app: TestApp) {
    let (app, hook) = subscribed(app, &[EVENT]).await;
    hook.reply_next([Answer::Status(503)]);
    posts(&app, &["a", "b"]).await;
    app.run_jobs().await;
    posts(&app, &["c"]).await;
    app.run_jobs().await;
    assert_eq!(titles(&hook), ["a"]);
    app.advance(5 * SECOND);
    app.run_jobs().await;
    assert_eq!(titles(&hook), ["a", "b", "c"]);
}

async fn the_delay_doubles_up_to_an_hour(app: TestApp) {
    let (app, hook) = subscribed(app, &[EVENT]).await;
    hook.reply(Answer::Status(500));
    posts(&app, &["T"]).await;
    app.run_jobs().await;
    hook.take();
    for failures in 0..13 {
        let whole = (2 * SECOND * 2_u32.pow(failures)).min(3600 * SECOND);
        app.advance(whole * 4 / 5 - SECOND / 10);
        app.run_jobs().await;
        assert_eq!(hook.take().len(), 0, "too early after {failures} more failures");
        app.advance(whole / 5 + SECOND / 10);
        app.run_jobs().await;
        assert_eq!(hook.take().len(), 1, "late after {failures} more failures");
    }
}

async fn a_delivery_is_given_up_after_a_day_and_its_endpoint_paused(app: TestApp) {
    let app = app.restart_with(|config| {
        config.set("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32");
        config.set("TOWNHALL_OPERATOR_EMAIL", "operator@example.com");
    });
    let (app, hook) = (app.await, Receiver::start().await);
    subscribe(&app.master(), &hook, &[EVENT]).await;
    hook.reply(Answer::Status(500));
    posts(&app, &["old"]).await;
    app.run_jobs().await;
    app.advance(23 * 3600 * SECOND);
    app.run_jobs().await;
    posts(&app, &["young"]).await;
    app.advance(3600 * SECOND);
    app.run_jobs().await;
    assert_eq!(titles(&hook), ["old", "old", "old"]);
    let mails = app.mails();
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert!(mails[0].contains("To: operator@example.com"), "{}", mails[0]);
    let url = hook.url();
    assert!(
        mails[0].contains(&url) && mails[0].contains("townhall webhooks resume"),
        "{}",
        mails[0]
    );

    hook.reply(Answer::Valid);
    app.advance(2 * 3600 * SECOND);
    app.run_jobs().await;
    assert_eq!(titles(&hook), [""; 0], "paused");
    let project = app.project.id;
    let listed = app.app.db.read(move |c| jobs::list(c, Some(project), false, 10)).await.unwrap();
    let states: Vec<(bool, Option<String>)> =
        listed.iter().map(|job| (job.has_failed, job.last_error.clone())).collect();
    let failed = "the endpoint replied with status 500".to_owned();
    assert_eq!(states, [(false, None), (true, Some(failed))]);

    let (queue, now) = (listed[0].queue_id.unwrap(), app.now());
    app.app.db.write(move |tx| jobs::queues::resume(tx, project, queue, now)).await.unwrap();
    app.run_jobs().await;
    assert_eq!(titles(&hook), ["young"]);
    let (old, now) = (listed[1].id, app.now());
    app.app.db.write(move |tx| jobs::retry(tx, project, old, now)).await.unwrap();
    app.run_jobs().await;
    assert_eq!(titles(&hook), ["old"]);
}

async fn a_dead_endpoint_delays_no_other_project(app: TestApp) {
    let (app, dead) = subscribed(app, &[EVENT]).await;
    dead.reply(Answer::Status(500));
    let hook = Receiver::start().await;
    let other = app.bearer(&app.other.master_key).in_project(app.other.id);
    subscribe(&other, &hook, &[EVENT]).await;
    for n in 0..20 {
        posts(&app, &[&n.to_string()]).await;
    }
    app.run_jobs().await;
    other.post("/entities", json!({ "title": "T" })).await.expect(201);
    app.run_jobs().await;
    assert_eq!((titles(&hook), dead.take().len()), (vec!["T".to_owned()], 1));
}

async fn two_nodes_share_the_queue(app: TestApp) {
    let (app, hook) = subscribed(app, &[EVENT]).await;
    if app.engine() == db::Engine::Sqlite {
        return;
    }
    let node = app.second_node().await;
    let names: Vec<String> = (0..40).map(|n| format!("{n:02}")).collect();
    for some in names.chunks(4) {
        for name in some {
            posts(&app, &[name]).await;
        }
        tokio::join!(app.run_jobs(), node.run_jobs());
    }
    // A node that found the queue claimed has left the rest to the other.
    app.run_jobs().await;
    assert_eq!(titles(&hook), names);
}

async fn the_queue_of_a_killed_node_is_taken_over(app: TestApp) {
    let (app, hook) = subscribed(app, &[EVENT]).await;
    posts(&app, &["T"]).await;
    let (project, now) = (app.project.id, app.now());
    let due = app.app.db.read(move |c| jobs::queues::due(c, now, &[])).await.unwrap();
    let queue: QueueId = app.own(due)[0].1;
    let until = now.plus(120 * SECOND);
    let claim = app.app.db.write(move |tx| jobs::queues::claim(tx, project, queue, now, until));
    assert!(claim.await.unwrap().is_some());
    app.run_jobs().await;
    assert_eq!(titles(&hook), [""; 0], "claimed by another");
    app.advance(120 * SECOND);
    app.run_jobs().await;
    assert_eq!(titles(&hook), ["T"]);
}

async fn both_secrets_sign_while_one_is_replaced(app: TestApp) {
    let (app, hook) = subscribed(app, &[EVENT, "entity.created"]).await;
    let change = townhall::features::webhooks::admin::Change {
        secret: Some("a newer secret".to_owned()),
        keeps_previous_secret: true,
        ..Default::default()
    };
    let set = townhall::features::webhooks::admin::set_first;
    set(&app.app, app.project.id, change, app.now()).await.unwrap();
    for secret in [SECRET, "a newer secret"] {
        hook.use_secret(secret);
        posts(&app, &["T"]).await;
        app.run_jobs().await;
        let sent = hook.take();
        assert_eq!(sent.len(), 2, "its reply with {secret} was believed");
        assert!(sent.iter().all(|one| one.has_previous_signature));
    }
    let body = json!({ "url": hook.url(), "secret": "the newest", "events": [EVENT] });
    app.master().send(Method::PUT, "/webhook-config", Some(body)).await.expect(200);
    hook.use_secret("the newest");
    posts(&app, &["T"]).await;
    app.run_jobs().await;
    assert!(!hook.take()[0].has_previous_signature);
}

async fn an_endpoint_without_an_address_drops_what_waits(app: TestApp) {
    let (app, hook) = subscribed(app, &[EVENT]).await;
    posts(&app, &["T"]).await;
    let body = json!({ "url": null, "events": [EVENT] });
    app.master().send(Method::PUT, "/webhook-config", Some(body)).await.expect(200);
    posts(&app, &["U"]).await;
    assert_eq!(app.run_jobs().await, 1);
    assert_eq!(hook.take().len(), 0);
}

/// The statements that look for work read one row of each queue, however many wait.
async fn many_deliveries_wait_without_being_read(app: TestApp) {
    let (app, hook) = subscribed(app, &[EVENT]).await;
    hook.reply(Answer::Status(500));
    let names: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    for name in &names {
        posts(&app, &[name]).await;
    }
    app.run_jobs().await;
    assert_eq!(hook.take().len(), 1);
    assert_eq!(app.rows("jobs").await, 30);
    hook.reply(Answer::Valid);
    app.advance(5 * SECOND);
    assert_eq!(app.run_jobs().await, 30);
    assert_eq!(titles(&hook), names);
}

/// The worker does not try to claim a queue for each event that waits for the next attempt.
async fn what_joins_a_failing_queue_wakes_nobody(app: TestApp) {
    let (app, hook) = subscribed(app.own_server().await, &[EVENT]).await;
    hook.reply(Answer::Status(500));
    posts(&app, &["first"]).await;
    app.run_jobs().await;
    assert_eq!(hook.take().len(), 1);
    let worker = tokio::spawn(townhall::jobs::work(app.app.clone()));
    let seen = app.statements.during(async {
        for _ in 0..20 {
            posts(&app, &["T"]).await;
        }
    });
    let seen = seen.await;
    let claims = seen.iter().filter(|(name, _)| name.ends_with("jobs::store::queues::CLAIM"));
    let claims = claims.count();
    assert!(claims <= 1, "{claims} claims for 20 posts");
    worker.abort();
}
