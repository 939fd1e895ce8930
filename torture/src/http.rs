//! Requests and replies: a keep-alive connection that opens itself again when it was lost.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bench::client::Connection;
use serde_json::Value;

/// No reply takes longer than this, or the server counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// Without parameters; empty when there is no body.
    pub media: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// A text at a path such as `user/id`.
    pub fn text(&self, pointer: &str) -> Result<String, String> {
        let json = self.json();
        let text = json.pointer(&format!("/{pointer}")).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| {
            format!("{} without {pointer}: {}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    pub fn expect(self, status: u16) -> Result<Reply, String> {
        if self.status == status {
            return Ok(self);
        }
        let body = String::from_utf8_lossy(&self.body);
        Err(format!("{} instead of {status}: {body}", self.status))
    }
}

#[derive(Debug)]
pub struct Caller {
    address: SocketAddr,
    source: Option<IpAddr>,
    connection: Option<Connection>,
}

impl Caller {
    pub fn new(address: SocketAddr) -> Self {
        Caller { address, source: None, connection: None }
    }

    /// A client at another address of the loopback network.
    pub fn from(source: IpAddr, address: SocketAddr) -> Self {
        Caller { address, source: Some(source), connection: None }
    }

    /// Sends JSON, or nothing.
    pub async fn call(
        &mut self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> Result<Reply, String> {
        let text = body.map(Value::to_string);
        let content = text.as_ref().map(|text| ("application/json", text.as_bytes()));
        self.send(&request(method, path, token, content)).await
    }

    /// Sends a whole request. An error means that it was not answered.
    pub async fn send(&mut self, request: &[u8]) -> Result<Reply, String> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(self.open().await.map_err(|error| error.to_string())?),
        };
        let answered = tokio::time::timeout(PATIENCE, connection.exchange(request)).await;
        let status = match answered {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => {
                self.connection = None;
                return Err(error.to_string());
            }
            Err(_) => {
                self.connection = None;
                return Err(format!("no answer in {PATIENCE:?}"));
            }
        };
        let media = connection.header("content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().to_owned();
        let reply = Reply { status, media, body: connection.body().to_vec() };
        if connection.header("connection").is_some_and(|v| v.eq_ignore_ascii_case("close")) {
            self.connection = None;
        }
        Ok(reply)
    }

    /// Whether the next request goes over the same connection.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    async fn open(&self) -> std::io::Result<Connection> {
        match self.source {
            Some(source) => Connection::open_from(source, self.address).await,
            None => Connection::open(self.address).await,
        }
    }
}

/// The bytes of a request; without a token it is anonymous.
pub fn request(method: &str, path: &str, token: &str, content: Option<(&str, &[u8])>) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
    if !token.is_empty() {
        head += &format!("authorization: Bearer {token}\r\n");
    }
    if let Some((media, body)) = content {
        head += &format!("content-type: {media}\r\ncontent-length: {}\r\n", body.len());
    }
    head += "\r\n";
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(content.map_or(&[], |(_, body)| body));
    bytes
}

/// A form with texts and files, as multipart/form-data: media type and body.
pub fn form(parts: &[(&str, Option<&str>, &[u8])]) -> (String, Vec<u8>) {
    const BOUNDARY: &str = "----torture-7d1f6a";
    let mut body = Vec::new();
    for (name, file, content) in parts {
        let file = file.map_or(String::new(), |file| format!("; filename=\"{file}\""));
        let head = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"{file}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={BOUNDARY}"), body)
}
