//! Requests outside of any project: operations of the server itself.

use bytes::Bytes;
use http::Method;
use hyper::body::Incoming;

use crate::error::Result;
use crate::http::address::Address;
use crate::http::body::{Source, check_encoding, read_whole};
use crate::http::cors;
use crate::http::dispatch::{ROUTE_NOT_FOUND, RequestTrace, limit};
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
    trace.operation = Some(route.operation);
    let client = client::address(peer.address, &head.headers, &app.config.trusted_proxies);
    trace.window = limit(app, route.operation, None, client).await?;
    let wanted = if route.operation.takes_body { body.take() } else { None };
    let (body, _memory) = match wanted {
        Some(body) => {
            check_encoding(&head.headers)?;
            read_whole(app, Source::new(app, peer, client::bucket(client), body)).await?
        }
        None => (Bytes::new(), None),
    };
    let Run::Server(run) = &route.operation.run else { return Err(ROUTE_NOT_FOUND.into()) };
    run(ServerCall {
        app: app.clone(),
        method: head.method,
        params: route.params,
        query: pairs(head.uri.query().unwrap_or_default()),
        body,
        headers: head.headers,
        client,
        is_forwarded,
    })
    .await
}
