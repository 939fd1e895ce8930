//! Events as iCalendar, read by a parser that others wrote.

use std::time::Duration;

use icalendar::{
    Calendar, CalendarComponent, CalendarDateTime, Component as _, DatePerhapsTime, EventLike as _,
};
use serde_json::{Value, json};

use crate::events::{answer, create, path};
use crate::notifications::UNKNOWN;
use crate::support::{Reply, TestApp, User, on_both_engines};

on_both_engines![
    an_event_is_a_calendar_file,
    times_are_right_on_both_sides_of_daylight_saving,
    long_and_strange_texts_come_through,
    a_feed_shows_ones_own_events,
    the_address_of_a_feed_is_secret,
];

/// The events of a calendar, as the parser understands them.
fn parsed(reply: &Reply) -> Vec<icalendar::Event> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("text/calendar; charset=utf-8"));
    let text = reply.text();
    assert!(text.split("\r\n").all(|line| line.len() <= 75 && !line.contains('\n')), "{text}");
    let calendar: Calendar = text.parse().unwrap();
    assert_eq!(calendar.property_value("VERSION"), Some("2.0"));
    let events = calendar.components.into_iter().map(|component| match component {
        CalendarComponent::Event(event) => event,
        other => panic!("{other:?}"),
    });
    events.collect()
}

/// Milliseconds of a time, which must be in UTC.
fn millis(time: Option<DatePerhapsTime>) -> i64 {
    match time {
        Some(DatePerhapsTime::DateTime(CalendarDateTime::Utc(time))) => time.timestamp_millis(),
        other => panic!("{other:?}"),
    }
}

fn expected(event: &Value, field: &str) -> i64 {
    let text = event[field].as_str().unwrap();
    townhall::values::time::Timestamp::parse(text).unwrap().millis()
}

async fn an_event_is_a_calendar_file(app: TestApp) {
    let ada = app.user().await;
    let new = json!({
        "title": "Picnic, with bread; and more", "description": "Line\nbreak \\ here", "type": "hybrid",
        "startTime": "2030-07-01T08:00:00Z", "endTime": "2030-07-01T10:30:00Z", "venueName": "Park",
        "address": "1 Green Street", "location": { "latitude": 48.85, "longitude": 2.35 },
    });
    let event = create(&app, &ada, new).await;
    let file = app.anonymous().get(&path(&event, "/calendar.ics")).await;
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"event.ics\""));
    let all = parsed(&file);
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!(one.get_uid(), event["id"].as_str());
    assert_eq!(one.get_summary(), Some("Picnic, with bread; and more"));
    assert_eq!(one.get_description(), Some("Line\nbreak \\ here"));
    assert_eq!(one.get_location(), Some("Park, 1 Green Street"));
    assert_eq!(one.get_url(), Some("https://meet.example/1"));
    assert_eq!(one.property_value("GEO"), Some("48.85;2.35"));
    assert_eq!(one.property_value("STATUS"), Some("CONFIRMED"));
    assert_eq!(one.get_sequence(), Some(0));
    assert_eq!(millis(one.get_start()), expected(&event, "startTime"));
    assert_eq!(millis(one.get_end()), expected(&event, "endTime"));
    // Calendars replace what they have by what has changed.
    app.advance(Duration::from_secs(5));
    ada.patch(&path(&event, ""), json!({ "venueName": "Hall" })).await.expect(200);
    ada.post(&path(&event, "/cancel"), json!({})).await.expect(200);
    let all = parsed(&ada.get(&path(&event, "/calendar.ics")).await);
    assert_eq!(all[0].property_value("STATUS"), Some("CANCELLED"));
    assert_eq!(all[0].get_sequence(), Some(2));
    ada.get(&format!("/events/{UNKNOWN}/calendar.ics")).await.refused(404, "event/not-found");
}

async fn times_are_right_on_both_sides_of_daylight_saving(app: TestApp) {
    let ada = app.user().await;
    // The same hour in Paris, before and after clocks change; and the hour that occurs twice.
    for (start, utc) in [
        ("2030-03-30T10:00:00+01:00", "20300330T090000Z"),
        ("2030-03-31T10:00:00+02:00", "20300331T080000Z"),
        ("2030-10-27T02:30:00+02:00", "20301027T003000Z"),
        ("2030-10-27T02:30:00+01:00", "20301027T013000Z"),
    ] {
        let new = json!({ "startTime": start, "timezone": "Europe/Paris" });
        let event = create(&app, &ada, new).await;
        let file = ada.get(&path(&event, "/calendar.ics")).await;
        assert!(file.text().contains(&format!("\r\nDTSTART:{utc}\r\n")), "{}", file.text());
        let all = parsed(&file);
        assert_eq!(millis(all[0].get_start()), expected(&event, "startTime"));
        assert!(all[0].get_end().is_none());
    }
}

async fn long_and_strange_texts_come_through(app: TestApp) {
    let ada = app.user().await;
    let title = "Größe 🎉 ".repeat(30);
    let description = "a,b;c\\n\\,:\"'\r\nBEGIN:VEVENT\nEND:VCALENDAR\n".repeat(20);
    let new = json!({ "title": title.trim(), "description": description, "url": "https://é.example/a b?c=d\u{7}" });
    let event = create(&app, &ada, new).await;
    let all = parsed(&ada.get(&path(&event, "/calendar.ics")).await);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].get_summary(), Some(title.trim()));
    assert_eq!(all[0].get_description(), Some(description.replace("\r\n", "\n").as_str()));
}

async fn feed(app: &TestApp, user: &User<'_>) -> (String, Vec<String>) {
    let address = user.get("/events/calendar-feed").await.expect(200);
    let url = address["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("https://community.example/v8/"), "{url}");
    let events = parsed(&app.anonymous().open(&url).await);
    (url, events.iter().map(|event| event.get_summary().unwrap().to_owned()).collect())
}

async fn a_feed_shows_ones_own_events(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let titled = |title: &str| json!({ "title": title });
    let hosted = create(&app, &ada, titled("hosted")).await;
    let going = create(&app, &bob, titled("going")).await;
    let maybe = create(&app, &bob, titled("maybe")).await;
    let absent = create(&app, &bob, titled("absent")).await;
    create(&app, &bob, titled("other")).await;
    let old = json!({ "title": "old", "startTime": "2001-01-01" });
    create(&app, &ada, old).await;
    let private = create(&app, &bob, json!({ "title": "private", "visibility": "invite" })).await;
    bob.post(&path(&private, "/invites"), json!({ "userId": ada.id })).await.expect(200);
    for (event, status) in
        [(&going, "going"), (&maybe, "maybe"), (&absent, "not_going"), (&private, "going")]
    {
        answer(&ada, event, status).await.expect(200);
    }
    let mut titles = feed(&app, &ada).await.1;
    titles.sort();
    assert_eq!(titles, ["going", "hosted", "maybe", "private"]);
    // What they may not see any more is not shown, and what is cancelled is.
    let open = json!({ "visibility": "public" });
    bob.patch(&path(&private, ""), open).await.expect(200);
    let named = json!({ "userId": ada.id });
    crate::events::delete_with(&bob, &path(&private, "/invites"), named).await.expect(200);
    answer(&ada, &private, "going").await.expect(200);
    bob.patch(&path(&private, ""), json!({ "visibility": "invite" })).await.expect(200);
    ada.post(&path(&hosted, "/cancel"), json!({})).await.expect(200);
    let mut titles = feed(&app, &ada).await.1;
    titles.sort();
    assert_eq!(titles, ["going", "hosted", "maybe"]);
    let by_key = app.service().get(&format!("/events/calendar-feed?userId={}", ada.id)).await;
    assert_eq!(by_key.expect(200)["url"], feed(&app, &ada).await.0);
}

async fn the_address_of_a_feed_is_secret(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    app.anonymous().get("/events/calendar-feed").await.says(401, "Unauthorized");
    app.service().get("/events/calendar-feed").await.refused(400, "event/missing-user-id");
    let (url, _) = feed(&app, &ada).await;
    let (of_bob, _) = feed(&app, &bob).await;
    let (before, signature) = url.rsplit_once('=').unwrap();
    let of_bob = of_bob.rsplit_once('=').unwrap().1;
    let forged = [
        format!("{before}={of_bob}"),
        format!("{before}="),
        format!("{before}={}", signature.to_uppercase()),
        url.replace(&ada.id.to_string(), &bob.id.to_string()),
        url.replace(&ada.id.to_string(), UNKNOWN),
        url.replace(&ada.id.to_string(), "x"),
        url.replace(&app.project.id.to_string(), &app.other.id.to_string()),
    ];
    for address in forged {
        app.anonymous().open(&address).await.refused(404, "event/feed-not-found");
    }
    // Whoever changes their password gets another address.
    let change = json!({ "password": User::PASSWORD, "newPassword": "another horse" });
    ada.post("/auth/change-password", change).await.expect(200);
    app.anonymous().open(&url).await.refused(404, "event/feed-not-found");
    let (changed, _) = feed(&app, &ada).await;
    assert_ne!(changed, url);
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    app.anonymous().open(&changed).await.refused(404, "event/feed-not-found");
}
