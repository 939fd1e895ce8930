//! Requests outside of any project: operations of the server itself.

use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::SemaphorePermit;
use url::form_urlencoded::Serializer;

use crate::error::Result;
use crate::http::address::Address;
use crate::http::body::{BODY_BROKEN, Source, check_encoding, read_whole};
use crate::http::cors;
use crate::http::dispatch::{MULTIPART, ROUTE_NOT_FOUND, RequestTrace, header_has, limit};
use crate::http::multipart::{Form, ReadForm, Uploads, read_form};
use crate::http::operation::{Run, ServerCall};
use crate::http::query::pairs;
use crate::http::reply::Response;
use crate::http::router::Router;
use crate::network::client::{self, Peer};
use crate::state::App;

#[derive(Debug)]
pub(super) struct ServerRequest<'a> {
    pub head: http::request::Parts,
    pub body: &'a mut Option<Incoming>,
    pub is_forwarded: bool,
}

pub(super) async fn answer(
    app: &App,
    router: &Router,
    peer: &Peer,
    request: ServerRequest<'_>,
    address: &Address,
    trace: &mut RequestTrace,
) -> Result<Response> {
    let ServerRequest { head, body, is_forwarded } = request;
    if head.method == Method::OPTIONS {
        return Ok(cors::preflight(head.uri.path(), &head.headers));
    }
    let route = router.server(&head.method, &address.endpoint).ok_or(ROUTE_NOT_FOUND)?;
    let operation = route.operation;
    trace.operation = Some(operation);
    let client = client::address(peer.address, &head.headers, &app.config.trusted_proxies);
    trace.window = limit(app, operation, None, client).await?;
    let Run::Server(run) = &operation.run else { return Err(ROUTE_NOT_FOUND.into()) };
    let (params, query) = (route.params, pairs(head.uri.query().unwrap_or_default()));
    let call = |(body, uploads)| ServerCall {
        app: app.clone(),
        method: head.method.clone(),
        params: params.clone(),
        query: query.clone(),
        body,
        uploads,
        headers: head.headers.clone(),
        client,
        is_forwarded,
    };
    let nothing = || (Bytes::new(), Ok(Uploads::default()));
    if !operation.takes_body {
        return run(call(nothing())).await;
    }
    check_encoding(&head.headers)?;
    let form = operation.form.filter(|_| header_has(&head.headers, CONTENT_TYPE, MULTIPART));
    if let (Some(guard), Some(_)) = (&operation.guard, form)
        && let Some(reply) = guard(call(nothing())).await?
    {
        return Ok(reply);
    }
    let Some(body) = body.take() else { return run(call(nothing())).await };
    let source = Source::new(app, peer, client::bucket(client), body);
    let (content, _memory) = match form {
        Some(form) => read_files(app, form, &head.headers, source).await,
        None => {
            let (body, memory) = read_whole(app, source).await?;
            ((body, Ok(Uploads::default())), memory)
        }
    };
    run(call(content)).await
}

type Content<'a> = ((Bytes, Result<Uploads>), Option<SemaphorePermit<'a>>);

async fn read_files<'a>(
    app: &'a App,
    form: &'static Form,
    headers: &http::HeaderMap,
    source: Source<'_>,
) -> Content<'a> {
    match read_form(app, None, form, BODY_BROKEN, headers, source).await {
        Ok(ReadForm { texts, uploads, memory }) => ((encoded(&texts), Ok(uploads)), Some(memory)),
        Err(error) => ((Bytes::new(), Err(error)), None),
    }
}

/// As a form without files is sent.
fn encoded(texts: &Value) -> Bytes {
    let texts = texts.as_object().into_iter().flatten();
    let pairs = texts.filter_map(|(name, value)| Some((name, value.as_str()?)));
    Serializer::new(String::new()).extend_pairs(pairs).finish().into()
}
