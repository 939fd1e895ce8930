//! A provider of models on this machine: it makes vectors of texts and answers questions, or does what a test says instead.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::TestConfig;
use super::fake::{Request, read_request};

/// Words that mean the same. A text is near another if they have one of these in common.
const MEANINGS: [&[&str]; 3] =
    [&["tomato", "vegetable"], &["car", "automobile"], &["secret", "conspiracy"]];
const DIMENSIONS: u32 = 256;

/// How a question is answered.
#[derive(Debug, Clone)]
pub enum Answer {
    /// These pieces, and the end.
    Whole(Vec<&'static str>),
    /// These pieces, and then the connection is lost.
    BreaksOff(Vec<&'static str>),
    /// These pieces, and the end when the test allows it.
    Waits(Vec<&'static str>),
    /// Each of these pieces, and the end, when the test allows it.
    OneByOne(Vec<&'static str>),
    Status(u16),
    /// Nothing until the reader goes away.
    Silent,
}

#[derive(Debug)]
struct State {
    is_down: bool,
    /// A request with this word is refused.
    refused: Option<&'static str>,
    answer: Answer,
    requests: Vec<Request>,
}

#[derive(Debug, Clone)]
pub struct Provider {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// Answers that wait: one permit for each that has begun, may end, or whose reader went away.
    begun: Arc<Semaphore>,
    allowed: Arc<Semaphore>,
    left: Arc<Semaphore>,
}

impl Provider {
    pub async fn start() -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let answer = Answer::Whole(vec!["Yes [1]."]);
        let state = State { is_down: false, refused: None, answer, requests: Vec::new() };
        let semaphore = || Arc::new(Semaphore::new(0));
        let provider = Provider {
            address: listener.local_addr().unwrap(),
            state: Arc::new(Mutex::new(state)),
            begun: semaphore(),
            allowed: semaphore(),
            left: semaphore(),
        };
        let own = provider.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(own.clone().serve(stream));
            }
        });
        provider
    }

    pub fn makes_vectors(&self, config: &mut TestConfig) {
        let url = format!("http://{}/v1/embeddings", self.address);
        config.set("TOWNHALL_EMBEDDINGS_URL", &url);
        config.set("TOWNHALL_EMBEDDINGS_KEY", "vector key");
        config.set("TOWNHALL_EMBEDDINGS_MODEL", "small");
    }

    pub fn answers(&self, config: &mut TestConfig) {
        let url = format!("http://{}/v1/chat/completions", self.address);
        config.set("TOWNHALL_ANSWERS_URL", &url);
        config.set("TOWNHALL_ANSWERS_KEY", "answer key");
        config.set("TOWNHALL_ANSWERS_MODEL", "large");
    }

    pub fn be_down(&self, is_down: bool) {
        self.state.lock().unwrap().is_down = is_down;
    }

    pub fn refuse(&self, word: &'static str) {
        self.state.lock().unwrap().refused = Some(word);
    }

    pub fn answer(&self, answer: Answer) {
        self.state.lock().unwrap().answer = answer;
    }

    /// What it was asked at a path that ends so.
    pub fn requests(&self, end: &str) -> Vec<(Request, Value)> {
        let state = self.state.lock().unwrap();
        let those = state.requests.iter().filter(|request| request.path.ends_with(end));
        those.map(|one| (one.clone(), serde_json::from_str(&one.body).unwrap())).collect()
    }

    /// Until an answer that waits has begun.
    pub async fn begun(&self) {
        self.begun.acquire().await.unwrap().forget();
    }

    pub fn allow_end(&self) {
        self.allowed.add_permits(1);
    }

    /// Until the reader of an answer that waits is gone.
    pub async fn left(&self) {
        self.left.acquire().await.unwrap().forget();
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some(request) = read_request(&mut stream).await else { return };
        let (is_down, is_refused, answer) = {
            let mut state = self.state.lock().unwrap();
            let is_refused = state.refused.is_some_and(|word| request.body.contains(word));
            state.requests.push(request.clone());
            (state.is_down, is_refused, state.answer.clone())
        };
        if is_down {
            return;
        }
        if is_refused {
            return respond(&mut stream, 400, &json!({ "error": {} })).await;
        }
        let asked: Value = serde_json::from_str(&request.body).unwrap();
        if request.path.ends_with("embeddings") {
            let texts = asked["input"].as_array().unwrap().iter().enumerate();
            // In another order than it was asked.
            let data: Vec<Value> = texts
                .rev()
                .map(|(index, text)| {
                    json!({ "index": index, "embedding": vector(text.as_str().unwrap()) })
                })
                .collect();
            return respond(&mut stream, 200, &json!({ "data": data })).await;
        }
        self.reply(stream, answer).await;
    }

    async fn reply(&self, mut stream: TcpStream, answer: Answer) {
        let (pieces, is_whole, waits) = match answer {
            Answer::Silent => {
                self.begun.add_permits(1);
                let _ = stream.read(&mut [0]).await;
                return self.left.add_permits(1);
            }
            Answer::Status(status) => return respond(&mut stream, status, &json!({})).await,
            Answer::Whole(pieces) => (vec![pieces], true, false),
            Answer::BreaksOff(pieces) => (vec![pieces], false, false),
            Answer::Waits(pieces) => (vec![pieces], true, true),
            Answer::OneByOne(pieces) => {
                let each = pieces.into_iter().map(|piece| vec![piece]);
                (std::iter::once(Vec::new()).chain(each).collect(), true, true)
            }
        };
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        let mut text = head.to_owned();
        for (n, step) in pieces.into_iter().enumerate() {
            for piece in step {
                let chunk = json!({ "choices": [{ "delta": { "content": piece } }] });
                text.push_str(&format!("data: {chunk}\n\n"));
            }
            let _ = stream.write_all(std::mem::take(&mut text).as_bytes()).await;
            if waits && n == 0 {
                self.begun.add_permits(1);
            }
            if waits && !self.is_allowed(&mut stream).await {
                return self.left.add_permits(1);
            }
        }
        if is_whole {
            let _ = stream.write_all(b"data: {\"choices\": []}\n\ndata: [DONE]\n\n").await;
        }
    }

    /// Waits for the test; false if the reader goes away before.
    async fn is_allowed(&self, stream: &mut TcpStream) -> bool {
        let mut byte = [0];
        tokio::select! {
            allowed = self.allowed.acquire() => allowed.map(|permit| permit.forget()).is_ok(),
            _ = stream.read(&mut byte) => false,
        }
    }
}

async fn respond(stream: &mut TcpStream, status: u16, body: &Value) {
    let body = body.to_string();
    let head = "Content-Type: application/json\r\nConnection: close";
    let text =
        format!("HTTP/1.1 {status} X\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let _ = stream.write_all(text.as_bytes()).await;
}

/// The sum of the directions of what a text is about; a direction of its own if it is about nothing known.
fn vector(text: &str) -> Vec<f32> {
    let lower = text.to_lowercase();
    let about =
        MEANINGS.iter().zip(1..).filter(|(words, _)| words.iter().any(|w| lower.contains(w)));
    let mut seeds: Vec<u32> = about.map(|(_, seed)| seed).collect();
    if seeds.is_empty() {
        seeds.push(lower.bytes().fold(7, |sum, byte| sum * 31 % 65_521 + u32::from(byte)) + 10);
    }
    let sign = |seed: u32, n: u32| {
        let mixed = (seed.wrapping_mul(1_000_003).wrapping_add(n)).wrapping_mul(2_654_435_761);
        if (mixed ^ mixed >> 15).wrapping_mul(2_246_822_519) >> 31 == 0 { 1.0 } else { -1.0 }
    };
    (0..DIMENSIONS).map(|n| seeds.iter().map(|seed| sign(*seed, n)).sum()).collect()
}
