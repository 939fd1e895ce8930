//! Somebody else's web site, for what the server calls: pages on a port of this machine, and a
//! count of the visits it had.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A web site on this machine: each path answers with fixed bytes.
#[derive(Debug)]
pub struct Site {
    pub address: SocketAddr,
    visits: Arc<AtomicUsize>,
}

impl Site {
    /// `pages` are paths and whole replies; any other path is not found.
    pub async fn open(pages: &[(&str, String)]) -> Site {
        Self::listen("127.0.0.1:0", pages).await
    }

    /// Listens on every address of this machine and waits for a visit that must not come.
    pub async fn canary() -> Site {
        Self::listen("0.0.0.0:0", &[]).await
    }

    async fn listen(address: &str, pages: &[(&str, String)]) -> Site {
        let listener = TcpListener::bind(address).await.unwrap();
        let site = Site { address: listener.local_addr().unwrap(), visits: Arc::default() };
        let pages: Vec<(String, String)> =
            pages.iter().map(|(path, reply)| ((*path).to_owned(), reply.clone())).collect();
        let visits = site.visits.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                visits.fetch_add(1, Ordering::SeqCst);
                let mut request = vec![0; 8192];
                let length = stream.read(&mut request).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or_default();
                let reply = pages.iter().find(|(known, _)| known == path);
                let missing = || "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned();
                let reply = reply.map_or_else(missing, |(_, reply)| reply.clone());
                tokio::spawn(async move {
                    let _ = stream.write_all(reply.as_bytes()).await;
                    if reply.ends_with(ENDLESS) {
                        while stream.write_all(ENDLESS.repeat(1000).as_bytes()).await.is_ok() {}
                    }
                });
            }
        });
        site
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

/// A reply that ends in this goes on with it for as long as anybody reads.
pub const ENDLESS: &str = "<p>and so on</p>";

pub fn html(body: &str) -> String {
    reply("Content-Type: text/html", body)
}

pub fn reply(header: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{header}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

pub fn redirect(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}
