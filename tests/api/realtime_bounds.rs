//! The limits of the realtime layer: sizes, queues, numbers and times, each with a client that exceeds it.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::raw_socket::{Poller, RawSocket, connect, request};
use crate::support::sockets::raise;
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    large_packets_close_the_connection,
    one_body_holds_so_many_packets_and_no_more,
    a_client_that_does_not_read_is_dropped,
    a_client_that_does_not_poll_is_dropped,
    a_user_has_so_many_sockets_and_no_more,
    a_server_has_so_many_connections_and_no_more,
    a_network_has_so_many_strangers_and_no_more,
    strangers_and_silent_clients_are_closed,
    a_client_that_hangs_up_is_gone,
    a_connection_tries_so_many_tokens_and_no_more,
];

async fn large_packets_close_the_connection(app: TestApp) {
    let user = app.user().await;
    let sized = |size: usize| format!("42[\"{}\"]", "x".repeat(size - 6));
    let mut socket = RawSocket::connect(&app, &user.access_token).await;
    socket.say(&sized(100_000)).await;
    raise(&app, &[user.id], "fence", json!({})).await;
    assert_eq!(socket.next().await.as_deref(), Some("42[\"fence\",{}]"));
    socket.say(&sized(100_001)).await;
    assert!(socket.is_closed().await);
    let poller = Poller::connect(&app, &user.access_token).await;
    assert_eq!(poller.post(sized(100_000)).await.text(), "ok");
    assert_eq!(poller.post(sized(100_001)).await.status, 413);
    assert_eq!(poller.get().await.text(), "1");
}

async fn one_body_holds_so_many_packets_and_no_more(app: TestApp) {
    let user = app.user().await;
    let poller = Poller::connect(&app, &user.access_token).await;
    assert_eq!(poller.post(vec!["3"; 1_000].join("\u{1e}")).await.text(), "ok");
    assert_eq!(poller.post(vec!["3"; 1_001].join("\u{1e}")).await.status, 400);
    let poller = Poller::connect(&app, &user.access_token).await;
    assert_eq!(poller.post(vec!["3"; 100_000].join("\u{1e}")).await.status, 413);
}

async fn a_client_that_does_not_read_is_dropped(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let _deaf = RawSocket::connect(&app, &user.access_token).await;
    let mut raised = 0;
    // What the system's own buffers take is not waiting here.
    while app.app.realtime.figures().slow == 0 {
        assert!(raised < 10_000, "nobody was dropped");
        let text = "x".repeat(10_000);
        raise(&app, &[user.id], "event", json!({ "text": text })).await;
        raised += 1;
    }
    let figures = app.app.realtime.figures();
    assert_eq!((figures.sockets, figures.slow), (0, 1));
    app.until(|app| app.app.realtime.figures().connections == 0).await;
}

async fn a_client_that_does_not_poll_is_dropped(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let poller = Poller::connect(&app, &user.access_token).await;
    for n in 0..128 {
        raise(&app, &[user.id], "counted", json!(n)).await;
    }
    app.until(|app| app.app.realtime.figures().delivered == 128).await;
    assert_eq!(app.app.realtime.figures().sockets, 1);
    raise(&app, &[user.id], "counted", json!(128)).await;
    app.until(|app| app.app.realtime.figures().slow == 1).await;
    assert_eq!(poller.get().await.status, 400);
}

async fn a_user_has_so_many_sockets_and_no_more(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let mut sockets = Vec::new();
    for _ in 0..50 {
        sockets.push(RawSocket::connect(&app, &user.access_token).await);
    }
    let again = user.sign_in_again().await;
    let mut refused = RawSocket::open(&app).await;
    refused.say(&connect(&again.access_token)).await;
    assert_eq!(refused.next().await.unwrap(), "44{\"message\":\"Too many connections\"}");
    let other = app.user().await;
    RawSocket::connect(&app, &other.access_token).await;
    sockets.pop();
    app.until(|app| app.app.realtime.figures().sockets < 50).await;
    RawSocket::connect(&app, &again.access_token).await;
}

async fn a_server_has_so_many_connections_and_no_more(app: TestApp) {
    let app = app.restart_with(|config| config.adjust(|c| c.realtime.connections = 3)).await;
    let user = app.user().await;
    let first = RawSocket::connect(&app, &user.access_token).await;
    let _second = Poller::connect(&app, &user.access_token).await;
    let _third = Poller::open(&app).await;
    assert_eq!(request(&app, Method::GET, "", "").await.status, 503);
    assert_eq!(RawSocket::ask(&app, "", &[]).await.err(), Some(503));
    drop(first);
    app.until(|app| app.app.realtime.figures().connections < 3).await;
    assert_eq!(request(&app, Method::GET, "", "").await.status, 200);
}

async fn a_network_has_so_many_strangers_and_no_more(app: TestApp) {
    let change = |c: &mut townhall::config::Config| c.realtime.strangers_per_network = 3;
    let app = app.restart_with(|config| config.adjust(change)).await;
    let user = app.user().await;
    let mut strangers = Vec::new();
    for _ in 0..3 {
        strangers.push(Poller::open(&app).await);
    }
    assert_eq!(request(&app, Method::GET, "", "").await.status, 503);
    // Authenticating frees a slot for the next connection.
    strangers[0].post(connect(&user.access_token)).await;
    assert!(strangers[0].get().await.text().starts_with("40{"));
    Poller::open(&app).await;
    assert_eq!(request(&app, Method::GET, "", "").await.status, 503);
}

async fn strangers_and_silent_clients_are_closed(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let mut stranger = RawSocket::open(&app).await;
    let waiting = Poller::open(&app).await;
    let mut silent = RawSocket::connect(&app, &user.access_token).await;
    let unheard = Poller::connect(&app, &user.access_token).await;
    app.advance(Duration::from_secs(15));
    assert!(stranger.is_closed().await);
    assert_eq!(waiting.get().await.text(), "1");
    app.advance(Duration::from_secs(10));
    assert_eq!(silent.next().await.as_deref(), Some("2"));
    assert_eq!(unheard.get().await.text(), "2");
    app.advance(Duration::from_secs(20));
    assert!(silent.is_closed().await);
    app.until(|app| app.app.realtime.figures().sockets == 0).await;
    assert_eq!(unheard.get().await.status, 400);
}

async fn a_client_that_hangs_up_is_gone(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let socket = RawSocket::connect(&app, &user.access_token).await;
    drop(socket);
    app.until(|app| app.app.realtime.figures().sockets == 0).await;
    let poller = Poller::connect(&app, &user.access_token).await;
    let mut poll = TcpStream::connect(app.address).await.unwrap();
    let address = format!("/socket.io/?EIO=4&transport=polling&sid={}", poller.sid);
    let head = format!("GET {address} HTTP/1.1\r\nHost: x\r\n\r\n");
    poll.write_all(head.as_bytes()).await.unwrap();
    app.until(|app| app.app.realtime.figures().polls == 1).await;
    drop(poll);
    app.until(|app| app.app.realtime.figures().sockets == 0).await;
}

async fn a_connection_tries_so_many_tokens_and_no_more(app: TestApp) {
    let mut socket = RawSocket::open(&app).await;
    for _ in 0..20 {
        socket.say(&connect("a.b.c")).await;
        assert_eq!(socket.next().await.unwrap(), "44{\"message\":\"Forbidden\"}");
    }
    socket.say(&connect("a.b.c")).await;
    assert!(socket.is_closed().await);
}
