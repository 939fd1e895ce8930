//! Clients of the protocol that say whatever a test wants, by WebSocket and by polling.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::{Reply, TestApp};

const PATIENCE: Duration = Duration::from_secs(30);

pub struct RawSocket {
    stream: WebSocketStream<TcpStream>,
}

impl RawSocket {
    /// The WebSocket, or the status that was answered instead.
    pub async fn ask(app: &TestApp, query: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        let mut head = format!(
            "GET /socket.io/?EIO=4&transport=websocket{query} HTTP/1.1\r\nHost: x\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(stream.read_u8().await.unwrap());
        }
        let answer = String::from_utf8(answer).unwrap();
        match answer[9..12].parse().unwrap() {
            101 => {
                let stream = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
                Ok(RawSocket { stream })
            }
            status => Err(status),
        }
    }

    /// A WebSocket that has been greeted and has not yet said whose it is.
    pub async fn open(app: &TestApp) -> RawSocket {
        let query = format!("&projectId={}", app.project.id);
        let mut socket =
            Self::ask(app, &query, &[]).await.unwrap_or_else(|status| panic!("{status}"));
        assert!(socket.next().await.unwrap().starts_with("0{"));
        socket
    }

    /// A WebSocket of a user.
    pub async fn connect(app: &TestApp, token: &str) -> RawSocket {
        let mut socket = Self::open(app).await;
        socket.say(&connect(token)).await;
        let answer = socket.next().await.unwrap();
        assert!(answer.starts_with("40{"), "{answer}");
        socket
    }

    /// Whether it was taken tells nothing: the server may have closed meanwhile.
    pub async fn say(&mut self, text: &str) {
        let _ = self.stream.send(Message::text(text)).await;
    }

    pub async fn send(&mut self, message: Message) {
        let _ = self.stream.send(message).await;
    }

    /// The next packet; `None` when the server has closed.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            match next.unwrap() {
                Some(Ok(Message::Text(text))) => return Some(text.to_string()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            }
        }
    }

    /// Says something and hears that the connection is over.
    pub async fn is_closed(&mut self) -> bool {
        self.next().await.is_none()
    }
}

/// The packet that says whose connection it is.
pub fn connect(token: &str) -> String {
    format!("40{}", json!({ "token": token }))
}

/// A client that polls.
pub struct Poller<'a> {
    app: &'a TestApp,
    pub sid: String,
}

impl<'a> Poller<'a> {
    pub async fn open(app: &'a TestApp) -> Poller<'a> {
        let query = format!("&projectId={}", app.project.id);
        let hello = request(app, Method::GET, &query, "").await;
        assert_eq!(hello.status, 200, "{}", hello.text());
        let hello: Value = serde_json::from_str(&hello.text()[1..]).unwrap();
        Poller { app, sid: hello["sid"].as_str().unwrap().to_owned() }
    }

    pub async fn connect(app: &'a TestApp, token: &str) -> Poller<'a> {
        let poller = Self::open(app).await;
        assert_eq!(poller.post(connect(token)).await.text(), "ok");
        let answer = poller.get().await.text();
        assert!(answer.starts_with("40{"), "{answer}");
        poller
    }

    pub async fn get(&self) -> Reply {
        request(self.app, Method::GET, &format!("&sid={}", self.sid), "").await
    }

    pub async fn post(&self, body: impl Into<Bytes>) -> Reply {
        request(self.app, Method::POST, &format!("&sid={}", self.sid), body).await
    }
}

/// A polling request with any query.
pub async fn request(app: &TestApp, method: Method, query: &str, body: impl Into<Bytes>) -> Reply {
    let address = format!("/socket.io/?EIO=4&transport=polling{query}");
    app.anonymous().raw(method, &address, "text/plain;charset=UTF-8", body).await
}
