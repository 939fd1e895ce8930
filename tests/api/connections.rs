//! The transport below HTTP: clients that are slow, send too much or contradict themselves, and a server that
//! stops. These tests use raw sockets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::block_in_place;
use townhall::config::Config;

use crate::support::wire::{PATIENCE, connect, get, one_reply, send, status, until_closed};
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    a_slow_head_is_cut_off,
    a_slow_body_is_cut_off,
    too_large_a_head_is_refused,
    a_length_that_is_ambiguous_smuggles_nothing,
    non_http_input_is_refused,
    an_unread_body_is_not_taken_for_the_next_request,
    a_draining_server_finishes_running_requests_and_then_refuses,
    a_draining_server_says_so_on_idle_connections,
    busy_clients_are_not_cut_off_by_the_end,
    requests_that_outlast_the_drain_are_cut_off,
];

fn exchange(app: &TestApp, request: &str) -> String {
    block_in_place(|| {
        let mut stream = connect(app);
        // The server may have refused and closed before it took everything.
        let _ = stream.write_all(request.as_bytes());
        until_closed(stream)
    })
}

async fn a_slow_head_is_cut_off(app: TestApp) {
    let quick = |config: &mut townhall::config::Config| {
        config.head_timeout = Duration::from_millis(200);
    };
    let app = app.restart_with(|config| config.adjust(quick)).await;
    block_in_place(|| {
        for begun in ["", "GET", "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: "] {
            let mut stream = connect(&app);
            send(&mut stream, begun);
            let answer = until_closed(stream);
            assert!(answer.is_empty() || status(&answer) == "408", "{begun:?}: {answer}");
        }
        let mut idle = connect(&app);
        send(&mut idle, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(status(&one_reply(&mut idle)), "200");
        assert_eq!(until_closed(idle), "", "an idle connection is closed as well");
    });
}

async fn a_slow_body_is_cut_off(app: TestApp) {
    let quick = |config: &mut townhall::config::Config| {
        config.body_timeout = Duration::from_millis(200);
    };
    let app = app.restart_with(|config| config.adjust(quick)).await;
    let request = format!(
        "POST /v8/{}/auth/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{\"email\"",
        app.project.id
    );
    let answer = exchange(&app, &request);
    assert_eq!(status(&answer), "408", "{answer}");
    assert!(answer.contains("request/timeout"), "{answer}");
}

async fn too_large_a_head_is_refused(app: TestApp) {
    let lines = |count: usize, length: usize| {
        (0..count).map(|n| format!("X-{n}: {}\r\n", "x".repeat(length))).collect::<String>()
    };
    let with = |line: &str, headers: &str| {
        format!("GET {line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n")
    };
    let cases = [
        (with("/livez", &lines(98, 10)), "200"),
        (with("/livez", &lines(200, 10)), "431"),
        (with("/livez", &lines(2, 15_000)), "200"),
        (with("/livez", &lines(2, 20_000)), "431"),
        (with("/livez", &lines(2, 100_000)), "431"),
        (with(&format!("/livez?{}", "x".repeat(8 * 1024 - 7)), ""), "200"),
        (with(&format!("/livez?{}", "x".repeat(16 * 1024)), ""), "414"),
    ];
    for (request, expected) in cases {
        let answer = exchange(&app, &request);
        assert_eq!(status(&answer), expected, "{} bytes: {answer}", request.len());
    }
}

fn post(app: &TestApp, headers: &str, body: &str) -> String {
    let id = app.project.id;
    format!("POST /v8/{id}/auth/sign-in HTTP/1.1\r\nHost: x\r\n{headers}\r\n{body}")
}

async fn a_length_that_is_ambiguous_smuggles_nothing(app: TestApp) {
    let second = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    // Chunked encoding takes precedence over a length, and the connection closes with the reply: nothing is
    // parsed as a smuggled second request.
    for headers in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    ] {
        let chunked = format!("2\r\n{{}}\r\n0\r\n\r\n{second}");
        let answer = exchange(&app, &post(&app, headers, &chunked));
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{headers}: {answer}");
        assert!(answer.contains("auth/invalid-credentials"), "{headers}: {answer}");
    }
    for headers in [
        "Content-Length: 2\r\nContent-Length: 5\r\n",
        "Content-Length: 2, 5\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: -1\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: gzip\r\n",
    ] {
        let answer = exchange(&app, &post(&app, headers, &format!("{{}}{second}")));
        assert_eq!(status(&answer), "400", "{headers}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{headers}: {answer}");
    }
    let broken_chunk = post(&app, "Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n");
    let answer = exchange(&app, &broken_chunk);
    assert_eq!(status(&answer), "400", "{answer}");
    assert!(answer.contains("request/broken"), "{answer}");
    let whole =
        post(&app, "Connection: close\r\nTransfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n");
    assert!(exchange(&app, &whole).contains("auth/invalid-credentials"));
}

async fn non_http_input_is_refused(app: TestApp) {
    for request in [
        "nonsense\r\n\r\n",
        "GET /livez HTTP/3.0\r\n\r\n",
        "GET /livez HTTP/1.1\r\nNo colon\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: x\r\n X-Folded: y\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01",
    ] {
        let answer = exchange(&app, request);
        let refused = answer.is_empty() || status(&answer) == "400";
        assert!(refused, "{}: {answer}", request.escape_debug());
    }
    let tunnel =
        exchange(&app, "CONNECT evil.example:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_eq!(status(&tunnel), "404", "{tunnel}");
}

async fn an_unread_body_is_not_taken_for_the_next_request(app: TestApp) {
    let body = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let request = format!(
        "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}\
         GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let answer = exchange(&app, &request);
    assert_eq!(status(&answer), "404", "{answer}");
    assert!(!answer.contains("\r\n\r\nok"), "the body was answered as a request: {answer}");
}

async fn a_draining_server_finishes_running_requests_and_then_refuses(app: TestApp) {
    let app = app.own_server().await;
    block_in_place(|| {
        let mut idle = connect(&app);
        let mut begun = connect(&app);
        send(&mut begun, &post(&app, "Content-Length: 2\r\n", "{"));
        let mut unready = connect(&app);
        send(&mut unready, "GET /readyz HTTP/1.1\r\nHost: x\r\n");
        // Connections are accepted in order, so after this reply the others are accepted, too.
        send(&mut idle, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(status(&one_reply(&mut idle)), "200");
        let mut last = connect(&app);
        send(&mut last, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(status(&one_reply(&mut last)), "200");

        app.app.drain();
        assert_eq!(until_closed(idle), "", "an idle connection is closed");
        send(&mut begun, "}");
        let answer = until_closed(begun);
        assert_eq!(status(&answer), "400", "{answer}");
        assert!(answer.contains("auth/invalid-credentials"), "{answer}");
        send(&mut unready, "\r\n");
        let answer = until_closed(unready);
        assert_eq!(status(&answer), "503", "{answer}");
        let mut tries = 0..100_000;
        assert!(
            tries.any(|_| TcpStream::connect(app.address).is_err()),
            "new connections are still accepted"
        );
    });
}

/// A client may have just sent its next request when the server stops.
async fn a_draining_server_says_so_on_idle_connections(app: TestApp) {
    let long = |config: &mut Config| config.drain = 10 * PATIENCE;
    let app = app.restart_with(|config| config.adjust(long)).await;
    block_in_place(|| {
        let mut idle = connect(&app);
        send(&mut idle, &get("/livez", ""));
        let reply = one_reply(&mut idle);
        assert!(!reply.contains("connection: close"), "{reply}");
        app.app.drain();
        send(&mut idle, &get("/livez", ""));
        let answer = until_closed(idle);
        assert_eq!(status(&answer), "200", "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    });
}

async fn busy_clients_are_not_cut_off_by_the_end(app: TestApp) {
    let app = app.own_server().await;
    let answered = AtomicUsize::new(0);
    let is_busy = |answered: &AtomicUsize| answered.load(Ordering::Relaxed) > 200;
    // Until the server says that it closes, or is not there any more.
    let client = || {
        let mut stream = connect(&app);
        loop {
            send(&mut stream, &get("/livez", ""));
            let reply = one_reply(&mut stream);
            assert_eq!(status(&reply), "200");
            answered.fetch_add(1, Ordering::Relaxed);
            if reply.contains("connection: close\r\n") {
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
                return;
            }
        }
    };
    block_in_place(|| {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..16).map(|_| scope.spawn(client)).collect();
            while !is_busy(&answered) && !clients.iter().any(|client| client.is_finished()) {
                std::thread::yield_now();
            }
            app.app.drain();
            clients.into_iter().for_each(|client| client.join().unwrap());
        });
    });
}

async fn requests_that_outlast_the_drain_are_cut_off(app: TestApp) {
    let short = |config: &mut Config| config.drain = Duration::from_millis(200);
    let app = app.restart_with(|config| config.adjust(short)).await;
    block_in_place(|| {
        let mut begun = connect(&app);
        send(&mut begun, &post(&app, "Content-Length: 1000000\r\n", &" ".repeat(100_000)));
        let mut served = connect(&app);
        send(&mut served, &get("/livez", ""));
        assert_eq!(status(&one_reply(&mut served)), "200");
        app.app.drain();
        assert_eq!(until_closed(begun), "");
    });
}
