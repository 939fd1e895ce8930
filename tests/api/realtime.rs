//! Events to connected clients, with the official client: who gets them, in which order, by which transport.

use serde_json::{Value, json};
use townhall::error::Error;
use townhall::realtime::{self, Announcement};
use townhall::tenancy::Bundle;

use crate::support::sockets::{Sockets, raise, raise_in};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    an_event_reaches_every_socket_of_its_users_once_and_nobody_else,
    events_arrive_in_the_order_of_their_commits,
    polling_goes_on_as_websocket_and_loses_nothing,
    an_event_of_work_that_was_undone_reaches_nobody,
    each_recipient_may_see_an_event_in_their_own_way,
    payloads_arrive_as_they_were_written,
    connections_are_refused_without_a_token_that_holds,
    a_namespace_other_than_the_main_one_is_refused,
    a_client_may_leave_and_come_back_with_a_new_token,
    the_operator_sees_how_many_sockets_there_are,
];

const TRANSPORTS: [&str; 2] = ["websocket", "polling"];

async fn an_event_reaches_every_socket_of_its_users_once_and_nobody_else(app: TestApp) {
    let mut client = Sockets::default();
    let (ada, bob) = (app.user().await, app.user().await);
    let mut sockets = Vec::new();
    for transport in TRANSPORTS {
        sockets.push(client.connect(&app, transport, &ada).await);
        sockets.push(client.connect(&app, transport, &ada.sign_in_again().await).await);
        sockets.push(client.connect(&app, transport, &bob).await);
    }
    raise(&app, &[ada.id, ada.id], "first", json!({ "n": 1 })).await;
    raise(&app, &[bob.id], "second", json!({ "n": 2 })).await;
    raise_in(&app, app.other.id, &[ada.id, bob.id], "foreign", json!({})).await;
    raise(&app, &[bob.id, ada.id], "third", json!({ "n": 3 })).await;
    for (index, socket) in sockets.iter_mut().enumerate() {
        let own = if index % 3 == 2 { ("second", 2) } else { ("first", 1) };
        assert_eq!(socket.event().await, (own.0.to_owned(), json!({ "n": own.1 })));
        assert_eq!(socket.event().await, ("third".to_owned(), json!({ "n": 3 })));
    }
}

async fn events_arrive_in_the_order_of_their_commits(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut sockets = Vec::new();
    for transport in TRANSPORTS {
        sockets.push(client.connect(&app, transport, &user).await);
    }
    for n in 0..100 {
        raise(&app, &[user.id], "counted", json!(n)).await;
    }
    for socket in &mut sockets {
        for n in 0..100 {
            assert_eq!(socket.event().await, ("counted".to_owned(), json!(n)));
        }
    }
}

async fn polling_goes_on_as_websocket_and_loses_nothing(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let with = json!({ "projectId": app.project.id, "token": user.access_token });
    let mut socket = client.open(&app, &["polling", "websocket"], with);
    let (mut connected, mut upgraded, mut heard, mut raised) = (false, false, 0, 0);
    while !connected || !upgraded || heard < raised {
        let happened = socket.next().await;
        match happened["kind"].as_str() {
            Some("connect") => connected = true,
            Some("upgrade") => {
                assert_eq!(happened["transport"], "websocket");
                upgraded = true;
            }
            Some("event") => {
                assert_eq!(happened["args"], json!([heard]));
                heard += 1;
            }
            _ => panic!("{happened}"),
        }
        // Some before, some on the way, and some after it.
        while connected && raised < heard + 4 && raised < 40 {
            raise(&app, &[user.id], "counted", json!(raised)).await;
            raised += 1;
        }
    }
    assert_eq!(heard, 40);
}

async fn an_event_of_work_that_was_undone_reaches_nobody(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut socket = client.connect(&app, "websocket", &user).await;
    let (project, id) = (app.project.id, user.id);
    let undone = app.app.db.write(move |tx| {
        realtime::event(tx, project, &[id], "undone", &json!({}))?;
        Err::<(), _>(Error::Busy("on purpose"))
    });
    assert!(undone.await.is_err());
    raise(&app, &[user.id], "done", json!({})).await;
    assert_eq!(socket.event().await.0, "done");
}

async fn each_recipient_may_see_an_event_in_their_own_way(app: TestApp) {
    let mut client = Sockets::default();
    let (ada, bob) = (app.user().await, app.user().await);
    let mut of_ada = client.connect(&app, "websocket", &ada).await;
    let mut of_bob = client.connect(&app, "polling", &bob).await;
    let raw = |value: Value| serde_json::value::to_raw_value(&value).unwrap();
    let announcement = Announcement::Events {
        project: app.project.id,
        name: "conversation:created".to_owned(),
        payloads: vec![
            (ada.id, raw(json!({ "own": "ada" }))),
            (bob.id, raw(json!({ "own": "bob" }))),
        ],
    };
    let raised = app.app.db.write(move |tx| realtime::announce(tx, &announcement));
    raised.await.unwrap();
    assert_eq!(of_ada.event().await.1, json!({ "own": "ada" }));
    assert_eq!(of_bob.event().await.1, json!({ "own": "bob" }));
}

async fn payloads_arrive_as_they_were_written(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut sockets = Vec::new();
    for transport in TRANSPORTS {
        sockets.push(client.connect(&app, transport, &user).await);
    }
    let long = "ü🦀\u{1}\"\\".repeat(30_000);
    for text in ["", "plain", "line\u{2028}end\u{1e}\n", &long] {
        let payload = json!({ "text": text, "n": 1.5, "none": null });
        raise(&app, &[user.id], "written", payload.clone()).await;
        for socket in &mut sockets {
            assert!(socket.event().await.1 == payload);
        }
    }
}

async fn connections_are_refused_without_a_token_that_holds(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let (project, nowhere) = (app.project.id, "00000000-0000-4000-8000-000000000000");
    let expired = user.access_token.clone();
    app.advance(std::time::Duration::from_secs(1800));
    let bare = app.project_with(&[Bundle::Entities]).await;
    let somebody =
        json!({ "email": "a@example.com", "password": "correct horse", "username": "a" });
    let signed_up = app.anonymous().in_project(bare.id).post("/auth/sign-up", somebody).await;
    let of_bare = signed_up.expect(201)["accessToken"].clone();
    let stranger = app.stranger().await;
    let fresh = user.sign_in_again().await;
    let token = &fresh.access_token;
    for transport in TRANSPORTS {
        for (with, words) in [
            (json!({ "projectId": project }), "Unauthorized"),
            (json!({ "projectId": project, "token": "" }), "Unauthorized"),
            (json!({ "projectId": project, "token": 7 }), "Unauthorized"),
            (json!({ "projectId": project, "token": "a.b.c" }), "Forbidden"),
            (json!({ "projectId": project, "token": expired }), "Forbidden"),
            (json!({ "projectId": project, "token": stranger.access_token }), "Forbidden"),
            (json!({ "projectId": project, "token": fresh.refresh_token }), "Forbidden"),
            (json!({ "projectId": project, "token": app.project.service_key }), "Forbidden"),
            (json!({ "projectId": project, "token": app.project.master_key }), "Forbidden"),
            (json!({ "projectId": app.other.id, "token": token }), "Forbidden"),
            (json!({ "projectId": bare.id, "token": of_bare }), "Forbidden"),
            (json!({ "projectId": nowhere, "token": token }), "Forbidden"),
            (json!({ "projectId": "no id", "token": token }), "Forbidden"),
            (json!({ "token": token }), "Forbidden"),
        ] {
            let mut socket = client.open(&app, &[transport], with.clone());
            assert_eq!(socket.refused().await, words, "{transport} {with}");
        }
        client.connect(&app, transport, &fresh).await;
    }
}

async fn a_namespace_other_than_the_main_one_is_refused(app: TestApp) {
    let mut client = Sockets::default();
    let user = app.user().await;
    let with = json!({
        "projectId": app.project.id,
        "token": user.access_token,
        "namespace": "/admin",
    });
    let mut socket = client.open(&app, &["websocket"], with);
    assert_eq!(socket.refused().await, "Invalid namespace");
}

async fn a_client_may_leave_and_come_back_with_a_new_token(app: TestApp) {
    let app = app.own_server().await;
    let mut client = Sockets::default();
    let (user, witness) = (app.user().await, app.user().await);
    let mut witness_socket = client.connect(&app, "websocket", &witness).await;
    for transport in TRANSPORTS {
        let mut socket = client.connect(&app, transport, &user).await;
        socket.disconnect();
        assert_eq!(socket.closed().await, "io client disconnect");
        app.until(|app| app.app.realtime.figures().sockets == 1).await;
        raise(&app, &[user.id, witness.id], "missed", json!({})).await;
        // Events pass through the database: this one is over once the witness has it.
        assert_eq!(witness_socket.event().await.0, "missed");
        let again = user.sign_in_again().await;
        socket.connect(Some(&again.access_token));
        socket.connected().await;
        raise(&app, &[user.id], "heard", json!({})).await;
        assert_eq!(socket.event().await.0, "heard");
        socket.disconnect();
        assert_eq!(socket.closed().await, "io client disconnect");
    }
    app.until(|app| app.app.realtime.figures().connections == 1).await;
}

async fn the_operator_sees_how_many_sockets_there_are(app: TestApp) {
    let app = app.own_server().await;
    let mut client = Sockets::default();
    let user = app.user().await;
    let mut socket = client.connect(&app, "websocket", &user).await;
    raise(&app, &[user.id], "event", json!({})).await;
    socket.event().await;
    let metrics = app.anonymous().raw(http::Method::GET, "/metrics", "", "").await.text();
    for line in [
        "townhall_realtime_connections 1",
        "townhall_realtime_polls 0",
        "townhall_realtime_sockets 1",
        "townhall_realtime_events_delivered_total 1",
        "townhall_realtime_sockets_dropped_total 0",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}
