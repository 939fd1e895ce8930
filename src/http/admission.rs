//! Refuses requests before they are parsed: too many at once, or a head that is too large.

use crate::error::{Error, Result, faults};
use crate::http::address::{Address, Scope};
use crate::network::client::Peer;
use crate::state::App;

faults! {
    pub URI_TOO_LONG = 414 "request/uri-too-long": "The address is too long";
    pub HEAD_TOO_LARGE = 431 "request/headers-too-large": "The headers are too large";
}

/// Health checks and metrics, served under any load.
const HEALTH_CHECKS: [&str; 3] = ["/livez", "/readyz", "/metrics"];
const MAX_URI: usize = 8 * 1024;
/// The connection's buffer bounds a head, too, but only to about twice this size.
const MAX_HEADERS: usize = 32 * 1024;

/// Refuses excess requests with 503. Requests that wait for their body take no slot: their number is bounded
/// for each network.
pub fn check_room(app: &App, peer: &Peer, address: Option<&Address>) -> Result<()> {
    let is_health_check = address.is_some_and(|address| {
        address.scope == Scope::Server && HEALTH_CHECKS.contains(&address.endpoint.as_str())
    });
    if is_health_check {
        return Ok(());
    }
    if peer.is_in_reserve {
        return Err(Error::Busy("too many connections are open"));
    }
    let in_flight = app.metrics.in_flight();
    let most = app.config.max_in_flight;
    if in_flight > most && in_flight - app.body_waits.total() > most {
        return Err(Error::Busy("too many requests are under way"));
    }
    Ok(())
}

/// Refusals that do not depend on the operation.
pub fn check_head(head: &http::request::Parts) -> Result<()> {
    if head.uri.path_and_query().is_some_and(|uri| uri.as_str().len() > MAX_URI) {
        return Err(URI_TOO_LONG.into());
    }
    let size: usize = head.headers.iter().map(|(name, v)| name.as_str().len() + v.len()).sum();
    if size > MAX_HEADERS {
        return Err(HEAD_TOO_LARGE.into());
    }
    Ok(())
}
