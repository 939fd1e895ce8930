//! Forms that are too large, too many, too slow or broken: refused, and nothing of them is left.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::task::block_in_place;
use townhall::config::Config;

use crate::support::{
    Form, Installation, Part, Reply, TestApp, all_at_once, count, installed_on_both_engines,
    on_both_engines,
};

on_both_engines![
    fifty_megabytes_are_the_most,
    a_file_without_an_announced_size_is_bounded_too,
    texts_are_bounded_together,
    parts_and_their_headers_are_bounded,
    broken_forms_are_refused,
    a_slow_upload_is_cut_off,
    an_upload_that_breaks_off_leaves_nothing,
    staging_is_bounded_over_all_requests,
];

installed_on_both_engines![memory_does_not_grow_with_the_file];

const LIMIT: usize = 52_428_800;

fn form(bytes: &[u8]) -> Form {
    let part = Part { name: "file", file: "a.bin", mime: "application/zip", bytes };
    Form::new().text("pathParts", "[]").file(part)
}

async fn fifty_megabytes_are_the_most(app: TestApp) {
    let mut bytes = vec![7; LIMIT];
    let stored = app.service().post_form("/storage", &form(&bytes)).await.expect(201);
    assert_eq!(stored["size"], LIMIT);
    bytes.push(7);
    let refused = app.service().post_form("/storage", &form(&bytes)).await;
    let body = refused.refused(413, "storage/file-too-large");
    assert_eq!(body["error"], "File size exceeds the allowed limit of 50MB");
    assert_eq!(body["message"], body["error"]);
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 1);
}

/// A request to the test's server of which the body is sent chunk by chunk; the reply.
fn send_chunks(
    app: &TestApp,
    content_type: &str,
    chunks: &mut dyn Iterator<Item = Vec<u8>>,
) -> String {
    let (id, key) = (app.project.id.to_string(), &app.project.service_key);
    upload_chunks(app.address, (&id, key), content_type, chunks)
}

fn upload_chunks(
    address: SocketAddr,
    (id, key): (&str, &str),
    content_type: &str,
    chunks: &mut dyn Iterator<Item = Vec<u8>>,
) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(
        stream,
        "POST /v8/{id}/storage HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nContent-Type: {content_type}\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    )
    .unwrap();
    for chunk in chunks {
        let sent = write!(stream, "{:x}\r\n", chunk.len())
            .and_then(|()| stream.write_all(&chunk))
            .and_then(|()| stream.write_all(b"\r\n"));
        // The server may have refused and closed before it took everything.
        if sent.is_err() {
            break;
        }
    }
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

async fn a_file_without_an_announced_size_is_bounded_too(app: TestApp) {
    let start = form(b"").unfinished();
    let endless = std::iter::once(start).chain(std::iter::repeat(vec![7; 1 << 20]));
    let mut chunks = endless.take(1_000);
    let content_type = Form::new().content_type();
    let reply = block_in_place(|| send_chunks(&app, &content_type, &mut chunks));
    assert!(reply.starts_with("HTTP/1.1 413 "), "{reply}");
    assert!(reply.contains("storage/file-too-large"), "{reply}");
    assert!(chunks.count() > 900, "the rest was not read");
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 0);
}

async fn texts_are_bounded_together(app: TestApp) {
    let text = "x".repeat(1 << 20);
    let large = form(b"x").text("a", &text).text("b", &text);
    let refused = app.service().post_form("/storage", &large).await;
    refused.refused(413, "request/body-too-large");
    app.service().post_form("/storage", &form(b"x").text("a", &text)).await.expect(201);
}

async fn parts_and_their_headers_are_bounded(app: TestApp) {
    let key = app.service();
    let many =
        |count: usize| (0..count).fold(form(b"x"), |form, n| form.text(&format!("f{n}"), ""));
    key.post_form("/storage", &many(100)).await.expect(201);
    for count in [200, 20_000] {
        let refused = key.post_form("/storage", &many(count)).await;
        refused.refused(400, "storage/invalid-body");
    }
    let header = |size: usize| {
        let head = format!("Content-Disposition: form-data; name=\"a\"\r\nX: {}", "x".repeat(size));
        form(b"x").part(&head, b"")
    };
    key.post_form("/storage", &header(4_000)).await.expect(201);
    let refused = key.post_form("/storage", &header(1_000_000)).await;
    refused.refused(400, "storage/invalid-body");
    let long_boundary = format!("multipart/form-data; boundary={}", "b".repeat(1_000));
    let refused = send(&app, &long_boundary, form(b"x").body().to_vec()).await;
    refused.refused(400, "storage/invalid-body");
    app.nothing_stays_staged().await;
}

async fn send(app: &TestApp, content_type: &str, body: Vec<u8>) -> Reply {
    let address = app.service().address("/storage");
    app.service().raw(Method::POST, &address, content_type, body).await
}

async fn broken_forms_are_refused(app: TestApp) {
    let (right, whole) = (form(b"x").content_type(), form(b"x").body().to_vec());
    for (content_type, body) in [
        (right.as_str(), form(b"x").unfinished()),
        (&right, whole[..whole.len() / 2].to_vec()),
        (&right, b"no form at all".to_vec()),
        ("multipart/form-data", whole.clone()),
        ("multipart/form-data; boundary=other", whole.clone()),
    ] {
        let refused = send(&app, content_type, body).await;
        refused.refused(400, "storage/invalid-body");
    }
    let key = app.service();
    let nameless = form(b"x").part("Content-Disposition: form-data", b"");
    key.post_form("/storage", &nameless).await.refused(400, "storage/invalid-body");
    let twice = form(b"x").text("userId", "a").text("userId", "b");
    key.post_form("/storage", &twice).await.refused(400, "storage/invalid-body");
    let foreign = form(b"x").part("Content-Disposition: form-data; name=\"a\"", b"\xff\xfe");
    key.post_form("/storage", &foreign).await.refused(400, "storage/invalid-body");
    let unknown = form(b"x").text("surprise", "1").json("other", json!({}));
    key.post_form("/storage", &unknown).await.expect(201);
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 1);
}

/// A form whose end never comes is given up after this.
fn quick(config: &mut Config) {
    config.body_timeout = Duration::from_millis(300);
}

async fn a_slow_upload_is_cut_off(app: TestApp) {
    let app = app.restart_with(|config| config.adjust(quick)).await;
    let mut chunks = std::iter::once(form(b"begun").unfinished());
    let content_type = Form::new().content_type();
    // A head of some hundred bytes is all that comes: less than a kilobyte a second.
    let reply = block_in_place(|| send_chunks(&app, &content_type, &mut chunks));
    assert!(reply.starts_with("HTTP/1.1 408 "), "{reply}");
    assert!(reply.contains("request/timeout"), "{reply}");
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 0);
}

async fn an_upload_that_breaks_off_leaves_nothing(app: TestApp) {
    let body = form(&vec![7; 3 << 20]).body();
    let (id, key) = (app.project.id, &app.project.service_key);
    block_in_place(|| {
        let mut stream = TcpStream::connect(app.address).unwrap();
        write!(
            stream,
            "POST /v8/{id}/storage HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: {}\r\nContent-Length: {}\r\n\r\n",
            Form::new().content_type(),
            body.len()
        )
        .unwrap();
        stream.write_all(&body[..body.len() * 99 / 100]).unwrap();
        while app.staged() == 0 {
            std::thread::yield_now();
        }
    });
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 0);
}

async fn staging_is_bounded_over_all_requests(app: TestApp) {
    let small = |config: &mut Config| config.staging_mebibytes = 3;
    let app = app.restart_with(|config| config.adjust(small)).await;
    let key = app.service();
    let large = form(&vec![7; (3 << 20) + 1]);
    let refused = key.post_form("/storage", &large).await;
    refused.refused(503, "server/busy");
    assert_eq!(refused.header("retry-after"), Some("1"));
    app.nothing_stays_staged().await;
    assert_eq!(app.stored(), 0);

    let fits = form(&vec![7; 2 << 20]);
    let replies = all_at_once((0..8).map(|_| key.post_form("/storage", &fits))).await;
    let (stored, busy) = (count(&replies, 201), count(&replies, 503));
    assert_eq!((stored + busy, app.stored()), (8, stored));
    app.nothing_stays_staged().await;
    key.post_form("/storage", &fits).await.expect(201);
}

/// In a process of its own, where no other test takes memory.
fn memory_does_not_grow_with_the_file(town: Installation) {
    let made = town.json(&["project", "create", "--name", "Files"]);
    let project = (made["projectId"].as_str().unwrap(), made["serviceKey"].as_str().unwrap());
    let server = town.serve();
    let start = form(b"").unfinished();
    let end = b"\r\n------TownhallTest7MA4YWxk--\r\n".to_vec();
    let content_type = Form::new().content_type();
    let send = || {
        let chunks = std::iter::once(start.clone());
        let chunks = chunks.chain(std::iter::repeat_n(vec![7; 1 << 20], 49));
        let mut chunks = chunks.chain([end.clone(), Vec::new()]);
        upload_chunks(server.address, project, &content_type, &mut chunks)
    };
    let before = server.peak_mebibytes();
    let replies = std::thread::scope(|scope| {
        let sending: Vec<_> = (0..4).map(|_| scope.spawn(send)).collect();
        sending.into_iter().map(|sent| sent.join().unwrap()).collect::<Vec<_>>()
    });
    for reply in replies {
        assert!(reply.starts_with("HTTP/1.1 201 "), "{reply}");
    }
    // Not one of the four files was ever in memory.
    let grown = server.peak_mebibytes() - before;
    assert!(grown < 32, "{grown} MiB more than {before} MiB");
}
