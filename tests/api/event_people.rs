//! Who hosts an event, who is invited, who answers; and all of them at once.

use std::time::Duration;

use serde_json::{Value, json};

use crate::events::{answer, create, delete_with, no_count_has_drifted, notified, path};
use crate::notifications::{UNKNOWN, counts_are_exact};
use crate::support::{TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    an_answer_replaces_the_one_before,
    answers_are_refused_in_order,
    a_key_answers_for_a_user,
    the_guest_list_is_paged_and_filtered,
    the_guest_list_may_be_hidden,
    hosts_come_and_go_but_one_stays,
    invites_are_sent_once_and_taken_back,
    a_full_event_takes_nobody_more_under_any_concurrency,
    answers_of_many_at_once_are_counted,
    of_two_hosts_who_remove_each_other_one_stays,
    guests_and_their_accounts_go_at_once,
];

const CROWD: usize = 64;

async fn some<'a>(app: &'a TestApp, count: usize) -> Vec<User<'a>> {
    let mut users = Vec::new();
    for _ in 0..count {
        users.push(app.user().await);
    }
    users
}

async fn an_answer_replaces_the_one_before(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = create(&app, &ada, json!({})).await;
    for (status, expected) in [
        ("going", json!({ "going": 1, "maybe": 0, "not_going": 0 })),
        ("going", json!({ "going": 1, "maybe": 0, "not_going": 0 })),
        ("maybe", json!({ "going": 0, "maybe": 1, "not_going": 0 })),
        ("not_going", json!({ "going": 0, "maybe": 0, "not_going": 1 })),
    ] {
        app.advance(Duration::from_secs(1));
        let answered = answer(&bob, &event, status).await.expect(200);
        assert_eq!((&answered["userRsvp"], &answered["rsvpCounts"]), (&json!(status), &expected));
        assert_eq!(answered["updatedAt"], event["updatedAt"]);
    }
    assert_eq!(app.rows("event_rsvps").await, 1);
    for _ in 0..2 {
        let withdrawn = bob.delete(&path(&event, "/rsvp")).await.expect(200);
        assert_eq!(withdrawn["userRsvp"], Value::Null);
        assert_eq!(withdrawn["rsvpCounts"], json!({ "going": 0, "maybe": 0, "not_going": 0 }));
    }
    let mine = bob.get(&path(&event, "?include=userRsvp")).await.expect(200);
    assert_eq!(mine["userRsvp"], Value::Null);
    assert!(bob.get(&path(&event, "")).await.expect(200).get("userRsvp").is_none());
}

async fn answers_are_refused_in_order(app: TestApp) {
    let users = some(&app, 4).await;
    let [ada, bob, cleo, dan] = &users[..] else { panic!() };
    let start = app.now().plus(Duration::from_secs(600)).to_string();
    let new = json!({ "capacity": 1, "allowMaybe": false, "startTime": start });
    let event = create(&app, ada, new).await;
    for wrong in [json!({}), json!({ "status": "yes" }), json!({ "status": null })] {
        bob.post(&path(&event, "/rsvp"), wrong).await.refused(400, "event/invalid-body");
    }
    app.anonymous()
        .post(&path(&event, "/rsvp"), json!({ "status": "going" }))
        .await
        .says(401, "Unauthorized");
    let unknown = format!("/events/{UNKNOWN}/rsvp");
    bob.post(&unknown, json!({ "status": "going" })).await.refused(404, "event/not-found");
    answer(bob, &event, "maybe").await.refused(409, "event/maybe-disabled");
    answer(bob, &event, "going").await.expect(200);
    answer(cleo, &event, "going").await.refused(409, "event/full");
    answer(cleo, &event, "not_going").await.expect(200);
    // Who goes already has a place.
    answer(bob, &event, "going").await.expect(200);
    answer(bob, &event, "not_going").await.expect(200);
    answer(cleo, &event, "going").await.expect(200);
    app.advance(Duration::from_secs(600));
    answer(dan, &event, "maybe").await.refused(409, "event/rsvp-closed");
    answer(dan, &event, "going").await.refused(409, "event/rsvp-closed");
    // Allowed although it has started.
    cleo.delete(&path(&event, "/rsvp")).await.expect(200);
    ada.post(&path(&event, "/cancel"), json!({})).await.expect(200);
    answer(dan, &event, "maybe").await.refused(409, "event/cancelled");
}

async fn a_key_answers_for_a_user(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = create(&app, &ada, json!({})).await;
    let rsvp = path(&event, "/rsvp");
    let key = app.service();
    key.post(&rsvp, json!({ "status": "going" })).await.refused(400, "event/missing-user-id");
    let unknown = json!({ "status": "going", "userId": UNKNOWN });
    key.post(&rsvp, unknown).await.refused(404, "user/not-found");
    let answered =
        key.post(&rsvp, json!({ "status": "going", "userId": bob.id })).await.expect(200);
    assert_eq!(answered["userRsvp"], "going");
    let mine = bob.get("/events?myRsvp=going,maybe").await.expect(200);
    assert_eq!(mine["data"][0]["id"], event["id"]);
    delete_with(&key, &rsvp, json!({ "userId": bob.id })).await.expect(200);
    assert_eq!(app.rows("event_rsvps").await, 0);
}

async fn the_guest_list_is_paged_and_filtered(app: TestApp) {
    let users = some(&app, 5).await;
    let event = create(&app, &users[0], json!({})).await;
    for (user, status) in users.iter().zip(["going", "maybe", "going", "not_going", "maybe"]) {
        app.advance(Duration::from_secs(1));
        answer(user, &event, status).await.expect(200);
    }
    let list = |query: &'static str| {
        let (app, event) = (&app, &event);
        async move { app.anonymous().get(&path(event, &format!("/rsvps{query}"))).await }
    };
    let ids = |page: &Value| -> Vec<String> {
        let all = page["data"].as_array().unwrap().iter();
        all.map(|one| one["userId"].as_str().unwrap().to_owned()).collect()
    };
    let named = |all: &[usize]| -> Vec<String> {
        all.iter().map(|place| users[*place].id.to_string()).collect()
    };
    let all = list("").await.expect(200);
    assert_eq!(ids(&all), named(&[4, 3, 2, 1, 0]));
    assert_eq!(all["data"][0]["user"]["id"], json!(users[4].id));
    assert_eq!(all["data"][0]["eventId"], event["id"]);
    assert_eq!(ids(&list("?status=going").await.expect(200)), named(&[2, 0]));
    let some = list("?status=going,%20maybe&limit=2&page=2").await.expect(200);
    assert_eq!(ids(&some), named(&[1, 0]));
    let expected = json!({
        "page": 2, "pageSize": 2, "totalPages": 2, "totalItems": 4, "hasMore": false,
    });
    assert_eq!(some["pagination"], expected);
    for wrong in ["?status=yes", "?status=", "?page=0", "?limit=x"] {
        list(wrong).await.refused(400, "event/invalid-query");
    }
    assert_eq!(list("?limit=1000").await.expect(200)["pagination"]["pageSize"], 100);
}

async fn the_guest_list_may_be_hidden(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = create(&app, &ada, json!({ "guestListVisible": false })).await;
    answer(&bob, &event, "going").await.expect(200);
    for caller in [&app.anonymous(), &*bob] {
        caller.get(&path(&event, "/rsvps")).await.refused(403, "event/guest-list-hidden");
    }
    for caller in [&*ada, &app.service()] {
        let list = caller.get(&path(&event, "/rsvps")).await.expect(200);
        assert_eq!(list["pagination"]["totalItems"], 1);
    }
}

async fn hosts_come_and_go_but_one_stays(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let event = create(&app, &ada, json!({})).await;
    let hosts = path(&event, "/hosts");
    let add = |user: Value| {
        let (ada, hosts) = (ada.clone(), hosts.clone());
        async move { ada.post(&hosts, json!({ "userId": user })).await }
    };
    for _ in 0..2 {
        assert_eq!(add(json!(bob.id)).await.expect(200)["hostIds"], json!([ada.id, bob.id]));
    }
    add(json!(UNKNOWN)).await.refused(404, "event/user-not-found");
    let stranger = app.stranger().await;
    add(json!(stranger.id)).await.refused(404, "event/user-not-found");
    // A host may remove the one who created it, and whoever is none is no loss.
    let left = delete_with(&bob, &hosts, json!({ "userId": ada.id })).await.expect(200);
    assert_eq!((&left["hostIds"], &left["userId"]), (&json!([bob.id]), &json!(ada.id)));
    delete_with(&bob, &hosts, json!({ "userId": cleo.id })).await.expect(200);
    delete_with(&bob, &hosts, json!({ "userId": bob.id })).await.refused(409, "event/last-host");
    add(json!(cleo.id)).await.refused(403, "event/forbidden");
    let key = app.service();
    delete_with(&key, &hosts, json!({ "userId": bob.id })).await.refused(409, "event/last-host");
    let as_nobody = json!({ "userId": cleo.id, "actingUserId": UNKNOWN });
    key.post(&hosts, as_nobody).await.refused(404, "user/not-found");
    key.post(&hosts, json!({ "userId": cleo.id, "actingUserId": ada.id })).await.expect(200);
}

async fn invites_are_sent_once_and_taken_back(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let event = create(&app, &ada, json!({ "visibility": "invite" })).await;
    let invites = path(&event, "/invites");
    for _ in 0..2 {
        ada.post(&invites, json!({ "userId": bob.id })).await.expect(200);
        assert_eq!(notified(&bob).await, ["event-invite"]);
    }
    ada.post(&invites, json!({ "userId": UNKNOWN })).await.refused(404, "event/user-not-found");
    app.advance(Duration::from_secs(1));
    ada.post(&invites, json!({ "userId": cleo.id })).await.expect(200);
    let listed = ada.get(&format!("{invites}?limit=1")).await.expect(200);
    assert_eq!(listed["data"][0]["user"]["id"], json!(cleo.id));
    assert_eq!(listed["data"][0]["invitedAt"], app.now().to_string());
    assert_eq!(listed["pagination"]["totalItems"], 2);
    answer(&bob, &event, "going").await.expect(200);
    bob.get(&invites).await.refused(403, "event/forbidden");
    for _ in 0..2 {
        let removed = delete_with(&ada, &invites, json!({ "userId": bob.id })).await.expect(200);
        assert_eq!(removed["rsvpCounts"]["going"], 0);
    }
    bob.get(&path(&event, "")).await.refused(404, "event/not-found");
    assert_eq!(notified(&bob).await, Vec::<String>::new(), "what they may not see");
    // Where there was no invite, the answer stays.
    let open = create(&app, &ada, json!({})).await;
    answer(&bob, &open, "going").await.expect(200);
    let same = delete_with(&ada, &path(&open, "/invites"), json!({ "userId": bob.id })).await;
    assert_eq!(same.expect(200)["rsvpCounts"]["going"], 1);
    counts_are_exact(&app).await;
    no_count_has_drifted(&app).await;
}

async fn a_full_event_takes_nobody_more_under_any_concurrency(app: TestApp) {
    let users = some(&app, CROWD).await;
    let event = create(&app, &users[0], json!({ "capacity": 5 })).await;
    let replies = all_at_once(users.iter().map(|user| answer(user, &event, "going"))).await;
    assert_eq!((count(&replies, 200), count(&replies, 409)), (5, CROWD - 5));
    let shown = users[0].get(&path(&event, "")).await.expect(200);
    assert_eq!(shown["rsvpCounts"]["going"], 5);
    no_count_has_drifted(&app).await;
}

async fn answers_of_many_at_once_are_counted(app: TestApp) {
    let users = some(&app, 16).await;
    let event = create(&app, &users[0], json!({})).await;
    let (users_ref, event_ref) = (&users, &event);
    let replies = all_at_once((0..CROWD).map(|number| async move {
        let (user, event) = (&users_ref[number % 16], event_ref);
        match number % 5 {
            0 => user.delete(&path(event, "/rsvp")).await,
            n => answer(user, event, ["going", "maybe", "not_going", "going"][n - 1]).await,
        }
    }));
    assert_eq!(count(&replies.await, 200), CROWD);
    let shown = users[0].get(&path(&event, "")).await.expect(200);
    let listed = users[0].get(&path(&event, "/rsvps?limit=100")).await.expect(200);
    let total: i64 = ["going", "maybe", "not_going"]
        .iter()
        .map(|status| shown["rsvpCounts"][status].as_i64().unwrap())
        .sum();
    assert_eq!(listed["data"].as_array().unwrap().len() as i64, total);
    no_count_has_drifted(&app).await;
}

async fn of_two_hosts_who_remove_each_other_one_stays(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = create(&app, &ada, json!({ "hostIds": [bob.id] })).await;
    let hosts = path(&event, "/hosts");
    let each = [(&ada, &bob), (&bob, &ada), (&ada, &ada), (&bob, &bob)];
    let hosts = &hosts;
    all_at_once(each.map(|(by, whom)| async move {
        delete_with(by, hosts, json!({ "userId": whom.id })).await
    }))
    .await;
    let shown = ada.get(&path(&event, "")).await.expect(200);
    assert_eq!(shown["hostIds"].as_array().unwrap().len(), 1);
}

async fn guests_and_their_accounts_go_at_once(app: TestApp) {
    let users = some(&app, 8).await;
    let ada = app.user().await;
    let events = [create(&app, &ada, json!({})).await, create(&app, &ada, json!({})).await];
    let (app_ref, events_ref, ada_ref) = (&app, &events, &ada);
    let work = users.iter().enumerate().flat_map(|(n, user)| {
        (0..3).map(move |step| async move {
            let event = &events_ref[(n + step) % 2];
            match step {
                0 => answer(user, event, "going").await.status,
                1 => {
                    let named = json!({ "userId": user.id });
                    ada_ref.post(&path(event, "/invites"), named).await.status
                }
                _ => app_ref.service().delete(&format!("/users/{}", user.id)).await.status,
            }
        })
    });
    let statuses = all_at_once(work).await;
    assert!(statuses.iter().all(|status| *status < 500), "{statuses:?}");
    assert_eq!(app.rows("event_rsvps").await + app.rows("event_invites").await, 0);
    no_count_has_drifted(&app).await;
}
