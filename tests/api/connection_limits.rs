//! Connection slots: a cap, a share for each network, and the reserve beyond them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use tokio::task::block_in_place;
use townhall::config::Config;

use crate::support::raw_socket::RawSocket;
use crate::support::wire::{
    PATIENCE, ask_from, connect_from, get, one_reply, send, status, until_closed,
};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    beyond_the_cap_only_health_checks_are_served,
    a_network_has_its_share_and_no_more,
    a_trusted_proxy_has_no_share,
    one_network_does_not_take_the_whole_reserve,
    a_websocket_keeps_its_place,
];

/// A server with these limits, where no connection is idle for too long.
async fn restarted(app: TestApp, limits: fn(&mut Config)) -> TestApp {
    app.restart_with(|config| {
        config.adjust(limits);
        config.adjust(|config| config.head_timeout = 10 * PATIENCE);
    })
    .await
}

/// A connection in a regular slot gets no `Connection: close`.
fn is_regular(reply: &str) -> bool {
    status(reply) == "200" && !reply.contains("connection: close")
}

/// A connection that has made one request and stays open.
fn idle_from(app: &TestApp, host: u8) -> TcpStream {
    let mut stream = connect_from(app, host);
    send(&mut stream, &get("/livez", ""));
    let reply = one_reply(&mut stream);
    assert!(is_regular(&reply), "{reply}");
    stream
}

#[track_caller]
fn is_refused(app: &TestApp, host: u8, path: &str) {
    let mut stream = connect_from(app, host);
    send(&mut stream, &get(path, ""));
    let reply = until_closed(stream);
    assert_eq!(status(&reply), "503", "{reply}");
    for part in ["retry-after: 1\r\n", "connection: close\r\n", "server/busy"] {
        assert!(reply.contains(part), "{part}: {reply}");
    }
}

/// A health check; nothing if there is no place for it, not even in the reserve, which a connection leaves
/// a moment after its client has.
fn live_from(app: &TestApp, host: u8) -> String {
    let mut stream = connect_from(app, host);
    let mut reply = [0; 1024];
    let sent = stream.write_all(get("/livez", "").as_bytes());
    let size = sent.and_then(|()| stream.read(&mut reply)).unwrap_or(0);
    String::from_utf8_lossy(&reply[..size]).into_owned()
}

async fn beyond_the_cap_only_health_checks_are_served(app: TestApp) {
    let app = restarted(app, |config| config.max_connections = 2).await;
    let lean = format!("/v8/{}/projects/lean", app.project.id);
    block_in_place(|| {
        let first = idle_from(&app, 1);
        let _second = idle_from(&app, 2);
        for path in [lean.as_str(), "/nowhere", "/socket.io/?EIO=4&transport=polling"] {
            is_refused(&app, 3, path);
        }
        for path in ["/livez", "/readyz", "//livez/"] {
            let reply = ask_from(&app, 3, path);
            assert_eq!(status(&reply), "200", "{path}: {reply}");
        }
        let metrics = ask_from(&app, 1, "/metrics");
        assert!(metrics.contains("\ntownhall_http_connections_open "), "{metrics}");
        assert!(metrics.contains("\ntownhall_http_connections_refused_total 7\n"), "{metrics}");
        drop(first);
        let mut tries = 0..100_000;
        assert!(tries.any(|_| is_regular(&live_from(&app, 3))), "the place is not free again");
    });
}

async fn a_network_has_its_share_and_no_more(app: TestApp) {
    let app = restarted(app, |config| config.connections_per_network = 2).await;
    let lean = format!("/v8/{}/projects/lean", app.project.id);
    block_in_place(|| {
        let held = [idle_from(&app, 2), idle_from(&app, 2)];
        is_refused(&app, 2, &lean);
        assert_eq!(status(&ask_from(&app, 2, "/livez")), "200");
        let _others = [idle_from(&app, 3), idle_from(&app, 4)];
        assert_eq!(status(&ask_from(&app, 3, &lean)), "200");
        drop(held);
        let mut tries = 0..100_000;
        assert!(tries.any(|_| is_regular(&live_from(&app, 2))), "the share is not free again");
    });
}

async fn a_trusted_proxy_has_no_share(app: TestApp) {
    let one = |config: &mut Config| {
        config.connections_per_network = 1;
        config.trusted_proxies = vec!["127.0.0.2".parse().unwrap()];
    };
    let app = restarted(app, one).await;
    block_in_place(|| {
        let _many: Vec<_> = (0..20).map(|_| idle_from(&app, 2)).collect();
        let _one = idle_from(&app, 3);
        is_refused(&app, 3, "/nowhere");
    });
}

async fn one_network_does_not_take_the_whole_reserve(app: TestApp) {
    let app = restarted(app, |config| config.max_connections = 1).await;
    block_in_place(|| {
        let _only = idle_from(&app, 1);
        let silent: Vec<_> = (0..200).map(|_| connect_from(&app, 2)).collect();
        for host in 3..23 {
            let reply = ask_from(&app, host, "/livez");
            assert_eq!(status(&reply), "200", "{reply}");
            is_refused(&app, host, "/nowhere");
        }
        // Silence does not hold the reserve, and what it does not hold was closed at once.
        for stream in silent {
            assert_eq!(until_closed(stream), "");
        }
        let mut tries = 0..100_000;
        assert!(tries.any(|_| status(&live_from(&app, 2)) == "200"), "the reserve is still taken");
    });
}

async fn a_websocket_keeps_its_place(app: TestApp) {
    let app = restarted(app, |config| config.connections_per_network = 1).await;
    let mut socket = RawSocket::open(&app).await;
    block_in_place(|| is_refused(&app, 1, "/nowhere"));
    socket.say("1").await;
    assert!(socket.is_closed().await);
    drop(socket);
    let mut tries = 0..100_000;
    let is_free = block_in_place(|| tries.any(|_| is_regular(&live_from(&app, 1))));
    assert!(is_free, "the place is not free again");
}
