//! Clients that break the protocol: they are disconnected or ignored, without other effects.

use http::Method;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::support::raw_socket::{Poller, RawSocket, connect, request};
use crate::support::sockets::raise;
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    malformed_packets_close_a_websocket,
    malformed_packets_close_a_polling_connection,
    harmless_packets_are_ignored,
    nothing_is_taken_before_a_connection_says_whose_it_is,
    requests_that_are_no_part_of_the_protocol_are_refused,
    two_requests_of_a_kind_at_once_close_the_connection,
    sids_cannot_be_guessed,
    pages_of_other_origins_cannot_connect,
    a_failed_upgrade_leaves_polling_as_it_was,
];

fn malformed() -> Vec<String> {
    let deep = format!("42[\"a\",{}{}]", "[".repeat(40_000), "]".repeat(40_000));
    let more = [
        "",
        "x",
        "0",
        "2",
        "2probe",
        "7",
        "42[",
        "42[]",
        "42{}",
        "42[{}]",
        "40{",
        "40[]",
        "4",
        "49",
        "44{}",
        "451-[\"a\",{\"_placeholder\":true,\"num\":0}]",
        "461-[]",
        "4511-[\"a\"]",
        "451000000-[\"a\"]",
        "42[\"\\ud800\"]",
        "42[\"\\u0000\"]",
        "bAAAA",
    ];
    more.into_iter().map(ToOwned::to_owned).chain([deep]).collect()
}

async fn malformed_packets_close_a_websocket(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    for packet in malformed() {
        let mut socket = RawSocket::connect(&app, &user.access_token).await;
        socket.say(&packet).await;
        assert!(socket.is_closed().await, "{}", &packet[..packet.len().min(40)]);
    }
    let not_text = Frame::message(vec![b'4', 0xff, 0xfe], OpCode::Data(Data::Text), true);
    for message in [Message::binary(vec![4, 2]), Message::Frame(not_text)] {
        let mut socket = RawSocket::connect(&app, &user.access_token).await;
        socket.send(message).await;
        assert!(socket.is_closed().await);
    }
    app.until(|app| app.app.realtime.figures().connections == 0).await;
}

async fn malformed_packets_close_a_polling_connection(app: TestApp) {
    let user = app.user().await;
    for packet in malformed() {
        let poller = Poller::connect(&app, &user.access_token).await;
        assert_eq!(poller.post(packet.clone()).await.status, 400, "{packet:.40}");
        assert_eq!(poller.get().await.text(), "1");
        assert_eq!(poller.get().await.status, 400);
    }
    let poller = Poller::connect(&app, &user.access_token).await;
    assert_eq!(poller.post(vec![b'4', 0xff]).await.status, 400);
}

async fn harmless_packets_are_ignored(app: TestApp) {
    let user = app.user().await;
    let mut socket = RawSocket::connect(&app, &user.access_token).await;
    for packet in [
        "3",
        "5",
        "6",
        "431[]",
        "42[\"unknown\"]",
        "42[7]",
        "4212[\"join:conversation\",{}]",
        "42/x,[\"a\"]",
        "41/x,",
        &connect("again"),
    ] {
        socket.say(packet).await;
    }
    raise(&app, &[user.id], "fence", json!({})).await;
    assert_eq!(socket.next().await.as_deref(), Some("42[\"fence\",{}]"));
}

async fn nothing_is_taken_before_a_connection_says_whose_it_is(app: TestApp) {
    let mut socket = RawSocket::open(&app).await;
    socket.say("42[\"join:conversation\",{}]").await;
    assert!(socket.is_closed().await);
    let mut socket = RawSocket::open(&app).await;
    socket.say("40").await;
    assert_eq!(socket.next().await.unwrap(), "44{\"message\":\"Unauthorized\"}");
    // It may try again on the same connection.
    let user = app.user().await;
    socket.say(&connect(&user.access_token)).await;
    assert!(socket.next().await.unwrap().starts_with("40{"));
}

async fn requests_that_are_no_part_of_the_protocol_are_refused(app: TestApp) {
    let poller = Poller::open(&app).await;
    let sid = format!("&sid={}", poller.sid);
    for (method, query, code) in [
        (Method::GET, "EIO=3&transport=polling", 5),
        (Method::GET, "transport=polling", 5),
        (Method::GET, "EIO=4", 0),
        (Method::GET, "EIO=4&transport=carrier-pigeon", 0),
        (Method::POST, "EIO=4&transport=polling", 2),
        (Method::GET, "EIO=4&transport=polling&sid=unknown", 1),
        (Method::POST, "EIO=4&transport=polling&sid=unknown", 1),
        (Method::GET, "EIO=4&transport=websocket", 3),
        (Method::GET, &format!("EIO=4&transport=websocket{sid}"), 3),
        (Method::PUT, &format!("EIO=4&transport=polling{sid}"), 3),
        (Method::GET, &format!("EIO=4&transport=polling&x={}", "x".repeat(3000)), 3),
    ] {
        let (status, body) = app_raw(&app, method, &format!("/socket.io/?{query}")).await;
        assert_eq!((status, body["code"].as_i64()), (400, Some(code)), "{query}");
    }
    assert_eq!(poller.post("40").await.text(), "ok", "the connection is as it was");
}

async fn app_raw(app: &TestApp, method: Method, address: &str) -> (u16, serde_json::Value) {
    let reply = app.anonymous().raw(method, address, "", "").await;
    (reply.status, reply.json())
}

async fn two_requests_of_a_kind_at_once_close_the_connection(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let poller = Poller::connect(&app, &user.access_token).await;
    let (one, other) = tokio::join!(poller.get(), poller.get());
    let mut answers = [(one.status, one.text()), (other.status, other.text())];
    answers.sort();
    assert_eq!(answers[0], (200, "1".to_owned()));
    assert_eq!(answers[1].0, 400);
    assert_eq!(app.app.realtime.figures().sockets, 0);
}

async fn sids_cannot_be_guessed(app: TestApp) {
    let one = Poller::open(&app).await;
    let other = Poller::open(&app).await;
    assert_eq!((one.sid.len(), other.sid.len()), (32, 32));
    assert_ne!(one.sid, other.sid);
    for guess in ["", "0", &one.sid[1..], &one.sid.to_lowercase(), "../", "%00"] {
        let reply = request(&app, Method::POST, &format!("&sid={guess}"), "40").await;
        assert_eq!(reply.status, 400, "{guess}");
    }
    // The public id of a socket does not reveal the secret of its connection.
    let user = app.user().await;
    let poller = Poller::open(&app).await;
    poller.post(connect(&user.access_token)).await;
    assert!(!poller.get().await.text().contains(&poller.sid));
}

async fn pages_of_other_origins_cannot_connect(app: TestApp) {
    app.allow_origins(&["https://app.example.com", "https://*.example.org"]).await;
    let query = format!("&projectId={}", app.project.id);
    let own = [("Origin", "https://app.example.com")];
    let below = [("Origin", "https://a.b.example.org")];
    assert!(RawSocket::ask(&app, &query, &below).await.is_ok());
    let foreign = [("Origin", "https://evil.example")];
    assert!(RawSocket::ask(&app, &query, &own).await.is_ok());
    assert!(RawSocket::ask(&app, &query, &[]).await.is_ok());
    assert_eq!(RawSocket::ask(&app, &query, &foreign).await.err(), Some(403));

    let address = format!("/socket.io/?EIO=4&transport=polling{query}");
    let get = |origin: &'static str| async {
        let asked = app.anonymous().with_header("Origin", origin);
        asked.raw(Method::GET, &address, "", "").await
    };
    let allowed = get("https://app.example.com").await;
    assert_eq!(allowed.status, 200);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example.com"));
    assert_eq!(allowed.header("access-control-allow-credentials"), None);
    let refused = get("https://evil.example").await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None));
    // Nor does the secret of a connection help a page that may not call the project.
    let poller = Poller::open(&app).await;
    let sid = format!("/socket.io/?EIO=4&transport=polling&sid={}", poller.sid);
    let asked = app.anonymous().with_header("Origin", "https://evil.example");
    assert_eq!(asked.raw(Method::GET, &sid, "", "").await.status, 403);
    let upgrade = format!("&sid={}", poller.sid);
    assert_eq!(RawSocket::ask(&app, &upgrade, &foreign).await.err(), Some(403));
}

async fn a_failed_upgrade_leaves_polling_as_it_was(app: TestApp) {
    let user = app.user().await;
    let poller = Poller::connect(&app, &user.access_token).await;
    let sid = format!("&sid={}", poller.sid);
    let mut tried =
        RawSocket::ask(&app, &sid, &[]).await.unwrap_or_else(|status| panic!("{status}"));
    // One at a time.
    assert_eq!(RawSocket::ask(&app, &sid, &[]).await.err(), Some(400));
    tried.say("2probe").await;
    assert_eq!(tried.next().await.as_deref(), Some("3probe"));
    assert_eq!(poller.get().await.text(), "6");
    drop(tried);
    raise(&app, &[user.id], "event", json!({})).await;
    let mut heard = poller.get().await.text();
    while heard == "6" {
        heard = poller.get().await.text();
    }
    assert_eq!(heard, "42[\"event\",{}]");
    // And one that succeeds is the only way from then on.
    let mut socket =
        RawSocket::ask(&app, &sid, &[]).await.unwrap_or_else(|status| panic!("{status}"));
    socket.say("2probe").await;
    assert_eq!(socket.next().await.as_deref(), Some("3probe"));
    socket.say("5").await;
    raise(&app, &[user.id], "event", json!({})).await;
    assert_eq!(socket.next().await.as_deref(), Some("42[\"event\",{}]"));
    assert_eq!(poller.get().await.status, 400);
}
