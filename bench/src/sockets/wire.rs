//! One socket of a user: a WebSocket that speaks as much of Engine.IO and Socket.IO as it takes to connect,
//! answer pings and receive events.

use std::net::SocketAddr;

use bytes::BytesMut;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use townhall::values::ids::ProjectId;

/// Small, because there are thousands; they grow when they must.
const BUFFER: usize = 4 * 1024;
const MAX_HEADERS: usize = 32;

#[derive(Debug)]
pub struct Wire(WebSocketStream<TcpStream>);

#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Answered already.
    Ping,
    /// The packet of a Socket.IO event, or of whatever else it is.
    Packet(Utf8Bytes),
}

impl Wire {
    /// Connects, and is let in as the user of the token.
    pub async fn open(
        address: SocketAddr,
        project: ProjectId,
        token: &str,
    ) -> Result<Wire, String> {
        let mut wire = Wire(upgrade(address, project).await?);
        wire.expect("0{").await?;
        wire.say(format!(r#"40{{"token":"{token}"}}"#).into()).await?;
        wire.expect("40{").await?;
        Ok(wire)
    }

    async fn expect(&mut self, start: &str) -> Result<(), String> {
        match self.next().await? {
            Heard::Packet(packet) if packet.starts_with(start) => Ok(()),
            other => Err(format!("a socket heard {other:?} at its start")),
        }
    }

    async fn say(&mut self, packet: Utf8Bytes) -> Result<(), String> {
        self.0.send(Message::Text(packet)).await.map_err(|error| error.to_string())
    }

    /// An error is the end.
    pub async fn next(&mut self) -> Result<Heard, String> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) if text.as_str() == "2" => {
                    self.say("3".into()).await?;
                    return Ok(Heard::Ping);
                }
                Some(Ok(Message::Text(text))) => return Ok(Heard::Packet(text)),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(other)) => return Err(format!("a socket heard {other:?}")),
                Some(Err(error)) => return Err(format!("a socket broke: {error}")),
                None => return Err("a socket was closed".to_owned()),
            }
        }
    }
}

async fn upgrade(
    address: SocketAddr,
    project: ProjectId,
) -> Result<WebSocketStream<TcpStream>, String> {
    let io = |error: std::io::Error| format!("no WebSocket: {error}");
    let mut stream = TcpStream::connect(address).await.map_err(io)?;
    stream.set_nodelay(true).map_err(io)?;
    let request = format!(
        "GET /socket.io/?EIO=4&transport=websocket&projectId={project} HTTP/1.1\r\n\
         Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.map_err(io)?;
    let mut answer = BytesMut::with_capacity(1024);
    let head = loop {
        if stream.read_buf(&mut answer).await.map_err(io)? == 0 {
            return Err("no WebSocket: closed".to_owned());
        }
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&answer).map_err(|error| error.to_string())? {
            httparse::Status::Partial => {}
            httparse::Status::Complete(head) if response.code == Some(101) => break head,
            httparse::Status::Complete(_) => {
                return Err(format!("no WebSocket: status {:?}", response.code));
            }
        }
    };
    let first = answer.split_off(head).to_vec();
    let config = WebSocketConfig::default().read_buffer_size(BUFFER).write_buffer_size(BUFFER);
    Ok(WebSocketStream::from_partially_read(stream, first, Role::Client, Some(config)).await)
}
