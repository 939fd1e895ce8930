//! Events: creating, fetching, changing, cancelling and deleting them, and who may.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use townhall::tenancy::{Bundle, Deletion};

use crate::blocks::block;
use crate::notifications::{UNKNOWN, counts_are_exact};
use crate::spaces::{create as space, join};
use crate::support::{Actor, Reply, TestApp, User, keys, on_both_engines};

on_both_engines![
    an_event_is_created_with_its_defaults,
    an_event_keeps_what_it_was_given,
    new_events_are_validated,
    who_may_create_an_event_for_whom,
    an_event_of_a_space_needs_its_member,
    who_sees_an_event,
    an_event_is_updated_field_by_field,
    updates_are_validated_on_the_merged_event,
    only_hosts_and_keys_change_an_event,
    guests_hear_of_real_changes_alone,
    a_cancelled_event_is_cancelled_once,
    an_event_is_deleted_for_good,
    an_event_is_deleted_from_sight,
    suspended_users_only_read,
    events_need_their_bundle_and_version_seven,
    events_outlive_the_accounts_of_their_people,
    many_guests_are_notified_by_a_job,
];

const KEYS: &str = "address allowMaybe capacity coverImageId createdAt deletedAt description endTime \
    guestListVisible hostIds id location metadata projectId rsvpCounts shortId spaceId startTime \
    status timezone title type updatedAt url userId venueName visibility";

/// An hour from now.
pub(crate) fn soon(app: &TestApp) -> String {
    app.now().plus(Duration::from_secs(3600)).to_string()
}

/// The body of an online event that starts soon, with what is given in place of the defaults.
pub(crate) fn body(app: &TestApp, new: Value) -> Value {
    let mut body = json!({
        "title": "Meetup", "startTime": soon(app), "type": "online", "url": "https://meet.example/1",
    });
    body.as_object_mut().unwrap().extend(new.as_object().unwrap().clone());
    body
}

pub(crate) async fn create(app: &TestApp, actor: &Actor<'_>, new: Value) -> Value {
    actor.post("/events", body(app, new)).await.expect(201)
}

pub(crate) fn path(event: &Value, end: &str) -> String {
    format!("/events/{}{end}", event["id"].as_str().unwrap())
}

pub(crate) async fn answer(actor: &Actor<'_>, event: &Value, status: &str) -> Reply {
    actor.post(&path(event, "/rsvp"), json!({ "status": status })).await
}

pub(crate) async fn delete_with(actor: &Actor<'_>, path: &str, body: Value) -> Reply {
    actor.send(Method::DELETE, path, Some(body)).await
}

/// The kinds of a user's notifications, newest first.
pub(crate) async fn notified(user: &User<'_>) -> Vec<String> {
    let list = user.get("/app-notifications?limit=50").await.expect(200);
    let kinds = list["data"].as_array().unwrap().iter();
    kinds.map(|one| one["type"].as_str().unwrap().to_owned()).collect()
}

async fn an_event_is_created_with_its_defaults(app: TestApp) {
    let ada = app.user().await;
    let event = create(&app, &ada, json!({})).await;
    assert_eq!(keys(&event).join(" "), KEYS);
    let now = app.now().to_string();
    let expected = json!({
        "id": event["id"], "shortId": event["shortId"], "projectId": app.project.id,
        "userId": ada.id, "title": "Meetup", "description": null, "startTime": soon(&app),
        "endTime": null, "timezone": null, "type": "online", "url": "https://meet.example/1",
        "venueName": null, "address": null, "location": null, "spaceId": null,
        "visibility": "public", "status": "active", "allowMaybe": true, "guestListVisible": true,
        "capacity": null, "hostIds": [ada.id], "coverImageId": null,
        "rsvpCounts": { "going": 0, "maybe": 0, "not_going": 0 }, "metadata": {},
        "createdAt": now, "updatedAt": now, "deletedAt": null,
    });
    assert_eq!(event, expected);
    assert_eq!(app.anonymous().get(&path(&event, "")).await.expect(200), expected);
    let stranger = app.stranger().await;
    stranger.get(&path(&event, "")).await.refused(404, "event/not-found");
    for unknown in [UNKNOWN, "x"] {
        ada.get(&format!("/events/{unknown}")).await.refused(404, "event/not-found");
    }
}

async fn an_event_keeps_what_it_was_given(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let town = space(&ada, json!({ "slug": "town" })).await;
    let new = json!({
        "title": "Picnic", "description": "Bring bread", "endTime": "2030-07-01T12:00:00+02:00",
        "startTime": "2030-07-01T08:00:00Z", "timezone": "Europe/Paris", "type": "hybrid",
        "venueName": "Park", "address": "1 Green Street",
        "location": { "latitude": 48.85, "longitude": 2.35 }, "spaceId": town["id"],
        "visibility": "members", "capacity": 20, "allowMaybe": false, "guestListVisible": false,
        "hostIds": [bob.id, ada.id, bob.id], "metadata": { "dress": "casual" },
    });
    let event = create(&app, &ada, new).await;
    assert_eq!(event["endTime"], "2030-07-01T10:00:00.000Z");
    assert_eq!(event["location"], json!({ "type": "Point", "coordinates": [2.35, 48.85] }));
    assert_eq!(event["hostIds"], json!([ada.id, bob.id]));
    assert_eq!(event["metadata"], json!({ "dress": "casual" }));
    let all = bob.get(&path(&event, "?include=user,space,files,userRsvp")).await.expect(200);
    assert_eq!((&all["user"]["id"], &all["space"]["slug"]), (&json!(ada.id), &json!("town")));
    assert_eq!((&all["files"], &all["userRsvp"]), (&json!([]), &Value::Null));
    answer(&bob, &event, "going").await.expect(200);
    let read = format!("{}?include=userRsvp&userId={}", path(&event, ""), bob.id);
    assert_eq!(app.service().get(&read).await.expect(200)["userRsvp"], "going");
    let unknown = format!("{}?userId={UNKNOWN}", path(&event, ""));
    app.service().get(&unknown).await.refused(404, "user/not-found");
    // An empty text is none.
    let plain = create(&app, &ada, json!({ "description": "", "venueName": "" })).await;
    assert_eq!((&plain["description"], &plain["venueName"]), (&Value::Null, &Value::Null));
}

async fn new_events_are_validated(app: TestApp) {
    let ada = app.user().await;
    let long = "x".repeat(301);
    for wrong in [
        json!({ "title": "" }),
        json!({ "title": long }),
        json!({ "title": null }),
        json!({ "startTime": "soon" }),
        json!({ "startTime": null }),
        json!({ "type": "party" }),
        json!({ "url": null }),
        json!({ "url": "" }),
        json!({ "type": "physical" }),
        json!({ "type": "hybrid" }),
        json!({ "type": "hybrid", "url": null, "address": "x" }),
        json!({ "endTime": "2000-01-01" }),
        json!({ "timezone": "Mars/Olympus" }),
        json!({ "location": { "latitude": 91, "longitude": 0 } }),
        json!({ "visibility": "secret" }),
        json!({ "visibility": "members" }),
        json!({ "capacity": 0 }),
        json!({ "capacity": 1.5 }),
        json!({ "allowMaybe": "yes" }),
        json!({ "hostIds": ["x"] }),
        json!({ "hostIds": [UNKNOWN] }),
        json!({ "hostIds": vec![UNKNOWN; 101] }),
        json!({ "spaceId": "x" }),
        json!({ "metadata": [] }),
        json!({ "metadata": { "big": "x".repeat(1 << 20) } }),
    ] {
        let refused = ada.post("/events", body(&app, wrong.clone())).await;
        assert_eq!(refused.outcome(), "400 event/invalid-body", "{wrong}");
    }
    assert_eq!(app.rows("events").await, 0);
    let place =
        json!({ "type": "physical", "url": null, "location": { "latitude": 1, "longitude": 2 } });
    create(&app, &ada, place).await;
    create(&app, &ada, json!({ "type": "hybrid", "address": "x" })).await;
}

async fn who_may_create_an_event_for_whom(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let new = |user: Value| body(&app, json!({ "userId": user }));
    app.anonymous().post("/events", new(json!(null))).await.says(401, "Unauthorized");
    app.bearer("x").post("/events", new(json!(null))).await.says(403, "Forbidden");
    ada.post("/events", new(json!(bob.id))).await.refused(403, "event/unauthorized");
    ada.post("/events", new(json!(ada.id))).await.expect(201);
    for key in [app.service(), app.master()] {
        key.post("/events", new(json!(null))).await.refused(400, "event/missing-user-id");
        key.post("/events", new(json!(UNKNOWN))).await.refused(404, "user/not-found");
        let event = key.post("/events", new(json!(bob.id))).await.expect(201);
        assert_eq!((&event["userId"], &event["hostIds"]), (&json!(bob.id), &json!([bob.id])));
    }
}

async fn an_event_of_a_space_needs_its_member(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let town = space(&ada, json!({ "requireJoinApproval": false })).await;
    let new =
        body(&app, json!({ "spaceId": town["id"], "visibility": "members", "userId": bob.id }));
    bob.post("/events", new.clone()).await.refused(403, "event/not-space-member");
    // Membership is tested on the user that a key names.
    app.service().post("/events", new.clone()).await.refused(403, "event/not-space-member");
    join(&bob, &town).await;
    bob.post("/events", new.clone()).await.expect(201);
    app.service().post("/events", new).await.expect(201);
    let unknown = body(&app, json!({ "spaceId": UNKNOWN }));
    bob.post("/events", unknown).await.refused(404, "event/space-not-found");
    let bare = app.project_with(&[Bundle::Events]).await;
    let key = app.bearer(&bare.service_key).in_project(bare.id);
    let created = key.get("/users/by-foreign-id?foreignId=f&createIfNotFound=true").await;
    let user = created.json()["id"].clone();
    let new = body(&app, json!({ "spaceId": town["id"], "userId": user }));
    key.post("/events", new).await.refused(403, "event/spaces-bundle-required");
}

async fn who_sees_an_event(app: TestApp) {
    let (ada, host, member, guest, other) =
        (app.user().await, app.user().await, app.user().await, app.user().await, app.user().await);
    let town = space(&ada, json!({ "requireJoinApproval": false })).await;
    join(&member, &town).await;
    let new = |visibility: &str| json!({ "visibility": visibility, "spaceId": town["id"], "hostIds": [host.id] });
    let events = [
        create(&app, &ada, new("public")).await,
        create(&app, &ada, new("members")).await,
        create(&app, &ada, new("invite")).await,
    ];
    let [public, members, invite] = &events;
    for event in [members, invite] {
        let named = json!({ "userId": guest.id });
        ada.post(&path(event, "/invites"), named).await.expect(200);
    }
    let (anonymous, service, master) = (app.anonymous(), app.service(), app.master());
    let callers: [(&str, &Actor<'_>, [bool; 3]); 8] = [
        ("anonymous", &anonymous, [true, false, false]),
        ("creator", &ada, [true, true, true]),
        ("host", &host, [true, true, true]),
        ("member", &member, [true, true, false]),
        // An invite opens only an event for the invited.
        ("guest", &guest, [true, false, true]),
        ("other", &other, [true, false, false]),
        ("service", &service, [true, true, true]),
        ("master", &master, [true, true, true]),
    ];
    for (name, caller, expected) in callers {
        let list = caller.get("/events?limit=100").await.expect(200);
        let listed: Vec<&Value> =
            list["data"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(list["pagination"]["totalItems"], listed.len(), "{name}");
        let hosted = caller.get(&format!("/events?hostId={}", host.id)).await.expect(200);
        let address = format!("/events?spaceId={}", town["id"].as_str().unwrap());
        let in_space = caller.get(&address).await.expect(200);
        for (event, sees) in events.iter().zip(expected) {
            let found = caller.get(&path(event, "")).await;
            assert_eq!(found.status == 200, sees, "{name} {event}");
            assert_eq!(listed.contains(&&event["id"]), sees, "{name} {event}");
            for end in ["/rsvps", "/calendar.ics"] {
                let status = caller.get(&path(event, end)).await.status;
                assert_eq!(status, if sees { 200 } else { 404 }, "{name} {end}");
            }
        }
        let total = expected.iter().filter(|sees| **sees).count();
        assert_eq!(listed.len(), total, "{name}");
        assert_eq!(hosted["pagination"]["totalItems"], total, "{name}");
        assert_eq!(in_space["pagination"]["totalItems"], total, "{name}");
    }
    for event in [members, invite] {
        answer(&other, event, "going").await.refused(404, "event/not-found");
        let read = other.patch(&path(event, ""), json!({ "title": "x" })).await;
        read.refused(404, "event/not-found");
        other.delete(&path(event, "")).await.refused(404, "event/not-found");
    }
    // Who leaves the space does not see it any more.
    let left = member.delete(&format!("{}/leave", crate::spaces::path(&town))).await;
    assert!(left.status < 300, "{}", left.text());
    member.get(&path(members, "")).await.refused(404, "event/not-found");
    // A key that acts for somebody still sees everything.
    let read = format!("{}?userId={}", path(invite, ""), other.id);
    app.service().get(&read).await.expect(200);
    assert_eq!(public["visibility"], "public");
    // The space is gone: what was for its members is for hosts alone.
    app.service().delete(&crate::spaces::path(&town)).await.expect(200);
    app.run_jobs().await;
    ada.get(&path(members, "?include=space")).await.expect(200);
    member.get(&path(members, "")).await.refused(404, "event/not-found");
}

async fn an_event_is_updated_field_by_field(app: TestApp) {
    let ada = app.user().await;
    let event = create(&app, &ada, json!({ "capacity": 3, "metadata": { "a": 1, "b": 2 } })).await;
    app.advance(Duration::from_secs(60));
    let change = json!({
        "title": "New", "description": "Text", "endTime": "2035-01-01", "timezone": "Asia/Tokyo",
        "venueName": "Hall", "address": "Street", "location": { "latitude": 1, "longitude": 2 },
        "visibility": "invite", "capacity": 9, "allowMaybe": false, "guestListVisible": false,
        "metadata": { "c": 3 }, "type": "hybrid", "hostIds": [], "status": "cancelled",
        "spaceId": UNKNOWN, "unknown": 1,
    });
    let changed = ada.patch(&path(&event, ""), change.clone()).await.expect(200);
    for (field, value) in change.as_object().unwrap() {
        let kept = ["hostIds", "status", "spaceId", "unknown"].contains(&field.as_str());
        if !kept && !["endTime", "location"].contains(&field.as_str()) {
            assert_eq!(&changed[field], value, "{field}");
        }
    }
    assert_eq!(changed["hostIds"], event["hostIds"]);
    assert_eq!((&changed["status"], &changed["spaceId"]), (&json!("active"), &Value::Null));
    assert_eq!(changed["updatedAt"], app.now().to_string());
    assert_eq!(ada.get(&path(&event, "")).await.expect(200), changed);
    let cleared = json!({
        "description": null, "endTime": null, "timezone": null, "venueName": "", "capacity": null,
        "location": null,
    });
    let changed = ada.patch(&path(&event, ""), cleared).await.expect(200);
    for field in ["description", "endTime", "timezone", "venueName", "capacity", "location"] {
        assert_eq!(changed[field], Value::Null, "{field}");
    }
    app.advance(Duration::from_secs(60));
    let same = ada.patch(&path(&event, ""), json!({ "title": "New" })).await.expect(200);
    assert_eq!(same["updatedAt"], changed["updatedAt"], "nothing has changed");
}

async fn updates_are_validated_on_the_merged_event(app: TestApp) {
    let ada = app.user().await;
    let event = create(&app, &ada, json!({ "endTime": "2035-01-02" })).await;
    for wrong in [
        json!({ "title": "" }),
        json!({ "title": "x".repeat(301) }),
        json!({ "type": "physical" }),
        json!({ "type": "online", "url": null }),
        json!({ "startTime": "2035-01-03" }),
        json!({ "endTime": "2000-01-01" }),
        json!({ "visibility": "members" }),
        json!({ "capacity": -1 }),
    ] {
        let refused = ada.patch(&path(&event, ""), wrong.clone()).await;
        assert_eq!(refused.outcome(), "400 event/invalid-body", "{wrong}");
    }
    let refused = ada.patch(&path(&event, ""), json!({ "removeImageIds": ["x"] })).await;
    refused.refused(400, "event/invalid-remove-image-ids");
    let refused = ada.patch(&path(&event, ""), json!({ "removeImageIds": [UNKNOWN] })).await;
    refused.refused(400, "event/invalid-remove-image-ids");
    let fits = json!({ "type": "physical", "address": "x" });
    ada.patch(&path(&event, ""), fits).await.expect(200);
    // The place is tested only with the type.
    let placeless = json!({ "address": null });
    ada.patch(&path(&event, ""), placeless).await.expect(200);
}

/// Everything that only a host may do.
async fn changes(actor: &Actor<'_>, event: &Value, named: &Value) -> Vec<Reply> {
    vec![
        actor.patch(&path(event, ""), json!({ "title": "x" })).await,
        actor.post(&path(event, "/invites"), named.clone()).await,
        actor.get(&path(event, "/invites")).await,
        delete_with(actor, &path(event, "/invites"), named.clone()).await,
        delete_with(actor, &path(event, "/hosts"), named.clone()).await,
        actor.post(&path(event, "/cancel"), json!({})).await,
    ]
}

async fn only_hosts_and_keys_change_an_event(app: TestApp) {
    let (ada, host, other) = (app.user().await, app.user().await, app.user().await);
    let event = create(&app, &ada, json!({ "hostIds": [host.id] })).await;
    let named = json!({ "userId": other.id });
    let (service, stranger) = (app.service(), app.stranger().await);
    for (actor, expected) in [
        (&*other, "403 event/forbidden"),
        (&*stranger, "404 event/not-found"),
        (&*host, "200"),
        (&service, "200"),
    ] {
        for reply in changes(actor, &event, &named).await {
            assert_eq!(reply.outcome(), expected);
        }
    }
    for reply in changes(&app.anonymous(), &event, &named).await {
        reply.says(401, "Unauthorized");
    }
    other.delete(&path(&event, "")).await.refused(403, "event/forbidden");
    for wrong in [json!({}), json!({ "userId": "x" }), json!({ "userId": null })] {
        for end in ["/hosts", "/invites"] {
            let added = ada.post(&path(&event, end), wrong.clone()).await;
            added.refused(400, "event/invalid-body");
            delete_with(&ada, &path(&event, end), wrong.clone())
                .await
                .refused(400, "event/invalid-body");
        }
    }
}

async fn guests_hear_of_real_changes_alone(app: TestApp) {
    let (ada, going, maybe, absent, blocked) =
        (app.user().await, app.user().await, app.user().await, app.user().await, app.user().await);
    let event = create(&app, &ada, json!({})).await;
    for (user, status) in [
        (&going, "going"),
        (&maybe, "maybe"),
        (&absent, "not_going"),
        (&blocked, "going"),
        (&ada, "going"),
    ] {
        answer(user, &event, status).await.expect(200);
    }
    block(&blocked, &ada).await;
    let start = event["startTime"].clone();
    for silent in
        [json!({ "title": "Other" }), json!({ "startTime": start }), json!({ "capacity": 7 })]
    {
        ada.patch(&path(&event, ""), silent).await.expect(200);
    }
    assert_eq!(notified(&going).await, Vec::<String>::new());
    ada.patch(&path(&event, ""), json!({ "venueName": "Hall" })).await.expect(200);
    for (user, expected) in [(&going, 1), (&maybe, 1), (&absent, 0), (&blocked, 0), (&ada, 0)] {
        assert_eq!(notified(user).await, vec!["event-updated"; expected]);
    }
    let list = going.get("/app-notifications").await.expect(200);
    let one = &list["data"][0];
    assert_eq!(one["action"], "open-event");
    let metadata = &one["metadata"];
    assert_eq!(metadata["eventId"], event["id"]);
    assert_eq!(
        (&metadata["eventTitle"], &metadata["initiatorId"]),
        (&json!("Other"), &json!(ada.id))
    );
    // One unread notification of a kind about an event is enough.
    ada.patch(&path(&event, ""), json!({ "address": "Street" })).await.expect(200);
    assert_eq!(notified(&going).await.len(), 1);
    going.patch(crate::notifications::MARK_ALL, json!({})).await;
    ada.patch(&path(&event, ""), json!({ "endTime": "2035-01-01" })).await.expect(200);
    assert_eq!(notified(&going).await.len(), 2);
    counts_are_exact(&app).await;
}

async fn a_cancelled_event_is_cancelled_once(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = create(&app, &ada, json!({})).await;
    answer(&bob, &event, "maybe").await.expect(200);
    for _ in 0..2 {
        let cancelled = ada.post(&path(&event, "/cancel"), json!({})).await.expect(200);
        assert_eq!(cancelled["status"], "cancelled");
        assert_eq!(notified(&bob).await, ["event-cancelled"]);
        bob.patch(crate::notifications::MARK_ALL, json!({})).await;
    }
    answer(&bob, &event, "going").await.refused(409, "event/cancelled");
    let listed = |status: &'static str| {
        let ada = ada.clone();
        async move {
            let list = ada.get(&format!("/events?status={status}")).await.expect(200);
            list["pagination"]["totalItems"].clone()
        }
    };
    assert_eq!((listed("active").await, listed("cancelled").await), (json!(0), json!(1)));
    // Answers may still be taken back.
    let withdrawn = bob.delete(&path(&event, "/rsvp")).await.expect(200);
    assert_eq!(
        (&withdrawn["userRsvp"], &withdrawn["rsvpCounts"]["maybe"]),
        (&Value::Null, &json!(0))
    );
}

async fn an_event_is_deleted_for_good(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = create(&app, &ada, json!({})).await;
    answer(&bob, &event, "going").await.expect(200);
    ada.post(&path(&event, "/invites"), json!({ "userId": bob.id })).await.expect(200);
    assert_eq!(notified(&bob).await, ["event-invite"]);
    ada.delete(&path(&event, "")).await.expect(204);
    ada.delete(&path(&event, "")).await.refused(404, "event/not-found");
    ada.get(&path(&event, "")).await.refused(404, "event/not-found");
    for table in ["events", "event_bodies", "event_hosts", "event_rsvps", "event_invites"] {
        assert_eq!(app.rows(table).await, 0, "{table}");
    }
    assert_eq!(notified(&bob).await, Vec::<String>::new());
    let list = ada.get("/events").await.expect(200);
    assert_eq!(list["pagination"]["totalItems"], 0);
    counts_are_exact(&app).await;
}

async fn an_event_is_deleted_from_sight(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    app.change_settings(app.project.id, |settings| settings.event_deletion = Deletion::Soft.name())
        .await;
    let event = create(&app, &ada, json!({})).await;
    answer(&bob, &event, "going").await.expect(200);
    bob.delete(&path(&event, "")).await.refused(403, "event/forbidden");
    app.service().delete(&path(&event, "")).await.expect(204);
    ada.delete(&path(&event, "")).await.refused(404, "event/delete-failed");
    for end in ["", "/rsvps", "/calendar.ics"] {
        app.service().get(&path(&event, end)).await.refused(404, "event/not-found");
    }
    answer(&bob, &event, "going").await.refused(404, "event/not-found");
    assert_eq!((app.rows("events").await, app.rows("event_rsvps").await), (1, 0));
    for query in ["", "?status=cancelled", "?timeWindow=upcoming"] {
        let list = app.service().get(&format!("/events{query}")).await.expect(200);
        assert_eq!(list["pagination"]["totalItems"], 0, "{query}");
    }
}

async fn suspended_users_only_read(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let event = create(&app, &ada, json!({})).await;
    app.suspend(bob.id).await;
    app.suspend(ada.id).await;
    bob.get(&path(&event, "")).await.expect(200);
    bob.post("/events", json!({})).await.refused(403, "user/suspended");
    answer(&bob, &event, "nonsense").await.refused(403, "user/suspended");
    bob.delete(&path(&event, "/rsvp")).await.refused(403, "user/suspended");
    ada.patch(&path(&event, ""), json!({})).await.refused(403, "user/suspended");
    let as_bob = json!({ "status": "going", "userId": bob.id });
    let rsvp = path(&event, "/rsvp");
    app.service().post(&rsvp, as_bob.clone()).await.refused(403, "user/suspended");
    app.master().post(&rsvp, as_bob).await.expect(200);
    app.service().patch(&path(&event, ""), json!({ "title": "x" })).await.expect(200);
}

async fn events_need_their_bundle_and_version_seven(app: TestApp) {
    let ada = app.user().await;
    let event = create(&app, &ada, json!({})).await;
    ada.v7().get(&path(&event, "")).await.expect(200);
    ada.v6().get(&path(&event, "")).await.refused(404, "route/not-found");
    let bare = app.project_with(&[Bundle::Entities]).await;
    let key = app.bearer(&bare.service_key).in_project(bare.id);
    let refused = key.get("/events").await.refused(403, "database/tables-not-available");
    assert_eq!(refused["missingTables"], json!(["Events"]));
}

async fn events_outlive_the_accounts_of_their_people(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let shared = create(&app, &ada, json!({ "hostIds": [bob.id] })).await;
    let alone = create(&app, &ada, json!({})).await;
    for (user, status) in [(&ada, "going"), (&bob, "maybe"), (&cleo, "not_going")] {
        answer(user, &shared, status).await.expect(200);
        bob.post(&path(&shared, "/invites"), json!({ "userId": user.id })).await.expect(200);
    }
    for user in [&ada, &cleo] {
        app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    }
    let shown = bob.get(&path(&shared, "")).await.expect(200);
    assert_eq!((&shown["userId"], &shown["hostIds"]), (&Value::Null, &json!([bob.id])));
    assert_eq!(shown["rsvpCounts"], json!({ "going": 0, "maybe": 1, "not_going": 0 }));
    let invited = bob.get(&path(&shared, "/invites")).await.expect(200);
    assert_eq!(invited["pagination"]["totalItems"], 1);
    // An event always has a host, if only by id: keys still manage it.
    let shown = app.service().get(&path(&alone, "?include=user")).await.expect(200);
    assert_eq!((&shown["userId"], &shown["user"]), (&Value::Null, &Value::Null));
    assert_eq!(shown["hostIds"], json!([ada.id]));
    let added = app.service().post(&path(&alone, "/hosts"), json!({ "userId": bob.id })).await;
    assert_eq!(added.expect(200)["hostIds"], json!([ada.id, bob.id]));
    bob.patch(&path(&alone, ""), json!({ "title": "Mine" })).await.expect(200);
    no_count_has_drifted(&app).await;
}

/// What the operator's check-up finds in the projects of the test: nothing.
pub(crate) async fn no_count_has_drifted(app: &TestApp) {
    use townhall::features::events::store::recount;
    let wrong = app.app.db.read(recount::miscounted).await.unwrap();
    assert!(app.own(wrong).is_empty());
    let wrong = app.app.db.read(recount::drifted_totals).await.unwrap();
    assert!(app.own(wrong).is_empty());
}

async fn many_guests_are_notified_by_a_job(app: TestApp) {
    let app = app.own_server().await;
    let ada = app.user().await;
    let event = create(&app, &ada, json!({})).await;
    let (project, id) = (app.project.id, event["id"].as_str().unwrap().to_owned());
    let id: uuid::Uuid = id.parse().unwrap();
    let guests = 600_u128;
    let users: Vec<uuid::Uuid> = (1..=guests).map(uuid::Uuid::from_u128).collect();
    let filled = app.app.db.write(move |tx| {
        let user = db::Command::<()>::built(
            "test::user",
            "INSERT INTO users (project_id, id, role, is_verified, is_active, metadata,
                secure_metadata, reputation, last_active, created_at, updated_at)
             VALUES ($1, $2, 'visitor', FALSE, TRUE, '{}', '{}', 0, 0, 0, 0)"
                .to_owned(),
        );
        let rsvp = db::Command::<()>::built(
            "test::rsvp",
            "INSERT INTO event_rsvps (project_id, event_id, user_id, id, status, created_at, updated_at)
             VALUES ($1, $2, $3, $3, 'going', 0, 0)"
                .to_owned(),
        );
        for one in &users {
            tx.execute(&user, db::args![project, *one])?;
            tx.execute(&rsvp, db::args![project, id, *one])?;
        }
        Ok::<_, db::Error>(())
    });
    filled.await.unwrap();
    ada.post(&path(&event, "/cancel"), json!({})).await.expect(200);
    let first = app.rows("notifications").await;
    assert!(first < 600, "{first} in the transaction of the request");
    while app.run_jobs().await > 0 {}
    assert_eq!(app.rows("notifications").await, 600);
    counts_are_exact(&app).await;
}
