//! Get and Set Webhook Config: the endpoint of a project, with its master key only.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, all_at_once, on_both_engines};

on_both_engines![
    an_endpoint_is_set_and_shown_without_its_secret,
    the_secret_stays_until_another_is_sent,
    only_the_master_key_may_look_and_change,
    bad_addresses_events_and_secrets_are_refused,
    a_private_address_is_refused,
    each_project_has_its_own,
    sixty_four_who_set_it_at_once_leave_one_whole_endpoint,
];

const PATH: &str = "/webhook-config";

async fn put(actor: &Actor<'_>, body: Value) -> Reply {
    actor.send(Method::PUT, PATH, Some(body)).await
}

async fn an_endpoint_is_set_and_shown_without_its_secret(app: TestApp) {
    let none = json!({ "url": null, "events": [], "hasSecret": false });
    assert_eq!(app.master().get(PATH).await.expect(200), none);
    let events = ["entity.created", "entity.created.complete", "notification.created"];
    let url = "https://hooks.example/townhall";
    let set = json!({ "url": url, "secret": "hush", "events": events });
    let shown = json!({ "url": url, "events": events, "hasSecret": true });
    assert_eq!(put(&app.master(), set).await.expect(200), shown);
    for actor in [app.master(), app.master().v7(), app.master().v6()] {
        assert_eq!(actor.get(PATH).await.expect(200), shown);
    }
    let fewer = json!({ "url": null, "events": ["user.updated", "user.updated"] });
    let shown = json!({ "url": null, "events": ["user.updated"], "hasSecret": true });
    assert_eq!(put(&app.master(), fewer).await.expect(200), shown);
}

async fn the_secret_stays_until_another_is_sent(app: TestApp) {
    let body = json!({ "url": "https://hooks.example/", "events": [] });
    put(&app.master(), body.clone()).await.refused(400, "webhook/invalid-body");
    let none = json!({ "url": null, "events": [], "hasSecret": false });
    assert_eq!(app.master().get(PATH).await.expect(200), none, "nothing was stored");
    let mut with = body.clone();
    with["secret"] = json!("hush");
    put(&app.master(), with).await.expect(200);
    assert_eq!(put(&app.master(), body).await.expect(200)["hasSecret"], true);
}

async fn only_the_master_key_may_look_and_change(app: TestApp) {
    let user = app.user().await;
    let body = json!({ "url": null, "events": [] });
    for actor in [&app.service(), &*user] {
        actor.get(PATH).await.refused(403, "auth/elevated-auth-required");
        put(actor, body.clone()).await.refused(403, "auth/elevated-auth-required");
    }
    app.anonymous().get(PATH).await.expect(401);
    put(&app.anonymous(), body).await.expect(401);
}

async fn bad_addresses_events_and_secrets_are_refused(app: TestApp) {
    let url = "https://hooks.example/";
    for body in [
        json!({}),
        json!({ "url": url, "secret": "s" }),
        json!({ "url": url, "secret": "s", "events": "entity.created" }),
        json!({ "url": url, "secret": "s", "events": ["entity.deleted"] }),
        json!({ "url": url, "secret": "s", "events": ["space.digest"] }),
        json!({ "url": url, "secret": "s", "events": ["notification.created.complete"] }),
        json!({ "url": url, "secret": "", "events": [] }),
        json!({ "url": url, "secret": "x".repeat(1001), "events": [] }),
        json!({ "url": url, "secret": 7, "events": [] }),
        json!({ "url": "hooks.example", "secret": "s", "events": [] }),
        json!({ "url": "ftp://hooks.example", "secret": "s", "events": [] }),
        json!({ "url": "https://u:p@hooks.example", "secret": "s", "events": [] }),
        json!({ "url": "", "secret": "s", "events": [] }),
        json!({ "url": 1, "secret": "s", "events": [] }),
    ] {
        put(&app.master(), body).await.refused(400, "webhook/invalid-body");
    }
    assert_eq!(app.master().get(PATH).await.expect(200)["hasSecret"], false);
}

async fn a_private_address_is_refused(app: TestApp) {
    for url in ["http://127.0.0.1/", "http://localhost:8080/", "http://10.0.0.1/", "http://[::1]/"]
    {
        let body = json!({ "url": url, "secret": "s", "events": [] });
        put(&app.master(), body).await.refused(400, "webhook/invalid-body");
    }
}

async fn each_project_has_its_own(app: TestApp) {
    let body =
        json!({ "url": "https://hooks.example/", "secret": "s", "events": ["user.created"] });
    put(&app.master(), body).await.expect(200);
    let other = app.bearer(&app.other.master_key).in_project(app.other.id);
    assert_eq!(other.get(PATH).await.expect(200)["url"], Value::Null);
}

async fn sixty_four_who_set_it_at_once_leave_one_whole_endpoint(app: TestApp) {
    let names = ["entity.created", "comment.created.complete", "user.updated"];
    let body = |number: usize| {
        let url = format!("https://hooks.example/{number}");
        json!({ "url": url, "secret": format!("s{number}"), "events": [names[number % 3]] })
    };
    let master = app.master();
    for round in 0..2 {
        let all = (0..64).map(|number| put(&master, body(round * 64 + number)));
        for (number, reply) in all_at_once(all).await.into_iter().enumerate() {
            let url = format!("https://hooks.example/{}", round * 64 + number);
            assert_eq!(reply.expect(200)["url"], url, "each sees its own");
        }
        let left = app.master().get(PATH).await.expect(200);
        let number = left["url"].as_str().unwrap().rsplit('/').next().unwrap();
        let number: usize = number.parse().unwrap();
        assert_eq!(number / 64, round);
        assert_eq!(left["events"], json!([names[number % 3]]), "of the same request");
        assert_eq!(app.rows("webhook_endpoints").await, 1);
        assert_eq!(app.rows("job_queues").await, 1);
    }
}
