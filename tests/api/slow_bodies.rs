//! Requests that wait for their body: the minimum rate, the maximum number, and that they do not block
//! others.

use std::net::TcpStream;
use std::time::Duration;

use tokio::task::block_in_place;
use townhall::config::Config;

use crate::support::wire::{
    PATIENCE, ask_from, connect_from, get, one_head, one_reply, send, status, until_closed,
};
use crate::support::{Form, TestApp, on_both_engines};

on_both_engines![
    a_body_that_dribbles_is_cut_off,
    the_rest_of_a_body_that_was_cut_off_is_no_request,
    a_network_has_so_many_bodies_that_wait_and_no_more,
    bodies_behind_a_proxy_count_by_client,
    bodies_that_wait_take_no_room_from_others,
    health_checks_need_no_room,
    an_unread_body_does_not_break_the_reply,
    a_body_of_an_operation_that_takes_none_is_read,
    a_head_may_come_with_the_request_before_it,
];

/// A request whose body has begun, of which `length` bytes are to come in all.
fn begin(app: &TestApp, host: u8, headers: &str, length: usize) -> TcpStream {
    let mut stream = connect_from(app, host);
    let id = app.project.id;
    let path = format!("/v8/{id}/auth/sign-in");
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{headers}");
    send(&mut stream, &format!("{head}\r\n{{"));
    stream
}

/// A form that has begun.
fn begin_form(app: &TestApp, host: u8) -> TcpStream {
    let mut stream = connect_from(app, host);
    let (id, key, content_type) =
        (app.project.id, &app.project.service_key, Form::new().content_type());
    let head = format!(
        "POST /v8/{id}/storage HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: {content_type}\r\nContent-Length: 1000000\r\n\r\n-"
    );
    send(&mut stream, &head);
    stream
}

async fn all_wait(app: &TestApp, count: i64) {
    app.until(|app| app.app.body_waits.total() == count).await;
}

/// Nothing that waits in a test is cut off for it.
fn patient(config: &mut Config) {
    config.body_timeout = 10 * PATIENCE;
    config.body_grace = 10 * PATIENCE;
}

fn quick(config: &mut Config) {
    config.body_grace = Duration::from_millis(200);
}

async fn a_body_that_dribbles_is_cut_off(app: TestApp) {
    let app = app.restart_with(|config| config.adjust(quick)).await;
    block_in_place(|| {
        for stream in [begin(&app, 1, "", 100), begin_form(&app, 1)] {
            let answer = until_closed(stream);
            assert_eq!(status(&answer), "408", "{answer}");
            assert!(answer.contains("request/timeout"), "{answer}");
            assert!(answer.contains("connection: close"), "{answer}");
        }
    });
}

async fn the_rest_of_a_body_that_was_cut_off_is_no_request(app: TestApp) {
    let app = app.restart_with(|config| config.adjust(quick)).await;
    let second = get("/livez", "");
    block_in_place(|| {
        let mut stream = begin(&app, 1, "", 1 + second.len());
        assert_eq!(status(&one_reply(&mut stream)), "408");
        send(&mut stream, &second);
        assert_eq!(until_closed(stream), "");
    });
}

async fn a_network_has_so_many_bodies_that_wait_and_no_more(app: TestApp) {
    let app = app.restart_with(|config| config.adjust(patient)).await;
    let mut waiting: Vec<_> = block_in_place(|| {
        let mut waiting: Vec<_> = (0..63).map(|_| begin(&app, 2, "", 2)).collect();
        waiting.push(begin_form(&app, 2));
        waiting
    });
    all_wait(&app, 64).await;
    block_in_place(|| {
        for stream in [begin(&app, 2, "", 2), begin_form(&app, 2)] {
            let refused = until_closed(stream);
            assert_eq!(status(&refused), "503", "{refused}");
            for part in ["retry-after: 1\r\n", "connection: close\r\n", "server/busy"] {
                assert!(refused.contains(part), "{part}: {refused}");
            }
        }
        // Others wait as before, and a body that is here already need not.
        let mut other = begin(&app, 3, "", 2);
        send(&mut other, "}");
        assert_eq!(status(&one_reply(&mut other)), "400");
        let whole = connect_from(&app, 2);
        let whole = finish_at_once(&app, whole);
        assert_eq!(status(&whole), "400", "{whole}");
        let mut first = waiting.swap_remove(0);
        send(&mut first, "}");
        assert_eq!(status(&one_reply(&mut first)), "400");
        let mut next = begin(&app, 2, "", 2);
        send(&mut next, "}");
        assert_eq!(status(&one_reply(&mut next)), "400");
    });
}

/// A request whose body comes together with its head.
fn finish_at_once(app: &TestApp, mut stream: TcpStream) -> String {
    let path = format!("/v8/{}/auth/sign-in", app.project.id);
    send(&mut stream, &format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}"));
    one_reply(&mut stream)
}

async fn bodies_behind_a_proxy_count_by_client(app: TestApp) {
    let proxy = app.restart_with(|config| {
        config.adjust(patient);
        config.set("TOWNHALL_TRUSTED_PROXIES", "127.0.0.2");
    });
    let app = proxy.await;
    let header = |client: u8| format!("X-Forwarded-For: 203.0.113.{client}\r\n");
    let _waiting: Vec<_> =
        block_in_place(|| (0..64).map(|_| begin(&app, 2, &header(1), 2)).collect());
    all_wait(&app, 64).await;
    block_in_place(|| {
        assert_eq!(status(&until_closed(begin(&app, 2, &header(1), 2))), "503");
        let mut other = begin(&app, 2, &header(2), 2);
        send(&mut other, "}");
        assert_eq!(status(&one_reply(&mut other)), "400");
    });
}

async fn bodies_that_wait_take_no_room_from_others(app: TestApp) {
    let few = app.restart_with(|config| {
        config.adjust(patient);
        config.adjust(|config| config.max_in_flight = 2);
    });
    let app = few.await;
    // One by one: each of them is let in while the others wait.
    let mut waiting = Vec::new();
    for count in 1..=6 {
        waiting.push(block_in_place(|| begin(&app, 2, "", 2)));
        all_wait(&app, count).await;
        let lean = format!("/v8/{}/projects/lean", app.project.id);
        let reply = block_in_place(|| ask_from(&app, 3, &lean));
        assert_eq!(status(&reply), "200", "{count} wait: {reply}");
    }
}

async fn health_checks_need_no_room(app: TestApp) {
    let none = |config: &mut Config| config.max_in_flight = 0;
    let app = app.restart_with(|config| config.adjust(none)).await;
    app.anonymous().get("/projects/lean").await.refused(503, "server/busy");
    block_in_place(|| {
        for path in ["/livez", "/readyz", "/metrics"] {
            let reply = ask_from(&app, 1, path);
            assert_eq!(status(&reply), "200", "{path}: {reply}");
        }
    });
}

/// The body in the two forms that it may have, and the header that says which.
const BODIES: [(&str, &str); 2] = [
    ("Content-Length: 5\r\n", "hello"),
    ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
];

async fn an_unread_body_does_not_break_the_reply(app: TestApp) {
    let next = get("/livez", "Connection: close\r\n");
    for method in ["GET", "DELETE", "HEAD", "POST", "PUT"] {
        for (headers, body) in BODIES {
            let head = format!("{method} /livez HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
            let expected = if method == "GET" { "200" } else { "404" };
            let read = |stream: &mut TcpStream| match method {
                "HEAD" => one_head(stream),
                _ => one_reply(stream),
            };
            block_in_place(|| {
                // Whole: the connection goes on.
                let mut stream = connect_from(&app, 1);
                send(&mut stream, &format!("{head}{body}"));
                let first = read(&mut stream);
                assert_eq!(status(&first), expected, "{head}{first}");
                assert!(!first.contains("connection: close"), "{head}{first}");
                send(&mut stream, &next);
                assert_eq!(status(&one_reply(&mut stream)), "200", "{head}");
                // The body has not arrived yet: the reply closes the connection, and is not lost.
                let mut stream = connect_from(&app, 1);
                send(&mut stream, &head);
                let first = read(&mut stream);
                assert_eq!(status(&first), expected, "{head}{first}");
                assert!(first.contains("connection: close"), "{head}{first}");
                send(&mut stream, body);
                send(&mut stream, &next);
                let mut rest = Vec::new();
                std::io::Read::read_to_end(&mut stream, &mut rest).unwrap();
                assert!(rest.is_empty(), "{}", rest.escape_ascii());
            });
        }
    }
}

async fn a_body_of_an_operation_that_takes_none_is_read(app: TestApp) {
    let path = format!("/v8/{}/projects/lean", app.project.id);
    for (headers, body) in BODIES {
        block_in_place(|| {
            let mut stream = connect_from(&app, 1);
            for _ in 0..2 {
                send(&mut stream, &get(&path, headers));
                send(&mut stream, body);
                let reply = one_reply(&mut stream);
                assert_eq!(status(&reply), "200", "{headers}{reply}");
                assert!(!reply.contains("connection: close"), "{headers}{reply}");
            }
        });
    }
}

/// A connection is put aside between requests; what came of the next one is not lost with it.
async fn a_head_may_come_with_the_request_before_it(app: TestApp) {
    let request = get("/livez", "");
    block_in_place(|| {
        for at in [1, 5, request.len() - 1] {
            let (begun, rest) = request.split_at(at);
            let mut stream = connect_from(&app, 1);
            send(&mut stream, &format!("{request}{begun}"));
            assert_eq!(status(&one_reply(&mut stream)), "200");
            send(&mut stream, &format!("{rest}{request}{begun}"));
            assert_eq!(status(&one_reply(&mut stream)), "200");
            assert_eq!(status(&one_reply(&mut stream)), "200");
            send(&mut stream, rest);
            assert_eq!(status(&one_reply(&mut stream)), "200");
        }
        let whole = connect_from(&app, 1);
        assert_eq!(status(&finish_at_once(&app, whole)), "400");
    });
}
