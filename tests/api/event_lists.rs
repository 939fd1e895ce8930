//! Lists of events: windows of time, filters, orders and totals, and that an index finds them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::events::{answer, body, create, no_count_has_drifted, path};
use crate::feed_plans::{run, scans, sorts};
use crate::relation_plans::{Seen, explained};
use crate::spaces::{create as space, join};
use crate::support::{Actor, Dice, TestApp, on_both_engines};

on_both_engines![
    windows_split_all_events,
    start_times_are_strict_bounds,
    lists_are_sorted_and_paged,
    filters_leave_out_the_rest,
    wrong_queries_are_refused,
    lists_agree_with_a_plain_model,
    lists_of_events_are_found_by_an_index,
    a_list_of_many_events_reads_as_much_as_one_of_few,
];

fn titles(list: &Value) -> Vec<&str> {
    list["data"].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect()
}

async fn list(actor: &Actor<'_>, query: &str) -> Value {
    let list = actor.get(&format!("/events?limit=100&{query}")).await.expect(200);
    let total = list["pagination"]["totalItems"].as_u64().unwrap();
    assert_eq!(list["data"].as_array().unwrap().len() as u64, total, "{query}");
    list
}

async fn windows_split_all_events(app: TestApp) {
    let ada = app.user().await;
    let at = |hours: i64| {
        let now = app.now().millis();
        townhall::values::time::Timestamp::from_millis(now + hours * 3_600_000).to_string()
    };
    for (title, start, end) in [
        ("later", 5, Some(6)),
        ("open later", 5, None),
        ("now", -1, Some(1)),
        ("just now", 0, Some(0)),
        ("long", -24 * 400, Some(24 * 400)),
        ("over", -3, Some(-2)),
        ("open over", -3, None),
        ("open now", 0, None),
    ] {
        let end = end.map(&at);
        create(&app, &ada, json!({ "title": title, "startTime": at(start), "endTime": end })).await;
    }
    for (window, mut expected) in [
        ("upcoming", vec!["later", "open later"]),
        ("ongoing", vec!["just now", "long", "now"]),
        ("past", vec!["open now", "open over", "over"]),
    ] {
        for actor in [&app.anonymous(), &*ada, &app.service()] {
            for more in ["", "&sortBy=going", "&sortDir=desc", "&titleFilters[hasTitle]=true"] {
                let found = list(actor, &format!("timeWindow={window}{more}")).await;
                let mut found = titles(&found);
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{window}{more}");
            }
        }
    }
    assert_eq!(titles(&list(&ada, "").await).len(), 8);
    app.advance(Duration::from_secs(7 * 3600));
    assert_eq!(titles(&list(&ada, "timeWindow=upcoming").await).len(), 0);
    assert_eq!(titles(&list(&ada, "timeWindow=ongoing").await), ["long"]);
}

async fn start_times_are_strict_bounds(app: TestApp) {
    let ada = app.user().await;
    for day in ["2031-01-01", "2031-01-02", "2031-01-03", "2031-01-04T12:00:00Z"] {
        create(&app, &ada, json!({ "title": day, "startTime": day })).await;
    }
    for (query, expected) in [
        ("startsAfter=2031-01-02", vec!["2031-01-03", "2031-01-04T12:00:00Z"]),
        ("startsBefore=2031-01-02", vec!["2031-01-01"]),
        (
            "startsAfter=2031-01-01&startsBefore=2031-01-04T12:00:00Z",
            vec!["2031-01-02", "2031-01-03"],
        ),
        ("startsAfter=2031-01-04&startsBefore=2031-01-01", vec![]),
        (
            "startsAfter=2031-01-01T23:59:59.999Z&startsBefore=2031-01-02T00:00:00.001Z",
            vec!["2031-01-02"],
        ),
        ("timeWindow=upcoming&startsBefore=2031-01-02", vec!["2031-01-01"]),
        ("timeWindow=past&startsAfter=2031-01-01", vec![]),
    ] {
        assert_eq!(titles(&list(&ada, query).await), expected, "{query}");
    }
}

async fn lists_are_sorted_and_paged(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let mut events = Vec::new();
    for title in ["a", "b", "c", "d"] {
        app.advance(Duration::from_secs(1));
        events.push(create(&app, &ada, json!({ "title": title, "startTime": "2031-01-01" })).await);
    }
    for (place, guests) in [(1, vec![&bob, &cleo]), (3, vec![&bob])] {
        for guest in guests {
            answer(guest, &events[place], "going").await.expect(200);
        }
    }
    for (query, expected) in [
        ("", ["a", "b", "c", "d"]),
        ("sortDir=desc", ["d", "c", "b", "a"]),
        ("sortBy=going", ["a", "c", "d", "b"]),
        ("sortBy=going&sortDir=desc", ["b", "d", "c", "a"]),
        ("sortBy=startTime&sortDir=ASC", ["a", "b", "c", "d"]),
    ] {
        assert_eq!(titles(&list(&ada, query).await), expected, "{query}");
        for (n, title) in expected.iter().enumerate() {
            let page =
                ada.get(&format!("/events?{query}&limit=1&page={}", n + 1)).await.expect(200);
            assert_eq!(titles(&page), [*title]);
        }
    }
    let first = ada.get("/events").await.expect(200);
    let expected = json!({
        "page": 1, "pageSize": 10, "totalPages": 1, "totalItems": 4, "hasMore": false,
    });
    assert_eq!(first["pagination"], expected);
    let beyond = ada.get("/events?page=9").await.expect(200);
    assert_eq!((titles(&beyond).len(), &beyond["pagination"]["totalItems"]), (0, &json!(4)));
}

async fn filters_leave_out_the_rest(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let town = space(&ada, json!({})).await;
    let paris = json!({ "latitude": 48.8566, "longitude": 2.3522 });
    create(&app, &ada, json!({ "title": "Paris walk", "type": "physical", "location": paris }))
        .await;
    create(
        &app,
        &ada,
        json!({ "title": "Town hall", "spaceId": town["id"], "description": "Vote" }),
    )
    .await;
    let party =
        create(&app, &bob, json!({ "title": "PARTY", "description": "bring a Cake" })).await;
    answer(&ada, &party, "maybe").await.expect(200);
    let spot = |latitude: &str, radius: &str| {
        format!(
            "locationFilters[latitude]={latitude}&locationFilters[longitude]=2.35&locationFilters[radius]={radius}"
        )
    };
    for (query, expected) in [
        (format!("spaceId={}", town["id"].as_str().unwrap()), vec!["Town hall"]),
        (format!("hostId={}", bob.id), vec!["PARTY"]),
        ("type=physical".to_owned(), vec!["Paris walk"]),
        ("type=hybrid".to_owned(), vec![]),
        ("myRsvp=maybe".to_owned(), vec!["PARTY"]),
        ("myRsvp=going".to_owned(), vec![]),
        (format!("myRsvp=going,maybe&hostId={}", ada.id), vec![]),
        (spot("48.85", "5000"), vec!["Paris walk"]),
        (spot("48", "5000"), vec![]),
        ("titleFilters[includes]=party".to_owned(), vec!["PARTY"]),
        (
            "titleFilters[includes][]=walk&titleFilters[includes][]=hall".to_owned(),
            vec!["Paris walk", "Town hall"],
        ),
        ("titleFilters[doesNotInclude]=a".to_owned(), vec![]),
        ("titleFilters[hasTitle]=false".to_owned(), vec![]),
        ("descriptionFilters[hasDescription]=false".to_owned(), vec!["Paris walk"]),
        ("descriptionFilters[includes]=cake".to_owned(), vec!["PARTY"]),
        (
            "descriptionFilters[doesNotInclude]=cake&descriptionFilters[hasDescription]=true"
                .to_owned(),
            vec!["Town hall"],
        ),
        (
            format!(
                "type=online&titleFilters[includes]=hall&spaceId={}",
                town["id"].as_str().unwrap()
            ),
            vec!["Town hall"],
        ),
    ] {
        let found = list(&ada, &query).await;
        // They start at the same time.
        let mut found = titles(&found);
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
    let all = list(&bob, "include=user,space,userRsvp,files").await;
    let titled = |title: &str| {
        let all = all["data"].as_array().unwrap().iter();
        all.clone().find(|one| one["title"] == title).unwrap().clone()
    };
    assert_eq!(titled("Town hall")["space"]["id"], town["id"]);
    assert_eq!(titled("PARTY")["user"]["id"], json!(bob.id));
    app.anonymous().get("/events?myRsvp=going").await.refused(400, "event/my-rsvp-requires-auth");
    let key = app.service();
    key.get("/events?myRsvp=going").await.refused(400, "event/my-rsvp-requires-auth");
    let of_ada = list(&key, &format!("myRsvp=maybe&userId={}", ada.id)).await;
    assert_eq!(titles(&of_ada), ["PARTY"]);
}

async fn wrong_queries_are_refused(app: TestApp) {
    for wrong in [
        "page=0",
        "limit=0",
        "limit=x",
        "sortBy=title",
        "sortDir=up",
        "timeWindow=today",
        "startsAfter=soon",
        "startsBefore=x",
        "spaceId=x",
        "hostId=x",
        "type=party",
        "status=draft",
        "myRsvp=yes",
        "titleFilters[hasTitle]=maybe",
        "locationFilters[latitude]=1",
        "descriptionFilters=x",
    ] {
        let reply = app.anonymous().get(&format!("/events?{wrong}")).await;
        assert_eq!(reply.outcome(), "400 event/invalid-query", "{wrong}");
    }
    let clamped = app.anonymous().get("/events?limit=1000").await.expect(200);
    assert_eq!(clamped["pagination"]["pageSize"], 100);
}

/// Events of every kind against what a plain filter of all of them finds.
async fn lists_agree_with_a_plain_model(app: TestApp) {
    let users = [app.user().await, app.user().await, app.user().await];
    let town = space(&users[0], json!({ "requireJoinApproval": false })).await;
    join(&users[1], &town).await;
    let mut dice = Dice::new(7);
    let now = app.now().millis();
    let time = |millis: i64| townhall::values::time::Timestamp::from_millis(millis);
    let mut events: Vec<(Value, Vec<bool>)> = Vec::new();
    for n in 0..60 {
        let start = now + (dice.draw(240) as i64 - 120) * 3_600_000;
        let end = (dice.draw(3) > 0).then(|| start + dice.draw(100) as i64 * 1_800_000);
        let visibility = ["public", "members", "invite"][dice.draw(3)];
        let by = dice.draw(2);
        let kind = ["online", "hybrid"][dice.draw(2)];
        let new = body(
            &app,
            json!({
                "title": format!("{n:02}"), "startTime": time(start), "endTime": end.map(time),
                "visibility": visibility, "spaceId": town["id"],
                "type": kind, "address": "x",
            }),
        );
        let event = users[by].post("/events", new).await.expect(201);
        let mut sees = vec![visibility == "public"; 4];
        sees[by] = true;
        sees[3] = true;
        if visibility == "members" {
            (sees[0], sees[1]) = (true, true);
        }
        if visibility == "invite" && dice.draw(2) == 0 {
            let named = json!({ "userId": users[2].id });
            users[by].post(&path(&event, "/invites"), named).await.expect(200);
            sees[2] = true;
        }
        events.push((event, sees));
    }
    let key = app.service();
    let callers: [&Actor<'_>; 4] = [&users[0], &users[1], &users[2], &key];
    for (place, caller) in callers.into_iter().enumerate() {
        for window in ["", "upcoming", "ongoing", "past"] {
            for kind in ["", "online", "physical"] {
                let mut expected: Vec<(&str, &str)> = Vec::new();
                for (event, sees) in events.iter().filter(|(_, sees)| sees[place]) {
                    assert!(sees[place]);
                    let millis = |name: &str| {
                        let text = event[name].as_str();
                        text.map(|text| {
                            townhall::values::time::Timestamp::parse(text).unwrap().millis()
                        })
                    };
                    let (start, end) = (millis("startTime").unwrap(), millis("endTime"));
                    let is_in = match window {
                        "upcoming" => start > now,
                        "ongoing" => start <= now && end.is_some_and(|end| end >= now),
                        "past" => start <= now && end.is_none_or(|end| end < now),
                        _ => true,
                    };
                    if is_in && (kind.is_empty() || event["type"] == kind) {
                        expected.push((
                            event["startTime"].as_str().unwrap(),
                            event["id"].as_str().unwrap(),
                        ));
                    }
                }
                expected.sort_unstable();
                let ids: Vec<&str> = expected.iter().map(|(_, id)| *id).collect();
                let mut query = String::new();
                if !window.is_empty() {
                    query += &format!("timeWindow={window}&");
                }
                if !kind.is_empty() {
                    query += &format!("type={kind}&");
                }
                let found = list(caller, &query).await;
                let found: Vec<&str> = found["data"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| one["id"].as_str().unwrap())
                    .collect();
                assert_eq!(found, ids, "{place} {query}");
            }
        }
    }
    no_count_has_drifted(&app).await;
}

/// Without the lines about literals and about the few rows of a subquery.
fn of_tables(plan: Vec<String>) -> Vec<String> {
    let is_small = |name: &str| {
        let branch = name.strip_prefix('b').is_some_and(|n| n.parse::<u32>().is_ok());
        branch || ["v", "p", "c", "going", "maybe", "not_going"].contains(&name)
    };
    let is_of_table = |line: &String| {
        let scanned = line.trim().strip_prefix("SCAN ");
        !scanned.is_some_and(|name| is_small(name) || name.contains("CONSTANT ROW"))
    };
    plan.into_iter().filter(is_of_table).collect()
}

/// Events over two years around now, most of them public.
async fn fill(app: &TestApp, number: u32) {
    let (project, now) = (app.project.id, app.now().millis());
    let filled = app.app.db.write(move |tx| {
        let insert = db::Command::<()>::built(
            "test::event",
            "INSERT INTO events (project_id, id, title, start_time, end_time, length_class, type,
                latitude, longitude, visibility, status, allow_maybe, guest_list_visible, going_count,
                maybe_count, not_going_count, invite_count, revision, created_at, updated_at)
             VALUES ($1, $2, 't', CAST($3 AS {int}), CAST($3 AS {int}) + 3600000, 6, $4, 10, 10, $5,
                'active', TRUE, TRUE, $6, 0, 0, 0, 0, CAST($3 AS {int}), CAST($3 AS {int}))"
                .to_owned(),
        );
        let body = db::Command::<()>::built(
            "test::body",
            "INSERT INTO event_bodies (project_id, id, metadata) VALUES ($1, $2, '{}')".to_owned(),
        );
        for n in 0..number {
            let id = uuid::Uuid::from_u128(u128::from(n) + 1);
            let start = now + (i64::from(n % 17_520) - 8_760) * 3_600_000 + i64::from(n);
            let kind = ["online", "physical", "hybrid"][n as usize % 3];
            let visibility = if n % 10 == 0 { "invite" } else { "public" };
            let going = i64::from(n % 100);
            tx.execute(&insert, db::args![project, id, start, kind, visibility, going])?;
            tx.execute(&body, db::args![project, id])?;
        }
        townhall::features::events::store::recount::repair_totals(tx, project, project)
    });
    filled.await.unwrap();
    run(app, "{analyze}".to_owned()).await;
}

async fn lists_of_events_are_found_by_an_index(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let (ada, bob) = (app.user().await, app.user().await);
    let town = space(&ada, json!({})).await;
    let event = create(&app, &ada, json!({ "spaceId": town["id"], "visibility": "members" })).await;
    answer(&ada, &event, "going").await.expect(200);
    fill(&app, 6_000).await;
    let mut addresses: Vec<String> = Vec::new();
    let filters = [
        String::new(),
        "timeWindow=upcoming".to_owned(),
        "timeWindow=ongoing".to_owned(),
        "timeWindow=past".to_owned(),
        "startsAfter=2020-01-01&startsBefore=2021-01-01".to_owned(),
        "type=hybrid".to_owned(),
        "status=cancelled".to_owned(),
        format!("spaceId={}", town["id"].as_str().unwrap()),
        format!("hostId={}", ada.id),
        "titleFilters[includes]=t".to_owned(),
        "descriptionFilters[hasDescription]=true".to_owned(),
        "locationFilters[latitude]=10&locationFilters[longitude]=10&locationFilters[radius]=1000"
            .to_owned(),
        "locationFilters[latitude]=50&locationFilters[longitude]=10&locationFilters[radius]=1000"
            .to_owned(),
    ];
    for filter in &filters {
        for sort in ["", "sortDir=desc", "sortBy=going", "sortBy=going&sortDir=desc"] {
            addresses.push(format!("/events?{filter}&{sort}"));
        }
    }
    addresses.push(path(&event, "/rsvps"));
    addresses.push(path(&event, "/rsvps?status=going,maybe"));
    let mut of_users = addresses.clone();
    of_users.push("/events?myRsvp=going,maybe".to_owned());
    of_users.push(path(&event, "/invites"));
    let (anonymous, key) = (app.anonymous(), app.service());
    let mut statements = Seen::new();
    for (actor, asked) in
        [(&anonymous, &addresses), (&key, &addresses), (&*ada, &of_users), (&*bob, &addresses)]
    {
        for address in asked {
            let seen = app.statements.during(actor.get(address)).await;
            let seen = seen.into_iter().filter(|(name, _)| name.starts_with("events::"));
            let seen = seen.filter(|(name, _)| !name.contains("store"));
            statements.extend(seen.map(|seen| (seen, address.clone())));
        }
    }
    assert!(statements.len() > 25, "{}", statements.len());
    for (name, text, address, plan) in explained(&app, statements).await {
        let plan = of_tables(plan);
        assert!(!scans(&plan), "{address}: {name} {text}\n{}", plan.join("\n"));
    }
}

/// How many statements a list takes, and that none of them sorts or counts what it does not show.
async fn a_list_of_many_events_reads_as_much_as_one_of_few(app: TestApp) {
    let app = app.server_with_many_rows().await;
    fill(&app, 10_000).await;
    let anonymous = app.anonymous();
    for query in ["", "timeWindow=upcoming", "timeWindow=past&sortDir=desc"] {
        let address = format!("/events?{query}");
        let seen = app.statements.during(anonymous.get(&address)).await;
        let seen: Seen = seen
            .into_iter()
            .filter(|(name, _)| name.starts_with("events::list") || *name == "events::totals")
            .map(|seen| (seen, address.clone()))
            .collect();
        let engine = app.engine();
        for (name, text, address, plan) in explained(&app, seen).await {
            let plan = of_tables(plan);
            let plan_text = plan.join("\n");
            assert!(!scans(&plan), "{address}: {name} {text}\n{plan_text}");
            if name == "events::list::page" {
                // Each branch is walked in its order; only the rows of the page itself are merged.
                let uses = plan.iter().filter(|line| line.contains("events_time")).count();
                assert_eq!(uses, 3, "{address}: {text}\n{plan_text}");
                let sorted =
                    plan.iter().filter(|line| sorts(engine, std::slice::from_ref(*line))).count();
                assert!(sorted <= 1, "{address}: {text}\n{plan_text}");
            }
        }
    }
}
