//! A small web service on this machine that replies as a test says, and remembers what it was asked. It
//! stands for providers with ways of their own, and for such as lie.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use townhall::auth::es256;

#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    /// All of the head, in lower case.
    pub head: String,
    pub body: String,
    pub bytes: Vec<u8>,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
}

#[derive(Debug, Default)]
struct Script {
    replies: HashMap<String, (u16, Value)>,
    retry_after: Option<String>,
    requests: Vec<Request>,
}

#[derive(Debug, Clone)]
pub struct Fake {
    pub address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

impl Fake {
    pub async fn start() -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Fake { address: listener.local_addr().unwrap(), script: Arc::default() };
        let own = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(own.clone(), stream));
            }
        });
        fake
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What a path replies from now on.
    pub fn reply(&self, path: &str, status: u16, body: Value) {
        self.script.lock().unwrap().replies.insert(path.to_owned(), (status, body));
    }

    /// What its errors say about another try.
    pub fn retry_after(&self, value: &str) {
        self.script.lock().unwrap().retry_after = Some(value.to_owned());
    }

    /// What it was asked at this path, oldest first.
    pub fn requests(&self, path: &str) -> Vec<Request> {
        let script = self.script.lock().unwrap();
        script.requests.iter().filter(|request| request.path == path).cloned().collect()
    }

    /// An OpenID provider with one key, which says this of itself besides.
    pub fn be_issuer(&self, more: Value) {
        let mut document = json!({
            "issuer": self.url(""),
            "authorization_endpoint": self.url("/authorize"),
            "token_endpoint": self.url("/token"),
            "jwks_uri": self.url("/jwks"),
        });
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.reply("/.well-known/openid-configuration", 200, document);
        self.reply("/jwks", 200, json!({ "keys": [key().public] }));
    }

    /// The next code is exchanged for an ID token with these claims.
    pub fn issue(&self, claims: &Value) {
        self.reply("/token", 200, json!({ "id_token": key().sign(claims), "access_token": "at" }));
    }
}

/// Reads one request; none if the client goes away.
pub(super) async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let mut chunk = [0; 4096];
        let Ok(length @ 1..) = stream.read(&mut chunk).await else { return None };
        bytes.extend_from_slice(&chunk[..length]);
        let Some(end) = bytes.windows(4).position(|some| some == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let body = &bytes[end + 4..];
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap_or(0) {
            break (head, body.to_vec());
        }
    };
    let address = head.split(' ').nth(1).unwrap().to_owned();
    let path = address.split('?').next().unwrap().to_owned();
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Some(Request {
        path,
        head: head.to_lowercase(),
        body: String::from_utf8_lossy(&body).into_owned(),
        bytes: body,
        headers: headers.collect(),
    })
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(&name.to_lowercase()).map(String::as_str)
    }
}

async fn serve(fake: Fake, mut stream: TcpStream) {
    let Some(request) = read_request(&mut stream).await else { return };
    let (status, reply, retry_after) = {
        let mut script = fake.script.lock().unwrap();
        let reply = script.replies.get(&request.path).cloned().unwrap_or((404, json!({})));
        script.requests.push(request);
        (reply.0, reply.1, script.retry_after.clone().filter(|_| reply.0 >= 400))
    };
    let reply = reply.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n");
    let location = if status == 307 { "Location: /elsewhere\r\n" } else { "" };
    let later = retry_after.map(|value| format!("Retry-After: {value}\r\n")).unwrap_or_default();
    let text = format!("{head}{location}{later}Content-Length: {}\r\n\r\n{reply}", reply.len());
    let _ = stream.write_all(text.as_bytes()).await;
}

/// A key that signs tokens, as the issuer publishes it and as its owner has it.
#[derive(Debug, Clone)]
pub struct SigningKey {
    pub public: Value,
    pub pem: String,
    id: String,
}

impl SigningKey {
    pub fn generate(id: &str) -> SigningKey {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let der = pair.to_pkcs8v1().unwrap();
        let point = pair.public_key().as_ref();
        let (x, y) = (BASE64.encode(&point[1..33]), BASE64.encode(&point[33..]));
        let public =
            json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": id, "alg": "ES256" });
        let text = STANDARD.encode(der.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
        SigningKey { public, pem, id: id.to_owned() }
    }

    pub fn sign(&self, claims: &Value) -> String {
        es256::sign(&self.pem, Some(&self.id), claims).unwrap()
    }
}

/// One key for all tests that need no other.
pub fn key() -> &'static SigningKey {
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    KEY.get_or_init(|| SigningKey::generate("first"))
}
