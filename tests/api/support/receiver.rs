//! A webhook endpoint on this machine: it checks every signature, remembers what it got and replies as a test says.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::fake::{Request, read_request};
use super::{Actor, TestApp};

pub const SECRET: &str = "a secret of theirs";

/// How the endpoint replies.
#[derive(Debug, Clone)]
pub enum Answer {
    Valid,
    Invalid(Value),
    /// A signed `{"valid": true}` with this status.
    Status(u16),
    Unsigned,
    WronglySigned,
    /// Signed bytes.
    Text(String),
    /// Signed over the compact form of these bytes.
    Spaced(String),
    /// Closes the connection.
    Nothing,
}

/// A request that the endpoint got. Its signature was right.
#[derive(Debug, Clone)]
pub struct Received {
    pub id: Option<String>,
    pub timestamp: String,
    pub text: String,
    pub json: Value,
    pub has_previous_signature: bool,
}

impl Received {
    pub fn name(&self) -> &str {
        self.json["type"].as_str().unwrap()
    }
}

#[derive(Debug)]
struct State {
    /// For the next requests; then the usual one.
    next: VecDeque<Answer>,
    usual: Answer,
    received: Vec<Received>,
    secret: String,
}

#[derive(Debug, Clone)]
pub struct Receiver {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Receiver {
    pub async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (next, usual, received) = (VecDeque::new(), Answer::Valid, Vec::new());
        let state = State { next, usual, received, secret: SECRET.to_owned() };
        let receiver = Receiver {
            address: listener.local_addr().unwrap(),
            state: Arc::new(Mutex::new(state)),
        };
        let own = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(own.clone().serve(stream));
            }
        });
        receiver
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// From now on.
    pub fn reply(&self, answer: Answer) {
        self.state.lock().unwrap().usual = answer;
    }

    /// To the next requests.
    pub fn reply_next(&self, answers: impl IntoIterator<Item = Answer>) {
        self.state.lock().unwrap().next.extend(answers);
    }

    /// Both sides have changed their secret.
    pub fn use_secret(&self, secret: &str) {
        self.state.lock().unwrap().secret = secret.to_owned();
    }

    /// What has arrived since the last call, oldest first.
    pub fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.state.lock().unwrap().received)
    }

    /// The names of what has arrived since the last call.
    pub fn take_names(&self) -> Vec<String> {
        self.take().iter().map(|one| one.name().to_owned()).collect()
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some(request) = read_request(&mut stream).await else { return };
        let (answer, secret) = {
            let mut state = self.state.lock().unwrap();
            let received = check(&request, &state.secret);
            state.received.push(received);
            let usual = state.usual.clone();
            (state.next.pop_front().unwrap_or(usual), state.secret.clone())
        };
        let valid = r#"{"valid":true}"#.to_owned();
        let (status, body, signed) = match answer {
            Answer::Valid => (200, valid.clone(), Some(valid)),
            Answer::Invalid(mut reply) => {
                reply["valid"] = json!(false);
                (200, reply.to_string(), Some(reply.to_string()))
            }
            Answer::Status(status) => (status, valid.clone(), Some(valid)),
            Answer::Unsigned => (200, valid, None),
            Answer::WronglySigned => (200, valid, Some("other".to_owned())),
            Answer::Text(text) => (200, text.clone(), Some(text)),
            Answer::Spaced(text) => {
                let compact = serde_json::from_str::<Value>(&text).unwrap().to_string();
                (200, text, Some(compact))
            }
            Answer::Nothing => return,
        };
        let header = signed.map_or(String::new(), |signed| {
            format!("X-Response-Signature: {}\r\n", sign(&secret, &signed))
        });
        let length = body.len();
        let reply =
            format!("HTTP/1.1 {status} X\r\n{header}Content-Length: {length}\r\n\r\n{body}");
        let _ = stream.write_all(reply.as_bytes()).await;
    }
}

fn sign(secret: &str, text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::sign(&key, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(request: &Request, secret: &str) -> Received {
    let timestamp = request.header("X-Timestamp").unwrap().to_owned();
    let signed = sign(secret, &format!("{timestamp}.{}", request.body));
    let previous = request.header("X-Signature-Previous");
    let is_signed = request.header("X-Signature") == Some(&signed);
    assert!(is_signed || previous == Some(&signed), "no signature is right: {}", request.head);
    assert_eq!(request.header("Content-Type"), Some("application/json"));
    Received {
        id: request.header("X-Webhook-Id").map(ToOwned::to_owned),
        timestamp,
        text: request.body.clone(),
        json: serde_json::from_str(&request.body).unwrap(),
        has_previous_signature: previous.is_some(),
    }
}

/// A server that may call this machine, and an endpoint of its first project for these events.
pub async fn subscribed(app: TestApp, events: &[&str]) -> (TestApp, Receiver) {
    let app =
        app.restart_with(|config| config.set("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32")).await;
    let receiver = Receiver::start().await;
    subscribe(&app.master(), &receiver, events).await;
    (app, receiver)
}

pub async fn subscribe(master: &Actor<'_>, receiver: &Receiver, events: &[&str]) {
    let body = json!({ "url": receiver.url(), "secret": SECRET, "events": events });
    master.send(http::Method::PUT, "/webhook-config", Some(body)).await.expect(200);
}
