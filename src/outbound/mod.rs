//! Requests to URLs from users and operators, guarded against SSRF: one client for all of them, so that one
//! place decides which hosts this server may call. A name is resolved once, all its addresses are checked, and the
//! connection goes to a checked address; each redirect is checked again.

mod address;
pub(crate) mod dialer;
mod http2;
mod message;
mod resolver;
mod signature;
mod target;
#[cfg(test)]
mod tests;
mod tls;

pub use message::Message;
pub use resolver::Resolver;
pub use signature::signature;
pub use target::Target;
use tls::Tls;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, LOCATION, RETRY_AFTER};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::Url;

use message::request;

use crate::values::cidr::Cidr;
use crate::values::time::Timestamp;

/// Connect timeout for one address before the next is tried.
const CONNECT: Duration = Duration::from_secs(3);
const MAX_HEADERS: usize = 100;
const MAX_HEAD: usize = 64 * 1024;

#[derive(Debug)]
pub struct Outbound {
    allow: Vec<Cidr>,
    resolver: Resolver,
    tls: Tls,
    http2: http2::Connections,
}

/// The limits of one call, including all redirects.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    /// The body is cut off here.
    pub body: usize,
    pub redirects: usize,
}

/// Which schemes a URL may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schemes {
    Both,
    /// Plain HTTP only to addresses that the operator has opened.
    Https,
}

/// The final response: its URL, and as much of the body as the limits allow.
#[derive(Debug)]
pub struct Answer {
    pub url: Url,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// How long the server asks to wait before the next request, in either form of `Retry-After`.
    pub fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let value = self.headers.get(RETRY_AFTER)?.to_str().ok()?;
        if let Ok(seconds) = value.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let wait = Timestamp::parse_http_date(value)?.millis() - now.millis();
        Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
    }
}

#[derive(Debug)]
pub enum Failure {
    /// Not a URL that this server calls.
    Url(&'static str),
    /// It resolves to an address that is not public.
    Blocked,
    /// Redirected too often, or to a refused URL.
    Redirect,
    Unreachable(std::io::Error),
    /// The response cannot be used.
    Broken(Box<dyn std::error::Error + Send + Sync>),
    Late,
}

impl Outbound {
    pub fn new(allow: Vec<Cidr>, resolver: Resolver) -> Self {
        Outbound { allow, resolver, tls: Tls::default(), http2: http2::Connections::default() }
    }

    pub fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// Fetches a URL, following redirects.
    pub async fn get(
        &self,
        target: Target,
        accept: &'static str,
        limits: Limits,
    ) -> Result<Answer, Failure> {
        // Large, with its TLS session: on the heap, not in the future of every caller.
        let followed = Box::pin(self.follow(target, accept, limits));
        let in_time = tokio::time::timeout(limits.time, followed).await;
        in_time.unwrap_or(Err(Failure::Late))
    }

    /// Sends one request. Redirects are not followed: what it sends is for this URL alone.
    pub async fn call(
        &self,
        target: Target,
        message: Message,
        limits: Limits,
    ) -> Result<Answer, Failure> {
        let called = Box::pin(async {
            let mut driver = JoinSet::new();
            let (schemes, is_http2) = (message.schemes(), message.is_http2());
            let request = request(&target, message)?;
            let response = if is_http2 {
                self.send_http2(&target, schemes, request).await?
            } else {
                self.send(&target, schemes, request, &mut driver).await?
            };
            answer(target, response, limits.body).await
        });
        tokio::time::timeout(limits.time, called).await.unwrap_or(Err(Failure::Late))
    }

    async fn follow(
        &self,
        mut target: Target,
        accept: &'static str,
        limits: Limits,
    ) -> Result<Answer, Failure> {
        let mut redirects = 0;
        loop {
            let mut driver = JoinSet::new();
            let request = request(&target, Message::get(accept))?;
            let sent = self.send(&target, Schemes::Both, request, &mut driver).await;
            let response = sent.map_err(|failure| {
                // Only the first URL is the caller's own fault.
                if redirects > 0 { failure.of_redirect() } else { failure }
            })?;
            let Some(location) = location(&response) else {
                return answer(target, response, limits.body).await;
            };
            redirects += 1;
            if redirects > limits.redirects {
                return Err(Failure::Redirect);
            }
            let location = location.to_str().map_err(|_| Failure::Redirect)?;
            target = target.join(location).map_err(Failure::of_redirect)?;
        }
    }

    /// Whether a URL may be called, as far as can be said now: a name that does not resolve may do so later.
    pub async fn check(&self, target: &Target, schemes: Schemes) -> Result<(), Failure> {
        self.judge(target, schemes).await.map(drop)
    }

    /// One request on a connection of its own, which lives as long as `driver`.
    async fn send(
        &self,
        target: &Target,
        schemes: Schemes,
        request: Request<Full<Bytes>>,
        driver: &mut JoinSet<()>,
    ) -> Result<Response<Incoming>, Failure> {
        let addresses = self.judge(target, schemes).await?;
        let stream = connect(&addresses).await.map_err(Failure::Unreachable)?;
        if target.is_tls() {
            let stream = self.tls.connect(target.url(), stream).await;
            speak(stream.map_err(Failure::Unreachable)?, request, driver).await
        } else {
            speak(stream, request, driver).await
        }
    }

    /// One request on the connection that all calls to its server share.
    async fn send_http2(
        &self,
        target: &Target,
        schemes: Schemes,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        let open = async {
            let addresses = self.judge(target, schemes).await?;
            let stream = connect(&addresses).await.map_err(Failure::Unreachable)?;
            if target.is_tls() {
                let stream = self.tls.connect_http2(target.url(), stream).await;
                http2::open(stream.map_err(Failure::Unreachable)?).await
            } else {
                http2::open(stream).await
            }
        };
        let server = target.url().origin().ascii_serialization();
        let mut sender = self.http2.get(server, open).await?;
        sender.send_request(request).await.map_err(Failure::broken)
    }

    /// The addresses that a call may connect to. If one of them is refused, all are: otherwise the owner of
    /// the name could choose which one a connection takes.
    async fn judge(&self, target: &Target, schemes: Schemes) -> Result<Vec<SocketAddr>, Failure> {
        const WRONG_PORT: Failure =
            Failure::Url("Only the ports 80, 443, 8080 and 8443 are called");
        let literal = target.literal();
        if literal.is_none() && !target.has_web_port() && self.allow.is_empty() {
            return Err(WRONG_PORT);
        }
        let found = match (literal, target.url().host_str()) {
            (Some(address), _) => vec![address],
            (None, Some(name)) => self.resolver.resolve(name).await,
            (None, None) => Vec::new(),
        };
        let is_allowed = |address: &IpAddr| self.allow.iter().any(|block| block.contains(*address));
        if !found.iter().all(|found| address::is_public(*found) || is_allowed(found)) {
            return Err(Failure::Blocked);
        }
        let is_plain = schemes == Schemes::Https && !target.is_tls();
        if is_plain && (found.is_empty() || !found.iter().all(is_allowed)) {
            return Err(Failure::Url("Only https addresses are called"));
        }
        if !target.has_web_port() && (found.is_empty() || !found.iter().all(is_allowed)) {
            return Err(WRONG_PORT);
        }
        Ok(found.into_iter().map(|address| SocketAddr::new(address, target.port())).collect())
    }
}

async fn connect(addresses: &[SocketAddr]) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for address in addresses {
        match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(late) => last = late.into(),
        }
    }
    Err(last)
}

async fn speak<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    driver: &mut JoinSet<()>,
) -> Result<Response<Incoming>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(Failure::broken)?;
    driver.spawn(async {
        // Its error is also the error of the request or of the body.
        let _ = connection.await;
    });
    sender.send_request(request).await.map_err(Failure::broken)
}

fn location(response: &Response<Incoming>) -> Option<&http::HeaderValue> {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308)
        .then(|| response.headers().get(LOCATION))
        .flatten()
}

async fn answer(
    target: Target,
    response: Response<Incoming>,
    most: usize,
) -> Result<Answer, Failure> {
    let (head, mut body) = response.into_parts();
    let encoding = head.headers.get(CONTENT_ENCODING).map(|value| value.as_bytes());
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        return Err(Failure::Broken("the body is compressed, though nobody asked".into()));
    }
    let mut whole = BytesMut::new();
    while whole.len() < most {
        let Some(frame) = body.frame().await else { break };
        if let Ok(data) = frame.map_err(Failure::broken)?.into_data() {
            let room = data.len().min(most - whole.len());
            whole.extend_from_slice(&data[..room]);
        }
    }
    Ok(Answer {
        url: target.url().clone(),
        status: head.status,
        headers: head.headers,
        body: whole.freeze(),
    })
}

impl Failure {
    fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Failure::Broken(error.into())
    }

    fn of_redirect(self) -> Self {
        if matches!(self, Failure::Url(_)) { Failure::Redirect } else { self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Url(why) => f.write_str(why),
            Failure::Blocked => f.write_str("the address is not public"),
            Failure::Redirect => f.write_str("redirected too often, or to where no call goes"),
            Failure::Unreachable(error) => write!(f, "not reachable: {error}"),
            Failure::Broken(error) => write!(f, "no usable answer: {error}"),
            Failure::Late => f.write_str("not answered in time"),
        }
    }
}

impl std::error::Error for Failure {}
