//! The client against servers that misbehave: what it costs stays within the limits.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use http::Method;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST};

use super::*;

const LIMITS: Limits = Limits { time: Duration::from_secs(5), body: 64 * 1024, redirects: 5 };
const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server on this machine that treats each connection its own way once it has read a request.
async fn server<F>(
    behave: impl Fn(TcpStream) -> F + Send + 'static,
) -> (SocketAddr, Arc<AtomicUsize>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]).await;
            tokio::spawn(behave(stream));
        }
    });
    (address, connections)
}

async fn answering(reply: impl Into<String>) -> SocketAddr {
    let reply: String = reply.into();
    let behave = move |mut stream: TcpStream| {
        let reply = reply.clone();
        async move {
            let _ = stream.write_all(reply.as_bytes()).await;
        }
    };
    server(behave).await.0
}

/// A client that may call this machine by its IPv4 address.
fn client() -> Outbound {
    Outbound::new(vec!["127.0.0.1".parse().unwrap()], Resolver::scripted())
}

async fn get(outbound: &Outbound, url: &str, limits: Limits) -> Result<Answer, Failure> {
    outbound.get(Target::parse(url)?, "*/*", limits).await
}

#[tokio::test]
async fn a_page_is_fetched_with_its_host_and_without_compression() {
    let behave = |mut stream: TcpStream| async move {
        let _ = stream.write_all(PAGE.as_bytes()).await;
    };
    let (address, _) = server(behave).await;
    let answer = get(&client(), &format!("http://{address}/"), LIMITS).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"hello"[..]));

    let target = Target::parse("http://example.com:8080/a?b#c").unwrap();
    let request = request(&target, Message::get("*/*")).unwrap();
    assert_eq!(request.uri(), "/a?b");
    assert_eq!(request.headers()[HOST], "example.com:8080");
    assert_eq!(request.headers()[ACCEPT_ENCODING], "identity");
}

#[tokio::test]
async fn an_endless_body_is_cut_at_the_limit() {
    let behave = |mut stream: TcpStream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    };
    let (address, _) = server(behave).await;
    let answer = get(&client(), &format!("http://{address}/"), LIMITS).await.unwrap();
    assert_eq!(answer.body.len(), LIMITS.body);
}

#[tokio::test]
async fn a_body_or_head_that_never_ends_in_time_is_given_up() {
    let limits = Limits { time: Duration::from_millis(200), ..LIMITS };
    for head in ["HTTP/1.1 200 OK\r\n\r\nx", "HTTP/1.1 200 OK\r\nA: b"] {
        let behave = move |mut stream: TcpStream| async move {
            let _ = stream.write_all(head.as_bytes()).await;
            // Holds the connection open, silently, until the client lets go.
            let _ = stream.read(&mut [0; 1]).await;
        };
        let (address, _) = server(behave).await;
        let failed = get(&client(), &format!("http://{address}/"), limits).await;
        assert!(matches!(failed, Err(Failure::Late)), "{failed:?}");
    }
}

#[tokio::test]
async fn a_connection_is_closed_when_the_call_is_over() {
    let (closed, mut is_closed) = tokio::sync::mpsc::channel(1);
    let behave = move |mut stream: TcpStream| {
        let closed = closed.clone();
        async move {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n").await;
            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
            let _ = closed.send(()).await;
        }
    };
    let (address, _) = server(behave).await;
    get(&client(), &format!("http://{address}/"), LIMITS).await.unwrap();
    assert_eq!(is_closed.recv().await, Some(()));
}

#[tokio::test]
async fn an_answer_that_lies_or_is_oversized_is_refused() {
    let many_headers = "A: b\r\n".repeat(MAX_HEADERS + 1);
    for reply in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx".to_owned(),
        format!("HTTP/1.1 200 OK\r\n{many_headers}\r\n"),
        format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(2 * MAX_HEAD)),
        "SSH-2.0-OpenSSH\r\n".to_owned(),
    ] {
        let address = answering(reply.clone()).await;
        let failed = get(&client(), &format!("http://{address}/"), LIMITS).await;
        assert!(matches!(failed, Err(Failure::Broken(_))), "{failed:?} for {reply:.60}");
    }
}

#[tokio::test]
async fn redirects_are_counted_over_the_whole_call() {
    for (most, succeeds) in [(3, true), (2, false)] {
        let mut next = answering(PAGE).await;
        for status in [301, 307, 308] {
            next =
                answering(format!("HTTP/1.1 {status} X\r\nLocation: http://{next}/\r\n\r\n")).await;
        }
        let limits = Limits { redirects: most, ..LIMITS };
        let result = get(&client(), &format!("http://{next}/"), limits).await;
        assert_eq!(result.is_ok(), succeeds, "{result:?}");
    }
}

#[tokio::test]
async fn only_a_wrong_first_address_is_the_callers_fault() {
    let failed = get(&client(), "http://example.com:22/", LIMITS).await;
    assert!(matches!(failed, Err(Failure::Url(_))), "{failed:?}");
    for location in ["file:///etc/passwd", "http://u:p@127.0.0.1/", "http://8.8.8.8:22/"] {
        let address = answering(format!("HTTP/1.1 302 X\r\nLocation: {location}\r\n\r\n")).await;
        let failed = get(&client(), &format!("http://{address}/"), LIMITS).await;
        assert!(matches!(failed, Err(Failure::Redirect)), "{failed:?}");
    }
}

#[tokio::test]
async fn ports_other_than_the_web_s_are_for_allowed_addresses_only() {
    let address = answering(PAGE).await;
    let outbound = client();
    outbound.resolver().teach("hook.internal", [vec![address.ip()]]);
    outbound.resolver().teach("mixed.example", [vec![address.ip(), "8.8.8.8".parse().unwrap()]]);
    let port = address.port();
    get(&outbound, &format!("http://hook.internal:{port}/"), LIMITS).await.unwrap();
    let failed = get(&outbound, &format!("http://mixed.example:{port}/"), LIMITS).await;
    assert!(matches!(failed, Err(Failure::Url(_))), "{failed:?}");
}

#[tokio::test]
async fn a_name_is_asked_once_and_the_judged_address_is_called() {
    let (address, connections) = server(|mut stream: TcpStream| async move {
        let _ = stream.write_all(PAGE.as_bytes()).await;
    })
    .await;
    let outbound = client();
    // The second answer would be refused: had it been asked for, this would fail.
    let rebinding = [vec![address.ip()], vec!["127.0.0.2".parse().unwrap()]];
    outbound.resolver().teach("rebind.example", rebinding);
    let url = format!("http://rebind.example:{}/", address.port());
    get(&outbound, &url, LIMITS).await.unwrap();
    assert!(matches!(get(&outbound, &url, LIMITS).await, Err(Failure::Blocked)));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_sends_its_message_and_follows_no_redirect() {
    let target = Target::parse("http://example.com/token").unwrap();
    let message = Message::post("application/json", "text/plain", "hello");
    let request = request(&target, message.clone().authorized("Bearer x".to_owned())).unwrap();
    assert_eq!((request.method(), request.uri().path()), (&Method::POST, "/token"));
    assert_eq!(request.headers()[AUTHORIZATION], "Bearer x");
    assert_eq!(request.headers()[CONTENT_TYPE], "text/plain");

    let (canary, visits) = server(|_| async {}).await;
    let elsewhere =
        format!("HTTP/1.1 307 X\r\nLocation: http://{canary}/\r\nContent-Length: 0\r\n\r\n");
    let target = Target::parse(&format!("http://{}/", answering(elsewhere).await)).unwrap();
    let answer = client().call(target, message.clone(), LIMITS).await.unwrap();
    assert_eq!((answer.status.as_u16(), visits.load(Ordering::SeqCst)), (307, 0));

    let private = Target::parse(&format!("http://{canary}/")).unwrap();
    let blocked =
        Outbound::new(Vec::new(), Resolver::scripted()).call(private, message, LIMITS).await;
    assert!(matches!(blocked, Err(Failure::Blocked)), "{blocked:?}");
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}
