//! A keep-alive HTTP/1.1 connection that does as little as possible: requests are prepared bytes, and only
//! status and length of a reply are parsed.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// The longest reply that is read.
const MAX_BYTES: usize = 16 * 1024 * 1024;
const MAX_HEADERS: usize = 32;

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// The last reply, head and body.
    buffer: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(address).await?)
    }

    /// From an address of this machine's own, so that the server sees another client.
    pub async fn open_from(source: IpAddr, address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((source, 0).into())?;
        Self::over(socket.connect(address).await?)
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(16 * 1024) })
    }

    /// The value of a header of the last reply.
    pub fn header(&self, name: &str) -> Option<String> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        response.parse(&self.buffer).ok()?;
        let header = response.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(header.value).into_owned())
    }

    /// The body of the last reply.
    pub fn body(&self) -> &[u8] {
        let head = self.buffer.windows(4).position(|window| window == b"\r\n\r\n");
        head.map_or(&[], |end| &self.buffer[end + 4..])
    }

    /// Sends a whole request and reads its whole reply; returns its status. After an error the connection is
    /// unusable.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let mut head = None;
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if head.is_none() {
                head = read_head(&self.buffer)?;
            }
            let Some(Head { status, length }) = head else { continue };
            match self.buffer.len() {
                read if read == length => return Ok(status),
                read if read > length => return Err(invalid("more bytes than announced")),
                _ => {}
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    status: u16,
    /// Of head and body together.
    length: usize,
}

/// `None` while the head is not complete.
fn read_head(bytes: &[u8]) -> io::Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(bytes).map_err(invalid)? else {
        return Ok(None);
    };
    let status = response.code.unwrap_or_default();
    let announced = response.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"));
    let body = match announced {
        Some(header) => {
            let text = std::str::from_utf8(header.value).map_err(invalid)?;
            text.trim().parse::<usize>().map_err(invalid)?
        }
        None if matches!(status, 204 | 304) => 0,
        None => return Err(invalid("an answer without content-length")),
    };
    if body > MAX_BYTES {
        return Err(invalid("a very long answer"));
    }
    Ok(Some(Head { status, length: head + body }))
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Replies to each request with the parts of one reply, one write each.
    async fn exchange(answers: &[&[&str]]) -> Vec<io::Result<u16>> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serve = async {
            let (mut peer, _) = listener.accept().await.unwrap();
            for parts in answers {
                peer.read_exact(&mut [0; 4]).await.unwrap();
                for part in *parts {
                    peer.write_all(part.as_bytes()).await.unwrap();
                    tokio::task::yield_now().await;
                }
            }
        };
        let ask = async {
            let mut connection = Connection::open(address).await.unwrap();
            let mut statuses = Vec::new();
            for _ in answers {
                statuses.push(connection.exchange(b"ping").await);
            }
            statuses
        };
        tokio::join!(serve, ask).1
    }

    #[tokio::test]
    async fn answers_are_told_apart_however_they_arrive() {
        let whole = ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"];
        let torn = ["HTTP/1.1 404 Not Fo", "und\r\nContent-Length: 5\r\n", "\r\nno", "ne!"];
        let bare = ["HTTP/1.1 204 No Content\r\n\r\n"];
        let statuses = exchange(&[&whole, &torn, &bare, &whole]).await;
        let statuses: Vec<u16> = statuses.into_iter().map(Result::unwrap).collect();
        assert_eq!(statuses, [200, 404, 204, 200]);
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_followed_is_an_error() {
        for answer in [
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nok",
            "HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n",
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut off",
        ] {
            assert!(exchange(&[&[answer]]).await[0].is_err(), "{answer}");
        }
    }
}
