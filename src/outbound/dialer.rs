//! A client for the few addresses that the operator names in the settings, such as a bucket or a collector of traces.
//! They may be private ones, so they are not guarded as those of users are. HTTP/1.1 on kept connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;
use url::Url;

use super::Tls;

const CONNECT: Duration = Duration::from_secs(5);
/// Servers close idle connections after a while; ours go first.
const IDLE: Duration = Duration::from_secs(15);

pub(crate) type OperatorClient<B> = Client<Dialer, B>;

/// `allow_http`: whether the operator has named an `http://` address.
pub(crate) fn client<B>(allow_http: bool) -> OperatorClient<B>
where
    B: hyper::body::Body + Send,
    B::Data: Send,
{
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT));
    tcp.set_nodelay(true);
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(Dialer { tcp, tls: Arc::default(), allow_http })
}

/// Opens connections.
#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    tcp: HttpConnector,
    tls: Arc<Tls>,
    /// Off unless the operator names an http:// endpoint: credentials travel in these requests.
    allow_http: bool,
}

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tcp.poll_ready(context).map_err(io::Error::other)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let is_plain = address.scheme_str() != Some("https");
        if is_plain && !self.allow_http {
            return Box::pin(async { Err(io::Error::other("plain HTTP is not allowed here")) });
        }
        let (tcp, tls) = (self.tcp.call(address.clone()), Arc::clone(&self.tls));
        Box::pin(async move {
            let stream = tcp.await.map_err(io::Error::other)?.into_inner();
            if is_plain {
                return Ok(TokioIo::new(Box::new(stream) as Box<dyn Stream>));
            }
            let url = Url::parse(&address.to_string()).map_err(io::Error::other)?;
            let secured = tokio::time::timeout(CONNECT, tls.connect(&url, stream)).await??;
            Ok(TokioIo::new(Box::new(secured) as Box<dyn Stream>))
        })
    }
}
