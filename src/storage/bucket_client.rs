//! The HTTP client that reaches the bucket, as `object_store` asks for it.

use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Incoming;
use hyper_util::client::legacy::Error;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};

use crate::outbound::dialer::{self, OperatorClient};

/// Until a reply begins, and between two pieces of it. A whole reply may take as long as its reader needs.
const SILENCE: Duration = Duration::from_secs(30);

/// Makes the client when the bucket is opened.
#[derive(Debug)]
pub(super) struct BucketConnector;

#[derive(Debug)]
struct BucketClient(OperatorClient<HttpRequestBody>);

impl HttpConnector for BucketConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allow_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let client = dialer::client(allow_http.as_deref() == Some("true"));
        Ok(HttpClient::new(BucketClient(client)))
    }
}

impl HttpService for BucketClient {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let reply = tokio::time::timeout(SILENCE, self.0.request(request)).await;
            let reply = reply.map_err(late)?.map_err(failed)?;
            Ok(reply.map(|body| HttpResponseBody::new(StreamBody::new(frames(body)))))
        })
    }
}

/// The pieces of a reply, none of which may be long in coming.
fn frames(
    body: Incoming,
) -> impl stream::Stream<Item = Result<hyper::body::Frame<bytes::Bytes>, HttpError>> + Send + Sync {
    stream::unfold(body, async |mut body| {
        let frame = match tokio::time::timeout(SILENCE, body.frame()).await {
            Ok(frame) => frame?.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error)),
            Err(error) => Err(late(error)),
        };
        Some((frame, body))
    })
}

fn late(error: tokio::time::error::Elapsed) -> HttpError {
    HttpError::new(HttpErrorKind::Timeout, error)
}

/// The kind decides whether the request is sent again.
fn failed(error: Error) -> HttpError {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    let kind = match cause {
        _ if error.is_connect() => HttpErrorKind::Connect,
        Some(cause) if cause.is_closed() || cause.is_canceled() => HttpErrorKind::Request,
        Some(cause) if cause.is_incomplete_message() => HttpErrorKind::Interrupted,
        Some(cause) if cause.source().is_some_and(|one| one.is::<io::Error>()) => {
            HttpErrorKind::Interrupted
        }
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn plain_http_has_to_be_allowed() {
        let refuses = async |options: ClientOptions| {
            let client = BucketConnector.connect(&options).unwrap();
            let request = http::Request::get("http://127.0.0.1:1/").body(HttpRequestBody::empty());
            let error = client.execute(request.unwrap()).await.unwrap_err();
            format!("{error:?}").contains("plain HTTP is not allowed")
        };
        assert!(refuses(ClientOptions::new()).await);
        assert!(!refuses(ClientOptions::new().with_allow_http(true)).await);
    }
}
